//! Operations on files: stat, open and close, create, delete, copies.
//!
//! Measuring side, hot. All files lie in the deepest directory of the place.

use crate::failure::{Done, OperationFailure};
use crate::station::{Station, all};
use nix::fcntl::{OFlag, open};
use nix::sys::stat::{Mode, stat};
use nix::unistd::{Whence, lseek, read, unlink, write};
use std::ffi::{CStr, CString};
use std::fs;
use std::hint::black_box;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Bytes of the file that is opened.
const SIZE: usize = 100;
/// Blocks of the copied file, after which both begin anew: the file that UnixBench copies is cached too.
const BLOCKS: u64 = 128;

pub(crate) struct Stat(CString);

impl Stat {
    pub(crate) fn new(dir: &Path) -> Done<Self> {
        a_file(dir).map(Self)
    }
}

impl Station for Stat {
    fn run(&mut self, count: u64) -> Done {
        for _ in 0..count {
            black_box(stat(self.0.as_c_str()).map_err(OperationFailure::of("stat"))?);
        }
        Ok(())
    }
}

pub(crate) struct OpenClose(CString);

impl OpenClose {
    pub(crate) fn new(dir: &Path) -> Done<Self> {
        a_file(dir).map(Self)
    }
}

impl Station for OpenClose {
    fn run(&mut self, count: u64) -> Done {
        for _ in 0..count {
            drop(opened(&self.0, OFlag::O_RDONLY)?);
        }
        Ok(())
    }
}

/// Files that a batch makes or removes. Their names are made beforehand.
struct Many {
    dir: PathBuf,
    names: Vec<CString>,
}

impl Many {
    fn below(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), names: Vec::new() }
    }

    fn name(&mut self, count: u64) -> Done {
        for number in self.names.len() as u64..count {
            self.names.push(c_path(&self.dir.join(format!("f{number}")))?);
        }
        Ok(())
    }

    fn make(&self, count: u64) -> Done {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC;
        self.names.iter().take(count as usize).try_for_each(|name| opened(name, flags).map(drop))
    }

    fn remove(&self, count: u64) -> Done {
        let mut names = self.names.iter().take(count as usize);
        names.try_for_each(|name| unlink(name.as_c_str())).map_err(OperationFailure::of("unlink"))
    }

    /// Removes the files of a batch that was cut short.
    fn sweep(&self) {
        for name in &self.names {
            let _ = unlink(name.as_c_str()); // mostly it is not there
        }
    }
}

pub(crate) struct Create(Many, u64);

impl Create {
    pub(crate) fn new(dir: &Path) -> Self {
        Self(Many::below(dir), 0)
    }
}

impl Station for Create {
    fn before(&mut self, count: u64) -> Done {
        self.1 = count;
        self.0.name(count)
    }

    fn run(&mut self, count: u64) -> Done {
        self.0.make(count)
    }

    fn after(&mut self) -> Done {
        self.0.remove(self.1).inspect_err(|_| self.0.sweep())
    }
}

pub(crate) struct Delete(Many);

impl Delete {
    pub(crate) fn new(dir: &Path) -> Self {
        Self(Many::below(dir))
    }
}

impl Station for Delete {
    fn before(&mut self, count: u64) -> Done {
        self.0.name(count)?;
        self.0.make(count)
    }

    fn run(&mut self, count: u64) -> Done {
        self.0.remove(count).inspect_err(|_| self.0.sweep())
    }
}

/// Blocks of so many bytes from one file to another.
pub(crate) struct Copy<const BLOCK: usize> {
    from: OwnedFd,
    to: OwnedFd,
}

impl<const BLOCK: usize> Copy<BLOCK> {
    pub(crate) fn new(dir: &Path) -> Done<Self> {
        let (source, target) = (dir.join(format!("from{BLOCK}")), dir.join(format!("to{BLOCK}")));
        written(&source, BLOCK * BLOCKS as usize)?;
        let flags = OFlag::O_RDWR | OFlag::O_CREAT;
        Ok(Self { from: opened(&c_path(&source)?, OFlag::O_RDONLY)?, to: opened(&c_path(&target)?, flags)? })
    }
}

impl<const BLOCK: usize> Station for Copy<BLOCK> {
    fn run(&mut self, count: u64) -> Done {
        let mut buffer = [0; BLOCK];
        for number in 0..count {
            if number % BLOCKS == 0 {
                lseek(&self.from, 0, Whence::SeekSet).map_err(OperationFailure::of("lseek"))?;
                lseek(&self.to, 0, Whence::SeekSet).map_err(OperationFailure::of("lseek"))?;
            }
            all("read", BLOCK)(read(&self.from, &mut buffer))?;
            all("write", BLOCK)(write(&self.to, &buffer))?;
        }
        Ok(())
    }
}

fn a_file(dir: &Path) -> Done<CString> {
    let path = dir.join("file");
    written(&path, SIZE)?;
    c_path(&path)
}

pub(crate) fn written(path: &Path, bytes: usize) -> Done {
    fs::write(path, vec![b'x'; bytes]).map_err(OperationFailure::io("writing a file"))
}

fn opened(path: &CStr, flags: OFlag) -> Done<OwnedFd> {
    open(path, flags | OFlag::O_CLOEXEC, Mode::from_bits_truncate(0o644))
        .map_err(OperationFailure::of("open"))
}

pub(crate) fn c_path(path: &Path) -> Done<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| OperationFailure::Wrong("a path with a zero byte".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(dir: &Path) -> usize {
        fs::read_dir(dir).unwrap().count()
    }

    #[test]
    fn files_are_made_in_a_batch_and_removed_after_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut create = Create::new(dir.path());
        for files in [5, 3] {
            create.before(files).unwrap();
            create.run(files).unwrap();
            assert_eq!(count(dir.path()), files as usize);
            create.after().unwrap();
            assert_eq!(count(dir.path()), 0);
        }
    }

    #[test]
    fn files_are_made_before_a_batch_that_removes_them() {
        let dir = tempfile::tempdir().unwrap();
        let mut delete = Delete::new(dir.path());
        delete.before(5).unwrap();
        assert_eq!(count(dir.path()), 5);
        delete.run(5).unwrap();
        assert_eq!(count(dir.path()), 0);
        delete.before(5).unwrap();
        fs::remove_file(dir.path().join("f2")).unwrap();
        assert_eq!(delete.run(5).unwrap_err().word(), "ENOENT");
        assert_eq!(count(dir.path()), 0, "nothing is left of a batch that failed");
    }

    #[test]
    fn the_file_is_asked_for_and_opened_every_time() {
        let dir = tempfile::tempdir().unwrap();
        let (mut stat, mut open) = (Stat::new(dir.path()).unwrap(), OpenClose::new(dir.path()).unwrap());
        stat.run(10).unwrap();
        open.run(10).unwrap();
        fs::remove_file(dir.path().join("file")).unwrap();
        assert_eq!(stat.run(1).unwrap_err().to_string(), "stat: No such file or directory");
        assert_eq!(open.run(1).unwrap_err().to_string(), "open: No such file or directory");
    }

    #[test]
    fn a_copy_is_the_source_and_begins_anew_after_128_blocks() {
        let dir = tempfile::tempdir().unwrap();
        let mut copy = Copy::<256>::new(dir.path()).unwrap();
        let length = || fs::metadata(dir.path().join("to256")).unwrap().len();
        copy.run(3).unwrap();
        assert_eq!(length(), 3 * 256);
        copy.run(300).unwrap();
        assert_eq!(length(), 128 * 256);
        let read = |name: &str| fs::read(dir.path().join(name)).unwrap();
        assert!(read("from256") == read("to256"));
    }
}
