//! The archive that a kernel unpacks into its first file system: cpio, form `newc`.
//!
//! Measuring side, cold. Numbers and times are the same in every build.

use crate::GuestError;
use crate::error::at;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};

const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// An archive that is being written.
pub(super) struct Archive {
    path: PathBuf,
    file: BufWriter<File>,
    entries: u32,
}

impl Archive {
    pub(super) fn create(path: &Path) -> Result<Self, GuestError> {
        let file = File::create(path).map_err(at(path))?;
        Ok(Self { path: path.to_owned(), file: BufWriter::new(file), entries: 0 })
    }

    pub(super) fn directories(&mut self, names: &[&str]) -> Result<(), GuestError> {
        names.iter().try_for_each(|name| self.entry(name, DIRECTORY | 0o755, 0, &mut std::io::empty()))
    }

    pub(super) fn bytes(&mut self, name: &str, mode: u32, mut bytes: &[u8]) -> Result<(), GuestError> {
        self.entry(name, REGULAR | mode, bytes.len() as u64, &mut bytes)
    }

    /// A file of this machine.
    pub(super) fn copy(&mut self, name: &str, mode: u32, from: &Path) -> Result<(), GuestError> {
        let mut file = File::open(from).map_err(at(from))?;
        let size = file.metadata().map_err(at(from))?.len();
        self.entry(name, REGULAR | mode, size, &mut file)
    }

    pub(super) fn finish(mut self) -> Result<(), GuestError> {
        self.entry("TRAILER!!!", 0, 0, &mut std::io::empty())?;
        self.file.flush().map_err(at(self.path))
    }

    fn entry(&mut self, name: &str, mode: u32, size: u64, content: &mut dyn Read) -> Result<(), GuestError> {
        self.entries += 1;
        // inode, mode, uid, gid, links, mtime, size, device (2), special device (2), length of the name, checksum
        let fields = [self.entries, mode, 0, 0, 1, 0, size as u32, 0, 0, 0, 0, name.len() as u32 + 1, 0];
        let mut head = "070701".to_owned();
        fields.iter().for_each(|field| head += &format!("{field:08x}"));
        head += name;
        head.push('\0');
        let mut write = || {
            self.file.write_all(head.as_bytes())?;
            self.file.write_all(&[0; 3][..padding(head.len() as u64)])?;
            let copied = std::io::copy(content, &mut self.file)?;
            if copied != size {
                return Err(std::io::Error::other("a file changed while it was packed"));
            }
            self.file.write_all(&[0; 3][..padding(size)])
        };
        write().map_err(at(&self.path))
    }
}

/// Bytes up to the next multiple of 4.
const fn padding(length: u64) -> usize {
    (length.wrapping_neg() % 4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_begins_at_a_multiple_of_four() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let mut archive = Archive::create(&path).unwrap();
        archive.directories(&["dev"]).unwrap();
        archive.bytes("init", 0o755, b"12345").unwrap();
        archive.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        let starts: Vec<usize> =
            (0..bytes.len() - 6).filter(|at| &bytes[*at..*at + 6] == b"070701").collect();
        assert_eq!(starts, [0, 116, 116 + 116 + 8]);
        assert!(bytes.len().is_multiple_of(4) && &bytes[232..237] == b"12345");
        assert_eq!(&bytes[116 + 14..116 + 22], b"000081ed");
    }
}
