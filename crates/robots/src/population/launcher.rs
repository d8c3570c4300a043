//! Arrival times of pages, at a rate (open loop) or as fast as replies come (closed loop).
//!
//! Measuring side, hot. At a rate: gaps are drawn in seconds at full load, and the phases say when so much has passed,
//! so that a moment follows from the one before and never from a reply. Without a rate: each robot asks when it is
//! free, as many as the phase lets work.

use super::Worker;
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

/// Closed loop: robots that are free, with the moment from which each is.
#[derive(Clone, Debug)]
pub(super) struct BestEffort {
    free: VecDeque<(Nanos, u32)>,
    /// Robots whose page has failed, apart: they hold nobody back. All rest as long, so the first to have failed is the
    /// first to be free.
    resting: VecDeque<(Nanos, u32)>,
    robots: u32,
    /// Free robots were held back by the phase until now.
    not_before: Nanos,
    due: Option<Nanos>,
}

impl Launcher {
    pub(super) fn new(spec: &Spec, worker: Worker, seed: u64, schedule: &Schedule) -> Self {
        let mut launcher = match spec.rate {
            Some(rate) => Self::Paced(Paced::new(rate, spec.gaps.clone(), worker, seed)),
            None => {
                let robots = worker.share(u64::from(spec.robots.get())) as u32;
                let free = (0..robots).map(|robot| (Nanos::ZERO, robot)).collect();
                let resting = VecDeque::new();
                Self::BestEffort(BestEffort { free, resting, robots, not_before: Nanos::ZERO, due: None })
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
            Self::BestEffort(effort) => effort.launch(),
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
            effort.let_on(at);
            if failed {
                effort.resting.push_back((at + REST_AFTER_FAILURE, robot));
            } else {
                effort.free.push_back((at, robot));
            }
            self.plan(schedule);
        }
    }

    /// Keeps the progress to the next page when the current phase ends at this moment.
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
        if let Self::BestEffort(effort) = self {
            effort.let_on(at);
        }
        // A page that was due before the change stays due.
        if self.due().is_none_or(|due| due > at) {
            self.plan(schedule);
        }
    }

    fn plan(&mut self, schedule: &Schedule) {
        match self {
            Self::Paced(paced) => paced.due = schedule.reach(paced.from, paced.left),
            Self::BestEffort(effort) => {
                let idle = effort.free.len() + effort.resting.len();
                let level = (f64::from(effort.robots) - idle as f64) / f64::from(effort.robots);
                let from = |since: Nanos| since.max(effort.not_before);
                effort.due = effort.first().and_then(|since| schedule.above(from(since), level));
            }
        }
    }
}

impl BestEffort {
    fn launch(&mut self) -> Option<u32> {
        self.let_on(self.due?);
        let queue = if self.rested_first() { &mut self.resting } else { &mut self.free };
        queue.pop_front().map(|(_, robot)| robot)
    }

    /// The moment since or from which the first robot is free.
    fn first(&self) -> Option<Nanos> {
        let queue = if self.rested_first() { &self.resting } else { &self.free };
        queue.front().map(|(since, _)| *since)
    }

    /// Whether the first robot to be free is one that rests until then.
    fn rested_first(&self) -> bool {
        match (self.resting.front(), self.free.front()) {
            (Some(rested), Some(free)) => rested.0 < free.0,
            (rested, _) => rested.is_some(),
        }
    }

    /// More robots than before may work from this moment on: the others were held back until now.
    fn let_on(&mut self, at: Nanos) {
        let pending = self.due.filter(|due| *due <= at);
        self.not_before = self.not_before.max(pending.unwrap_or(at));
    }
}

impl Paced {
    fn new(rate: PerSecond, gaps: Gaps, worker: Worker, seed: u64) -> Self {
        let workers = f64::from(worker.count());
        let mean_gap_secs = workers / rate.get();
        let random = SplitMix64::for_purpose(seed, GAPS + (u64::from(worker.index()) << 32));
        let mut paced = Self { from: Nanos::ZERO, left: 0.0, mean_gap_secs, gaps, random, due: None };
        paced.left = match paced.gaps {
            Gaps::Poisson | Gaps::Drawn(_) => paced.draw(),
            // Workers take turns.
            Gaps::Const => f64::from(worker.index() + 1) / rate.get(),
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
        match &self.gaps {
            Gaps::Poisson => self.mean_gap_secs * self.random.exponential(),
            Gaps::Const => self.mean_gap_secs,
            // Its mean is that of its draws with those below 0 as 0.
            Gaps::Drawn(gaps) => self.mean_gap_secs * gaps.draw(&mut self.random).max(0.0) / gaps.mean(),
        }
    }
}
