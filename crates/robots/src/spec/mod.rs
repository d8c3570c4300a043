//! Robots as a plan specifies them.
//!
//! Cold. Two types: the keys as typed ([`RobotsFile`], [`PhaseFile`]), and the checked plan ([`Spec`]), in which
//! nothing contradicts itself. Knows keys and their meaning; does nothing.

mod check;
mod drive;
mod error;
mod file;
#[cfg(test)]
mod tests;
pub(crate) mod typed;

pub use error::SpecError;
pub use file::{
    AmountPer, ConnectionsFile, Gaps, HotSetFile, RateFile, RobotsFile, SpecialFile, WorkingSetFile,
};

use crate::phases::{Phase, PhaseFile};
use crate::popularity::{HotSet, Popularity};
use crate::working_set::GrowthLimit;
use bakeoff_content::Distribution;
use bakeoff_units::{Nanos, PerSecond, Ratio};
use serde::Deserialize;
use std::num::{NonZeroU16, NonZeroU32};
use std::sync::Arc;

/// The checked plan of the robots.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Number of robots.
    pub robots: NonZeroU32,
    /// Requests per second of all of them, embedded objects included; `None`: best effort.
    pub rate: Option<PerSecond>,
    /// Variation of the gaps between requests.
    pub gaps: Gaps,
    /// Probability that a request repeats an earlier one.
    pub recurrence: Ratio,
    /// Choice of the repeated object.
    pub popularity: Popularity,
    /// A part that is requested more often.
    pub hot_set: Option<HotSet>,
    /// Probability that the smallest of nine neighbours is asked.
    pub byte_hit_discrimination: Ratio,
    /// Share of the robots that accept gzip.
    pub accept_gzip: Ratio,
    /// Requests that are not basic.
    pub special: Special,
    /// Size of the body that a POST sends; nothing where there is none.
    pub post_body: Option<Distribution>,
    /// Probability that an embedded object is requested.
    pub embedded: Ratio,
    /// Number of requests that a connection carries, drawn for each; `None`: as many as the server allows.
    pub requests_per_connection: Option<Distribution>,
    /// Connections without a request for so long are closed.
    pub idle_timeout: Option<Nanos>,
    /// Most connections.
    pub connections: Connections,
    /// Number of servers, each asked as often as any other.
    pub servers: NonZeroU16,
    /// The end of the working set's growth.
    pub working_set: GrowthLimit,
    /// The phases; at least one.
    pub phases: Arc<[Phase]>,
}

/// Shares of requests that are not basic. What is left over is basic.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Special {
    /// If-Modified-Since a second before the last change.
    pub ims200: Ratio,
    /// If-Modified-Since a second after it.
    pub ims304: Ratio,
    /// If-None-Match with another entity tag.
    pub etag200: Ratio,
    /// If-None-Match with the entity tag.
    pub etag304: Ratio,
    /// If-Match with another entity tag.
    pub match412: Ratio,
    /// A field that `Connection` lists.
    pub hop: Ratio,
    /// Cache-Control: no-cache.
    pub reload: Ratio,
    /// A range of bytes.
    pub range: Ratio,
    /// GETs that are broken off inside the body.
    pub abort: Ratio,
    /// HEAD; of the requests that are asked directly.
    pub head: Ratio,
    /// POST; the same.
    pub post: Ratio,
}

/// Most connections that robots have at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connections {
    /// Of all robots together, which share them.
    All(NonZeroU32),
    /// Each robot, of its own.
    Each(NonZeroU32),
}

/// `[robots]` and `[[phase]]` in a file of their own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Both {
    robots: RobotsFile,
    #[serde(default)]
    phase: Vec<PhaseFile>,
}

impl Spec {
    /// Checks the keys as typed.
    ///
    /// # Errors
    ///
    /// The contradiction, with its key.
    pub fn new(robots: &RobotsFile, phases: &[PhaseFile]) -> Result<Self, SpecError> {
        check::check(robots, phases)
    }

    /// From a text with `[robots]` and `[[phase]]` and nothing else.
    ///
    /// # Errors
    /// The fault, with line or key.
    pub fn from_toml(text: &str) -> Result<Self, SpecError> {
        let both: Both = toml::from_str(text).map_err(|error| SpecError::Toml(error.to_string()))?;
        Self::new(&both.robots, &both.phase)
    }
}
