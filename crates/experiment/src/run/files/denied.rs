//! Denied files, which an arm must not let any process open: tried in every slice, outside the times of the operations.
//!
//! Measuring side, cold. How they are denied is left to the arm; here it is only tested whether they are.

use super::failure::Failure;
use super::hand::{Check, Hand};
use super::store::Store;
use super::tree::c_string;
use super::watch::Pulse;
use bakeoff_content::{Body, ObjectId};
use bakeoff_meter::ViolationCounts;
use bakeoff_plan::{Fsync, Plan, ViolationPlan, Violations};
use std::ffi::CString;
use std::io;

/// Directory of the denied files in a store.
pub(super) const DIR: &str = "denied";

/// Number of denied files of a plan.
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

    /// Tries to open each. A file that fails otherwise was not refused.
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
