//! Running sums of a quantity, which give count, mean, extremes and deviation, and the mean of a level over time.
//!
//! Measuring side, hot. Merging two is exact but for the last bits of the squares.

use bakeoff_units::Nanos;
use serde::{Deserialize, Serialize};

/// Sums of whole numbers: nanoseconds or bytes, as the field says that holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Aggregate {
    /// Number of values.
    pub count: u64,
    /// Their sum, at most 2^64 - 1.
    pub sum: u64,
    /// The sum of their squares.
    pub squares: f64,
    /// The smallest; 0 when there is none.
    pub min: u64,
    /// The largest; 0 when there is none.
    pub max: u64,
}

impl Aggregate {
    /// Takes one in.
    #[inline]
    pub fn add(&mut self, value: u64) {
        self.min = if self.count == 0 { value } else { self.min.min(value) };
        self.max = self.max.max(value);
        self.count += 1;
        self.sum = self.sum.saturating_add(value);
        self.squares += value as f64 * value as f64;
    }

    /// Takes all of `other` in.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.squares += other.squares;
    }

    /// The mean, if there is one.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// Standard deviation of what was seen (divided by the count), if there is any.
    pub fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        // Rounding can bring the difference of equal numbers below zero.
        Some((self.squares / self.count as f64 - mean * mean).max(0.0).sqrt())
    }
}

/// A level over time, such as requests in flight: how much of it there was, and where it ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelSum {
    /// Ups.
    pub started: u64,
    /// Downs.
    pub finished: u64,
    /// Level times nanoseconds.
    pub area: f64,
    /// The level at the end.
    pub last: i64,
}

impl LevelSum {
    /// The mean over so long a time.
    pub fn mean(&self, over: Nanos) -> Option<f64> {
        (over > Nanos::ZERO).then(|| self.area / over.get() as f64)
    }

    /// Appends a later period.
    pub fn append(&mut self, next: &Self) {
        self.last = next.last;
        self.started += next.started;
        self.finished += next.finished;
        self.area += next.area;
    }
}

/// A level under observation. Moments may come a little out of order: what was told too late or too early is corrected
/// within the open period, so that the sum over periods is exact.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Level {
    sum: LevelSum,
    /// The moment up to which the area is counted.
    at: Nanos,
}

impl Level {
    pub(super) fn up(&mut self, at: Nanos) {
        self.sum.started += 1;
        self.change(at, 1);
    }

    pub(super) fn down(&mut self, at: Nanos) {
        self.sum.finished += 1;
        self.change(at, -1);
    }

    fn change(&mut self, at: Nanos, by: i64) {
        self.advance(at);
        self.sum.last += by;
        // A moment in the past: as if it had been known then.
        self.sum.area += by as f64 * self.at.since(at).get() as f64;
    }

    fn advance(&mut self, to: Nanos) {
        self.sum.area += self.sum.last as f64 * to.since(self.at).get() as f64;
        self.at = self.at.max(to);
    }

    /// Ends the period and begins the next one.
    pub(super) fn close(&mut self, at: Nanos) -> LevelSum {
        self.advance(at);
        // Area after the end belongs to the next period.
        let ahead = self.sum.last as f64 * self.at.since(at).get() as f64;
        let closed = LevelSum { area: self.sum.area - ahead, ..self.sum };
        self.sum = LevelSum { last: closed.last, area: ahead, ..LevelSum::default() };
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_of_known_numbers() {
        let mut whole = Aggregate::default();
        assert_eq!((whole.mean(), whole.deviation()), (None, None));
        let mut half = Aggregate::default();
        for value in [2, 4, 4, 4] {
            whole.add(value);
        }
        for value in [5, 5, 7, 9] {
            half.add(value);
        }
        whole.merge(&half);
        whole.merge(&Aggregate::default());
        assert_eq!((whole.count, whole.sum, whole.min, whole.max), (8, 40, 2, 9));
        assert_eq!((whole.mean(), whole.deviation()), (Some(5.0), Some(2.0)));
        let mut empty = Aggregate::default();
        empty.merge(&half);
        assert_eq!(empty, half);
    }

    #[test]
    fn the_area_of_a_level_is_the_time_spent_in_flight() {
        let at = Nanos::from_secs;
        let mut level = Level::default();
        level.up(at(1));
        level.up(at(2));
        level.down(at(4)); // 3 s
        let first = level.close(at(5)); // 3 s of the other
        assert_eq!((first.area, first.last, first.started, first.finished), (6e9, 1, 2, 1));
        assert_eq!(first.mean(at(5)), Some(1.2));
        level.down(at(7));
        let second = level.close(at(10));
        assert_eq!((second.area, second.last, second.finished), (2e9, 0, 1));
        assert_eq!(second.mean(Nanos::ZERO), None);
    }

    #[test]
    fn moments_out_of_order_come_to_the_same() {
        let at = Nanos::from_secs;
        let mut level = Level::default();
        level.up(at(3)); // handed out ahead of its time
        level.up(at(1));
        level.down(at(2)); // told late
        level.down(at(4));
        assert_eq!(level.close(at(4)).area, 2e9);
    }

    #[test]
    fn what_is_told_ahead_of_a_period_s_end_is_right_in_the_sum() {
        let at = Nanos::from_secs;
        let mut level = Level::default();
        level.up(at(6));
        let areas = [level.close(at(5)).area, level.close(at(7)).area];
        assert_eq!((areas, areas[0] + areas[1]), ([-1e9, 2e9], 1e9));
    }

    #[test]
    fn what_comes_behind_goes_on_from_where_it_was() {
        let a = LevelSum { started: 3, finished: 1, area: 4.0, last: 2 };
        let b = LevelSum { started: 1, finished: 2, area: 1.0, last: 1 };
        let mut appended = a;
        appended.append(&b);
        assert_eq!((appended.last, appended.area), (1, 5.0));
        assert_eq!((appended.started, appended.finished), (4, 3));
    }
}
