//! Landlock ruleset of a domain.
//!
//! Measured side, cold: start alone. Owns how a grant becomes rules, and the list of paths that could not be granted.
//! One ruleset a domain, never a stack: the kernel asks each of them at every open, and a process may be under at
//! most sixteen.

use crate::confine::error::ConfineError;
use crate::confine::hot::{self, MOST_DIRECTORIES};
use crate::confine::rights::Kernel;
use crate::grant::{DomainGrant, FileGrant, Name};
use bakeoff_layers_base::plain::open_to_know;
use landlock::{
    AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// A path that the domain was not given, and why. It is refused, so the program may lack something; nothing is open
/// that should not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotGranted {
    /// Path, with its line in the policy.
    pub what: String,
    /// The reason.
    pub why: String,
}

/// A ruleset as the kernel has it, not yet in force.
#[derive(Debug)]
pub(super) struct Rules {
    kernel: Kernel,
    ruleset: RulesetCreated,
    /// Rules of all kinds.
    pub(super) rules: usize,
    /// Of these, rules of directories below hot paths.
    pub(super) directories: usize,
    /// Paths that were left out.
    pub(super) not_granted: Vec<NotGranted>,
}

impl Rules {
    pub(super) fn of(grant: &DomainGrant, kernel: Kernel) -> Result<Self, ConfineError> {
        let ruleset = created(kernel).map_err(|error| ConfineError::Rules { why: error.to_string() })?;
        let mut rules = Self { kernel, ruleset, rules: 0, directories: 0, not_granted: Vec::new() };
        // What has another path by a mount has its rule already.
        let is_own = |file: &&FileGrant| grant.typed(&file.path).is_some_and(|typed| typed.path == file.path);
        for file in grant.files.iter().filter(is_own) {
            rules.file(file, grant)?;
        }
        if !kernel.ports().is_empty() {
            for (ports, right) in
                [(&grant.listen, AccessNet::BindTcp), (&grant.connect, AccessNet::ConnectTcp)]
            {
                for port in ports {
                    rules.port(*port, right)?;
                }
            }
        }
        Ok(rules)
    }

    fn file(&mut self, file: &FileGrant, grant: &DomainGrant) -> Result<(), ConfineError> {
        let what = format!("{} ({}:{})", Name(&file.path), grant.policy, file.line);
        let (opened, is_directory) = match opened(file) {
            Ok(opened) => opened,
            Err(why) => {
                self.not_granted.push(NotGranted { what, why: why.to_string() });
                return Ok(());
            }
        };
        let rights = self.kernel.rights(file.accesses, is_directory);
        if rights.is_empty() {
            let why = format!("it is a file, and {} is of directories", file.accesses);
            self.not_granted.push(NotGranted { what, why });
            return Ok(());
        }
        self.beneath(opened.as_fd(), rights, &what)?;
        if file.hot && is_directory {
            let left = MOST_DIRECTORIES - self.directories;
            self.directories += hot::below(opened.as_fd(), left, |below| self.beneath(below, rights, &what))?;
        }
        Ok(())
    }

    fn beneath(
        &mut self,
        path: BorrowedFd<'_>,
        rights: BitFlags<AccessFs>,
        what: &str,
    ) -> Result<(), ConfineError> {
        let taken = (&mut self.ruleset).add_rule(PathBeneath::new(path, rights)).map(drop);
        self.taken(taken, what)
    }

    fn port(&mut self, port: u16, right: AccessNet) -> Result<(), ConfineError> {
        let taken = (&mut self.ruleset).add_rule(NetPort::new(port, right)).map(drop);
        self.taken(taken, &format!("TCP port {port}"))
    }

    fn taken(&mut self, taken: Result<(), RulesetError>, what: &str) -> Result<(), ConfineError> {
        self.rules += 1;
        taken.map_err(|error| ConfineError::Rule { what: what.to_owned(), why: error.to_string() })
    }

    /// Enforces the rules from now on, for the calling thread and all its descendants. For a launcher that is `heard`
    /// the kernel also logs the launcher's own refusals: the first one names the domain, so that its end is logged as
    /// well.
    pub(super) fn enforce(self, heard: bool) -> Result<(), ConfineError> {
        let logs = self.kernel.logs();
        let ruleset = if logs { told(self.ruleset, heard) } else { Ok(self.ruleset) };
        match ruleset.and_then(RulesetCreated::restrict_self) {
            Ok(status) if status.ruleset == RulesetStatus::FullyEnforced && status.no_new_privs => Ok(()),
            Ok(status) => Err(ConfineError::Rules { why: format!("it took a part only: {status:?}") }),
            Err(error) => {
                let why = error.to_string();
                match *landlock::Errno::from(error) {
                    libc::E2BIG => Err(ConfineError::TooManyLayers),
                    _ => Err(ConfineError::Rules { why }),
                }
            }
        }
    }
}

/// An empty ruleset. It asks only for rights that the kernel knows, so the kernel must accept all of them.
fn created(kernel: Kernel) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset =
        Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(kernel.files())?;
    if !kernel.ports().is_empty() {
        ruleset = ruleset.handle_access(kernel.ports())?;
    }
    if !kernel.scopes().is_empty() {
        ruleset = ruleset.scope(kernel.scopes())?;
    }
    ruleset.create()
}

fn told(ruleset: RulesetCreated, heard: bool) -> Result<RulesetCreated, RulesetError> {
    ruleset.log_new_exec(true)?.log_same_exec(heard)
}

/// The policy's links were followed when it was read: a link found now was put there since.
fn opened(file: &FileGrant) -> io::Result<(OwnedFd, bool)> {
    let opened = File::from(open_to_know(&file.path).map_err(|error| match error.raw_os_error() {
        Some(libc::ELOOP) => io::Error::other("a symbolic link was put there after the policy was read"),
        _ => error,
    })?);
    let is_dir = opened.metadata()?.is_dir();
    Ok((opened.into(), is_dir))
}
