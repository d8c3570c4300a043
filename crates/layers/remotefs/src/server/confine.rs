//! What a server may reach that was taken over: the export and its own status, and no new port.
//!
//! Measured side, cold, once before its threads are started. The kernel (Landlock) holds it to that; where the kernel cannot, the
//! status says so. Names are resolved as narrowly without it; this is for what nobody has thought of.

use bakeoff_layers_base::daemon::degree::Degree;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetStatus,
};
use std::error::Error;
use std::path::Path;

/// All that is asked of the kernel: Linux 6.10 knows it.
const KNOWN: ABI = ABI::V5;

/// For the calling thread, and those that it starts.
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

/// What is done to files: neither is one executed, nor is a device, a FIFO or a socket made.
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
