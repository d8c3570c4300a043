//! File operations as a program would make them: open, read or write, sync, close.
//!
//! Measuring side, hot: the calls made here are what is measured. Beside the system calls there is only a comparison of
//! the first bytes; no allocation but for entries and names of a tree.

use super::failure::{Class, Failure};
use super::tree::{Tree, TreeFile};
use bakeoff_content::Body;
use bakeoff_plan::Fsync;
use bakeoff_sys::file::{Dir, Writing, close};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

/// Bytes of one `read` or `write`, as cp and cat use them.
const CHUNK: usize = 128 * 1024;
/// Bytes at a file's beginning that every read compares.
const START: usize = 64;

/// Extent of the comparison of read data with written data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Check {
    /// Length and first bytes.
    Start,
    /// Everything.
    Full,
}

/// An open directory, and the buffers of operations.
pub(super) struct Hand {
    dir: Dir,
    /// The directory with the files of one kind, if it is synced.
    parent: Option<Dir>,
    fsync: Fsync,
    check: Check,
    buffer: Vec<u8>,
}

impl Hand {
    pub(super) fn open(root: &Path, fsync: Fsync, check: Check) -> Result<Self, Failure> {
        let dir = Dir::open(root).map_err(Failure::of(Class::OpenFailed))?;
        Ok(Self { dir, parent: None, fsync, check, buffer: vec![0; CHUNK] })
    }

    /// Sets the directory that files will be written to, so that it can be synced.
    pub(super) fn work_in(&mut self, name: &CStr) -> Result<(), Failure> {
        if self.fsync == Fsync::FileAndDirectory {
            self.parent = Some(self.dir.inside(name).map_err(Failure::of(Class::OpenFailed))?);
        }
        Ok(())
    }

    /// Opens, reads to the end, closes. Returns the bytes read.
    pub(super) fn read(&mut self, name: &CStr, expected: Option<Body>) -> Result<u64, Failure> {
        let mut file = self.dir.read(name).map_err(Failure::of(Class::OpenFailed))?;
        let mut offset = 0;
        loop {
            let read = file.read(&mut self.buffer).map_err(Failure::of(Class::ReadFailed))?;
            if read == 0 {
                break;
            }
            let compared = match self.check {
                Check::Full => read,
                Check::Start if offset == 0 => read.min(START),
                Check::Start => 0,
            };
            if expected.is_some_and(|body| !body.matches(offset, &self.buffer[..compared])) {
                // More bytes than there should be match nothing either.
                let too_long = expected.is_some_and(|body| offset + read as u64 > body.len());
                return Err(Failure::found(if too_long { Class::WrongSize } else { Class::WrongBytes }));
            }
            offset += read as u64;
        }
        close(file).map_err(Failure::of(Class::CloseFailed))?;
        match expected {
            Some(body) if body.len() != offset => Err(Failure::found(Class::WrongSize)),
            _ => Ok(offset),
        }
    }

    /// Opens for reading, closes.
    pub(super) fn open_close(&mut self, name: &CStr) -> Result<u64, Failure> {
        let file = self.dir.read(name).map_err(Failure::of(Class::OpenFailed))?;
        close(file).map_err(Failure::of(Class::CloseFailed))?;
        Ok(0)
    }

    /// Opens, writes over everything, syncs, closes. Returns the bytes written.
    pub(super) fn write(&mut self, name: &CStr, body: Body) -> Result<u64, Failure> {
        let file = self.dir.overwrite(name, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        self.put(file, body, 0)
    }

    /// Makes a file, writes it, syncs, closes. Returns the bytes written.
    pub(super) fn create(&mut self, name: &CStr, body: Body) -> Result<u64, Failure> {
        let file = self.dir.create(name, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        self.put(file, body, 0)
    }

    /// Opens a file that holds the first `there` bytes, writes the rest behind them, syncs, closes. Returns the bytes
    /// written.
    pub(super) fn append(&mut self, name: &CStr, body: Body, there: u64) -> Result<u64, Failure> {
        let file = self.dir.append(name, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        self.put(file, body, there)
    }

    /// Opens a file and cuts it to nothing, syncs, closes.
    pub(super) fn truncate(&mut self, name: &CStr) -> Result<u64, Failure> {
        let file = self.dir.truncate(name, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        self.finish(file)?;
        Ok(0)
    }

    pub(super) fn rename(&mut self, from: &CStr, to: &CStr) -> Result<u64, Failure> {
        self.dir.rename(from, to).map_err(Failure::of(Class::RenameFailed))?;
        self.sync_parent()?;
        Ok(0)
    }

    /// Makes a file beside another, writes it, syncs, closes, and gives it the other's name. Returns the bytes written.
    pub(super) fn replace(&mut self, name: &CStr, beside: &CStr, body: Body) -> Result<u64, Failure> {
        let file = self.dir.create(beside, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        let bytes = self.write_from(file, body, 0)?;
        self.rename(beside, name)?;
        Ok(bytes)
    }

    pub(super) fn remove(&mut self, name: &CStr) -> Result<u64, Failure> {
        self.dir.remove(name).map_err(Failure::of(Class::RemoveFailed))?;
        self.sync_parent()?;
        Ok(0)
    }

    pub(super) fn stat(&mut self, name: &CStr, size: Option<u64>) -> Result<u64, Failure> {
        let about = self.dir.about(name).map_err(Failure::of(Class::StatFailed))?;
        match size {
            Some(size) if size != about.size => Err(Failure::found(Class::WrongSize)),
            _ => Ok(0),
        }
    }

    pub(super) fn list(&mut self, name: &CStr, entries: usize) -> Result<u64, Failure> {
        let found = self.dir.entries(name).map_err(Failure::of(Class::ListFailed))?;
        if found.len() == entries { Ok(0) } else { Err(Failure::found(Class::ListFailed)) }
    }

    /// Lists every directory below `root` and asks for every entry's attributes.
    pub(super) fn walk(&mut self, root: &CStr, tree: &Tree) -> Result<u64, Failure> {
        let (mut files, mut directories, mut bytes) = (0, 0, 0);
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            for entry in self.dir.entries(&directory).map_err(Failure::of(Class::ListFailed))? {
                let name = joined(&directory, &entry.name);
                let about = self.dir.about(&name).map_err(Failure::of(Class::StatFailed))?;
                if about.is_dir {
                    directories += 1;
                    open.push(name);
                } else {
                    files += 1;
                    bytes += about.size;
                }
            }
        }
        if (files, directories) != (tree.files.len(), tree.directories.len()) {
            return Err(Failure::found(Class::ListFailed));
        }
        if bytes == tree.bytes { Ok(0) } else { Err(Failure::found(Class::WrongSize)) }
    }

    /// Reads every file of the tree that lies at `root`.
    pub(super) fn read_tree(&mut self, root: &CStr, tree: &Tree) -> Result<u64, Failure> {
        let read = |file: &TreeFile| self.read(&joined(root, &file.name), Some(file.body));
        tree.files.iter().map(read).sum()
    }

    /// Copies the tree from `from` to `to`: makes directories, reads files, writes new ones.
    pub(super) fn copy(&mut self, from: &CStr, to: &CStr, tree: &Tree) -> Result<u64, Failure> {
        self.make_dirs(to, tree)?;
        let mut bytes = 0;
        for file in &tree.files {
            bytes += self.copy_file(&joined(from, &file.name), &joined(to, &file.name), file.body)?;
        }
        self.sync_dirs(to, tree)?;
        Ok(bytes)
    }

    fn copy_file(&mut self, from: &CStr, to: &CStr, body: Body) -> Result<u64, Failure> {
        let mut source = self.dir.read(from).map_err(Failure::of(Class::OpenFailed))?;
        let mut target = self.dir.create(to, self.writing()).map_err(Failure::of(Class::OpenFailed))?;
        let mut offset = 0;
        loop {
            let read = source.read(&mut self.buffer).map_err(Failure::of(Class::ReadFailed))?;
            if read == 0 {
                break;
            }
            if offset == 0 && !body.matches(0, &self.buffer[..read.min(START)]) {
                return Err(Failure::found(Class::WrongBytes));
            }
            target.write_all(&self.buffer[..read]).map_err(Failure::of(Class::WriteFailed))?;
            offset += read as u64;
        }
        if offset != body.len() {
            return Err(Failure::found(Class::WrongSize));
        }
        close(source).map_err(Failure::of(Class::CloseFailed))?;
        self.finish(target)?;
        Ok(offset)
    }

    /// Writes the tree as it was drawn.
    pub(super) fn plant(
        &mut self,
        tree: &Tree,
        root: &CStr,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<(), Failure> {
        for directory in &tree.directories {
            self.make_dir(&joined(root, directory))?;
        }
        for file in tree.files.iter().take_while(|_| goes_on()) {
            self.create(&joined(root, &file.name), file.body)?;
        }
        Ok(())
    }

    pub(super) fn make_dir(&mut self, name: &CStr) -> Result<(), Failure> {
        self.dir.make_dir(name).map_err(Failure::of(Class::OpenFailed))
    }

    fn make_dirs(&mut self, root: &CStr, tree: &Tree) -> Result<(), Failure> {
        self.make_dir(root)?;
        tree.directories.iter().try_for_each(|directory| self.make_dir(&joined(root, directory)))
    }

    fn sync_dirs(&mut self, root: &CStr, tree: &Tree) -> Result<(), Failure> {
        if self.fsync != Fsync::FileAndDirectory {
            return Ok(());
        }
        let directories = tree.directories.iter().map(|directory| joined(root, directory));
        directories.chain([root.to_owned()]).try_for_each(|name| {
            let dir = self.dir.inside(&name).map_err(Failure::of(Class::OpenFailed))?;
            dir.sync().map_err(Failure::of(Class::SyncFailed))
        })
    }

    fn put(&mut self, file: File, body: Body, from: u64) -> Result<u64, Failure> {
        let bytes = self.write_from(file, body, from)?;
        self.sync_parent()?;
        Ok(bytes)
    }

    fn write_from(&mut self, mut file: File, body: Body, from: u64) -> Result<u64, Failure> {
        let mut offset = from;
        while offset < body.len() {
            let piece = body.from(offset);
            let piece = &piece[..piece.len().min(CHUNK)];
            file.write_all(piece).map_err(Failure::of(Class::WriteFailed))?;
            offset += piece.len() as u64;
        }
        self.finish(file)?;
        Ok(offset - from)
    }

    fn finish(&mut self, file: File) -> Result<(), Failure> {
        if matches!(self.fsync, Fsync::File | Fsync::FileAndDirectory) {
            file.sync_all().map_err(Failure::of(Class::SyncFailed))?;
        }
        close(file).map_err(Failure::of(Class::CloseFailed))
    }

    fn sync_parent(&mut self) -> Result<(), Failure> {
        self.parent.as_ref().map_or(Ok(()), Dir::sync).map_err(Failure::of(Class::SyncFailed))
    }

    const fn writing(&self) -> Writing {
        match self.fsync {
            Fsync::Data => Writing::DataSync,
            _ => Writing::Plain,
        }
    }
}

fn joined(directory: &CStr, name: &CStr) -> CString {
    let mut path = directory.to_bytes().to_vec();
    path.push(b'/');
    path.extend_from_slice(name.to_bytes());
    super::tree::c_bytes(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::ObjectId;
    use bakeoff_plan::TreeShape;
    use bakeoff_units::Bytes;

    fn body(name: &str, len: u64) -> Body {
        Body::new(ObjectId::of_name(name.as_bytes()), len)
    }

    fn class<T: std::fmt::Debug>(result: Result<T, Failure>) -> Class {
        result.unwrap_err().class
    }

    #[test]
    fn what_is_read_is_what_was_written_by_every_way_to_sync() {
        for fsync in Fsync::ALL {
            let place = tempfile::tempdir().unwrap();
            let mut hand = Hand::open(place.path(), fsync, Check::Full).unwrap();
            hand.make_dir(c"d").unwrap();
            hand.work_in(c"d").unwrap();
            for len in [0, 1, 300_000] {
                assert_eq!(hand.create(c"d/f", body("a", len)).unwrap(), len);
                assert_eq!(hand.read(c"d/f", Some(body("a", len))).unwrap(), len);
                assert_eq!(hand.write(c"d/f", body("b", len)).unwrap(), len);
                assert_eq!(hand.read(c"d/f", Some(body("b", len))).unwrap(), len);
                hand.stat(c"d/f", Some(len)).unwrap();
                hand.open_close(c"d/f").unwrap();
                hand.list(c"d", 1).unwrap();
                hand.rename(c"d/f", c"d/g").unwrap();
                assert_eq!(hand.replace(c"d/g", c"d/g.new", body("c", len)).unwrap(), len);
                assert_eq!(hand.read(c"d/g", Some(body("c", len))).unwrap(), len);
                hand.truncate(c"d/g").unwrap();
                hand.stat(c"d/g", Some(0)).unwrap();
                assert_eq!(hand.write(c"d/g", body("e", len / 2)).unwrap(), len / 2);
                assert_eq!(hand.append(c"d/g", body("e", len), len / 2).unwrap(), len - len / 2);
                assert_eq!(hand.read(c"d/g", Some(body("e", len))).unwrap(), len);
                hand.list(c"d", 1).unwrap();
                hand.rename(c"d/g", c"d/f").unwrap();
                hand.remove(c"d/f").unwrap();
            }
        }
    }

    #[test]
    fn what_is_not_as_it_should_be_is_told_by_its_class() {
        let place = tempfile::tempdir().unwrap();
        let mut hand = Hand::open(place.path(), Fsync::None, Check::Full).unwrap();
        let (good, path) = (body("a", 200_000), place.path().join("f"));
        hand.create(c"f", good).unwrap();
        assert_eq!(class(hand.create(c"f", good)), Class::OpenFailed);
        assert_eq!(class(hand.read(c"g", Some(good))), Class::OpenFailed);
        assert_eq!(class(hand.stat(c"g", None)), Class::StatFailed);
        assert_eq!(class(hand.stat(c"f", Some(1))), Class::WrongSize);
        assert_eq!(class(hand.list(c"g", 0)), Class::ListFailed);
        assert_eq!(class(hand.list(c".", 2)), Class::ListFailed);
        assert_eq!(class(hand.remove(c"g")), Class::RemoveFailed);
        assert_eq!(class(hand.rename(c"g", c"h")), Class::RenameFailed);
        let opened = [hand.open_close(c"g"), hand.append(c"g", good, 0), hand.truncate(c"g")];
        assert_eq!(opened.map(class), [Class::OpenFailed; 3]);
        assert_eq!(class(hand.replace(c"g", c"f", good)), Class::OpenFailed);
        assert_eq!(class(hand.read(c"f", Some(body("b", 200_000)))), Class::WrongBytes);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[150_000] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(class(hand.read(c"f", Some(good))), Class::WrongBytes);
        hand.check = Check::Start;
        hand.read(c"f", Some(good)).unwrap();
        bytes.pop();
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(class(hand.read(c"f", Some(good))), Class::WrongSize);
        bytes.extend([0, 0]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(class(hand.read(c"f", Some(good))), Class::WrongSize);
    }

    #[test]
    fn a_tree_is_walked_read_and_copied_whole() {
        let place = tempfile::tempdir().unwrap();
        let tree = Tree::draw(&TreeShape { files: 40, directories: 7, mean: Bytes::new(5_000) }, 3);
        for (number, fsync) in Fsync::ALL.into_iter().enumerate() {
            let mut hand = Hand::open(place.path(), fsync, Check::Full).unwrap();
            if number == 0 {
                hand.make_dir(c"t").unwrap();
                hand.plant(&tree, c"t", &|| true).unwrap();
            }
            hand.walk(c"t", &tree).unwrap();
            assert_eq!(hand.read_tree(c"t", &tree).unwrap(), tree.bytes);
            let copy = super::super::tree::c_string(format!("copy-{number}"));
            assert_eq!(hand.copy(c"t", &copy, &tree).unwrap(), tree.bytes);
            hand.walk(&copy, &tree).unwrap();
            assert_eq!(hand.read_tree(&copy, &tree).unwrap(), tree.bytes);
        }
        let mut hand = Hand::open(place.path(), Fsync::None, Check::Full).unwrap();
        std::fs::write(place.path().join("t/more"), "x").unwrap();
        assert_eq!(class(hand.walk(c"t", &tree)), Class::ListFailed);
    }
}
