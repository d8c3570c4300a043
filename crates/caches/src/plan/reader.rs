//! Reader of the values of a plan: its errors name the file and the key.
//!
//! Measuring side, cold, pure.

use super::PlanError;
use std::fmt::Display;
use std::str::FromStr;

/// Reads values; its errors name the file and the key.
pub(super) struct Reader<'a> {
    pub(super) origin: &'a str,
    pub(super) text: &'a str,
}

impl Reader<'_> {
    pub(super) fn wrong(&self, key: &'static str, why: impl Display) -> PlanError {
        PlanError::of_key(self.origin, self.text, key, why)
    }

    /// Wrong in a section as a whole.
    pub(super) fn whole(&self, why: impl Display) -> PlanError {
        PlanError::of_whole(self.origin, why)
    }

    pub(super) fn value<T: FromStr<Err: Display>>(
        &self,
        key: &'static str,
        text: &str,
    ) -> Result<T, PlanError> {
        text.parse().map_err(|why| self.wrong(key, why))
    }

    pub(super) fn or<T: FromStr<Err: Display>>(
        &self,
        key: &'static str,
        text: Option<&String>,
        default: T,
    ) -> Result<T, PlanError> {
        text.map_or(Ok(default), |text| self.value(key, text))
    }
}
