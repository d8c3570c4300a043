//! Tests of the wheel against a heap that also knows the order of insertion.

use super::*;
use proptest::prelude::*;

/// A heap that knows the order of insertion.
#[derive(Default)]
struct Oracle(BinaryHeap<Reverse<(Nanos, usize, u32)>>, usize);

impl Oracle {
    fn insert(&mut self, due: Nanos, slot: u32) {
        self.0.push(Reverse((due, self.1, slot)));
        self.1 += 1;
    }

    fn next_due(&self) -> Option<Nanos> {
        self.0.peek().map(|Reverse((due, ..))| *due)
    }

    fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        self.next_due().filter(|due| *due <= now)?;
        self.0.pop().map(|Reverse((due, _, slot))| (due, slot))
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// Insert so many entries, so long from now; or so long ago.
    Insert(u64, bool, u8),
    /// So much time passes, and up to so many are taken.
    Pass(u64, u8),
    /// The clock moves to what comes next.
    Jump,
}

/// Up to 2^bits ns, and equally likely of each size.
fn span() -> impl Strategy<Value = u64> {
    (0_u32..46).prop_flat_map(|bits| 0..1_u64 << bits)
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (span(), prop::bool::weighted(0.1), 1_u8..4).prop_map(|(s, ago, n)| Step::Insert(s, ago, n)),
        2 => (span(), any::<u8>()).prop_map(|(span, most)| Step::Pass(span, most)),
        1 => Just(Step::Jump),
    ]
}

proptest! {
    #[test]
    fn entries_come_as_from_a_heap(start in span(), steps in prop::collection::vec(step(), 0..300)) {
        let (mut wheel, mut oracle) = (Wheel::with_capacity(0), Oracle::default());
        let (mut now, mut slot) = (Nanos::new(start), 0);
        for step in steps {
            let mut most = 255;
            match step {
                Step::Insert(span, ago, times) => for _ in 0..times {
                    let due = if ago { now.since(Nanos::new(span)) } else { now + Nanos::new(span) };
                    wheel.insert(due, slot);
                    oracle.insert(due, slot);
                    slot += 1;
                },
                Step::Pass(span, up_to) => { now += Nanos::new(span); most = up_to; }
                Step::Jump => now = now.max(oracle.next_due().unwrap_or(now)),
            }
            prop_assert_eq!(wheel.next_due(), oracle.next_due());
            for _ in 0..most {
                let next = oracle.pop_due(now);
                prop_assert_eq!(wheel.pop_due(now), next);
                prop_assert_eq!(wheel.next_due(), oracle.next_due());
                if next.is_none() { break }
            }
        }
        while let Some(next) = oracle.pop_due(Nanos::MAX) {
            prop_assert_eq!(wheel.pop_due(Nanos::MAX), Some(next));
        }
        prop_assert_eq!(wheel.next_due(), None);
    }
}

#[test]
fn nothing_comes_early_and_the_end_of_time_comes() {
    let mut wheel = Wheel::with_capacity(2);
    wheel.insert(Nanos::MAX, 1);
    wheel.insert(Nanos::from_secs(3600), 2);
    assert_eq!(wheel.next_due(), Some(Nanos::from_secs(3600)));
    assert_eq!(wheel.pop_due(Nanos::new(3_599_999_999_999)), None);
    assert_eq!(wheel.pop_due(Nanos::from_secs(3600)), Some((Nanos::from_secs(3600), 2)));
    assert_eq!(wheel.pop_due(Nanos::MAX), Some((Nanos::MAX, 1)));
    assert_eq!((wheel.pop_due(Nanos::MAX), wheel.next_due()), (None, None));
}

#[test]
fn a_hundred_thousand_at_once_come_in_the_order_they_went_in() {
    let mut wheel = Wheel::with_capacity(100_000);
    let due = Nanos::from_secs(7);
    (0..100_000).for_each(|slot| wheel.insert(due, slot));
    assert_eq!(wheel.pop_due(Nanos::from_millis(6999)), None);
    (0..100_000).for_each(|slot| assert_eq!(wheel.pop_due(due), Some((due, slot))));
    assert_eq!(wheel.next_due(), None);
}

#[test]
fn memory_is_32_bytes_an_entry_and_does_not_grow() {
    const ROBOTS: usize = 100_000;
    let mut wheel = Wheel::with_capacity(ROBOTS);
    let room = |wheel: &Wheel| (wheel.blocks.capacity(), wheel.near.capacity());
    let before = room(&wheel);
    let bytes = before.0 * size_of::<Block>() + before.1 * size_of::<Near>() + wheel.lists.len() * 24;
    assert_eq!(size_of::<List>(), 24);
    assert!(bytes <= 32 * ROBOTS, "{bytes}");
    (0..ROBOTS as u32).for_each(|slot| wheel.insert(Nanos::ZERO, slot));
    for turn in 0..500_000_u64 {
        let due = wheel.next_due().unwrap();
        let (due, slot) = wheel.pop_due(due).unwrap();
        wheel.insert(due + Nanos::from_micros(turn * 7919 % 1_000_003), slot);
    }
    assert_eq!(room(&wheel), before);
}

#[test]
fn order_survives_when_turns_are_counted_anew() {
    let mut wheel = Wheel::with_capacity(8);
    wheel.turn = u32::MAX - 3;
    let due = [5, 3, 5, 3, 5, 3, 5, 3];
    (0_u32..).zip(due).for_each(|(slot, due)| wheel.insert(Nanos::new(due), slot));
    let slots: Vec<u32> = std::iter::from_fn(|| wheel.pop_due(Nanos::MAX)).map(|(_, slot)| slot).collect();
    assert_eq!(slots, [1, 3, 5, 7, 0, 2, 4, 6]);
}
