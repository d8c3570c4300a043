//! Lanes: the threads of all generators together, by which requests, robots, connections and due times are dealt.
//!
//! Measuring side, cold. A generator has some of them, one thread a lane. How many generators there are changes only who
//! has which lane, never what a lane gets.

/// The lanes of one generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    first: usize,
    count: usize,
    of: usize,
}

impl Lanes {
    /// This number of lanes, and no others anywhere; at least one.
    pub fn all(count: usize) -> Self {
        let count = count.max(1);
        Self { first: 0, count, of: count }
    }

    /// `count` lanes from `first` on, of `of` in all; `None`: they are none, or not among them.
    pub fn some(first: usize, count: usize, of: usize) -> Option<Self> {
        let end = first.checked_add(count)?;
        (count > 0 && end <= of).then_some(Self { first, count, of })
    }

    /// The first one, from 0.
    pub const fn first(self) -> usize {
        self.first
    }

    /// Number of lanes of this generator.
    pub const fn count(self) -> usize {
        self.count
    }

    /// Number of lanes of all generators.
    pub const fn of(self) -> usize {
        self.of
    }

    /// Their numbers.
    pub const fn numbers(self) -> std::ops::Range<usize> {
        self.first..self.first + self.count
    }

    /// Those of this generator, of a list with one entry a lane.
    pub fn own<T>(self, all: Vec<T>) -> Vec<T> {
        all.into_iter().skip(self.first).take(self.count).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generators_have_each_lane_once() {
        let [one, other] = [(0, 2), (2, 1)].map(|(first, count)| Lanes::some(first, count, 3).unwrap());
        assert_eq!([one, other].map(|lanes| lanes.own(vec!['a', 'b', 'c'])), [vec!['a', 'b'], vec!['c']]);
        assert_eq!(Lanes::some(2, 2, 3), None);
        assert_eq!(Lanes::some(0, 0, 3), None);
        assert_eq!(Lanes::some(usize::MAX, 2, 3), None);
        assert_eq!(Lanes::all(0), Lanes::all(1));
    }
}
