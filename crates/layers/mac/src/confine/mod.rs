//! A process is given to the kernel: from a grant to a program that runs with nothing else.
//!
//! Measured side, cold: it runs once, in the process that becomes the program, which has one thread. Owns the order of
//! the steps, and that none is left out: only what has gone through all of them can execute.
//!
//! 1. [`close_inherited`]: nothing is open but 0, 1, 2 and what was asked for.
//! 2. [`Prepared::of`]: paths are opened and become rules; what must be refused later is planted, and tried.
//! 3. [`Prepared::enter`]: no new privileges, no capabilities, Landlock, what was planted is refused now, seccomp.
//! 4. [`Confined::execute`]: the program, with the same process id.
//!
//! Each failure ends it before the program; nothing is undone, as the process ends.

pub(crate) mod calls;
mod canary;
mod error;
mod hot;
mod rights;
mod rules;

pub use bakeoff_layers_base::daemon::degree::Degree;
pub use bakeoff_sys::descriptors::close_inherited;
pub use error::ConfineError;
pub use hot::MOST_DIRECTORIES;
pub use rights::{Gap, NEEDED_ABI};
pub use rules::NotGranted;

use crate::grant::Grant;
use bakeoff_sys::privilege::{Capability, keep_only};
use canary::Canary;
use rights::Kernel;
use rules::Rules;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// How little a kernel may hold the domain by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Least {
    /// The program starts on a kernel without Landlock, too, or with an old one.
    pub allow_none: bool,
    /// The kernel is taken for one with no newer Landlock than this ABI; 0 is none at all.
    pub most_abi: Option<u32>,
}

/// What a domain was given, and what it is held by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Granted {
    /// Its name.
    pub domain: String,
    /// Digest of its policy.
    pub digest: String,
    /// Of the kernel's Landlock; without it only capabilities and system calls are limited.
    pub abi: Option<u32>,
    /// Rules that the kernel was told.
    pub rules: usize,
    /// Of these, of directories below hot paths.
    pub directories: usize,
    /// What could not be granted.
    pub not_granted: Vec<NotGranted>,
    /// What it is not held by, by name.
    pub gaps: Vec<Gap>,
}

/// So many paths are named in a degree; the status has all.
const NAMED: usize = 3;

impl Granted {
    /// How far it is enforced.
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
    grant: &'a Grant,
    granted: Granted,
    rules: Option<Rules>,
    canary: Canary,
}

impl<'a> Prepared<'a> {
    /// Opens what the grant names and makes rules of it.
    ///
    /// # Errors
    /// The kernel has no Landlock or one that is too old, and that is not allowed; or it does not take a rule. A path
    /// that is gone is no error: it is left out, and named.
    pub fn of(grant: &'a Grant, least: Least) -> Result<Self, ConfineError> {
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
            granted.gaps.extend(canary.is_untried().then_some(Gap::NoCanary));
        }
        Ok(Self { grant, granted, rules, canary })
    }

    /// What it will be.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// From now on this process is in the domain, whatever comes. Whoever is `heard` by a reader of his own tells it how
    /// often he was refused something himself; to all others the kernel does not tell that.
    ///
    /// # Errors
    /// A step was refused, or what must be refused was not.
    pub fn enter(self, heard: bool) -> Result<Confined, ConfineError> {
        let kept = capabilities(self.grant);
        keep_only(kept).map_err(ConfineError::Capabilities)?;
        let refused = self.rules.as_ref().map_or(0, |_| self.canary.attempts());
        if let Some(rules) = self.rules {
            rules.enforce(heard)?;
            self.canary.hold()?;
        }
        // The last, as it refuses what the steps before need.
        calls::filter(self.grant.attributes).apply().map_err(ConfineError::SystemCalls)?;
        self.canary.settled(kept.iter().fold(0, |mask, capability| mask | 1 << *capability as u64))?;
        Ok(Confined { domain: self.granted.domain, refused })
    }
}

/// Ports below 1024 are the superuser's: of a domain that listens on one, and of no other.
fn capabilities(grant: &Grant) -> &'static [Capability] {
    if grant.listen.iter().any(|port| *port < 1024) { &[Capability::NetBindService] } else { &[] }
}

/// This process is in its domain.
#[derive(Debug)]
pub struct Confined {
    domain: String,
    refused: usize,
}

impl Confined {
    /// What this process was refused by now, as it tried what must be.
    pub const fn refused(&self) -> usize {
        self.refused
    }

    /// Becomes the program; returns only when that failed.
    pub fn execute(self, command: &mut Command) -> ConfineError {
        let why = command.exec();
        let program = command.get_program().to_string_lossy().into_owned();
        ConfineError::Execute { program, domain: self.domain, hint: hint(&why), why }
    }
}

fn hint(why: &io::Error) -> &'static str {
    match why.raw_os_error() {
        Some(libc::EACCES) => {
            "; the domain needs `read exec` on it and on its interpreter or loader: `bakeoff layer mac explain` tells"
        }
        Some(libc::ENOENT) => "; neither the program nor its interpreter may be missing",
        _ => "",
    }
}
