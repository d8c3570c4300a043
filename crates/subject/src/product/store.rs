//! Fill level of a proxy's store, by the product's own gauge.
//!
//! Measuring side, cold path: read every few seconds while a store is filled, never in a slice, since products spend
//! time on the answer (a directory of a million files takes seconds to add up). Owns the form of a reading and the ways to
//! ask that several products share. Evicts and judges nothing.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the directory for objects, in the private one; removed when the proxy has ended.
pub(super) const CACHE: &str = "cache";
/// Time that a gauge may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Location of a product's objects. Copies in memory of what is on disk are no room of their own: neither the page
/// cache's nor those in Traffic Server's RAM cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StoresIn {
    /// In memory only.
    Memory,
    /// On disk only.
    Disk,
    /// In one store, either in memory or on disk.
    Either,
    /// In memory and on disk.
    Both,
}

/// The store of a product.
pub(super) struct Store {
    pub(super) stores_in: StoresIn,
    /// Its room, at least.
    pub(super) least_bytes: u64,
    /// Its room, at most.
    pub(super) most_bytes: u64,
    /// Reads its fill level.
    pub(super) gauge: fn(&Gauge<'_>) -> Result<StoreReading, StoreError>,
    /// Stale objects are revalidated instead of fetched anew.
    pub(super) can_revalidate: bool,
    /// The reply header in which our configuration reports hit or miss.
    pub(super) verdict_header: Option<&'static str>,
    /// Directives of which the user's configuration has one if it keeps replies, or may have it in another file; none:
    /// the product keeps replies with any.
    pub(super) enabled_by: &'static [&'static str],
}

impl Store {
    /// With less than this, what the store needs for itself leaves too little for objects.
    pub(super) const LEAST_BYTES: u64 = 8 << 20;
}

/// A reading of a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoreReading {
    /// Taken by objects, with what the product adds to each.
    pub used_bytes: u64,
    /// Level at which the product begins to evict objects. `used_bytes` may stay a little below (a store in memory is
    /// cut into blocks) or above it (nginx and Apache clean up afterwards).
    pub capacity_bytes: u64,
    /// Objects evicted for want of room since the start; none: the product does not say.
    pub evictions: Option<u64>,
    /// Objects in the store; none: the product does not say.
    pub objects: Option<u64>,
    /// The source of the figures.
    pub source: &'static str,
}

/// Reasons why a gauge cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The product has no store.
    #[error("it keeps nothing")]
    None,
    /// bakeoff did not start it, so its files are not ours.
    #[error("bakeoff did not start it, so its store cannot be seen")]
    NotOurs,
    /// It did not answer.
    #[error("asking {asked}: {source}; is it still running?")]
    Silent {
        /// The program, address or path that was asked.
        asked: String,
        /// The error.
        source: io::Error,
    },
    /// Its answer has another form.
    #[error("{asked} does not say {wanted}; a configuration of your own must leave the gauge in")]
    Unclear {
        /// The program or address that was asked.
        asked: String,
        /// The part that was not found.
        wanted: &'static str,
    },
}

/// Access of a gauge to a running product.
pub(super) struct Gauge<'a> {
    /// The room that it was given, in memory and on disk, and where its store is.
    pub(super) memory_bytes: u64,
    pub(super) disk_bytes: Option<u64>,
    pub(super) store_bytes: u64,
    pub(super) address: SocketAddr,
    /// The private directory.
    pub(super) dir: &'a Path,
    /// The configuration as it was written.
    pub(super) config: &'a str,
}

impl Gauge<'_> {
    /// The body of a reply of the proxy itself.
    pub(super) fn page(&self, path: &str, host: &str) -> Result<String, StoreError> {
        let silent = |source| StoreError::Silent { asked: format!("http://{}{path}", self.address), source };
        let ask = || {
            let mut stream = TcpStream::connect_timeout(&self.address, PATIENCE)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n")?;
            let mut reply = Vec::new();
            stream.read_to_end(&mut reply)?;
            Ok(String::from_utf8_lossy(&reply).into_owned())
        };
        let reply: String = ask().map_err(silent)?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        if head.split(' ').nth(1) != Some("200") {
            let line = head.lines().next().unwrap_or_default().to_owned();
            return Err(silent(io::Error::other(format!("it answers `{line}`"))));
        }
        Ok(body.to_owned())
    }

    /// Adds up the files of the cache directory; `is_object` tells by a file's name.
    pub(super) fn directory(&self, is_object: fn(&str) -> bool) -> Result<StoreReading, StoreError> {
        let dir = self.dir.join(CACHE);
        let mut sum = Sum::default();
        let added = add_up(&dir, is_object, &mut sum);
        added.map_err(|source| StoreError::Silent { asked: dir.display().to_string(), source })?;
        Ok(StoreReading {
            used_bytes: sum.bytes,
            capacity_bytes: self.store_bytes,
            evictions: None,
            objects: Some(sum.objects),
            source: "size of the cache directory",
        })
    }
}

#[derive(Default)]
struct Sum {
    bytes: u64,
    objects: u64,
}

/// Size of the files on the disk, in whole blocks, as the products count. Files and directories that disappear
/// meanwhile are left out.
fn add_up(top: &Path, is_object: fn(&str) -> bool, sum: &mut Sum) -> io::Result<()> {
    fs::metadata(top)?;
    let mut rest: Vec<PathBuf> = vec![top.to_owned()];
    while let Some(dir) = rest.pop() {
        let entries = match fs::read_dir(&dir) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for entry in entries.flatten() {
            let Ok(about) = entry.metadata() else { continue }; // of a link itself
            if about.is_dir() {
                rest.push(entry.path());
            } else if about.is_file() {
                sum.bytes += about.blocks() * 512; // st_blocks counts in 512 bytes everywhere
                sum.objects += u64::from(is_object(&entry.file_name().to_string_lossy()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_counts_in_whole_blocks_with_its_objects_by_name() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        fs::write(dir.path().join("a/b/one.data"), [1; 5000]).unwrap();
        fs::write(dir.path().join("a/two.header"), [1; 10]).unwrap();
        std::os::unix::fs::symlink("/usr", dir.path().join("elsewhere")).unwrap();
        let mut sum = Sum::default();
        add_up(dir.path(), |name| name.ends_with(".data"), &mut sum).unwrap();
        let blocks = |name| fs::metadata(dir.path().join(name)).unwrap().blocks() * 512;
        assert_eq!((sum.bytes, sum.objects), (blocks("a/b/one.data") + blocks("a/two.header"), 1));
        assert!(add_up(&dir.path().join("none"), |_| true, &mut sum).is_err());
    }
}
