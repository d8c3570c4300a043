//! Who goes on when: the timer wheel of a lane's waiting robots.
//!
//! Hot: a robot enters and leaves once a request. What is due within the current tick lies in a small
//! heap, exactly ordered; all else in lists by the highest digit in which its tick differs from the
//! current one. When the heap is empty and the soonest list is due, the wheel goes on to that list's
//! soonest tick and deals the list out anew. No clock inside; entries cannot be taken back.
//!
//! Entries of one tick are always in one list, in the order they came, so equal times keep it.

use bakeoff_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A tick is 2^16 ns, some 66 us: few robots go on within one, so that the heap stays small.
const TICK_BITS: u32 = 16;
/// Bits of a digit: lists of the first level are a tick wide, of the second 17 ms, of the third 4.3 s.
const DIGIT_BITS: u32 = 8;
/// Lists of a level.
const LISTS: usize = 1 << DIGIT_BITS;
/// Levels for all digits of a tick, so that nothing is too far away.
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(DIGIT_BITS) as usize;
/// The end of a list.
const END: u32 = u32::MAX;

/// Entries by due time. Of equal times, the one that was inserted first comes first.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// No list holds this tick or an earlier one.
    tick: u64,
    near: BinaryHeap<Reverse<Near>>,
    /// How many entered `near` since it was last empty.
    turn: u32,
    levels: Vec<Level>,
    nodes: Vec<Node>,
    /// First of the nodes that hold no entry.
    free: u32,
}

/// An entry of the current tick, or of an earlier one; ordered by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    due: Nanos,
    turn: u32,
    slot: u32,
}

/// An entry of a list, or a free node.
#[derive(Clone, Copy, Debug)]
struct Node {
    due: Nanos,
    slot: u32,
    next: u32,
}

#[derive(Debug)]
struct Level {
    /// A bit for each list that is not empty.
    filled: [u64; LISTS / 64],
    lists: [List; LISTS],
}

#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
    soonest: Nanos,
}

impl Wheel {
    /// An empty one, with memory for so many entries: 32 bytes each, and 25 KB for the lists.
    pub(crate) fn with_capacity(entries: usize) -> Self {
        Self {
            tick: 0,
            near: BinaryHeap::with_capacity(entries),
            turn: 0,
            levels: (0..LEVELS).map(|_| Level::EMPTY).collect(),
            nodes: Vec::with_capacity(entries),
            free: END,
        }
    }

    /// Adds an entry; `due` may have passed.
    pub(crate) fn insert(&mut self, due: Nanos, slot: u32) {
        if tick_of(due) <= self.tick {
            return self.push_near(due, slot);
        }
        let node = Node { due, slot, next: END };
        let mut at = self.free;
        match self.nodes.get_mut(at as usize) {
            Some(free) => self.free = std::mem::replace(free, node).next,
            None => {
                at = self.nodes.len() as u32;
                self.nodes.push(node);
            }
        }
        self.append(at);
    }

    /// When the next entry is due, exactly.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        match self.near.peek() {
            Some(Reverse(near)) => Some(near.due),
            None => self.soonest_list().map(|(level, place)| self.levels[level].lists[place].soonest),
        }
    }

    /// The soonest entry that is due by now.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        if self.near.is_empty() {
            self.turn = 0;
            let (level, place) = self.soonest_list()?;
            if self.levels[level].lists[place].soonest > now {
                return None;
            }
            self.go_on_to(level, place);
        }
        let Reverse(near) = self.near.peek().copied().filter(|Reverse(near)| near.due <= now)?;
        self.near.pop();
        Some((near.due, near.slot))
    }

    /// The first list of the lowest level that has any: all others are later.
    fn soonest_list(&self) -> Option<(usize, usize)> {
        self.levels.iter().enumerate().find_map(|(index, level)| Some((index, level.first_filled()?)))
    }

    /// Moves to the soonest tick of the soonest list, and deals out that list.
    fn go_on_to(&mut self, level: usize, place: usize) {
        let list = self.levels[level].take(place);
        self.tick = tick_of(list.soonest);
        let mut at = list.first;
        while at != END {
            let node = self.nodes[at as usize];
            if tick_of(node.due) == self.tick {
                self.nodes[at as usize].next = self.free;
                self.free = at;
                self.push_near(node.due, node.slot);
            } else {
                self.append(at);
            }
            at = node.next;
        }
    }

    /// Puts a node of a later tick at the end of its list.
    fn append(&mut self, at: u32) {
        let due = self.nodes[at as usize].due;
        let tick = tick_of(due);
        let level = (tick ^ self.tick).ilog2() / DIGIT_BITS;
        let place = (tick >> (level * DIGIT_BITS)) as usize % LISTS;
        self.nodes[at as usize].next = END;
        let before = self.levels[level as usize].append(place, at, due);
        if let Some(before) = self.nodes.get_mut(before as usize) {
            before.next = at;
        }
    }

    fn push_near(&mut self, due: Nanos, slot: u32) {
        if self.turn == u32::MAX {
            self.count_turns_anew();
        }
        self.near.push(Reverse(Near { due, turn: self.turn, slot }));
        self.turn += 1;
    }

    /// After four thousand million entries between which the heap was never empty.
    #[cold]
    fn count_turns_anew(&mut self) {
        let mut all = std::mem::take(&mut self.near).into_vec();
        all.sort_unstable_by_key(|Reverse(near)| *near);
        self.turn = 0;
        for Reverse(near) in &mut all {
            near.turn = self.turn;
            self.turn += 1;
        }
        self.near = all.into();
    }
}

impl Level {
    const EMPTY: Self =
        Self { filled: [0; LISTS / 64], lists: [List { first: END, last: END, soonest: Nanos::MAX }; LISTS] };

    fn first_filled(&self) -> Option<usize> {
        let word = self.filled.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }

    /// Empties a list and gives what was in it.
    fn take(&mut self, place: usize) -> List {
        self.filled[place / 64] &= !(1 << (place % 64));
        std::mem::replace(&mut self.lists[place], Self::EMPTY.lists[0])
    }

    /// Makes a node the last of a list; gives the one that was.
    fn append(&mut self, place: usize, at: u32, due: Nanos) -> u32 {
        self.filled[place / 64] |= 1 << (place % 64);
        let list = &mut self.lists[place];
        list.soonest = list.soonest.min(due);
        if list.first == END {
            list.first = at;
        }
        std::mem::replace(&mut list.last, at)
    }
}

fn tick_of(due: Nanos) -> u64 {
    due.get() >> TICK_BITS
}

#[cfg(test)]
mod tests {
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
        /// So many entries, so long from now; or so long ago.
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
        const ROBOTS: usize = 1000;
        let mut wheel = Wheel::with_capacity(ROBOTS);
        let room = |wheel: &Wheel| (wheel.nodes.capacity(), wheel.near.capacity());
        assert_eq!(room(&wheel), (ROBOTS, ROBOTS));
        assert_eq!(size_of::<Node>() + size_of::<Reverse<Near>>(), 32);
        (0..ROBOTS as u32).for_each(|slot| wheel.insert(Nanos::ZERO, slot));
        for turn in 0..100_000_u64 {
            let due = wheel.next_due().unwrap();
            let (due, slot) = wheel.pop_due(due).unwrap();
            wheel.insert(due + Nanos::from_micros(turn * 7919 % 100_000), slot);
        }
        assert_eq!(room(&wheel), (ROBOTS, ROBOTS));
    }

    #[test]
    fn order_survives_when_turns_are_counted_anew() {
        let mut wheel = Wheel::with_capacity(8);
        wheel.turn = u32::MAX - 3;
        let due = [5, 3, 5, 3, 5, 3, 5, 3];
        (0_u32..).zip(due).for_each(|(slot, due)| wheel.insert(Nanos::new(due), slot));
        let slots: Vec<u32> =
            std::iter::from_fn(|| wheel.pop_due(Nanos::MAX)).map(|(_, slot)| slot).collect();
        assert_eq!(slots, [1, 3, 5, 7, 0, 2, 4, 6]);
    }
}
