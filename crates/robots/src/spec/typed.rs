//! Values that plans write as text, read at once into their types, so that errors stand at their place.
//!
//! Cold.

use serde::de::{Deserialize, Deserializer, Error};
use std::fmt::Display;
use std::str::FromStr;

/// A text of any type that parses.
pub(crate) fn text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// The same, where the key may be left out.
pub(crate) fn maybe<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    text(deserializer).map(Some)
}

/// A distribution of sizes.
pub(crate) fn sizes<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bakeoff_content::Distribution>, D::Error> {
    let text = String::deserialize(deserializer)?;
    bakeoff_content::Distribution::parse_bytes(&text).map(Some).map_err(D::Error::custom)
}

/// A distribution of counts.
pub(crate) fn counts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<bakeoff_content::Distribution>, D::Error> {
    let text = String::deserialize(deserializer)?;
    bakeoff_content::Distribution::parse_count(&text).map(Some).map_err(D::Error::custom)
}
