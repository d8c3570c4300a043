//! Duration of a bake-off, as far as that is known before it is run.
//!
//! Measuring side, cold, pure. Starts are not counted, and fills by the longest that they may take, since only a
//! product's gauge ends them.

use super::{peak, steps};
use crate::plan::{CachePlan, PeakSource, RateSchedule};
use bakeoff_units::{Nanos, PerSecond};
use std::fmt;

/// Durations of the parts of a bake-off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Takes {
    /// The path to the origin, the rates of all turns and the idle time between them.
    pub rates: Nanos,
    /// The searches for peaks, with all of the trials that they may have and one that confirms.
    pub searches: Nanos,
    /// Number of fills.
    pub fills: u32,
    /// The longest that a fill may take; zero if there is none.
    pub longest_fill: Nanos,
}

impl Takes {
    /// `None` if a phase has an end that only its run shows.
    pub fn of(plan: &CachePlan) -> Option<Self> {
        let (all, passes) = (plan.taking_part(), f64::from(plan.passes));
        let caches = all.iter().filter(|entrant| entrant.is_cache()).count() as u32;
        let longest_fill = longest_fill(plan).filter(|_| plan.fills() && caches > 0);
        let search = match plan.schedule {
            RateSchedule::Shares { peak: PeakSource::Searched { trials, .. }, .. } => peak::longest(trials),
            RateSchedule::Shares { .. } | RateSchedule::Single(_) | RateSchedule::BestEffort => Nanos::ZERO,
        };
        Some(Self {
            rates: steps::ways_time(plan) + turn_time(plan)?.times(all.len() as f64 * passes),
            // The second start of the baseline, and later passes, have the peak that was found.
            searches: search.times(plan.entrants.len() as f64),
            fills: longest_fill.map_or(0, |_| caches.saturating_mul(plan.passes)),
            longest_fill: longest_fill.unwrap_or_default(),
        })
    }
}

/// `7 h, 21.2 min of it at most to search for peaks; beside it the starts, and 8 fills of up to 5 min each`
impl fmt::Display for Takes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.rates + self.searches)?;
        if self.searches > Nanos::ZERO {
            write!(f, ", {} of it at most to search for peaks", self.searches)?;
        }
        f.write_str("; beside it the starts")?;
        match self.fills {
            0 => Ok(()),
            1 => write!(f, ", and a fill of up to {}", self.longest_fill),
            fills => write!(f, ", and {fills} fills of up to {} each", self.longest_fill),
        }
    }
}

/// All rates of a turn, and the idle time between them.
fn turn_time(plan: &CachePlan) -> Option<Nanos> {
    let (rates, rests) = match &plan.schedule {
        RateSchedule::Single(rate) => (vec![Some(*rate)], Nanos::ZERO),
        RateSchedule::BestEffort => (vec![None], Nanos::ZERO),
        RateSchedule::Shares { shares, peak, idle } => {
            let at = |share: f64| match peak {
                PeakSource::Given(peak) => PerSecond::new(peak.get() * share),
                PeakSource::Searched { .. } => None,
            };
            let rates: Vec<_> = shares.iter().map(|share| at(share.get())).collect();
            let rests = idle.times(shares.len().saturating_sub(1) as f64);
            (rates, rests)
        }
    };
    rates.into_iter().map(|rate| plan.run_time(rate)).try_fold(rests, |sum, time| Some(sum + time?))
}

fn longest_fill(plan: &CachePlan) -> Option<Nanos> {
    let phase = plan.fill.as_ref()?.robots.phases.first()?;
    Some(phase.goal.lock?.at_most)
}
