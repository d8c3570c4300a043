//! A phase that has begun: its factors as functions of time, their integral, and the inverse of that.
//!
//! Pure arithmetic. Loads are full loads: 1 is the rate that was asked for.

use super::{Factors, Phase, Ramp};
use bakeoff_units::{Nanos, Ratio};

/// Halvings that make an hour less than a nanosecond.
const HALVINGS: usize = 44;

/// A phase from the moment at which it began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) began: Nanos,
    /// Length of its ramps; zero: it is at their ends at once.
    ramp: Nanos,
    load: Line,
    population: Line,
    recurrence: Line,
    special: Line,
}

/// From one value to another in a straight line.
#[derive(Clone, Copy, Debug)]
struct Line {
    begin: f64,
    end: f64,
}

/// Factors at the change from one phase to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handover {
    load: f64,
    population: f64,
    recurrence: f64,
    special: f64,
}

impl Handover {
    /// Before the first phase.
    pub(super) const FULL: Self = Self { load: 1.0, population: 1.0, recurrence: 1.0, special: 1.0 };
}

impl Stretch {
    pub(super) fn new(phase: &Phase, began: Nanos, before: Handover) -> Self {
        Self {
            began,
            ramp: phase.goal.duration.unwrap_or(Nanos::ZERO),
            load: Line::new(phase.load, before.load),
            population: Line::new(phase.population, before.population),
            recurrence: Line::new(phase.recurrence, before.recurrence),
            special: Line::new(phase.special, before.special),
        }
    }

    pub(super) fn handover(&self, now: Nanos) -> Handover {
        let x = self.progress(now);
        Handover {
            load: self.load.at(x),
            population: self.population.at(x),
            recurrence: self.recurrence.at(x),
            special: self.special.at(x),
        }
    }

    pub(super) fn factors(&self, now: Nanos) -> Factors {
        let x = self.progress(now);
        Factors {
            load: self.full(x),
            population: self.population.at(x),
            recurrence: self.recurrence.at(x),
            special: self.special.at(x),
        }
    }

    /// Seconds at full load that are worth as much as the time between two moments.
    pub(super) fn work(&self, from: Nanos, until: Nanos) -> f64 {
        let ramp_end = self.began + self.ramp;
        let in_ramp = until.min(ramp_end);
        let (flat_from, mut work) = (from.max(ramp_end), 0.0);
        if from < in_ramp {
            // Simpson's rule is exact here: a product of two lines has degree 2.
            let (a, b) = (self.progress(from), self.progress(in_ramp));
            let weighted = self.full(a) + 4.0 * self.full(f64::midpoint(a, b)) + self.full(b);
            work += in_ramp.since(from).as_secs_f64() / 6.0 * weighted;
        }
        work + until.since(flat_from).as_secs_f64() * self.full(1.0)
    }

    /// When so much work has been done since `from`, if that is before `until`.
    pub(super) fn reach(&self, from: Nanos, work: f64, until: Option<Nanos>) -> Option<Nanos> {
        let ramp_end = self.began + self.ramp;
        let stop = |at: Nanos| until.is_none_or(|until| at < until).then_some(at);
        if from < ramp_end && !self.is_flat() {
            let in_ramp = self.work(from, ramp_end);
            if work <= in_ramp {
                return stop(first(from, ramp_end, |at| self.work(from, at) >= work));
            }
            return self.reach(ramp_end, work - in_ramp, until);
        }
        let load = self.full(1.0);
        let seconds = work / load;
        // Thirty years off, at no load or almost none: that is never.
        if !seconds.is_finite() || seconds > 1e9 {
            return None;
        }
        stop(Nanos::new(from.get().saturating_add((seconds * 1e9).round() as u64)))
    }

    /// The first moment from `from` on at which the load is above a level, if that is before `until`.
    pub(super) fn above(&self, from: Nanos, level: f64, until: Option<Nanos>) -> Option<Nanos> {
        let stop = |at: Nanos| until.is_none_or(|until| at < until).then_some(at);
        if self.full(self.progress(from)) > level {
            return stop(from);
        }
        let ramp_end = self.began + self.ramp;
        if from >= ramp_end || self.full(1.0) <= level {
            return None;
        }
        stop(first(from, ramp_end, |at| self.full(self.progress(at)) > level))
    }

    /// Whether the load is zero at its end.
    pub(super) fn ends_idle(&self) -> bool {
        self.full(1.0) <= 0.0
    }

    /// Load times population.
    fn full(&self, x: f64) -> f64 {
        self.load.at(x) * self.population.at(x)
    }

    fn is_flat(&self) -> bool {
        self.load.begin == self.load.end && self.population.begin == self.population.end
    }

    fn progress(&self, now: Nanos) -> f64 {
        if self.ramp == Nanos::ZERO {
            return 1.0;
        }
        (now.since(self.began).get() as f64 / self.ramp.get() as f64).min(1.0)
    }
}

impl Line {
    fn new(ramp: Ramp, before: f64) -> Self {
        let begin = ramp.begin.map_or(before, Ratio::get);
        Self { begin, end: ramp.end.map_or(begin, Ratio::get) }
    }

    fn at(self, x: f64) -> f64 {
        self.begin + (self.end - self.begin) * x
    }
}

/// The first moment from which on something holds; `high` if none before is found.
fn first(low: Nanos, high: Nanos, holds: impl Fn(Nanos) -> bool) -> Nanos {
    let (mut low, mut high) = (low.get(), high.get());
    for _ in 0..HALVINGS {
        let middle = low.midpoint(high);
        if holds(Nanos::new(middle)) {
            high = middle;
        } else {
            low = middle;
        }
        if high - low <= 1 {
            break;
        }
    }
    Nanos::new(high)
}
