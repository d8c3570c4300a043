//! Table of a connection's open streams, by their numbers.
//!
//! Both roles. Hot. A hash table of our own, as numbers of streams are nearly consecutive: half of a number is its
//! hash, and a stream is nearly always found at the first look. Slots stay, so that opening and closing streams
//! allocates nothing.

/// Streams, each with its role's state.
#[derive(Clone, Debug)]
pub(super) struct Streams<T> {
    /// Number (0: empty) and stream; a power of two of them, at most half of them full.
    slots: Vec<(u32, T)>,
    count: usize,
    /// Number of streams that do not stand at their own place.
    displaced: usize,
}

impl<T: Copy + Default> Streams<T> {
    pub(super) fn new() -> Self {
        Self { slots: vec![(0, T::default()); 16], count: 0, displaced: 0 }
    }

    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) fn get(&mut self, number: u32) -> Option<&mut T> {
        let slot = self.slot(number)?;
        self.slots.get_mut(slot).map(|(_, stream)| stream)
    }

    /// Adds a stream whose number is new and not 0.
    pub(super) fn insert(&mut self, number: u32, stream: T) {
        if (self.count + 1) * 2 > self.slots.len() {
            self.displaced = 0;
            let larger = vec![(0, T::default()); self.slots.len() * 2];
            for (number, stream) in std::mem::replace(&mut self.slots, larger) {
                if number != 0 {
                    self.place(number, stream);
                }
            }
        }
        self.place(number, stream);
        self.count += 1;
    }

    pub(super) fn remove(&mut self, number: u32) -> Option<T> {
        let mut hole = self.slot(number)?;
        let removed = self.slots[hole].1;
        self.count -= 1;
        self.displaced -= usize::from(self.home(number) != hole);
        if self.displaced == 0 {
            self.slots[hole] = (0, T::default());
            return Some(removed);
        }
        // The following streams move up, unless they stand at their own place already.
        let mut next = self.after(hole);
        while self.slots[next].0 != 0 {
            let home = self.home(self.slots[next].0);
            let mask = self.slots.len() - 1;
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(hole) & mask) {
                self.slots[hole] = self.slots[next];
                self.displaced -= usize::from(hole == home);
                hole = next;
            }
            next = self.after(next);
        }
        self.slots[hole] = (0, T::default());
        Some(removed)
    }

    /// All streams, in no order.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = (u32, &mut T)> {
        self.slots.iter_mut().filter(|(number, _)| *number != 0).map(|(number, stream)| (*number, stream))
    }

    fn slot(&self, number: u32) -> Option<usize> {
        let mut slot = self.home(number);
        loop {
            match self.slots[slot].0 {
                0 => return None,
                found if found == number => return Some(slot),
                _ => slot = self.after(slot),
            }
        }
    }

    fn place(&mut self, number: u32, stream: T) {
        let mut slot = self.home(number);
        while self.slots[slot].0 != 0 {
            slot = self.after(slot);
        }
        self.displaced += usize::from(slot != self.home(number));
        self.slots[slot] = (number, stream);
    }

    const fn home(&self, number: u32) -> usize {
        (number >> 1) as usize & (self.slots.len() - 1)
    }

    const fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn it_is_a_map_whatever_is_opened_and_closed() {
        let mut streams = Streams::new();
        let mut model = BTreeMap::new();
        let mut random = 1_u32;
        for turn in 0..20_000_u32 {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // Numbers that collide: steps of 32 and few of them.
            let number = 1 + 2 * ((random >> 16) % 8) + 64 * ((random >> 24) % 8);
            if random >> 31 == 0 {
                assert_eq!(streams.remove(number), model.remove(&number));
            } else if streams.get(number).is_none() {
                streams.insert(number, turn);
                model.insert(number, turn);
            }
            assert_eq!(streams.len(), model.len());
            assert_eq!(streams.get(number).copied(), model.get(&number).copied());
        }
        let mut all: Vec<_> = streams.iter_mut().map(|(number, stream)| (number, *stream)).collect();
        all.sort_unstable();
        assert_eq!(all, model.into_iter().collect::<Vec<_>>());
        assert!(streams.get(0).is_none());
    }
}
