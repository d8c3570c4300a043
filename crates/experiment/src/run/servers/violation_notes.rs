//! Violations that a layer notes and does not refuse: files whose signed digest belongs to other bytes.
//!
//! The number to note is known from the slice; layers report the number they noted in their status. A layer that
//! reports nothing has noticed nothing.

use crate::run::RunError;
use bakeoff_content::Body;
use bakeoff_meter::ViolationCounts;
use bakeoff_subject::Chain;
use bakeoff_workload::{Request, Slice, Workload};
use std::collections::HashSet;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

/// Time that a layer may take to write its counters.
const SETTLE: Duration = Duration::from_millis(2000);
const GLANCE: Duration = Duration::from_millis(20);

/// The files with a wrong digest.
pub(super) struct Noted {
    bodies: HashSet<Body>,
}

impl Noted {
    /// Draws them, and gives their paths in the tree that the owner signs.
    pub(super) fn new(
        count: usize,
        workload: &dyn Workload,
        seed: u64,
    ) -> Result<(Self, Vec<PathBuf>), RunError> {
        let drawn = super::violations::drawn(workload.site(), count, seed)?;
        let (files, bodies) = drawn.into_iter().unzip();
        Ok((Self { bodies }, files))
    }

    /// Number of requests of a slice that are for one of them.
    fn expected(&self, slice: &Slice) -> u64 {
        let is_wrong =
            |request: &Request| request.expect.object().is_some_and(|body| self.bodies.contains(&body));
        let wrong: Vec<bool> = slice.table.requests.iter().map(is_wrong).collect();
        let asked = slice.lists.iter().flatten();
        asked.filter(|entry| wrong.get(**entry as usize).copied().unwrap_or(false)).count() as u64
    }

    /// The layers' count so far, once it no longer grows.
    pub(super) fn settled(&self, running: &Chain) -> Option<u64> {
        let mut seen = running.violations_noted()?;
        let mut quiet = Duration::ZERO;
        while quiet < SETTLE / 4 {
            thread::sleep(GLANCE);
            quiet += GLANCE;
            let now = running.violations_noted()?;
            if now != seen {
                (seen, quiet) = (now, Duration::ZERO);
            }
        }
        Some(seen)
    }

    /// Violations planted in a slice and noted by the layers: waits a little for the rest.
    pub(super) fn count(&self, running: &Chain, before: Option<u64>, slice: &Slice) -> ViolationCounts {
        let planted = self.expected(slice);
        let mut noted = 0;
        let mut waited = Duration::ZERO;
        if let Some(before) = before {
            noted = self.settled(running).unwrap_or(before).saturating_sub(before);
            while noted < planted && waited < SETTLE {
                thread::sleep(GLANCE);
                waited += GLANCE;
                let now = running.violations_noted().unwrap_or(before);
                noted = now.saturating_sub(before);
            }
        }
        let detected = noted.min(planted);
        ViolationCounts { planted, detected, missed: planted - detected, false_alarms: noted - detected }
    }
}
