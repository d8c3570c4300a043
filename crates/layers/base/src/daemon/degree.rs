//! Degree to which a layer enforces its configuration, in the words of its status file.
//!
//! Measured side, pure.

use std::fmt;

/// Degree of enforcement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Degree {
    /// Completely, except for what the documentation says of every kernel.
    Full,
    /// In part, with the reason.
    Partial(String),
    /// Not at all, with the reason.
    None(String),
}

impl fmt::Display for Degree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str("full"),
            Self::Partial(why) => write!(f, "partial: {why}"),
            Self::None(why) => write!(f, "none: {why}"),
        }
    }
}
