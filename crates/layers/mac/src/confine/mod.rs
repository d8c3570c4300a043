//! Confinement of a process: the steps from a grant to a program that runs with nothing else.
//!
//! Measured side, cold: it runs once, in the single-threaded process that becomes the program. Owns the order of the
//! steps, and that none is left out: only a process that has gone through all of them can execute.
//!
//! 1. [`close_inherited`]: only descriptors 0, 1, 2 and the requested ones stay open.
//! 2. [`Prepared::of`]: paths are opened and become rules; canaries are planted, and tried.
//! 3. [`Prepared::enter`]: no core dumps, no new privileges, no capabilities, Landlock, canaries are refused now, seccomp.
//! 4. [`Confined::execute`]: the program, with the same process id.
//!
//! Each failure ends it before the program runs; nothing is undone, as the process ends.

pub(crate) mod calls;
mod canary;
mod error;
mod gap;
mod hot;
mod rights;
mod rules;

pub use bakeoff_layers_base::daemon::degree::Degree;
pub use bakeoff_sys::descriptors::close_inherited;
pub use error::ConfineError;
pub use gap::{Gap, NEEDED_ABI};
pub use hot::MOST_DIRECTORIES;
pub use rules::NotGranted;

use crate::access::Access;
use crate::grant::DomainGrant;
use bakeoff_layers_base::plain::resolved;
use bakeoff_sys::privilege::{Capability, keep_only};
use bakeoff_sys::rlimit;
use canary::Canary;
use rights::Kernel;
use rules::Rules;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Kernel features that a domain may do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// The program also starts on a kernel without Landlock, or with an old one.
    pub allow_none: bool,
    /// Treats the kernel as one with no newer Landlock than this ABI; 0 is none at all.
    pub most_abi: Option<u32>,
}

/// A domain's grant as enforced, and by which mechanisms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its name.
    pub domain: String,
    /// Digest of its policy.
    pub digest: String,
    /// The kernel's Landlock ABI; without it only capabilities and system calls are limited.
    pub abi: Option<u32>,
    /// Number of rules in the kernel.
    pub rules: usize,
    /// Number of these that are for directories below hot paths.
    pub directories: usize,
    /// Paths that could not be granted.
    pub not_granted: Vec<NotGranted>,
    /// Gaps in enforcement, by name.
    pub gaps: Vec<Gap>,
}

/// Number of paths that a degree names; the status has all.
const NAMED: usize = 3;

impl Granted {
    /// Degree of enforcement.
    pub fn degree(&self) -> Degree {
        if self.abi.is_none() {
            return Degree::None("this kernel has no Landlock".to_owned());
        }
        let reason = |gap: &Gap| match gap {
            Gap::NotGranted => Some(self.not_granted_reason()),
            gap => gap.reason().map(str::to_owned),
        };
        let reasons: Vec<String> = self.gaps.iter().filter_map(reason).collect();
        if reasons.is_empty() { Degree::Full } else { Degree::Partial(reasons.join("; ")) }
    }

    fn not_granted_reason(&self) -> String {
        let named: Vec<&str> = self.not_granted.iter().take(NAMED).map(|path| path.what.as_str()).collect();
        let more = self.not_granted.len() - named.len();
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("what could not be granted: {}{more}", named.join(", "))
    }
}

/// Everything is ready, and nothing is in force.
#[derive(Debug)]
pub struct Prepared<'a> {
    grant: &'a DomainGrant,
    granted: Granted,
    rules: Option<Rules>,
    canary: Canary,
}

impl<'a> Prepared<'a> {
    /// Opens the paths of the grant and makes rules of them. `own` are the files that tell of the domain: its policy,
    /// status and log.
    ///
    /// # Errors
    /// The kernel has no Landlock or one that is too old, and that is not allowed; or it refuses a rule. A missing
    /// path is no error: it is left out, and named.
    pub fn of(grant: &'a DomainGrant, least: Least, own: &[&Path]) -> Result<Self, ConfineError> {
        let kernel = match Kernel::here(least.most_abi) {
            Ok(kernel) if kernel.abi() < NEEDED_ABI && !least.allow_none => {
                return Err(ConfineError::TooOld { abi: kernel.abi() });
            }
            Err(ConfineError::NoLandlock { .. }) if least.allow_none => None,
            other => Some(other?),
        };
        let mut granted = Granted {
            domain: grant.domain.clone(),
            digest: grant.digest.clone(),
            abi: kernel.map(Kernel::abi),
            rules: 0,
            directories: 0,
            not_granted: Vec::new(),
            gaps: kernel.map(|kernel| kernel.gaps(grant)).unwrap_or_default(),
        };
        let rules = kernel.map(|kernel| Rules::of(grant, kernel)).transpose()?;
        let mut canary = Canary::of_calls();
        if let Some(rules) = &rules {
            (granted.rules, granted.directories) = (rules.rules, rules.directories);
            granted.not_granted.clone_from(&rules.not_granted);
            canary = Canary::plant(grant, !granted.gaps.contains(&Gap::NoTcp));
            granted.gaps.extend((!granted.not_granted.is_empty()).then_some(Gap::NotGranted));
            // A file with several names may be changed by another one.
            let others = |file: &Path| file.metadata().is_ok_and(|about| about.nlink() > 1);
            let own = own.iter().any(|file| others(file) || grant.may_change(&resolved(file)));
            granted.gaps.extend(own.then_some(Gap::OwnFiles));
            granted.gaps.extend(canary.is_untried().then_some(Gap::NoCanary));
        }
        Ok(Self { grant, granted, rules, canary })
    }

    /// The grant as it will be enforced.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Puts this process into the domain for good. A launcher with a reader of its own (`heard`) reports to it the
    /// number of refusals it met itself; for other launchers the kernel does not log those.
    ///
    /// # Errors
    /// A step was refused, or an access that must be refused was possible.
    pub fn enter(self, heard: bool) -> Result<Confined, ConfineError> {
        let kept = capabilities(self.grant);
        let devices = self.grant.files.iter().any(|file| file.accesses.has(Access::Ioctl));
        // Not a step that can fail: with a hard limit of 0 there are no files of memory, and no way back up.
        let _ = rlimit::dump_no_memory();
        keep_only(kept).map_err(ConfineError::Capabilities)?;
        let refused = self.rules.as_ref().map_or(0, |_| self.canary.attempts());
        if let Some(rules) = self.rules {
            rules.enforce(heard)?;
            self.canary.hold()?;
        }
        // Comes last, as it refuses calls that the steps before need.
        calls::filter(self.grant.attributes, devices).apply().map_err(ConfineError::SystemCalls)?;
        self.canary.settled(kept.iter().fold(0, |mask, capability| mask | 1 << *capability as u64))?;
        Ok(Confined { domain: self.granted.domain, refused })
    }
}

/// Ports below 1024 need a capability: only a domain that listens on one keeps it.
fn capabilities(grant: &DomainGrant) -> &'static [Capability] {
    if grant.listen.iter().any(|port| *port < 1024) { &[Capability::NetBindService] } else { &[] }
}

/// This process is in its domain.
#[derive(Debug)]
pub struct Confined {
    domain: String,
    refused: usize,
}

impl Confined {
    /// Number of refusals that this process met so far, as it tried its canaries.
    pub const fn refused(&self) -> usize {
        self.refused
    }

    /// Becomes the program; returns only when that failed. `refused` is the policy's reason against it, if there is one.
    pub fn execute(self, command: &mut Command, refused: Option<String>) -> ConfineError {
        let why = command.exec();
        let program = command.get_program().to_string_lossy().into_owned();
        ConfineError::Execute { program, domain: self.domain, hint: hint(&why, refused), why }
    }
}

fn hint(why: &io::Error, refused: Option<String>) -> String {
    const NEEDED: &str = "; `read exec` is needed on it and on its interpreter or loader";
    match (why.raw_os_error(), refused) {
        (Some(libc::EACCES), Some(refused)) => format!("{NEEDED}: {refused}"),
        (Some(libc::EACCES), None) => NEEDED.to_owned(),
        (Some(libc::ENOENT), _) => "; neither the program nor its interpreter may be missing".to_owned(),
        _ => String::new(),
    }
}
