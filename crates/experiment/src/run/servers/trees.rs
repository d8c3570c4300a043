//! Trees of the site: the common one, the one that the owner signed, and one for each arm that
//! cannot share.
//!
//! Made before anything is measured. An arm has a tree of its own when its memory is limited: cached pages belong to
//! the process that read them first, so arms on one tree would read each other's pages. Arms also have their own when
//! any arm has layers: arms that share a tree keep it in memory for each other, and a layer with a tree of its own
//! would be charged with reading that again.

use super::files::Files;
use crate::run::scratch::{Scratch, on_disk};
use crate::run::{RunError, RunProgress};
use bakeoff_plan::{Arm, ArmKind, Plan};
use bakeoff_workload::Site;
use std::path::PathBuf;

/// Writes the trees. `altered`: files that are changed in every tree that is served; `unsigned`: files that differ in
/// the tree that the owner signed.
pub(super) fn write(
    plan: &Plan,
    scratch: &Scratch,
    site: Option<&Site>,
    files: &mut Files,
    (altered, unsigned): (&[PathBuf], &[PathBuf]),
    progress: &mut dyn RunProgress,
) -> Result<(), RunError> {
    super::violations::alter(&files.root, altered)?;
    let Some(site) = site else { return Ok(()) };
    let layered = plan.arms.iter().any(|arm| !arm.layers.is_empty());
    if layered && !(unsigned.is_empty() && altered.is_empty()) {
        progress.stage("writing the tree that its owner signs");
        let tree = another(site, scratch, "reference")?;
        super::violations::alter(&tree, unsigned)?;
        files.reference = tree;
    }
    for name in plan.names() {
        if plan.arm_of(&name).is_some_and(|arm| serves_files(arm) && (layered || is_limited(arm))) {
            progress.stage(&format!("writing a site of its own for {name}"));
            let tree = another(site, scratch, &format!("{}.site", on_disk(&name)))?;
            super::violations::alter(&tree, altered)?;
            files.own.insert(name, tree);
        }
    }
    Ok(())
}

fn serves_files(arm: &Arm) -> bool {
    arm.serves_site && matches!(arm.what, ArmKind::Server(_))
}

/// Whether its memory is limited: then the page cache matters.
pub(super) fn is_limited(arm: &Arm) -> bool {
    arm.limits.memory.is_some()
}

fn another(site: &Site, scratch: &Scratch, name: &str) -> Result<PathBuf, RunError> {
    scratch.demand_room(site.disk_need().bytes.get())?;
    let tree = scratch.subdirectory(name)?;
    site.write_to(&tree)?;
    Ok(tree)
}
