//! Wall-clock time in seconds since 1970, the form that manifests and vaults use.
//!
//! Measured side, cold.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970; 0 if the clock is set to an earlier time.
pub fn now_unix_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
