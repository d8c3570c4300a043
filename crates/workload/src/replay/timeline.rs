//! Timeline of a log: its stamps in order, and spread inside their second.
//!
//! Owns three repairs. Lines out of order (servers write a line when the reply ends and may stamp
//! its start) keep their stamp and are sorted; a jump back of more than a minute is a clock that
//! was set, or another log behind the first: time goes on from where it was; a line without a
//! stamp takes its predecessor's. Stamps of whole seconds are spread inside their second by the
//! seed, as all requests of a second at its first moment would be a burst that never was.

use bakeoff_content::SplitMix64;
use bakeoff_units::Nanos;
use bakeoff_wire::access_log::Stamp;

const SECOND: u64 = 1_000_000_000;
/// Longest time by which a stamp may lie behind the latest and still be a late line: the longest that servers let a
/// request take by default (nginx, Apache: 60 s).
const WINDOW: u64 = 60 * SECOND;

/// Places stamps on one time that goes on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Timeline {
    /// Added to the log's stamps; whole seconds.
    shift: u64,
    latest: Option<u64>,
    /// Lines whose stamp lies before an earlier line's.
    pub(super) out_of_order: u64,
    /// Jumps back of more than a minute.
    pub(super) clock_steps: u64,
    /// Lines without a stamp.
    pub(super) unstamped: u64,
    /// Lines with one.
    pub(super) stamped: u64,
}

/// A request on the timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) nanos: u64,
    pub(super) fine: bool,
    /// Its number in the table.
    pub(super) request: u32,
}

impl Timeline {
    pub(super) fn place(&mut self, stamp: Option<Stamp>, request: u32) -> Placed {
        let latest = self.latest.unwrap_or(0);
        let Some(stamp) = stamp else {
            self.unstamped += 1;
            return Placed { nanos: latest, fine: true, request };
        };
        self.stamped += 1;
        let mut nanos = stamp.nanos.saturating_add(self.shift);
        let back = latest.saturating_sub(nanos);
        if back > WINDOW {
            self.clock_steps += 1;
            nanos = nanos.saturating_add(self.go_on(back));
        } else if back > 0 {
            self.out_of_order += 1;
        }
        self.latest = Some(latest.max(nanos));
        Placed { nanos, fine: stamp.fine, request }
    }

    /// The log begins again: its first stamp comes a second behind its last.
    pub(super) fn wrap(&mut self, first: u64) {
        let back = self.latest.unwrap_or(0).saturating_sub(first.saturating_add(self.shift));
        self.go_on(back.saturating_add(SECOND));
    }

    /// Shifts the following stamps by `back`, rounded up to whole seconds.
    fn go_on(&mut self, back: u64) -> u64 {
        let shift = back.div_ceil(SECOND).saturating_mul(SECOND);
        self.shift = self.shift.saturating_add(shift);
        shift
    }
}

/// Sorts a slice's requests by time and gives each its offset from the first.
pub(super) fn offsets(placed: &mut [Placed], seed: u64) -> Vec<Nanos> {
    if let Some(stamped) = placed.iter().position(|request| request.nanos > 0) {
        let first = placed[stamped].nanos; // lines before the first stamp take it
        placed[..stamped].iter_mut().for_each(|request| request.nanos = first);
    }
    placed.sort_by_key(|request| request.nanos); // stable: the log's order where stamps are equal
    for second in placed.chunk_by_mut(|a, b| !a.fine && !b.fine && a.nanos == b.nanos) {
        if !second[0].fine {
            spread(second, seed);
        }
    }
    placed.sort_by_key(|request| request.nanos); // fine stamps among spread ones
    let first = placed.first().map_or(0, |request| request.nanos);
    placed.iter().map(|request| Nanos::new(request.nanos - first)).collect()
}

fn spread(second: &mut [Placed], seed: u64) {
    let mut random = SplitMix64::for_purpose(seed, second[0].nanos);
    let mut parts: Vec<u64> = second.iter().map(|_| random.below(SECOND)).collect();
    parts.sort_unstable();
    second
        .iter_mut()
        .zip(parts)
        .for_each(|(request, part)| request.nanos = request.nanos.saturating_add(part));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(seconds: u64) -> Option<Stamp> {
        Some(Stamp { nanos: seconds * SECOND, fine: false })
    }

    fn run(timeline: &mut Timeline, stamps: &[Option<Stamp>]) -> (Vec<u32>, Vec<u64>) {
        let mut placed: Vec<Placed> = (0..).zip(stamps).map(|(i, stamp)| timeline.place(*stamp, i)).collect();
        let at = offsets(&mut placed, 7);
        (placed.iter().map(|p| p.request).collect(), at.iter().map(|at| at.get()).collect())
    }

    #[test]
    fn whole_seconds_are_spread_inside_and_keep_their_order() {
        let (order, at) =
            run(&mut Timeline::default(), &[whole(100), whole(100), whole(100), whole(102), whole(102)]);
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert!(at.is_sorted() && at[0] == 0 && at[2] < SECOND, "{at:?}");
        assert!(at[3] > SECOND && at[4] < 3 * SECOND, "{at:?}");
        let again =
            run(&mut Timeline::default(), &[whole(100), whole(100), whole(100), whole(102), whole(102)]);
        assert_eq!(again.1, at);
    }

    #[test]
    fn fine_stamps_are_kept() {
        let fine = |nanos| Some(Stamp { nanos, fine: true });
        let (order, at) = run(&mut Timeline::default(), &[fine(SECOND), fine(SECOND + 5), fine(SECOND + 3)]);
        assert_eq!((order, at), (vec![0, 2, 1], vec![0, 3, 5]));
    }

    #[test]
    fn late_lines_are_sorted_and_a_clock_that_was_set_goes_on() {
        let mut timeline = Timeline::default();
        let stamps = [whole(1000), whole(1010), whole(1005), None, whole(100), whole(101)];
        let (order, at) = run(&mut timeline, &stamps);
        assert_eq!(order, [0, 2, 3, 1, 4, 5]);
        assert!(at.is_sorted() && at[5] < 13 * SECOND, "{at:?}");
        assert_eq!((timeline.out_of_order, timeline.clock_steps, timeline.unstamped), (1, 1, 1));
        let (_, at) = run(&mut Timeline::default(), &[None, None, whole(1000)]);
        assert!(at[2] < SECOND, "lines before the first stamp wait for no epoch: {at:?}");
    }

    #[test]
    fn a_log_that_begins_again_comes_after_itself() {
        let mut timeline = Timeline::default();
        timeline.place(whole(1000), 0);
        timeline.place(whole(1010), 0);
        timeline.wrap(1000 * SECOND);
        assert_eq!(timeline.place(whole(1000), 0).nanos, 1011 * SECOND);
        assert_eq!((timeline.out_of_order, timeline.clock_steps), (0, 0));
    }
}
