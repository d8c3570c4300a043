//! Results directory of a counted guest.
//!
//! Measuring side, cold. A line a boot, synced when it has ended: a run that is broken off keeps what it has.

use crate::records::{BootRecord, GuestSetup};
use bakeoff_results::directory::{DirectoryError, Layout, PLAN, needed, records};
use std::path::Path;

/// A line a boot.
pub const BOOTS: &str = "boots.jsonl";

/// Results directories of guests.
pub const GUEST: Layout = Layout { setup: "guest.json", form: "1", growing: &[BOOTS] };

/// A directory that was read.
#[derive(Clone, Debug)]
pub struct StoredGuest {
    /// Its plan.
    pub plan: String,
    /// What was fixed before the first boot.
    pub setup: GuestSetup,
    /// The boots that ended, in the order in which they did.
    pub boots: Vec<BootRecord>,
}

/// Reads a directory. Half a line at its end is what a killed run leaves, and is not read.
///
/// # Errors
/// It is none, it is in another version's form, or what stands in it cannot be read.
pub fn load(path: &Path) -> Result<StoredGuest, DirectoryError> {
    Ok(StoredGuest { plan: needed(path, PLAN)?, setup: GUEST.setup(path)?, boots: records(path, BOOTS)? })
}
