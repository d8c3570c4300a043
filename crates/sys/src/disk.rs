//! Free space of file systems, and writing to disk.

use std::io;
use std::path::Path;

/// Bytes that an ordinary user may still write below `path`.
///
/// # Errors
/// What `statvfs` reports.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = nix::sys::statvfs::statvfs(path)?;
    Ok(stat.blocks_available() * stat.fragment_size())
}

/// Waits until all written data is on disk.
pub fn sync() {
    nix::unistd::sync();
}

/// The same for the file system that `path` lies on.
///
/// # Errors
///
/// There is no such path, or some data could not be written.
pub fn sync_at(path: &Path) -> io::Result<()> {
    Ok(nix::unistd::syncfs(std::fs::File::open(path)?)?)
}

#[cfg(test)]
mod tests {
    #[test]
    fn there_is_some_room_somewhere() {
        assert!(super::free_bytes(&std::env::temp_dir()).unwrap() > 0);
    }
}
