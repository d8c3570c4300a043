//! Errors that keep a program from being started in a domain.
//!
//! Measured side, cold. Each is a sentence with the attempted step, the system's error, and what to do.

use crate::confine::gap::NEEDED_ABI;
use bakeoff_layers_base::plain::PathError;
use std::io;

/// Reason why a program was not started. In each case it did not run.
#[derive(Debug, thiserror::Error)]
pub enum ConfineError {
    /// The inherited descriptors could not be closed.
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
        /// ABI of this kernel.
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
    /// The process is under sixteen rulesets already.
    #[error(
        "this process is under 16 Landlock rulesets already, one on another, and the kernel takes no more: start the \
         program from fewer sandboxes"
    )]
    TooManyLayers,
    /// Capabilities could not be given up.
    #[error("cannot give up capabilities: {0}")]
    Capabilities(#[source] io::Error),
    /// An access that must be refused was possible.
    #[error(
        "the domain does not hold: {what}, which its policy does not grant, {outcome}; this kernel's Landlock cannot be \
         relied upon"
    )]
    Canary {
        /// The attempt.
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
    #[error(transparent)]
    Status(#[from] PathError),
    /// Refusals would not be reported.
    #[error("cannot keep the status or the log: {0}")]
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
        /// Advice on what to check.
        hint: String,
    },
}
