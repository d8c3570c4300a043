//! Distributions as plans name them: `exp:13KB`, `norm:3s,1.5s`, `zipf:13`.
//!
//! Measuring side; drawn from on the hot path of origin and robots: no allocation, no state, so that a draw depends on
//! the generator alone. Owns the text form (`parse`) and the means (`moments`). The purpose of a draw, and the
//! treatment of one below zero, are the reader's affair.
//!
//! The forms are Web Polygraph's, but for two: the normal is a real one and no sum of twelve uniforms,
//! and there is no `seq`, as it would need a state that is not in an object's name.

mod moments;
mod parse;

use crate::SplitMix64;
use std::fmt;
use thiserror::Error;

/// The forms, for errors and help.
const FORMS: &str = "const:V, unif:LOW,HIGH, exp:MEAN, norm:MEAN,SD, logn:MEAN,SD, zipf:N, table:5xV,95xV";

/// Distribution of a value. Values are in base units: bytes, seconds, or plain counts.
///
/// - `const:V`: always V
/// - `unif:LOW,HIGH`: evenly in LOW <= x < HIGH
/// - `exp:MEAN`: exponential
/// - `norm:MEAN,SD`: normal; draws may be negative
/// - `logn:MEAN,SD`: log-normal; MEAN and SD are those of the values, not of their logarithms
/// - `zipf:N`: 1 to N, where k has the chance ln((k+1)/k) / ln(N+1): about as 1/k
/// - `table:5x1KB,95x13KB`: each value by its weight
#[derive(Clone, Debug)]
pub struct Distribution {
    /// As typed, without blanks at its ends.
    text: Box<str>,
    shape: Shape,
}

/// The meaning of the text, in base units.
#[derive(Clone, Debug, PartialEq)]
enum Shape {
    Constant(f64),
    Uniform { low: f64, high: f64 },
    Exponential { mean: f64 },
    Normal { mean: f64, deviation: f64 },
    LogNormal { mean: f64, log_mean: f64, log_deviation: f64 },
    Zipf { ranks: f64 },
    Table { rows: Vec<(f64, f64)>, weight: f64 },
}

/// A text that is no distribution.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DistributionError {
    /// No known name, or another number of values than it takes.
    #[error("`{typed}` is no distribution; allowed are {FORMS}")]
    Form {
        /// The whole text.
        typed: String,
    },
    /// One of the values.
    #[error("`{typed}` is not {allowed}")]
    Value {
        /// The value.
        typed: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
    /// Values that do not go together.
    #[error("`{typed}`: {rule}")]
    Rule {
        /// The whole text.
        typed: String,
        /// The rule that must hold.
        rule: &'static str,
    },
}

impl Distribution {
    /// Always nothing, whatever the unit.
    pub fn nothing() -> Self {
        Self { text: "const:0".into(), shape: Shape::Constant(0.0) }
    }

    /// Of sizes, in bytes: `exp:13KB`. KB, MB, GB and TB are powers of 1024 here, as in Polygraph and unlike elsewhere
    /// in plans; KiB, MiB, GiB and TiB are the same.
    ///
    /// # Errors
    ///
    /// The text, and what is allowed.
    pub fn parse_bytes(text: &str) -> Result<Self, DistributionError> {
        Self::parse(text, &parse::BYTES)
    }

    /// Of times, in seconds: `norm:3s,1.5s`. A year has 365.25 days.
    ///
    /// # Errors
    ///
    /// The text, and what is allowed.
    pub fn parse_seconds(text: &str) -> Result<Self, DistributionError> {
        Self::parse(text, &parse::SECONDS)
    }

    /// Of plain numbers: `zipf:13`.
    ///
    /// # Errors
    ///
    /// The text, and what is allowed.
    pub fn parse_count(text: &str) -> Result<Self, DistributionError> {
        Self::parse(text, &parse::COUNTS)
    }

    fn parse(text: &str, dimension: &parse::Dimension) -> Result<Self, DistributionError> {
        let text = text.trim();
        Ok(Self { text: text.into(), shape: parse::shape(text, dimension)? })
    }

    /// One value. Only a normal one may be below zero; users take that for zero.
    pub fn draw(&self, random: &mut SplitMix64) -> f64 {
        match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Uniform { low, high } => low + (high - low) * random.unit(),
            Shape::Exponential { mean } => mean * random.exponential(),
            Shape::Normal { mean, deviation } => mean + deviation * random.normal(),
            Shape::LogNormal { log_mean, log_deviation, .. } => {
                (log_mean + log_deviation * random.normal()).exp()
            }
            // The power can round up to N + 1.
            Shape::Zipf { ranks } => (ranks + 1.0).powf(random.unit()).floor().min(*ranks),
            Shape::Table { rows, weight } => {
                let at = weight * random.unit();
                let mut passed = 0.0;
                let row = rows.iter().find(|(weight, _)| {
                    passed += weight;
                    at < passed
                });
                row.or(rows.last()).map_or(0.0, |(_, value)| *value)
            }
        }
    }

    /// The mean of the draws when those below zero count as zero.
    pub fn mean(&self) -> f64 {
        match &self.shape {
            Shape::Constant(value) => *value,
            Shape::Uniform { low, high } => f64::midpoint(*low, *high),
            Shape::Exponential { mean } | Shape::LogNormal { mean, .. } => *mean,
            Shape::Normal { mean, deviation } => moments::clipped_normal_mean(*mean, *deviation),
            Shape::Zipf { ranks } => moments::zipf_mean(*ranks),
            Shape::Table { rows, weight } => {
                rows.iter().map(|(weight, value)| weight * value).sum::<f64>() / weight
            }
        }
    }
}

/// Equal where all draws are: `const:1KB` and `const:1024B` are.
impl PartialEq for Distribution {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
    }
}

/// As it was typed.
impl fmt::Display for Distribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests;
