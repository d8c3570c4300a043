//! Files that an arm must not let anybody open: tried in every slice, outside the times of the operations.
//!
//! Measuring side, cold. Who made them so is the arm's affair; here it is only seen whether they are.

use super::failure::Failure;
use super::hand::{Check, Hand};
use super::store::Store;
use super::tree::c_string;
use super::watch::Pulse;
use crate::plan::{Fsync, Plan, ViolationPlan, Violations};
use bakeoff_content::{Body, ObjectId};
use bakeoff_meter::ViolationCounts;
use std::ffi::CString;
use std::io;

/// Where they lie in a store.
pub(super) const DIR: &str = "denied";

/// How many a plan has.
pub(super) fn of(plan: &Plan) -> usize {
    match &plan.violations {
        Some(ViolationPlan { what: Violations::Denied(files), .. }) => *files,
        _ => 0,
    }
}

fn name(file: usize) -> CString {
    c_string(format!("{DIR}/{file:06}"))
}

impl Store {
    /// Writes them, before they are denied.
    pub(super) fn write_denied(&self, files: usize, pulse: &Pulse<'_>) -> Result<(), Failure> {
        if files == 0 {
            return Ok(());
        }
        let mut hand = Hand::open(&self.root, Fsync::None, Check::Start)?;
        hand.make_dir(&c_string(DIR.to_owned()))?;
        let body = Body::new(ObjectId::of_name(b"denied"), 1);
        (0..files)
            .take_while(|_| pulse.goes_on())
            .try_for_each(|file| hand.create(&name(file), body).map(drop))
    }

    /// Tries to open each. What fails otherwise was not refused.
    pub(super) fn try_denied(&self, files: usize, pulse: &Pulse<'_>) -> io::Result<ViolationCounts> {
        let dir = bakeoff_sys::file::Dir::open(&self.root)?;
        let mut counts = ViolationCounts::default();
        for file in (0..files).take_while(|_| pulse.goes_on()) {
            counts.planted += 1;
            match dir.read(&name(file)) {
                Err(why) if why.kind() == io::ErrorKind::PermissionDenied => counts.detected += 1,
                _ => counts.missed += 1,
            }
        }
        Ok(counts)
    }
}
