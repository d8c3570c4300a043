//! Automaton of all patterns `*x*`, so that a path is read once however many there are.
//!
//! Measured side, cold, pure. Aho and Corasick, 1975, with all steps computed beforehand: paths are ASCII, so a state
//! has 128.

/// A state, as `struct row` of `police.bpf.c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The state after a byte.
    pub(super) next: [u16; 128],
    /// The first pattern that ends here, by its position in the file.
    pub(super) pattern: Option<u16>,
}

/// No step of its own.
const NOWHERE: u16 = u16::MAX;

/// Its states, the first one first.
pub(super) fn states(patterns: &[&[u8]]) -> Vec<State> {
    let mut states = vec![State { next: [NOWHERE; 128], pattern: None }];
    for (place, pattern) in patterns.iter().enumerate() {
        let mut at = 0;
        for byte in pattern.iter() {
            let next = usize::from(states[at].next[usize::from(byte & 127)]);
            at = if next < states.len() {
                next
            } else {
                let new = states.len();
                states[at].next[usize::from(byte & 127)] = new as u16;
                states.push(State { next: [NOWHERE; 128], pattern: None });
                new
            };
        }
        let place = place as u16;
        states[at].pattern = Some(states[at].pattern.map_or(place, |before| before.min(place)));
    }
    complete(&mut states);
    states
}

/// Fills in the steps that lead back, shallow states first: a state without a step of its own takes that of the
/// longest suffix of the text read so far that is a prefix of another pattern.
fn complete(states: &mut [State]) {
    let mut waiting = std::collections::VecDeque::from([(0_usize, 0_usize)]);
    while let Some((at, shorter)) = waiting.pop_front() {
        let ends = states[shorter].pattern;
        let own = states[at].pattern;
        states[at].pattern = own.into_iter().chain(ends).min();
        for byte in 0..128 {
            let back = if at == 0 { 0 } else { states[shorter].next[byte] };
            match states[at].next[byte] {
                NOWHERE => states[at].next[byte] = back,
                next => waiting.push_back((usize::from(next), usize::from(back))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn first(states: &[State], path: &[u8]) -> Option<u16> {
        let mut at = 0;
        let steps = path.iter().map(|byte| {
            at = usize::from(states[at].next[usize::from(*byte)]);
            states[at].pattern
        });
        steps.flatten().min()
    }

    proptest! {
        #[test]
        fn the_first_pattern_that_is_contained_is_found(
            patterns in prop::collection::vec("[ab/]{1,5}", 1..8),
            path in "/[abc/]{0,30}",
        ) {
            let bytes: Vec<&[u8]> = patterns.iter().map(String::as_bytes).collect();
            let expected = patterns.iter().position(|pattern| path.contains(pattern.as_str()));
            let states = states(&bytes);
            prop_assert_eq!(first(&states, path.as_bytes()), expected.map(|place| place as u16));
        }
    }
}
