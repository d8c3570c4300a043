//! Values that may differ between a stated sample and the whole.

use super::{PlanFile, Spanned};
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

impl PlanFile<'_> {
    /// Whether any key has two values.
    pub(in super::super) fn has_extents(&self) -> bool {
        fn is_two<T>(key: &Option<Spanned<Extents<T>>>) -> bool {
            key.as_ref().is_some_and(|key| matches!(key.as_ref(), Extents::Two(_)))
        }
        let e = &self.experiment;
        is_two(&e.budget)
            || is_two(&e.max_rounds)
            || is_two(&e.slice_requests)
            || self.loads.workload.has_table("sizes")
            || self.arms_and_levels().any(|keys| keys.has_table("slice_requests"))
    }
}
