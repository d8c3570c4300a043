//! When the next page is asked for.
//!
//! Measuring side, hot. At a rate: gaps are drawn in seconds at full load, and the phases say when so much
//! has passed, so that a moment follows from the one before and never from a reply. Without a rate: each
//! robot asks when it is free, as many as the phase lets work.

use super::Lane;
use crate::phases::Schedule;
use crate::spec::{Gaps, Spec};
use bakeoff_content::SplitMix64;
use bakeoff_units::{Nanos, PerSecond};
use std::collections::VecDeque;

/// A robot whose page has failed rests so long: a server that refuses would be asked without end.
const REST_AFTER_FAILURE: Nanos = Nanos::from_millis(10);
/// Purpose of the random bits of gaps.
const GAPS: u64 = 0x6A95;

/// Decides when pages begin.
#[derive(Clone, Debug)]
pub(super) enum Launcher {
    /// At a rate.
    Paced(Paced),
    /// As fast as replies come.
    BestEffort(BestEffort),
}

/// Open loop.
#[derive(Clone, Debug)]
pub(super) struct Paced {
    /// From here on ...
    from: Nanos,
    /// ... so much work lies before the next page: seconds at full load.
    left: f64,
    mean_gap_secs: f64,
    gaps: Gaps,
    random: SplitMix64,
    due: Option<Nanos>,
}

/// Closed loop: robots that are free, and since when.
#[derive(Clone, Debug)]
pub(super) struct BestEffort {
    free: VecDeque<(Nanos, u32)>,
    robots: u32,
    due: Option<Nanos>,
}

impl Launcher {
    pub(super) fn new(spec: &Spec, lane: Lane, seed: u64, schedule: &Schedule) -> Self {
        let mut launcher = match spec.rate {
            Some(rate) => Self::Paced(Paced::new(rate, spec.gaps, lane, seed)),
            None => {
                let robots = lane.share(u64::from(spec.robots.get())) as u32;
                let free = (0..robots).map(|robot| (Nanos::ZERO, robot)).collect();
                Self::BestEffort(BestEffort { free, robots, due: None })
            }
        };
        launcher.plan(schedule);
        launcher
    }

    /// When the next page is due.
    pub(super) const fn due(&self) -> Option<Nanos> {
        match self {
            Self::Paced(paced) => paced.due,
            Self::BestEffort(effort) => effort.due,
        }
    }

    /// A page begins at the moment that was due. Without a rate: with this robot.
    pub(super) fn launch(&mut self, schedule: &Schedule) -> Option<u32> {
        let robot = match self {
            Self::Paced(paced) => {
                paced.step();
                None
            }
            Self::BestEffort(effort) => effort.free.pop_front().map(|(_, robot)| robot),
        };
        self.plan(schedule);
        robot
    }

    /// Another request than a page's first was sent: at a rate it takes the place of the next page.
    pub(super) fn give_way(&mut self, schedule: &Schedule) {
        if let Self::Paced(paced) = self
            && paced.due.is_some()
        {
            paced.step();
            self.plan(schedule);
        }
    }

    /// A robot's page is over.
    pub(super) fn page_over(&mut self, robot: u32, at: Nanos, failed: bool, schedule: &Schedule) {
        if let Self::BestEffort(effort) = self {
            let rest = if failed { REST_AFTER_FAILURE } else { Nanos::ZERO };
            effort.free.push_back((at + rest, robot));
            self.plan(schedule);
        }
    }

    /// The phase that is on ends at this moment: what was done of the way to the next page stays done.
    pub(super) fn before_change(&mut self, at: Nanos, schedule: &Schedule) {
        if let Self::Paced(paced) = self
            && paced.due.is_none_or(|due| due > at)
        {
            paced.left = (paced.left - schedule.work(paced.from, at)).max(0.0);
            paced.from = paced.from.max(at);
        }
    }

    /// The phase has changed at this moment.
    pub(super) fn after_change(&mut self, at: Nanos, schedule: &Schedule) {
        // What was due before the change stays due.
        if self.due().is_none_or(|due| due > at) || matches!(self, Self::BestEffort(_)) {
            self.plan(schedule);
        }
    }

    fn plan(&mut self, schedule: &Schedule) {
        match self {
            Self::Paced(paced) => paced.due = schedule.reach(paced.from, paced.left).at(),
            Self::BestEffort(effort) => {
                let working = f64::from(effort.robots) - effort.free.len() as f64;
                let level = working / f64::from(effort.robots);
                let free = effort.free.front();
                effort.due = free.and_then(|(since, _)| schedule.above(*since, level).at());
            }
        }
    }
}

impl Paced {
    fn new(rate: PerSecond, gaps: Gaps, lane: Lane, seed: u64) -> Self {
        let lanes = f64::from(lane.count());
        let mean_gap_secs = lanes / rate.get();
        let random = SplitMix64::for_purpose(seed, GAPS + (u64::from(lane.index()) << 32));
        let mut paced = Self { from: Nanos::ZERO, left: 0.0, mean_gap_secs, gaps, random, due: None };
        paced.left = match gaps {
            Gaps::Poisson => paced.draw(),
            // Lanes take turns.
            Gaps::Const => f64::from(lane.index() + 1) / rate.get(),
        };
        paced
    }

    /// From the page that is due to the next.
    fn step(&mut self) {
        if let Some(due) = self.due {
            (self.from, self.left) = (due, self.draw());
        }
    }

    fn draw(&mut self) -> f64 {
        match self.gaps {
            Gaps::Poisson => self.mean_gap_secs * self.random.exponential(),
            Gaps::Const => self.mean_gap_secs,
        }
    }
}
