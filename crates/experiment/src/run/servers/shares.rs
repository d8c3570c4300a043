//! Workloads of the arms: the common one, those of arms with paths of their own, and which arms share slices.
//!
//! Cold, before a slice; the same on every machine that makes slices of a plan.

use super::violations::Planted;
use crate::run::{RunError, workloads};
use bakeoff_plan::{Plan, RequestSource, RequestWork};
use bakeoff_workload::{Slice, Workload};

/// The workloads of all arms.
pub(super) struct Workloads {
    /// Names of the arms as in `Plan::names`.
    pub(super) names: Vec<String>,
    pub(super) planted: Option<Planted>,
    /// The common workload, and one more for each arm that has requests of its own.
    pub(super) all: Vec<Box<dyn Workload>>,
    /// The shares of arms, none twice.
    pub(super) shares: Vec<Share>,
    /// Index of each arm's share.
    pub(super) of: Vec<usize>,
    /// The workloads of populations that have paths of their own.
    pub(super) own: Vec<Option<Box<dyn Workload>>>,
}

/// Slices that arms have in common.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Share {
    /// Index of their workload.
    pub(super) workload: usize,
    /// Their number of requests, if the plan sets it for the arm.
    pub(super) own: Option<usize>,
}

impl Workloads {
    fn add(&mut self, share: Share) {
        let known = self.shares.iter().position(|known| *known == share);
        self.of.push(known.unwrap_or(self.shares.len()));
        if known.is_none() {
            self.shares.push(share);
        }
    }

    pub(super) fn share(&self, arm: usize) -> Share {
        self.shares[self.of[arm]]
    }

    /// Index of the workload of an arm.
    pub(super) fn workload_of(&self, arm: &str) -> Result<usize, RunError> {
        let place = self.names.iter().position(|name| name == arm);
        let of = place.and_then(|place| self.of.get(place));
        of.map(|of| self.shares[*of].workload).ok_or_else(|| RunError::no_arm(arm))
    }

    /// The requests of a round, violations among them.
    pub(super) fn round(&mut self, workload: usize, round: u64, requests: usize) -> Result<Slice, RunError> {
        let slice = self.all[workload].slice(round, requests)?;
        Ok(match &self.planted {
            Some(planted) => planted.plant(&slice, round),
            None => slice,
        })
    }
}

/// The common workload, and one more for each arm with paths of its own; and the number of requests for each arm.
pub(super) fn own_workloads(
    plan: &Plan,
    work: &RequestWork,
    (common, planted): (Box<dyn Workload>, Option<Planted>),
    own: Vec<Option<Box<dyn Workload>>>,
) -> Result<Workloads, RunError> {
    let (names, all) = (plan.names(), vec![common]);
    let mut workloads = Workloads { names, planted, all, shares: Vec::new(), of: Vec::new(), own };
    for name in plan.names() {
        let arm = plan.arm_of(&name);
        let own = arm.and_then(|arm| arm.slice_requests).map(|count| count as usize);
        let Some(urls) = arm.and_then(|arm| arm.urls.clone()) else {
            workloads.add(Share { workload: 0, own });
            continue;
        };
        let work = RequestWork { source: RequestSource::Get(urls), ..work.clone() };
        workloads.add(Share { workload: workloads.all.len(), own });
        workloads.all.push(workloads::build(&work, plan.seed, false)?.0);
    }
    Ok(workloads)
}
