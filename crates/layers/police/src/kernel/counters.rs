//! What the programs counted.
//!
//! Measured side, cold, pure.

use crate::reference::Reason;

/// Counters since the programs were loaded; they only rise, over swaps of tables too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// SYNs and segments with payload to ports of ours.
    pub packets: u64,
    /// Segments that begin a request, plain or odd.
    pub heads: u64,
    /// Those of them that are not plain.
    pub odd: u64,
    /// Segments known to be of a body.
    pub bodies: u64,
    /// Connections whose further requests are not looked at: the length of a body is not known.
    pub unseen: u64,
    /// What mode `log` let pass although it was decided to refuse it.
    pub would_refuse: u64,
    /// What was refused, by reason, rules or none: as [`Reason::ALL`].
    pub refused: [u64; Reason::ALL.len()],
    /// Rules of the table in force, in its order.
    pub rules: Vec<RuleCount>,
}

/// Counters of one rule. A rule of the same name keeps them at a swap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleCount {
    /// [`crate::rules::table::Rule::name`].
    pub name: String,
    /// Let through.
    pub passed: u64,
    /// Refused, by reason: as [`Reason::ALL`].
    pub by_reason: [u64; Reason::ALL.len()],
}

impl RuleCount {
    /// Refused, for whatever reason.
    pub fn refused(&self) -> u64 {
        self.by_reason.iter().sum()
    }
}

/// How often the programs ran, and for how long, while somebody held `count_time`'s descriptor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Times.
    pub runs: u64,
    /// ns in all; measuring itself adds some 50 to each.
    pub run_ns: u64,
}
