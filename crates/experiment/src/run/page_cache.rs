//! Kernel caches of files, dropped for the whole machine.
//!
//! Measuring side, between slices. Needs root, and slows down all other users of the machine.

use std::io;

/// Caches to drop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Caches {
    /// Contents of files.
    Pages,
    /// Contents, names and attributes.
    Everything,
}

/// Writes dirty pages to disk, then drops what can be read again.
pub(crate) fn drop_caches(what: Caches) -> io::Result<()> {
    bakeoff_sys::disk::sync();
    let order = match what {
        Caches::Pages => "1",
        Caches::Everything => "3",
    };
    std::fs::write("/proc/sys/vm/drop_caches", order)
}
