//! How far what was asked of a layer is enforced, in the words of its status.
//!
//! Measured side, pure.

use std::fmt;

/// How far.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Degree {
    /// Wholly, but for what the documentation says of every kernel.
    Full,
    /// In part, and why only in part.
    Partial(String),
    /// Not at all, and why.
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
