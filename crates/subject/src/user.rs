//! The user servers run as when bakeoff is root, and whether that user can reach its files.
//!
//! Measuring side, cold path. Only file modes are judged, not access lists: a wrong "yes" shows as
//! the server's own message, a wrong "no" never stops a run that would have worked without lists.

use crate::SubjectError;
use bakeoff_sys::process::{self, User};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The user that a server runs as.
#[derive(Clone, Debug)]
pub(crate) struct Runner {
    pub(crate) name: &'static str,
    pub(crate) user: User,
}

impl Runner {
    /// `nobody` when bakeoff is root, else none: the server runs as bakeoff's user.
    pub(crate) fn unprivileged() -> Option<Self> {
        let unlisted = User { uid: 65534, gid: 65534 };
        process::is_root()
            .then(|| Self { name: "nobody", user: process::user_named("nobody").unwrap_or(unlisted) })
    }

    /// Makes it the owner of a file or directory; of a link itself, not of where that leads.
    pub(crate) fn give(&self, path: &Path) -> io::Result<()> {
        std::os::unix::fs::lchown(path, Some(self.user.uid), Some(self.user.gid))
    }

    /// Refuses a directory it cannot enter, and its first file if it cannot be read.
    pub(crate) fn demand_reach(&self, arm: &str, dir: &Path) -> Result<(), SubjectError> {
        let dir = fs::canonicalize(dir).map_err(|source| SubjectError::Read {
            arm: arm.to_owned(),
            path: dir.to_owned(),
            source,
        })?;
        let mut parents: Vec<&Path> = dir.ancestors().collect();
        parents.reverse();
        for parent in parents {
            if !self.may(parent, 1) {
                return Err(self.refusal(arm, "enter", parent));
            }
        }
        match first_file(&dir) {
            Some(file) if !self.may(&file, 4) => Err(self.refusal(arm, "read", &file)),
            _ => Ok(()),
        }
    }

    /// `bit`: 4 read, 1 enter.
    fn may(&self, path: &Path, bit: u32) -> bool {
        let Ok(about) = fs::metadata(path) else { return false };
        let shift = match () {
            () if about.uid() == self.user.uid => 6,
            () if about.gid() == self.user.gid => 3,
            () => 0,
        };
        about.permissions().mode() >> shift & bit != 0
    }

    fn refusal(&self, arm: &str, need: &'static str, path: &Path) -> SubjectError {
        let mode = if need == "enter" { "x" } else { "r" };
        SubjectError::Unreachable {
            arm: arm.to_owned(),
            user: self.name.to_owned(),
            need,
            path: path.to_owned(),
            remedy: format!(
                "run `chmod o+{mode} {}`, put the files elsewhere (for example under /tmp), or run bakeoff as an ordinary user",
                path.display()
            ),
        }
    }
}

fn first_file(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?;
    entries.flatten().map(|entry| entry.path()).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stranger() -> Runner {
        Runner { name: "stranger", user: User { uid: 4_000_000, gid: 4_000_000 } }
    }

    #[test]
    fn a_closed_parent_is_named_with_its_remedy() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let closed = base.path().join("closed");
        let site = closed.join("site");
        fs::create_dir_all(&site).unwrap();
        stranger().demand_reach("a", &site).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
        let message = stranger().demand_reach("a", &site).unwrap_err().to_string();
        assert!(message.contains("may not enter") && message.contains("closed; run `chmod o+x"), "{message}");
    }

    #[test]
    fn a_file_that_cannot_be_read_is_named() {
        let base = tempfile::tempdir().unwrap();
        fs::set_permissions(base.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let file = base.path().join("f");
        fs::write(&file, "x").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let message = stranger().demand_reach("a", base.path()).unwrap_err().to_string();
        assert!(message.contains("may not read"), "{message}");
    }
}
