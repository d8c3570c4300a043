//! Purposes of random draws from an object's name: one constant each.
//!
//! A number is never changed or given to another purpose: every object of every world would change with it.

use super::ObjectName;
use crate::SplitMix64;

pub(super) const SIZE: u64 = 1;
pub(super) const CACHABLE: u64 = 2;
pub(super) const EXTENSION: u64 = 3;
pub(super) const CYCLE_LENGTH: u64 = 4;
pub(super) const BIRTH: u64 = 5;
pub(super) const SHOWS_LAST_MODIFIED: u64 = 6;
pub(super) const EXPIRY: u64 = 7;
pub(super) const EXPIRY_OFFSET: u64 = 8;
pub(super) const EMBEDDED_COUNT: u64 = 9;
pub(super) const DRIFT: u64 = 10;
pub(super) const ETAG: u64 = 11;
pub(super) const BODY: u64 = 12;

/// The generator of one property of an object.
pub(super) fn random(name: &ObjectName, purpose: u64) -> SplitMix64 {
    SplitMix64::for_purpose(name.key(), purpose)
}

/// The generator of one property of one version of an object.
pub(super) fn version_random(key: u64, version: u64, purpose: u64) -> SplitMix64 {
    SplitMix64::for_purpose(key ^ crate::mix64(version.wrapping_add(0x9e37_79b9_7f4a_7c15)), purpose)
}
