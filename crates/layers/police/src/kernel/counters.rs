//! Counters of the kernel programs.
//!
//! Measured side, cold, pure.

use crate::reference::Reason;
use crate::reference::head::Unread;

/// Counters since the programs were loaded; they only rise, also over swaps of tables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters {
    /// SYNs and segments with payload to ports of ours.
    pub packets: u64,
    /// Segments that begin a request, plain or odd.
    pub heads: u64,
    /// Those of them that are odd.
    pub odd: u64,
    /// Segments known to be of a body.
    pub bodies: u64,
    /// Decided refusals that mode `log` let pass.
    pub would_refuse: u64,
    /// Segments whose urgent mark was taken off.
    pub urgent: u64,
    /// SYNs let through.
    pub let_in: u64,
    /// Connections that are not read any more, by kind: as [`Unread::ALL`].
    pub unread: [u64; Unread::ALL.len()],
    /// Refusals by reason, with or without a rule: as [`Reason::ALL`].
    pub refused: [u64; Reason::ALL.len()],
    /// Rules of the table in force, in its order.
    pub rules: Vec<RuleCount>,
}

/// Counters of one rule. A rule of the same name keeps them over a swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleCount {
    /// [`crate::rules::table::StageRule::name`].
    pub name: String,
    /// Number let through.
    pub passed: u64,
    /// Number refused, for any reason.
    pub refused: u64,
}

/// Number and time of program runs while a descriptor of `count_time` was open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs.
    pub runs: u64,
    /// Time in ns of all runs; measuring itself adds some 50 to each.
    pub run_ns: u64,
}
