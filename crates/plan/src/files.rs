//! The checked `files` workload: its operations, their files, the state of the caches.

use bakeoff_units::{Bytes, Nanos};
use std::fmt;

/// A workload of file operations.
#[derive(Clone, Debug, PartialEq)]
pub struct FilesWork {
    /// The operations, in the order of the plan; none twice.
    pub operations: Vec<FileOperation>,
    /// Sizes of the files; none twice, empty if only tree operations are asked for.
    pub sizes: Vec<Bytes>,
    /// Files of each size; `None`: a suitable number is chosen.
    pub files: Option<usize>,
    /// Contents of the caches when operations begin.
    pub cache: CacheState,
    /// Time at which written data is on disk.
    pub fsync: Fsync,
    /// The tree, if an operation needs one.
    pub tree: Option<TreeShape>,
    /// Operations of each kind in a slice; `None`: sized in the pilot.
    pub slice_operations: Option<u64>,
    /// A hook or an operation that takes longer ends the run.
    pub time_limit: Nanos,
}

/// Operations on files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileOperation {
    /// Open a file for reading, close it.
    Open,
    /// Open a file, read it to its end, close it.
    Read,
    /// Open a file, write over its whole content, sync as told, close it.
    Write,
    /// Make a new file, write it, sync as told, close it.
    Create,
    /// Open a file that holds its first half, write the other behind it, sync as told, close it.
    Append,
    /// Open a file and cut it to nothing, sync as told, close it.
    Truncate,
    /// Give a file another name in its directory.
    Rename,
    /// Make a new file beside another, write it, sync as told, close it, give it the other's name.
    Replace,
    /// Remove a file.
    Remove,
    /// Ask for a file's attributes.
    Stat,
    /// Open a directory, read all its entries, close it.
    List,
    /// List every directory of the tree and ask for the attributes of every entry.
    TreeWalk,
    /// Read every file of the tree.
    TreeRead,
    /// Copy the tree: make its directories, read each file and write a new one.
    TreeCopy,
}

impl FileOperation {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Open,
        Self::Read,
        Self::Write,
        Self::Create,
        Self::Append,
        Self::Truncate,
        Self::Rename,
        Self::Replace,
        Self::Remove,
        Self::Stat,
        Self::List,
        Self::TreeWalk,
        Self::TreeRead,
        Self::TreeCopy,
    ];

    /// Name in plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Read => "read",
            Self::Write => "write",
            Self::Create => "create",
            Self::Append => "append",
            Self::Truncate => "truncate",
            Self::Rename => "rename",
            Self::Replace => "replace",
            Self::Remove => "remove",
            Self::Stat => "stat",
            Self::List => "list",
            Self::TreeWalk => "tree-walk",
            Self::TreeRead => "tree-read",
            Self::TreeCopy => "tree-copy",
        }
    }

    /// Whether it is about the tree.
    pub const fn of_tree(self) -> bool {
        matches!(self, Self::TreeWalk | Self::TreeRead | Self::TreeCopy)
    }

    /// Whether it is about files that are made for it and removed afterwards.
    pub const fn of_new_files(self) -> bool {
        use FileOperation::{Append, Create, Remove, Rename, Replace, Truncate};
        matches!(self, Create | Append | Truncate | Rename | Replace | Remove)
    }

    /// Whether it is done for each size separately.
    pub const fn by_size(self) -> bool {
        matches!(self, Self::Read | Self::Write) || (self.of_new_files() && !matches!(self, Self::Rename))
    }

    /// Whether it changes what is on disk.
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::TreeCopy) || self.of_new_files()
    }
}

impl fmt::Display for FileOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Contents of the caches when the operations of one kind begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// Nothing: the arm's `drop` hook was run, everything was written to disk, and page cache,
    /// names and attributes were dropped for the whole machine.
    Cold,
    /// Names and attributes, but no content: the page cache was dropped for the whole machine, then
    /// every file was asked for its attributes.
    Warm,
    /// Everything: files are used just before the operations, and nothing was dropped.
    Cached,
    /// Nothing at the client and everything at the server: the arm's `drop` hook was run, and the files were read at
    /// the end that serves them.
    Remote,
    /// As `Remote`, and without a connection: prepared before each single operation, whose time includes the way to the
    /// directory.
    First,
}

impl CacheState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Cold, Self::Warm, Self::Cached, Self::Remote, Self::First];

    /// Name in plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Warm => "warm",
            Self::Cached => "cached",
            Self::Remote => "remote",
            Self::First => "first",
        }
    }

    /// Whether an arm's `drop` hook is run.
    pub const fn drops(self) -> bool {
        matches!(self, Self::Cold | Self::Remote | Self::First)
    }

    /// Whether the machine's caches are dropped, and all is written out before.
    pub const fn drops_machine(self) -> bool {
        matches!(self, Self::Cold | Self::Warm)
    }
}

/// Time at which written data is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fsync {
    /// Left to the file system.
    None,
    /// `fsync` of each file before it is closed.
    File,
    /// `fsync` of each file, and of the directory it lies in.
    FileAndDirectory,
    /// Files are opened with `O_DSYNC`.
    Data,
}

impl Fsync {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::File, Self::FileAndDirectory, Self::Data];

    /// Name in plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::File => "file",
            Self::FileAndDirectory => "file+dir",
            Self::Data => "dsync",
        }
    }
}

/// A tree of files, drawn from the seed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeShape {
    /// Files, one or more.
    pub files: usize,
    /// Directories below its root.
    pub directories: usize,
    /// Mean size of a file.
    pub mean: Bytes,
}

/// The directory of an arm and the commands that put a file system there, with substitutions.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmFiles {
    /// An existing directory once `setup` was run: absolute, or it begins with `{dir}`.
    pub path: String,
    /// Daemon at the other end of the link, running as long as the arm.
    pub serve: Option<ArmServe>,
    /// A file with a line `NAME NUMBER` for each of the layer's counters.
    pub status: Option<String>,
    /// Once, before anything is written.
    pub setup: Vec<Vec<String>>,
    /// Run once, after the files that must not open were written.
    pub deny: Vec<Vec<String>>,
    /// Cold, remote and first caches: before what else is dropped.
    pub drop: Vec<Vec<String>>,
    /// Once, at the end.
    pub cleanup: Vec<Vec<String>>,
    /// Added to the environment of the hooks.
    pub env: Vec<(String, String)>,
}

/// A daemon behind a directory.
#[derive(Clone, Debug, PartialEq)]
pub struct ArmServe {
    /// Program and arguments with substitutions; no shell.
    pub argv: Vec<String>,
    /// Ready when it prints a line that begins with this; `None`: at once.
    pub ready: Option<String>,
    /// Path of the directory under test on its side; `None`: not known.
    pub from: Option<String>,
}

impl ArmFiles {
    /// All words with substitutions but those of `proof`.
    pub fn words(&self) -> impl Iterator<Item = &String> {
        let serve = self.serve.iter().flat_map(|serve| serve.argv.iter().chain(&serve.from));
        let hooks = self.setup.iter().chain(&self.deny).chain(&self.drop).chain(&self.cleanup).flatten();
        serve.chain(hooks).chain([&self.path]).chain(&self.status)
    }
}
