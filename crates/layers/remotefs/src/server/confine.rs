//! Confinement of the server by Landlock: to the export and its own status, and to no new port.
//!
//! Measured side, cold, once before its threads are started. It protects against a server that was taken over; if the
//! kernel lacks it, the status says so. Without it names are resolved just as narrowly; this is for faults that
//! nobody foresaw.

use bakeoff_layers_base::daemon::degree::Degree;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use std::error::Error;
use std::path::Path;

/// Features requested from the kernel: Linux 6.10 has them.
const KNOWN: ABI = ABI::V5;

/// Confines the calling thread, and those that it starts.
pub(super) fn confine(export: &Path, status: Option<&Path>) -> Degree {
    match restricted(export, status) {
        Ok(RulesetStatus::FullyEnforced) => Degree::Full,
        Ok(RulesetStatus::PartiallyEnforced) => Degree::Partial("the kernel is older than 6.10".to_owned()),
        Ok(RulesetStatus::NotEnforced) => Degree::None("the kernel has no Landlock".to_owned()),
        Err(error) => Degree::None(error.to_string()),
    }
}

fn restricted(export: &Path, status: Option<&Path>) -> Result<RulesetStatus, Box<dyn Error>> {
    let ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .create()?;
    let mut ruleset = ruleset.add_rule(PathBeneath::new(PathFd::new(export)?, exported()))?;
    if let Some(status) = status {
        let folder = status.parent().filter(|folder| !folder.as_os_str().is_empty());
        let replacing = AccessFs::WriteFile | AccessFs::MakeReg | AccessFs::RemoveFile;
        ruleset =
            ruleset.add_rule(PathBeneath::new(PathFd::new(folder.unwrap_or(Path::new(".")))?, replacing))?;
    }
    Ok(ruleset.restrict_self()?.ruleset)
}

/// Rights on files of the export: none to execute one, or to make a device, a FIFO or a socket.
fn exported() -> BitFlags<AccessFs> {
    AccessFs::ReadFile
        | AccessFs::ReadDir
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}
