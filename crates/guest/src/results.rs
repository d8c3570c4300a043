//! Results of a guest's run: the form of `results.json`.
//!
//! Measuring side, cold, pure.

use crate::BootMode;
use crate::records::{Boot, Package};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `schema` of `results.json`.
pub const SCHEMA: &str = "bakeoff-guest-results/1";
/// What a table of these figures says, and stands at its head.
pub const STATEMENT: &str = "instructions counted in a guest; not time";

/// `results.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuestResults {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The version that made it.
    pub bakeoff: &'static str,
    /// The plan's name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// [`STATEMENT`].
    pub statement: &'static str,
    /// When the run began, RFC 3339.
    pub started: String,
    /// Sample or whole, in words; `None` where the plan states no sample.
    pub extent: Option<String>,
    /// Boots that the plan has.
    pub planned: usize,
    /// Boots that came to their end.
    pub ended: usize,
    /// A table without and one with mitigations, as far as they were booted.
    pub tables: Vec<GuestTable>,
    /// Boots that were made twice.
    pub repeats: Vec<Repeat>,
    /// Whether a repeat differed, so that nothing is known.
    pub invalid: Option<String>,
    /// What was refused in the guest, a mode each.
    pub planted: Vec<Planted>,
    /// The domain that the web server ran in.
    pub server_domain: Option<String>,
    /// Kernel and policy.
    pub packages: Vec<Package>,
    /// SHA-256 of the kernel.
    pub kernel_sha256: String,
    /// SHA-256 of the policy.
    pub policy_sha256: String,
    /// What QEMU says it is.
    pub qemu: String,
    /// CPU of all boots on this machine, which says nothing of what was counted.
    pub cpu_ns: u64,
    /// Publications of the study.
    pub sources: Vec<String>,
    /// What the plan keeps of the study and what it modernises.
    pub differs: Vec<String>,
}

/// Rows of one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GuestTable {
    /// Whether the kernel defended itself against faults of processors.
    pub mitigations: bool,
    /// The mode that the others are compared with.
    pub baseline: BootMode,
    /// The others.
    pub modes: Vec<BootMode>,
    /// Boots of each mode that stand in it, without repeats.
    pub boots: usize,
    /// Rows, in the order in which they were counted; those that follow from others last.
    pub rows: Vec<RowResult>,
}

/// An operation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RowResult {
    /// Its name.
    pub name: String,
    /// Instructions an operation in the baseline.
    pub baseline: CountedInstructions,
    /// In the other modes, in the table's order.
    pub modes: Vec<Compared>,
    /// What was published of it.
    pub published: Vec<Published>,
    /// Largest distance of a boot's batches, as a share of the cheapest.
    pub within: f64,
}

/// Instructions an operation: middle batch of each boot, over boots.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CountedInstructions {
    /// The middle of the boots, or the mean of the two in the middle.
    pub median: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// A mode's instructions beside the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Which.
    pub mode: BootMode,
    /// Its own.
    pub counted: CountedInstructions,
    /// How many more: the medians' difference.
    pub more: f64,
    /// The same as a share of the baseline's.
    pub change: f64,
    /// The least change between boots that were perturbed alike.
    pub change_low: f64,
    /// The most.
    pub change_high: f64,
    /// Whether that can be told from what a perturbation moves.
    pub resolved: Resolved,
}

/// Whether two modes differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Resolved {
    /// All boots of the one need more than all of the other.
    More,
    /// All need fewer.
    Fewer,
    /// All need the same, to the instruction.
    Equal,
    /// The ranges overlap: what a perturbation moves is as large.
    No,
}

impl Resolved {
    /// In words.
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::More => "more",
            Self::Fewer => "fewer",
            Self::Equal => "equal",
            Self::No => "not resolved",
        }
    }
}

/// A published overhead.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// Title of its table.
    pub table: String,
    /// Its row.
    pub row: String,
    /// Its column.
    pub column: String,
    /// As it was published, with its unit.
    pub text: String,
    /// The same as a number, in percent.
    pub percent: f64,
}

/// A boot that was made twice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Repeat {
    /// Which.
    pub boot: Boot,
    /// Rows that agree to the instruction.
    pub equal: usize,
    /// Rows that do not.
    pub differ: Vec<String>,
}

/// What the guest did with requests that the policy forbids.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Planted {
    /// In which mode.
    pub mode: BootMode,
    /// What was planted: `secret`, a file; `port`, a port.
    pub what: String,
    /// Requests.
    pub asked: usize,
    /// How many of them the server refused: 403 for the file, 502 for the port.
    pub refused: usize,
    /// Refusals of it that the kernel has logged.
    pub logged: Option<u64>,
}
