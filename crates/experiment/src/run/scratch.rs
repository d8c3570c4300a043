//! Temporary directory of a run: site, servers' private directories, certificates.
//!
//! Not in the results directory: servers drop to an unprivileged user that must be able to reach it. It goes with the
//! run; the leftovers of a killed run are removed by the next one. Mounts that arms have made inside are taken off
//! first and never reached into.

use super::RunError;
use bakeoff_plan::{Arm, Plan};
use bakeoff_subject::Written;
use bakeoff_sys::{mount, process};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const PREFIX: &str = "bakeoff-";

/// An arm's name as a directory: without the prime of the baseline's second process.
pub(crate) fn on_disk(arm: &str) -> String {
    arm.replace('\'', ".second")
}

/// A directory that is removed with everything in it.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Makes a fresh one. `say` gets a line on leftovers of a killed run, which are removed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn create(say: &mut dyn FnMut(&str)) -> Result<Self, RunError> {
        let temp = std::env::temp_dir();
        remove_left_behind(&temp, say);
        let path = temp.join(own_name());
        let made = DirBuilder::new().mode(0o755).create(&path);
        made.map_err(|why| RunError::Scratch { path: path.display().to_string(), why: why.to_string() })?;
        Ok(Self { path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new directory inside.
    pub(crate) fn subdirectory(&self, name: &str) -> Result<PathBuf, RunError> {
        let path = self.path.join(name);
        let made = DirBuilder::new().mode(0o755).create(&path);
        made.map_err(|why| RunError::Scratch { path: path.display().to_string(), why: why.to_string() })?;
        Ok(path)
    }

    /// An arm's private directory, with the files of the plan's own, and that of its wraps.
    pub(crate) fn of_arm(&self, name: &str, arm: &Arm, plan: &Plan) -> Result<PathBuf, RunError> {
        let dir = self.subdirectory(&on_disk(name))?;
        let put = Written::put(&plan.written, &dir, !arm.wraps.is_empty());
        put.map_err(|why| RunError::Scratch { path: dir.display().to_string(), why: why.to_string() })?;
        Ok(dir)
    }

    /// Refuses, before the first byte, to go on without room for `bytes`.
    pub(crate) fn demand_room(&self, bytes: u64) -> Result<(), RunError> {
        let free = bakeoff_sys::disk::free_bytes(&self.path).unwrap_or(u64::MAX);
        if bytes <= free {
            return Ok(());
        }
        let size = |n| bakeoff_units::Bytes::new(n).to_string();
        let why = format!("the site needs {}, {} are free", size(bytes), size(free));
        Err(RunError::Scratch { path: self.path.display().to_string(), why })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = remove_tree(&self.path);
    }
}

/// Name of this process's directory, in the temporary directory or on a file system under test.
pub(crate) fn own_name() -> String {
    format!("{PREFIX}{}", std::process::id())
}

/// Removes a directory with everything in it, but nothing that is mounted there: mounts are taken
/// off first, and if one stays, everything stays.
pub(crate) fn remove_tree(path: &Path) -> io::Result<()> {
    let (_, left) = unmount(path)?;
    match left.first() {
        Some(point) => Err(io::Error::other(format!("{} is still mounted", point.display()))),
        None => fs::remove_dir_all(path),
    }
}

/// Takes off mounts at a directory or below it. Returns the mounts there were, and those that stayed.
pub(crate) fn unmount(path: &Path) -> io::Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    let points = |mounts: Vec<mount::Mount>| mounts.into_iter().map(|mount| mount.point).collect();
    let found: Vec<PathBuf> = points(mount::below(path)?);
    for point in &found {
        if mount::detach(point).is_err() {
            detach_as_user(point);
        }
    }
    Ok((found, points(mount::below(path)?)))
}

/// FUSE mounts of a user can be taken off only by its helper.
fn detach_as_user(point: &Path) {
    for helper in ["fusermount3", "fusermount"] {
        let mut command = Command::new(helper);
        command.args(["-u", "-z"]).arg(point);
        let ended = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
        if ended.is_ok_and(|status| status.success()) {
            return;
        }
    }
}

/// Removes directories of bakeoff processes that are gone.
pub(crate) fn remove_left_behind(temp: &Path, say: &mut dyn FnMut(&str)) {
    let own = fs::metadata("/proc/self").map_or(u32::MAX, |metadata| metadata.uid());
    for entry in fs::read_dir(temp).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid =
            name.to_str().and_then(|name| name.strip_prefix(PREFIX)).and_then(|pid| pid.parse::<u32>().ok());
        let is_ours = || entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == own);
        if pid.is_some_and(process::is_gone) && is_ours() {
            say(&format!("removing {}, left by a killed run", entry.path().display()));
            if let Err(why) = remove_tree(&entry.path()) {
                say(&format!("{} stays: {why}", entry.path().display()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_directories_of_dead_processes_are_removed() {
        let temp = tempfile::tempdir().unwrap();
        let dead = temp.path().join("bakeoff-4194305"); // beyond pid_max
        let alive = temp.path().join(format!("bakeoff-{}", std::process::id()));
        let other = temp.path().join("bakeoff-notes");
        for dir in [&dead, &alive, &other] {
            fs::create_dir(dir).unwrap();
        }
        let mut told = 0;
        remove_left_behind(temp.path(), &mut |_| told += 1);
        assert_eq!(told, 1);
        assert!(!dead.exists() && alive.exists() && other.exists());
    }
}
