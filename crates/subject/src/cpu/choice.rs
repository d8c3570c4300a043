//! Choice of the account that CPU is read from.

use serde::{Deserialize, Serialize};

/// Source that the user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CpuChoice {
    /// The best that is available: cgroup v1, cgroup v2, clocks.
    #[default]
    Auto,
    /// Cgroup v1 or fail to start.
    CgroupV1,
    /// Cgroup v2 or fail to start.
    CgroupV2,
    /// Clocks, even if a cgroup could be made.
    Clocks,
}

impl CpuChoice {
    pub(crate) fn needs_group(self) -> bool {
        matches!(self, Self::CgroupV1 | Self::CgroupV2)
    }
}
