//! Landlock version of this kernel.
//!
//! Measured side, cold. Owns one call; rulesets are the crate `landlock`'s, which does not report the version
//! beforehand.

use std::io;

/// `LANDLOCK_CREATE_RULESET_VERSION`.
const VERSION: u32 = 1;

/// The number of its ABI, 1 or more.
///
/// # Errors
/// `ENOSYS` where the kernel was built without, `EOPNOTSUPP` where it was switched off at boot.
pub fn abi() -> io::Result<u32> {
    let (no_attributes, no_bytes) = (std::ptr::null::<u8>(), 0_usize);
    // SAFETY: with this flag the kernel reads no attributes, and makes nothing.
    let abi = unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, no_attributes, no_bytes, VERSION) };
    u32::try_from(abi).map_err(|_| io::Error::last_os_error())
}
