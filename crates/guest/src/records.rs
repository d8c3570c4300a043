//! Records of a guest's run: `guest.json` and `boots.jsonl`.
//!
//! Measuring side, cold, pure: the forms of `guest.json` and `boots.jsonl`.

use crate::{BootMode, GuestError};
use serde::{Deserialize, Serialize};

/// The form of a directory.
pub const FORMAT: u32 = 1;

/// `guest.json`: everything fixed before the first boot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GuestSetup {
    /// The form: [`FORMAT`].
    pub format: u32,
    /// The version that wrote it.
    pub bakeoff: String,
    /// The plan's name.
    pub name: String,
    /// What it is.
    pub title: String,
    /// When it began, RFC 3339.
    pub started: String,
    /// Whether this is the plan's sample or the whole; `None` where it states no sample.
    pub extent: Option<bakeoff_plan::Extent>,
    /// Kernel and policy.
    pub packages: Vec<Package>,
    /// SHA-256 of the kernel that is booted.
    pub kernel_sha256: String,
    /// SHA-256 of the policy that is loaded.
    pub policy_sha256: String,
    /// SHA-256 of the guest's disk: programs, libraries, site, sources and labels.
    pub disk_sha256: String,
    /// SHA-256 of the bakeoff that makes the operations in the guest.
    pub executable_sha256: String,
    /// What QEMU says it is.
    pub qemu: String,
    /// How QEMU is started, but for what differs between boots.
    pub machine: Vec<String>,
    /// Rows that every boot must give.
    pub rows: Vec<String>,
    /// The boots, in their order.
    pub boots: Vec<Boot>,
    /// The study whose published figures stand beside the rows.
    pub study: Option<String>,
    /// What the plan keeps of the study and what it modernises.
    pub differs: Vec<String>,
}

impl GuestSetup {
    /// Whether boots of this guest may stand beside those of another one.
    pub(crate) fn demand_same(&self, begun: &Self) -> Result<(), GuestError> {
        let differs = [
            ("kernel", self.kernel_sha256 != begun.kernel_sha256),
            ("policy", self.policy_sha256 != begun.policy_sha256),
            ("bakeoff", self.executable_sha256 != begun.executable_sha256 || self.bakeoff != begun.bakeoff),
            ("disk", self.disk_sha256 != begun.disk_sha256),
            ("QEMU", self.qemu != begun.qemu || self.machine != begun.machine),
            ("plan", self.boots != begun.boots || self.rows != begun.rows),
        ];
        let differs: Vec<&str> =
            differs.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect();
        if differs.is_empty() { Ok(()) } else { Err(GuestError::OtherGuest(differs.join(", "))) }
    }
}

/// A Debian package.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// A boot: what is set in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    /// With or without what is measured.
    pub mode: BootMode,
    /// Whether the kernel defends itself against faults of processors.
    pub mitigations: bool,
    /// 0: nothing is perturbed. Others: so many steps longer is the kernel's command line, which moves what lies behind
    /// it in memory, and so many steps later begins each part, which moves it between two ticks of the guest's clock.
    pub perturbation: u32,
    /// The same as an earlier one, which it must agree with to the instruction.
    pub repeat: bool,
}

impl Boot {
    /// `enforcing, perturbed 1, again`
    pub fn in_words(&self) -> String {
        let mut words = self.mode.word().to_owned();
        if self.mitigations {
            words += ", mitigations on";
        }
        if self.perturbation > 0 {
            words += &format!(", perturbed {}", self.perturbation);
        }
        if self.repeat {
            words += ", again";
        }
        words
    }
}

/// A line of `boots.jsonl`: a boot that came to its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BootRecord {
    /// Which.
    pub boot: Boot,
    /// What was counted, in the order in which it was.
    pub rows: Vec<BootRow>,
    /// What the guest said of itself: domains, replies to planted violations, the kernel's refusals.
    pub facts: Vec<GuestFact>,
    /// How long it took here, which says nothing of what was counted.
    pub elapsed_ns: u64,
    /// CPU that QEMU used.
    pub cpu_ns: u64,
}

impl BootRecord {
    /// The row of this name.
    pub fn row(&self, name: &str) -> Option<&BootRow> {
        self.rows.iter().find(|row| row.name == name)
    }

    /// Values of a fact, in the order in which they were said.
    pub fn facts<'r>(&'r self, name: &'r str) -> impl Iterator<Item = &'r str> {
        self.facts.iter().filter(move |fact| fact.name == name).map(|fact| fact.value.as_str())
    }
}

/// A row of one boot: instructions an operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BootRow {
    /// Its name.
    pub name: String,
    /// Operations of a batch.
    pub count: u64,
    /// Of the cheapest batch.
    pub min: f64,
    /// Of the one in the middle.
    pub median: f64,
    /// Of the dearest.
    pub max: f64,
}

/// A row that the guest could not make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cannot {
    pub(crate) name: String,
    pub(crate) why: String,
}

/// Something that the guest said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuestFact {
    /// What.
    pub name: String,
    /// The rest of the line.
    pub value: String,
}
