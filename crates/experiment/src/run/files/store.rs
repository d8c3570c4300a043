//! Store of one arm: the files on its file system, and the contents each must have.
//!
//! Every arm has a store of its own, and all are asked for the same: orders and contents follow from the seed, the
//! round and the kind of operation. Prepares steps, makes and removes files outside the measured time. Measures
//! nothing.

use super::failure::{Class, Failure};
use super::hand::{Check, Hand};
use super::kind::{Kind, files_of};
use super::tree::{Tree, c_string};
use super::watch::Pulse;
use bakeoff_content::{Body, ObjectId, SplitMix64};
use bakeoff_plan::{FileOperation, FilesWork, Fsync};
use bakeoff_units::Bytes;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seed purpose of the order of operations.
const ORDER: u64 = 0xf11e;
/// Bytes that a file takes beside its content, and the unit that its content is rounded up to: the usual block.
const BLOCK: u64 = 4096;
/// One in this many written files is read back after the slice.
const READ_BACK: usize = 16;

/// The files of one size.
struct FileSet {
    /// Their directory.
    dir: CString,
    names: Vec<CString>,
    /// Content of each; `None` after a write that failed.
    content: Vec<Option<Body>>,
    /// Directory in which operations make and remove files.
    new_dir: CString,
    new_names: Vec<CString>,
    size: u64,
    written: u64,
}

/// All files of one arm.
pub(super) struct Store {
    pub(super) root: PathBuf,
    sets: Vec<FileSet>,
    tree: Option<Arc<Tree>>,
    seed: u64,
}

/// Directory of the tree.
pub(super) const TREE: &CStr = c"tree";

/// One operation. Files are numbers of their set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Open(usize),
    /// The content it must have, if that is known.
    Read(usize, Option<Body>),
    /// The content it shall have.
    Write(usize, Body),
    Create(usize, Body),
    /// The content it shall have; [`half`] of it is there before.
    Append(usize, Body),
    /// The content it is made with before.
    Truncate(usize, Body),
    /// The new name, and the content it is made with before.
    Rename(usize, CString, Body),
    /// The name beside it; the content it is made with before, and the content it shall have.
    Replace(usize, CString, [Body; 2]),
    /// The content it is made with before.
    Remove(usize, Body),
    /// Its size.
    Stat(usize, Option<u64>),
    List,
    Walk(Arc<Tree>),
    ReadTree(Arc<Tree>),
    /// The destination.
    Copy(CString, Arc<Tree>),
}

/// The part of a body that is there before the rest is appended.
pub(super) const fn half(body: Body) -> Body {
    Body::new(body.id(), body.len() / 2)
}

/// The files of a kind's steps.
pub(super) struct Ground<'a> {
    pub(super) names: &'a [CString],
    /// Their directory; trees have none.
    pub(super) dir: Option<&'a CStr>,
}

impl Store {
    /// The files that will be below `root`. Nothing is written yet.
    pub(super) fn new(root: PathBuf, work: &FilesWork, seed: u64) -> Self {
        let set = |size: &Bytes| FileSet::new(seed, size.get(), files_of(work, *size));
        Self {
            root,
            sets: work.sizes.iter().map(set).collect(),
            tree: work.tree.as_ref().map(|shape| Arc::new(Tree::draw(shape, seed))),
            seed,
        }
    }

    /// Bytes on disk that all kinds together need at most.
    pub(super) fn room(&self, kinds: &[Kind], counts: impl Fn(&Kind) -> u64) -> Bytes {
        let sets = self.sets.iter().map(|set| set.on_disk() * set.names.len() as u64).sum::<u64>();
        let tree = self
            .tree
            .as_ref()
            .map_or(0, |tree| tree.bytes + BLOCK * 2 * (tree.files.len() + tree.directories.len()) as u64);
        let new = |kind: &Kind| match kind.operation {
            FileOperation::TreeCopy => counts(kind) * tree,
            // A replacement lies beside the file that it replaces.
            FileOperation::Replace => (counts(kind) + 1) * self.sets[kind.set].on_disk(),
            made if made.of_new_files() => counts(kind) * self.sets[kind.set].on_disk(),
            _ => 0,
        };
        // Kinds take turns, and each removes its new files.
        Bytes::new(sets + tree + kinds.iter().map(new).max().unwrap_or(0))
    }

    /// Gives a content to files with an unknown one, before everything is written anew.
    pub(super) fn promise(&mut self) {
        for set in &mut self.sets {
            for file in 0..set.content.len() {
                if set.content[file].is_none() {
                    set.content[file] = Some(set.next_body(self.seed, file));
                }
            }
        }
    }

    /// Writes everything, unless the user wants to stop.
    pub(super) fn fill(&self, pulse: &Pulse<'_>) -> Result<(), Failure> {
        let mut hand = Hand::open(&self.root, Fsync::None, Check::Full)?;
        for set in &self.sets {
            hand.make_dir(&set.dir)?;
            hand.make_dir(&set.new_dir)?;
            for (name, body) in set.names.iter().zip(&set.content).take_while(|_| pulse.goes_on()) {
                body.map_or(Ok(0), |body| hand.create(name, body))?;
            }
        }
        if let Some(tree) = &self.tree {
            hand.make_dir(TREE)?;
            hand.plant(tree, TREE, &|| pulse.goes_on())?;
        }
        Ok(())
    }

    /// The files of a kind.
    pub(super) fn ground(&self, kind: &Kind) -> Ground<'_> {
        match self.sets.get(kind.set) {
            _ if kind.operation.of_tree() => Ground { names: &[], dir: None },
            None => Ground { names: &[], dir: None },
            Some(set) if kind.operation.of_new_files() => {
                Ground { names: &set.new_names, dir: Some(&set.new_dir) }
            }
            Some(set) => Ground { names: &set.names, dir: Some(&set.dir) },
        }
    }

    /// The steps of one kind in one round: the same for every arm. A file that is written twice
    /// gets another content each time.
    pub(super) fn steps(&mut self, kind: &Kind, number: usize, round: u64, count: u64) -> Vec<Step> {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let tree = |step: fn(usize, Arc<Tree>) -> Step| -> Vec<Step> {
            let trees = self.tree.iter().cycle().take(count).enumerate();
            trees.map(|(index, tree)| step(index, tree.clone())).collect()
        };
        match kind.operation {
            FileOperation::TreeWalk => return tree(|_, tree| Step::Walk(tree)),
            FileOperation::TreeRead => return tree(|_, tree| Step::ReadTree(tree)),
            FileOperation::TreeCopy => {
                return tree(|copy, tree| Step::Copy(c_string(format!("copy-{copy}")), tree));
            }
            FileOperation::List => return vec![Step::List; count],
            _ => {}
        }
        let mut random = SplitMix64::for_purpose(self.seed ^ ORDER, (round << 8) | number as u64);
        let set = &mut self.sets[kind.set];
        let mut order: Vec<usize> = (0..set.names.len()).collect();
        random.shuffle(&mut order);
        order.iter().cycle().take(count).map(|&file| set.step(kind.operation, self.seed, file)).collect()
    }

    /// Records overwritten contents: `tried` steps, of which some failed.
    pub(super) fn settle(&mut self, kind: &Kind, tried: &[Step], failed: &[(usize, Class)]) {
        let failed: BTreeSet<usize> = failed.iter().map(|(index, _)| *index).collect();
        for (index, step) in tried.iter().enumerate() {
            if let Step::Write(file, body) = step {
                // After a failure it may hold anything.
                let good = !failed.contains(&index);
                self.sets[kind.set].content[*file] = good.then_some(*body);
            }
        }
    }

    /// Opens the directory of the files, so that a file system that must connect for it does so now.
    pub(super) fn enter(&self, kind: &Kind) {
        let dir = bakeoff_sys::file::Dir::open(&self.root);
        let _ = dir.and_then(|dir| dir.inside(self.ground(kind).dir.unwrap_or(c".")));
    }

    /// Uses the files of the steps in `root`, where the same files are: as a whole, so that they are cached, or names
    /// and attributes only. A failure here comes again where it counts.
    pub(super) fn touch(
        &self,
        (kind, steps): (&Kind, &[Step]),
        content: bool,
        root: &Path,
        pulse: &Pulse<'_>,
    ) {
        let Ok(mut hand) = Hand::open(root, Fsync::None, Check::Start) else { return };
        let ground = self.ground(kind);
        let once = if kind.operation.of_tree() { 1 } else { ground.names.len() };
        for step in steps.iter().take(once).take_while(|_| pulse.goes_on()) {
            let _ = match step {
                Step::Open(file) | Step::Read(file, _) | Step::Write(file, _) if content => {
                    hand.read(&ground.names[*file], None)
                }
                Step::Open(file)
                | Step::Read(file, _)
                | Step::Write(file, _)
                | Step::Append(file, _)
                | Step::Truncate(file, _)
                | Step::Rename(file, ..)
                | Step::Replace(file, ..)
                | Step::Remove(file, _)
                | Step::Stat(file, _) => hand.stat(&ground.names[*file], None),
                Step::Create(..) => hand.list(&self.sets[kind.set].new_dir, 0),
                Step::List => hand.list(ground.dir.unwrap_or(c"."), ground.names.len()),
                Step::ReadTree(tree) | Step::Copy(_, tree) if content => hand.read_tree(TREE, tree),
                Step::Walk(tree) | Step::ReadTree(tree) | Step::Copy(_, tree) => hand.walk(TREE, tree),
            };
        }
    }

    /// Makes the files that `remove` and other operations will find.
    pub(super) fn plant_new(&self, kind: &Kind, steps: &[Step], pulse: &Pulse<'_>) -> Result<(), Failure> {
        let mut hand = Hand::open(&self.root, Fsync::None, Check::Start)?;
        let names = self.ground(kind).names;
        let found = |step: &Step| match step {
            Step::Append(file, body) => Some((*file, half(*body))),
            Step::Truncate(file, body)
            | Step::Rename(file, _, body)
            | Step::Replace(file, _, [body, _])
            | Step::Remove(file, body) => Some((*file, *body)),
            _ => None,
        };
        let mut found = steps.iter().take_while(|_| pulse.goes_on()).filter_map(found);
        found.try_for_each(|(file, body)| hand.create(&names[file], body).map(drop))
    }

    /// Reads written files back: all, or one in some. Returns the failures, by step.
    pub(super) fn read_back<'s>(
        &'s self,
        kind: &Kind,
        tried: &'s [Step],
        check: Check,
        pulse: &Pulse<'_>,
    ) -> Vec<(usize, Failure)> {
        let names = self.ground(kind).names;
        let written = |step: &'s Step| match step {
            Step::Write(file, _) => Some((&names[*file], self.sets[kind.set].content[*file]?)),
            Step::Create(file, body) | Step::Append(file, body) | Step::Replace(file, _, [_, body]) => {
                Some((&names[*file], *body))
            }
            Step::Truncate(file, body) => Some((&names[*file], Body::new(body.id(), 0))),
            Step::Rename(_, to, body) => Some((to, *body)),
            _ => None,
        };
        let every = if check == Check::Full { 1 } else { READ_BACK };
        // In the order of a slice no file comes again before all have come.
        let sample = tried.iter().take(names.len()).enumerate().step_by(every);
        let sample = sample.filter_map(|(index, step)| Some((index, written(step)?)));
        let mut hand = match Hand::open(&self.root, Fsync::None, Check::Full) {
            Ok(hand) => hand,
            Err(failure) => return vec![(0, failure)],
        };
        sample
            .take_while(|_| pulse.goes_on())
            .filter_map(|(index, (name, body))| {
                hand.read(name, Some(body)).err().map(|failure| (index, failure))
            })
            .collect()
    }

    /// Removes files that operations of this kind have left.
    pub(super) fn clear(&self, kind: &Kind, steps: &[Step], pulse: &Pulse<'_>) -> io::Result<()> {
        let dir = bakeoff_sys::file::Dir::open(&self.root)?;
        let names = self.ground(kind).names;
        steps.iter().inspect(|_| pulse.beat()).try_for_each(|step| match step {
            Step::Create(file, _)
            | Step::Append(file, _)
            | Step::Truncate(file, _)
            | Step::Remove(file, _) => gone(dir.remove(&names[*file])),
            Step::Rename(file, other, _) | Step::Replace(file, other, _) => {
                gone(dir.remove(&names[*file])).and_then(|()| gone(dir.remove(other)))
            }
            Step::Copy(copy, _) => gone(std::fs::remove_dir_all(self.root.join(path_of(copy)))),
            _ => Ok(()),
        })
    }
}

impl FileSet {
    fn new(seed: u64, size: u64, files: usize) -> Self {
        let name = |dir: &str, file: usize| c_string(format!("{dir}/{file:06}"));
        let (dir, new_dir) = (size.to_string(), format!("{size}.new"));
        let mut set = Self {
            names: (0..files).map(|file| name(&dir, file)).collect(),
            new_names: (0..files).map(|file| name(&new_dir, file)).collect(),
            dir: c_string(dir),
            new_dir: c_string(new_dir),
            content: vec![None; files],
            size,
            written: 0,
        };
        for file in 0..files {
            set.content[file] = Some(set.next_body(seed, file));
        }
        set
    }

    /// A content that no file has had before.
    fn next_body(&mut self, seed: u64, file: usize) -> Body {
        self.written += 1;
        let name = format!("{seed}/{}/{file}/{}", self.size, self.written);
        Body::new(ObjectId::of_name(name.as_bytes()), self.size)
    }

    fn step(&mut self, operation: FileOperation, seed: u64, file: usize) -> Step {
        match operation {
            FileOperation::Write => Step::Write(file, self.next_body(seed, file)),
            FileOperation::Create => Step::Create(file, self.next_body(seed, file)),
            FileOperation::Append => Step::Append(file, self.next_body(seed, file)),
            FileOperation::Truncate => Step::Truncate(file, self.next_body(seed, file)),
            FileOperation::Rename => Step::Rename(file, self.beside(file), self.next_body(seed, file)),
            FileOperation::Replace => {
                let bodies = [self.next_body(seed, file), self.next_body(seed, file)];
                Step::Replace(file, self.beside(file), bodies)
            }
            FileOperation::Remove => Step::Remove(file, self.next_body(seed, file)),
            FileOperation::Open => Step::Open(file),
            FileOperation::Stat => Step::Stat(file, Some(self.size)),
            _ => Step::Read(file, self.content[file]),
        }
    }

    /// Another name for a new file.
    fn beside(&self, file: usize) -> CString {
        c_string(format!("{}.new/{file:06}.beside", self.size))
    }

    const fn on_disk(&self) -> u64 {
        (self.size.div_ceil(BLOCK) + 1) * BLOCK
    }
}

fn path_of(name: &CStr) -> &Path {
    Path::new(OsStr::from_bytes(name.to_bytes()))
}

/// A file that is already gone counts as removed.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests;
