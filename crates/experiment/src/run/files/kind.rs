//! Kinds of operations: the rows of the report, and the number of operations of a kind that fits a slice.

use bakeoff_plan::{CacheState, FileOperation, FilesWork};
use bakeoff_units::Bytes;

/// Most operations of one kind in a slice, if nothing else limits them: prepared steps take memory.
const MOST: u64 = 100_000;
/// Copies of the tree that may be left until the slice has ended.
const COPIES: u64 = 8;
/// The same if each operation has preparations of its own.
const FIRST: u64 = 50;
/// Bytes of all files of one size, if the plan does not give their number.
const SET_BYTES: u64 = 64_000_000;
/// Fewest files of a size: fewer have no order worth shuffling.
const FEWEST: u64 = 8;
/// Most of them: more would only take longer to write.
const ENOUGH: u64 = 1000;

/// An operation on files of one size, or on a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) operation: FileOperation,
    /// Index of the size in the plan; for `stat` and `list` the first.
    pub(super) set: usize,
    size: Option<Bytes>,
}

/// The kinds of a workload, in the order of the plan.
pub(super) fn kinds(work: &FilesWork) -> Vec<Kind> {
    let of = |operation: &FileOperation| -> Vec<Kind> {
        let operation = *operation;
        if !operation.by_size() {
            return vec![Kind { operation, set: 0, size: None }];
        }
        let sizes = work.sizes.iter().enumerate();
        sizes.map(|(set, size)| Kind { operation, set, size: Some(*size) }).collect()
    };
    work.operations.iter().flat_map(of).collect()
}

/// Files of this size: the plan's number, or a suitable one.
pub(super) fn files_of(work: &FilesWork, size: Bytes) -> usize {
    let good = (SET_BYTES / size.get().max(1)).clamp(FEWEST, ENOUGH);
    work.files.unwrap_or(usize::try_from(good).unwrap_or(usize::MAX))
}

impl Kind {
    /// Name in reports: `read 10 MB`, `stat`.
    pub(super) fn label(&self) -> String {
        self.size.map_or_else(|| self.operation.to_string(), |size| format!("{} {size}", self.operation))
    }

    /// Most operations of this kind in a slice, with this number of files of its size. A file can be found cold or warm
    /// only once.
    pub(super) fn most(&self, files: usize, cache: CacheState) -> u64 {
        let files = files as u64;
        if cache == CacheState::First {
            let each = self.most(files as usize, CacheState::Cached);
            return each.min(files).min(FIRST);
        }
        let once = cache != CacheState::Cached;
        match self.operation {
            FileOperation::Create
            | FileOperation::Append
            | FileOperation::Truncate
            | FileOperation::Rename
            | FileOperation::Replace
            | FileOperation::Remove => files,
            FileOperation::Open | FileOperation::Read | FileOperation::Write | FileOperation::Stat
                if once =>
            {
                files
            }
            FileOperation::Open | FileOperation::Read | FileOperation::Write | FileOperation::Stat => MOST,
            FileOperation::List | FileOperation::TreeWalk | FileOperation::TreeRead if once => 1,
            FileOperation::List | FileOperation::TreeWalk | FileOperation::TreeRead => MOST,
            FileOperation::TreeCopy if once => 1,
            FileOperation::TreeCopy => COPIES,
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use bakeoff_plan::Fsync;
    use bakeoff_units::Nanos;

    /// Kinds that read these sizes.
    pub(in super::super) fn kinds_of_reading(sizes: &[u64]) -> Vec<Kind> {
        kinds(&work(&[FileOperation::Read], sizes))
    }

    pub(in super::super) fn work(operations: &[FileOperation], sizes: &[u64]) -> FilesWork {
        FilesWork {
            operations: operations.to_vec(),
            sizes: sizes.iter().copied().map(Bytes::new).collect(),
            files: None,
            cache: CacheState::Cached,
            fsync: Fsync::None,
            tree: None,
            slice_operations: None,
            time_limit: Nanos::from_secs(60),
        }
    }

    #[test]
    fn what_depends_on_the_size_is_a_kind_for_each() {
        let work = work(&[FileOperation::Read, FileOperation::Stat, FileOperation::Create], &[1, 10_000_000]);
        let labels: Vec<String> = kinds(&work).iter().map(Kind::label).collect();
        assert_eq!(labels, ["read 1 B", "read 10 MB", "stat", "create 1 B", "create 10 MB"]);
    }

    #[test]
    fn small_files_are_many_and_large_ones_few() {
        let mut work = work(&[FileOperation::Read], &[1]);
        let files = |work: &FilesWork, size| files_of(work, Bytes::new(size));
        assert_eq!(
            [0, 1, 64_000, 1_000_000, 10_000_000, 1 << 40].map(|size| files(&work, size)),
            [1000, 1000, 1000, 64, 8, 8]
        );
        work.files = Some(3);
        assert_eq!(files(&work, 1), 3);
    }

    #[test]
    fn a_file_is_cold_only_once() {
        let kinds = kinds(&work(&[FileOperation::Read, FileOperation::Create, FileOperation::List], &[1]));
        let most = |cache| kinds.iter().map(|kind| kind.most(30, cache)).collect::<Vec<_>>();
        assert_eq!(most(CacheState::Cold), [30, 30, 1]);
        assert_eq!(most(CacheState::Warm), [30, 30, 1]);
        assert_eq!(most(CacheState::Remote), [30, 30, 1]);
        assert_eq!(most(CacheState::First), [30, 30, 30]);
        assert_eq!(most(CacheState::Cached), [MOST, 30, MOST]);
    }
}
