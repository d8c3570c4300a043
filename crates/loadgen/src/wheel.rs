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
/// Entries of a block: as many as fill a line of the cache.
const BLOCK: usize = 5;
/// No block.
const NONE: u32 = u32::MAX;

/// Entries by due time. Of equal times, the one that was inserted first comes first.
#[derive(Debug)]
pub(crate) struct Wheel {
    /// No list holds this tick or an earlier one.
    tick: u64,
    near: BinaryHeap<Reverse<Near>>,
    /// How many entered `near` since it was last empty.
    turn: u32,
    /// A bit for each list that is not empty.
    filled: [u64; LEVELS * LISTS / 64],
    /// Level by level, the lowest first.
    lists: Vec<List>,
    blocks: Vec<Block>,
    /// First of the blocks that belong to no list.
    free: u32,
}

/// An entry of the current tick, or of an earlier one; ordered by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Near {
    due: Nanos,
    turn: u32,
    slot: u32,
}

/// A chain of blocks; all but the last are full.
#[derive(Clone, Copy, Debug)]
struct List {
    soonest: Nanos,
    entries: u32,
    first: u32,
    last: u32,
}

/// Entries of a list. They lie together, since a list is read long after it left the cache.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Block {
    due: [Nanos; BLOCK],
    slot: [u32; BLOCK],
    next: u32,
}

impl Wheel {
    /// An empty one, with memory for so many entries: 29 bytes each, 37 KB for the lists, and up to 98 KB
    /// as a list's last block need not be full.
    pub(crate) fn with_capacity(entries: usize) -> Self {
        let blocks = entries / BLOCK + entries.min(LEVELS * LISTS);
        Self {
            tick: 0,
            near: BinaryHeap::with_capacity(entries),
            turn: 0,
            filled: [0; LEVELS * LISTS / 64],
            lists: vec![List::EMPTY; LEVELS * LISTS],
            blocks: Vec::with_capacity(blocks),
            free: NONE,
        }
    }

    /// Adds an entry; `due` may have passed.
    pub(crate) fn insert(&mut self, due: Nanos, slot: u32) {
        let tick = tick_of(due);
        if tick <= self.tick {
            return self.push_near(due, slot);
        }
        let level = (tick ^ self.tick).ilog2() / DIGIT_BITS;
        let digit = (tick >> (level * DIGIT_BITS)) as usize % LISTS;
        self.append(level as usize * LISTS + digit, due, slot);
    }

    /// When the next entry is due, exactly.
    pub(crate) fn next_due(&self) -> Option<Nanos> {
        match self.near.peek() {
            Some(Reverse(near)) => Some(near.due),
            None => self.soonest_list().map(|list| self.lists[list].soonest),
        }
    }

    /// The soonest entry that is due by now.
    pub(crate) fn pop_due(&mut self, now: Nanos) -> Option<(Nanos, u32)> {
        if self.near.is_empty() {
            self.turn = 0;
            let list = self.soonest_list().filter(|list| self.lists[*list].soonest <= now)?;
            self.deal_out(list);
        }
        let Reverse(near) = self.near.peek().copied().filter(|Reverse(near)| near.due <= now)?;
        self.near.pop();
        Some((near.due, near.slot))
    }

    /// The first list of the lowest level that has any: all others are later.
    fn soonest_list(&self) -> Option<usize> {
        let word = self.filled.iter().position(|word| *word != 0)?;
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }

    /// Goes on to the soonest tick of the soonest list, and inserts what is in that list anew.
    fn deal_out(&mut self, list: usize) {
        self.filled[list / 64] &= !(1 << (list % 64));
        let List { soonest, entries, first, .. } = std::mem::replace(&mut self.lists[list], List::EMPTY);
        self.tick = tick_of(soonest);
        let (mut left, mut at) = (entries as usize, first);
        while left > 0 {
            let block = self.blocks[at as usize];
            self.blocks[at as usize].next = self.free;
            self.free = at;
            for (due, slot) in block.due.into_iter().zip(block.slot).take(left) {
                self.insert(due, slot);
            }
            left = left.saturating_sub(BLOCK);
            at = block.next;
        }
    }

    fn append(&mut self, list: usize, due: Nanos, slot: u32) {
        let within = self.lists[list].entries as usize % BLOCK;
        if within == 0 {
            self.lengthen(list);
        }
        let list = &mut self.lists[list];
        list.entries += 1;
        list.soonest = list.soonest.min(due);
        let block = &mut self.blocks[list.last as usize];
        block.due[within] = due;
        block.slot[within] = slot;
    }

    /// Gives a list another block, whether it has any or not.
    fn lengthen(&mut self, list: usize) {
        let fresh = match self.blocks.get(self.free as usize) {
            Some(block) => std::mem::replace(&mut self.free, block.next),
            None => {
                self.blocks.push(Block::EMPTY);
                (self.blocks.len() - 1) as u32
            }
        };
        self.filled[list / 64] |= 1 << (list % 64);
        let list = &mut self.lists[list];
        match self.blocks.get_mut(list.last as usize) {
            Some(last) => last.next = fresh,
            None => list.first = fresh,
        }
        list.last = fresh;
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

impl List {
    const EMPTY: Self = Self { soonest: Nanos::MAX, entries: 0, first: NONE, last: NONE };
}

impl Block {
    const EMPTY: Self = Self { due: [Nanos::MAX; BLOCK], slot: [0; BLOCK], next: NONE };
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
        let slots: Vec<u32> =
            std::iter::from_fn(|| wheel.pop_due(Nanos::MAX)).map(|(_, slot)| slot).collect();
        assert_eq!(slots, [1, 3, 5, 7, 0, 2, 4, 6]);
    }
}
