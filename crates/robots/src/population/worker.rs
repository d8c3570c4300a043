//! Share of one load-generator thread in a population.

/// One of several threads that share a population: it makes its own objects, at its share of the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Worker {
    index: u32,
    count: u32,
}

impl Worker {
    /// The only one.
    pub const ONLY: Self = Self { index: 0, count: 1 };

    /// Number `index` of `count`; `None` if there is no such one.
    pub const fn new(index: u32, count: u32) -> Option<Self> {
        if index < count { Some(Self { index, count }) } else { None }
    }

    /// Its number, from 0.
    pub const fn index(self) -> u32 {
        self.index
    }

    /// Number of workers.
    pub const fn count(self) -> u32 {
        self.count
    }

    /// Its part of a number: all parts together are the whole, but none that is shared is nothing.
    pub const fn share(self, of: u64) -> u64 {
        let (index, count) = (self.index as u64, self.count as u64);
        let part = of / count + (index < of % count) as u64;
        if part == 0 && of > 0 { 1 } else { part }
    }

    /// The number of its `ordinal`-th object (from 1) among those of all workers: no two have the same.
    pub const fn number(self, ordinal: u64) -> u64 {
        (ordinal - 1) * self.count as u64 + self.index as u64 + 1
    }
}
