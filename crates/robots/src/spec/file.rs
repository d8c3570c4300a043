//! The table `[robots]` as it is typed in a plan.

use super::typed;
use crate::popularity::Popularity;
use bakeoff_content::Distribution;
use bakeoff_units::{Nanos, PerSecond, Ratio};
use serde::Deserialize;
use std::fmt;
use std::num::{NonZeroU16, NonZeroU32, NonZeroU64};
use std::str::FromStr;

/// `[robots]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RobotsFile {
    /// Number of robots. Default 1.
    pub robots: Option<NonZeroU32>,
    /// Requests, those for embedded objects included: "250/s" of all robots, "0.4/s per robot" of each. Left out: best
    /// effort; each robot asks again as soon as its page is complete.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub rate: Option<RateFile>,
    /// Gaps between requests: "poisson" (default), "const", or a distribution such as "unif:0s,2s", of which the shape
    /// alone counts: it is stretched to the rate.
    #[serde(default, deserialize_with = "typed::text")]
    pub inter_arrival: Gaps,
    /// Probability that a robot repeats an object that was requested before, of the same server and kind. Times the
    /// share of cachable objects it is the hit ratio of an ideal cache. Default 0%.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub recurrence: Option<Ratio>,
    /// Choice of the repeated object: "unif" (default), "zipf:0.8" (the rank never changes) or "zipf-recency:1" (the
    /// newest most).
    #[serde(default, deserialize_with = "typed::maybe")]
    pub popularity: Option<Popularity>,
    /// A part of the working set that is requested more often.
    pub hot_set: Option<HotSetFile>,
    /// Probability that of an object and four neighbours on either side the smallest cachable one is requested: lowers
    /// the hit ratio by bytes. Default 0%.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub byte_hit_discrimination: Option<Ratio>,
    /// Share of the robots that accept gzip, in all requests but ranges and POST; the others say that they accept no
    /// content coding. Only where a kind of content has it. Default 0%: no request names a coding.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub accept_gzip: Option<Ratio>,
    /// Shares of requests that are not basic; the rest is.
    #[serde(default)]
    pub special: SpecialFile,
    /// Size of the bodies that POST sends, such as "unif:0,8KB". Default none.
    #[serde(default, deserialize_with = "typed::sizes")]
    pub post_body: Option<Distribution>,
    /// Probability that an embedded object is requested; always the same ones of a page. Default 100%.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub embedded: Option<Ratio>,
    /// Most requests that a connection carries, such as "zipf:64", drawn for each; "const:1" is a connection a request.
    /// Left out: as many as the server allows.
    #[serde(default, deserialize_with = "typed::counts")]
    pub requests_per_connection: Option<Distribution>,
    /// Connections without a request for so long are closed, such as "15s". Left out: robots close none.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub idle_timeout: Option<Nanos>,
    /// Most connections: "4 per robot", or "1000" of all together. A robot that finds none free waits, and its response
    /// time runs on. Default "8192".
    #[serde(default, deserialize_with = "typed::maybe")]
    pub connections: Option<ConnectionsFile>,
    /// Number of servers in the URLs; each is asked as often. Default 1.
    pub servers: Option<NonZeroU16>,
    /// The end of the working set's growth. Left out: never.
    pub working_set: Option<WorkingSetFile>,
}

/// `hot_set = { .. }`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HotSetFile {
    /// Share of the working set that is hot.
    #[serde(deserialize_with = "typed::text")]
    pub share: Ratio,
    /// Probability that a repeated request goes there.
    #[serde(deserialize_with = "typed::text")]
    pub probability: Ratio,
}

/// `special = { .. }`
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpecialFile {
    /// If-Modified-Since a second before the object's last change: 200 is right.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub ims200: Option<Ratio>,
    /// If-Modified-Since a second after the object's last change: 304 is right.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub ims304: Option<Ratio>,
    /// If-None-Match with another entity tag than the object's: 200 is right.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub etag200: Option<Ratio>,
    /// If-None-Match with the object's entity tag: 304 is right.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub etag304: Option<Ratio>,
    /// If-Match with another entity tag than the object's: 412 is right, and 200 of a cache that leaves the condition to
    /// the origin.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub match412: Option<Ratio>,
    /// A field that `Connection` lists, so that the cache must not pass it on.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub hop: Option<Ratio>,
    /// `Cache-Control: no-cache` and `Pragma: no-cache`: the cache must ask the origin.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub reload: Option<Ratio>,
    /// A range of the object's bytes.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub range: Option<Ratio>,
    /// GETs whose connection is closed in the midst of the reply's body.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub abort: Option<Ratio>,
    /// POST, of the direct requests; each to a URL of its own, as a cache drops what it holds of a URL that is posted
    /// to (RFC 9111 section 4.4).
    #[serde(default, deserialize_with = "typed::maybe")]
    pub post: Option<Ratio>,
    /// HEAD in place of GET, of the direct requests.
    #[serde(default, deserialize_with = "typed::maybe")]
    pub head: Option<Ratio>,
}

/// `working_set = { .. }`: one of both.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkingSetFile {
    /// Time after the start, such as "4h".
    #[serde(default, deserialize_with = "typed::maybe")]
    pub length: Option<Nanos>,
    /// Number of objects that have gone into the cache.
    pub objects: Option<NonZeroU64>,
}

/// Variation of the gaps between requests.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Gaps {
    /// Exponential: robots that know nothing of each other.
    #[default]
    Poisson,
    /// All equal.
    Const,
    /// As this, of which the mean is above 0.
    Drawn(Distribution),
}

impl FromStr for Gaps {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "poisson" => return Ok(Self::Poisson),
            "const" => return Ok(Self::Const),
            _ => {}
        }
        let drawn = Distribution::parse_seconds(text).map_err(|why| {
            format!("`{text}` is neither poisson nor const nor a distribution of times: {why}")
        })?;
        if drawn.mean() > 0.0 { Ok(Self::Drawn(drawn)) } else { Err(format!("`{text}` has a mean of 0")) }
    }
}

/// A quantity for all robots together, or for each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AmountPer<T> {
    /// Of all together.
    All(T),
    /// Of each.
    Robot(T),
}

/// `rate` as it is typed.
pub type RateFile = AmountPer<PerSecond>;
/// `connections` as it is typed.
pub type ConnectionsFile = AmountPer<NonZeroU32>;

impl<T: FromStr<Err: fmt::Display>> FromStr for AmountPer<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (amount, per_robot) = match text.trim().strip_suffix("per robot") {
            Some(amount) => (amount.trim(), true),
            None => (text.trim(), false),
        };
        let amount = amount.parse().map_err(|error| format!("`{text}`: {error}"))?;
        Ok(if per_robot { Self::Robot(amount) } else { Self::All(amount) })
    }
}
