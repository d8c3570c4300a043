//! Values that may differ between a stated sample and the whole.

use super::{PlanFile, WorkloadSection};
use schemars::JsonSchema;
use serde::Deserialize;

/// A key of which a plan may give two values.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a value as docs/plans.md has it, or { sample = VALUE, full = VALUE }"
)]
pub enum Extents<T> {
    /// The same always.
    One(T),
    /// As `--full` says.
    Two(SampleAndFull<T>),
}

/// `{ sample = X, full = Y }`
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SampleAndFull<T> {
    /// Without `--full`.
    pub sample: T,
    /// With `--full`.
    pub full: T,
}

impl<T> Extents<T> {
    const fn is_two(&self) -> bool {
        matches!(self, Self::Two(_))
    }
}

impl PlanFile<'_> {
    /// Whether any key has two values.
    pub(in super::super) fn has_extents(&self) -> bool {
        let e = &self.experiment;
        e.budget.as_ref().is_some_and(|budget| budget.as_ref().is_two())
            || e.max_rounds.as_ref().is_some_and(|rounds| rounds.as_ref().is_two())
            || e.slice_requests.as_ref().is_some_and(|requests| requests.as_ref().is_two())
            || self.workload.has_extents()
            || self.arms_and_levels().any(|keys| keys.has_table("slice_requests"))
    }
}

impl WorkloadSection {
    fn has_extents(&self) -> bool {
        match self {
            Self::Files(files) => files.sizes.as_ref().is_some_and(|sizes| sizes.as_ref().is_two()),
            Self::Command(_) | Self::Calls(_) | Self::Requests(_) => false,
        }
    }
}
