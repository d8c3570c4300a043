//! Contradictions between two measurements of one cost: by two designs at one load, or by one design at two loads.
//!
//! Amounts are held against each other, as a percentage changes with what the baseline needs. Less than a tenth is no
//! contradiction: designs differ by some percent without fault (docs/method.md, "Bias of a duet").

use crate::{Effect, Interval};

/// Difference of amounts that counts as none, as a fraction.
pub(crate) const ROOM: f64 = 0.1;

/// The point in which two measurements of one amount disagree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// One says more, the other less, both beyond doubt.
    Signs,
    /// Their intervals are disjoint, also when each is widened by a tenth of its effect.
    Sizes,
}

/// Whether these amounts contradict each other.
pub fn contradiction(one: &Effect, other: &Effect) -> Option<Contradiction> {
    let apart = |a: &Interval, b: &Interval| a.high < b.low || b.high < a.low;
    if one.interval.opposes(&other.interval) {
        return Some(Contradiction::Signs);
    }
    apart(&widened(one), &widened(other)).then_some(Contradiction::Sizes)
}

fn widened(e: &Effect) -> Interval {
    let room = ROOM * e.effect.abs();
    Interval { low: e.interval.low - room, high: e.interval.high + room }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(low: f64, effect: f64, high: f64) -> Effect {
        let interval = Interval { low, high };
        Effect {
            effect,
            interval,
            n: 10,
            paired_sd: 0.0,
            robust_sd: 0.0,
            hodges_lehmann: effect,
            hl_interval: interval,
            heavy_tails: false,
            level: 0.9875,
        }
    }

    #[test]
    fn amounts_contradict_by_sign_or_beyond_a_tenth() {
        use Contradiction::{Signs, Sizes};
        for (one, other, want) in [
            ([1.0, 2.0, 3.0], [2.0, 3.0, 4.0], None),
            ([1.0, 2.0, 3.0], [-3.0, -2.0, -1.0], Some(Signs)),
            ([1.0, 2.0, 3.0], [-3.0, -1.0, 1.0], None), // the other may be nothing, or a little more
            ([1.0, 2.0, 3.0], [-3.0, -2.0, 0.1], Some(Sizes)),
            // 23.1 and 25.1, both known to 0.2: 2.3 + 2.5 of room
            ([22.9, 23.1, 23.3], [24.9, 25.1, 25.3], None),
            ([22.9, 23.1, 23.3], [29.9, 30.1, 30.3], Some(Sizes)),
        ] {
            let [one, other] = [one, other].map(|[low, at, high]| made(low, at, high));
            assert_eq!(contradiction(&one, &other), want, "{one:?} {other:?}");
            assert_eq!(contradiction(&other, &one), want);
        }
    }
}
