//! Timer wheel for a worker's robots in think time.
//!
//! Hot: a robot enters and leaves once a request. Entries due within the current tick lie in a small heap, exactly
//! ordered; all else in lists, on the lowest level that reaches so far. A level reaches to the end of the level above's
//! next list: with one list's reach alone, all entries due after its end would wait together above, and be dealt out at
//! once. When the heap is empty and the soonest list is due, the wheel goes on to its soonest tick, and lists that a
//! lower level now reaches are dealt out. No clock inside; entries cannot be taken back.
//!
//! Entries of one tick are always in one list, in the order they came, so equal times keep it.

use bakeoff_units::Nanos;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

/// A tick is 2^16 ns, some 66 us: few robots go on within one, so that the heap stays small.
const TICK_BITS: u32 = 16;
/// Bits of a digit: lists of the first level are a tick wide, of the second 17 ms, of the third 4.3 s.
const DIGIT_BITS: u32 = 8;
/// Lists of a level: as many as make two of the level above.
const LISTS: usize = 2 << DIGIT_BITS;
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
    /// Number of entries that entered `near` since it was last empty.
    turn: u32,
    /// A bit for each list that is not empty.
    filled: [u64; LEVELS * LISTS / 64],
    /// Level by level, the lowest first; each a ring.
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
    /// An empty one, with memory for so many entries: 29 bytes each, 74 KB for the lists, and up to
    /// 197 KB as a list's last block need not be full.
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
        let reaches = |level: &usize| place(tick, level + 1) - place(self.tick, level + 1) <= 1;
        let level = (0..LEVELS - 1).find(reaches).unwrap_or(LEVELS - 1);
        self.append(list_of(tick, level), due, slot);
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
            self.go_on_to(tick_of(self.lists[list].soonest));
        }
        let Reverse(near) = self.near.peek().copied().filter(|Reverse(near)| near.due <= now)?;
        self.near.pop();
        Some((near.due, near.slot))
    }

    /// The first list of the lowest level that has any: all others are later.
    fn soonest_list(&self) -> Option<usize> {
        (0..LEVELS).find_map(|level| {
            let from = list_of(self.tick, level);
            let ring = level * LISTS..(level + 1) * LISTS;
            self.filled_in(from..ring.end).or_else(|| self.filled_in(ring.start..from))
        })
    }

    /// The first of these lists that is not empty.
    fn filled_in(&self, lists: Range<usize>) -> Option<usize> {
        let mut from = lists.start;
        while from < lists.end {
            let ahead = self.filled[from / 64] >> (from % 64);
            if ahead != 0 {
                return Some(from + ahead.trailing_zeros() as usize).filter(|list| *list < lists.end);
            }
            from = (from / 64 + 1) * 64;
        }
        None
    }

    /// Makes this the current tick. No entry is due before it.
    fn go_on_to(&mut self, tick: u64) {
        let before = std::mem::replace(&mut self.tick, tick);
        self.deal_out(list_of(tick, 0));
        for level in (1..LEVELS).take_while(|level| place(before, *level) != place(tick, *level)) {
            self.deal_out(list_of(tick, level));
            self.deal_out(list_of(tick + (1 << (level as u32 * DIGIT_BITS)), level));
        }
    }

    /// Inserts the entries of a list anew.
    fn deal_out(&mut self, list: usize) {
        self.filled[list / 64] &= !(1 << (list % 64));
        let List { entries, first, .. } = std::mem::replace(&mut self.lists[list], List::EMPTY);
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

/// The list of a level that a tick belongs to, counted from the beginning of time.
fn place(tick: u64, level: usize) -> u64 {
    tick >> (level as u32 * DIGIT_BITS)
}

fn list_of(tick: u64, level: usize) -> usize {
    level * LISTS + place(tick, level) as usize % LISTS
}

fn tick_of(due: Nanos) -> u64 {
    due.get() >> TICK_BITS
}

#[cfg(test)]
mod tests;
