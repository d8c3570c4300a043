//! The programs that build and boot the guest, and the packages they are in.
//!
//! Measuring side, cold. The one list of them: errors and `doctor` name what is missing with one command.

use crate::{GuestError, GuestPart};
use bakeoff_subject::find_program;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program that is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// As it is looked for.
    pub program: &'static str,
    /// The Debian package that has it.
    pub package: &'static str,
    /// What it is for.
    pub purpose: &'static str,
    /// The part that needs it; `None`: every guest does.
    part: Option<GuestPart>,
}

const fn need(
    part: Option<GuestPart>,
    program: &'static str,
    package: &'static str,
    purpose: &'static str,
) -> Need {
    Need { program, package, purpose, part }
}

const NEEDS: [Need; 12] = [
    need(None, "qemu-system-x86_64", "qemu-system-x86", "boots the guest"),
    need(None, "busybox", "busybox-static", "the guest's shell and first process"),
    need(None, "apt-get", "apt", "fetches kernel and policy"),
    need(None, "dpkg", "dpkg", "unpacks them"),
    need(None, "lz4", "lz4", "unpacks the kernel"),
    need(None, "semodule", "policycoreutils", "builds the policy"),
    need(None, "matchpathcon", "selinux-utils", "labels files"),
    need(None, "mke2fs", "e2fsprogs", "makes the guest's disk"),
    need(None, "debugfs", "e2fsprogs", "writes labels into it"),
    need(Some(GuestPart::Web), "nginx", "nginx-light", "runs in the guest"),
    need(Some(GuestPart::Compile), "gcc", "gcc", "runs in the guest"),
    need(Some(GuestPart::Compile), "make", "make", "runs in the guest"),
];

/// What guests with these parts need, and whether it is there.
pub fn needs(parts: &[GuestPart]) -> Vec<(Need, Option<PathBuf>)> {
    let wanted = NEEDS.into_iter().filter(|need| need.part.is_none_or(|part| parts.contains(&part)));
    wanted.map(|need| (need, find_program(&[need.program]))).collect()
}

/// Says no where a program is missing, or the machine is of another kind.
pub(crate) fn demand(parts: &[GuestPart]) -> Result<(), GuestError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(GuestError::Architecture(std::env::consts::ARCH));
    }
    let missing: Vec<Need> =
        needs(parts).into_iter().filter(|(_, found)| found.is_none()).map(|(need, _)| need).collect();
    if missing.is_empty() { Ok(()) } else { Err(GuestError::Missing(missing)) }
}

/// The command that installs what is missing.
pub fn remedy(missing: &[Need]) -> String {
    let mut packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    packages.dedup();
    format!("apt-get install --no-install-recommends {}", packages.join(" "))
}

/// A tool's run: what it says is for the error alone.
pub(crate) struct Tool {
    program: &'static str,
    command: Command,
}

impl Tool {
    pub(crate) fn new(program: &'static str) -> Self {
        let found = find_program(&[program]).unwrap_or_else(|| program.into());
        let mut command = Command::new(found);
        command.stdin(Stdio::null()).env("LC_ALL", "C");
        Self { program, command }
    }

    pub(crate) fn words<S: AsRef<std::ffi::OsStr>>(mut self, words: impl IntoIterator<Item = S>) -> Self {
        self.command.args(words);
        self
    }

    pub(crate) fn within(mut self, dir: &Path) -> Self {
        self.command.current_dir(dir);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs it; its standard output.
    ///
    /// # Errors
    /// It cannot be started, or does not succeed: with the last line that it said.
    pub(crate) fn run(mut self) -> Result<Vec<u8>, GuestError> {
        let failed = |why: String| GuestError::Tool { program: self.program, why };
        let done = self.command.output().map_err(|why| failed(why.to_string()))?;
        if done.status.success() {
            return Ok(done.stdout);
        }
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
        Err(failed(format!("{}: {}", done.status, last.trim())))
    }

    /// The same as text.
    pub(crate) fn text(self) -> Result<String, GuestError> {
        Ok(String::from_utf8_lossy(&self.run()?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_installs_everything_that_is_missing() {
        let named = |program: &str| NEEDS.into_iter().find(|need| need.program == program).unwrap();
        let missing = [named("mke2fs"), named("debugfs"), named("nginx")];
        assert_eq!(remedy(&missing), "apt-get install --no-install-recommends e2fsprogs nginx-light");
        assert!(needs(&[]).iter().all(|(need, _)| need.program != "nginx"));
    }

    #[test]
    fn a_tool_that_fails_is_quoted() {
        let said = Tool::new("dpkg").words(["-x", "/nobody/here", "/nobody/there"]).run().unwrap_err();
        assert!(said.to_string().contains("/nobody/here"), "{said}");
    }
}
