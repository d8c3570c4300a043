//! Values that may differ between a stated sample and the whole.

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
