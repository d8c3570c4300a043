//! Probe for the kernel features and rights that the layer needs.
//!
//! Measured side, cold. Leaves nothing behind.

use super::MissingFeature;
use aya::maps::{Array, MapData, MapError};
use aya::util::KernelVersion;
use bakeoff_sys::privilege::Capability;
use std::path::Path;

/// Probes this machine.
///
/// # Errors
/// The first missing feature.
pub fn probe() -> Result<(), MissingFeature> {
    match Array::<MapData, u32>::create(1, 0) {
        Ok(_map) => {}
        Err(MapError::CreateError { io_error, .. }) if io_error.raw_os_error() == Some(libc::EPERM) => {
            return Err(MissingFeature::Privilege);
        }
        Err(_) => return Err(MissingFeature::Bpf),
    }
    if !may_load() {
        return Err(MissingFeature::Privilege);
    }
    if KernelVersion::current().is_ok_and(|version| version < KernelVersion::new(6, 6, 0)) {
        return Err(MissingFeature::Tcx);
    }
    if Path::new("/sys/kernel/btf/vmlinux").exists() { Ok(()) } else { Err(MissingFeature::Btf) }
}

/// Whether the thread has the capabilities. Making a map proves nothing if `kernel.unprivileged_bpf_disabled` is 0:
/// then any process may.
fn may_load() -> bool {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let bits = bits.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: Capability| bits >> capability as u32 & 1 == 1;
    has(Capability::NetAdmin)
        && (has(Capability::SysAdmin) || (has(Capability::Perfmon) && has(Capability::Bpf)))
}
