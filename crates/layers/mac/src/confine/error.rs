//! Why nothing was started.
//!
//! Measured side, cold. Each is a sentence of what was tried, what the system said, and what to do.

use crate::confine::rights::NEEDED_ABI;
use std::io;
use std::path::PathBuf;

/// Why a program was not started. Whatever it is, the program did not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// What was inherited could not be closed.
    #[error(
        "cannot close the descriptors that were inherited: {0}; a domain needs close_range (Linux 5.9), and leave to \
         call it"
    )]
    Descriptors(#[source] io::Error),
    /// The kernel has no Landlock.
    #[error(
        "this kernel has no Landlock ({why}): boot one with it (Linux 5.13, `landlock` in `lsm=`), or give --allow-none \
         to start the program with system calls and capabilities limited only"
    )]
    NoLandlock {
        /// Not built in (ENOSYS), or switched off (EOPNOTSUPP).
        #[source]
        why: io::Error,
    },
    /// Its Landlock is too old.
    #[error(
        "this kernel's Landlock is ABI {abi}; a domain needs ABI {NEEDED_ABI} (Linux 6.7), as TCP ports are free below: \
         take a newer kernel, or give --allow-none to take what there is"
    )]
    TooOld {
        /// What it has.
        abi: u32,
    },
    /// A rule was not taken.
    #[error("the kernel does not take the rule for {what}: {why}")]
    Rule {
        /// A path with its line, or a port.
        what: String,
        /// The kernel's word.
        why: String,
    },
    /// The ruleset was not taken.
    #[error("the kernel does not take the domain's rules: {why}")]
    Rules {
        /// The kernel's word.
        why: String,
    },
    /// There are sixteen rulesets one on another already.
    #[error(
        "this process is under 16 Landlock rulesets already, one on another, and the kernel takes no more: start the \
         program from fewer sandboxes"
    )]
    TooManyLayers,
    /// Capabilities could not be given up.
    #[error("cannot give up capabilities: {0}")]
    Capabilities(#[source] io::Error),
    /// What must be refused was not.
    #[error(
        "the domain does not hold: {what}, which its policy does not grant, {outcome}; this kernel's Landlock cannot be \
         relied upon"
    )]
    Canary {
        /// What was tried.
        what: String,
        /// `was possible`, or another error than a refusal.
        outcome: String,
    },
    /// The filter of system calls was not taken.
    #[error(
        "the kernel does not take the filter of system calls: {0}; a domain needs seccomp (CONFIG_SECCOMP_FILTER)"
    )]
    SystemCalls(#[source] io::Error),
    /// The status could not be written.
    #[error("cannot write the status {path}: {why}", path = .path.display())]
    Status {
        /// Where.
        path: PathBuf,
        /// The system's word.
        #[source]
        why: io::Error,
    },
    /// What is refused would not be told.
    #[error("cannot keep the log: {0}")]
    Log(#[source] io::Error),
    /// The program could not be executed. Nothing of it ran.
    #[error("cannot execute {program} in domain {domain}: {why}{hint}")]
    Execute {
        /// As it was typed.
        program: String,
        /// The domain.
        domain: String,
        /// The kernel's word.
        #[source]
        why: io::Error,
        /// What to look at.
        hint: &'static str,
    },
}
