//! The date, as manifests and vaults write it.
//!
//! Measured side, cold.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 for a clock that is set before.
pub fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
