//! Contents of small files that came with their names, kept until they are read.
//!
//! Measured side, client process, hot while the kernel's caches are cold. They are given to the kernel once, which
//! then caches them itself. Others' changes arrive as breaks; this module owns the other reason for dropping them: a
//! change of this mount's own, which nobody reports. An answer is not kept if such a change ended after it was
//! requested.

use super::kernel::BreakCount;
use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Limit on files: unread contents do not pile up.
const MOST: usize = 1024;

/// Number of changes by this mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(u64);

#[derive(Debug, Default)]
struct Inner {
    changes: Changes,
    kept: HashMap<u64, (Vec<u8>, BreakCount)>,
}

/// The kept contents.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<Inner>);

impl Contents {
    /// Number of changes at the time of a request.
    pub(super) fn changes(&self) -> Changes {
        lock(&self.0).changes
    }

    /// Keeps the contents of an answer, with the time of its request.
    pub(super) fn keep(&self, object: u64, bytes: &[u8], (since, changes): (BreakCount, Changes)) {
        let mut inner = lock(&self.0);
        if bytes.is_empty() || inner.changes != changes {
            return;
        }
        if inner.kept.len() >= MOST {
            inner.kept.clear();
        }
        inner.kept.insert(object, (bytes.to_vec(), since));
    }

    /// Removes the contents of an object; returns them with the time of their request.
    pub(super) fn take(&self, object: u64) -> Option<(Vec<u8>, BreakCount)> {
        lock(&self.0).kept.remove(&object)
    }

    /// Notes that this mount has changed an object.
    pub(super) fn changed(&self, object: u64) {
        let mut inner = lock(&self.0);
        inner.changes.0 += 1;
        inner.kept.remove(&object);
    }
}

#[cfg(test)]
mod tests {
    use super::super::kernel::Kernel;
    use super::*;

    #[test]
    fn what_this_mount_changed_is_not_kept() {
        let (contents, since) = (Contents::default(), Kernel::new().now());
        let before = contents.changes();
        contents.keep(7, b"old", (since, before));
        contents.keep(8, b"its", (since, before));
        contents.changed(7);
        contents.keep(7, b"old", (since, before));
        assert_eq!(contents.take(7), None);
        contents.keep(7, b"new", (since, contents.changes()));
        assert_eq!(contents.take(7).unwrap().0, b"new");
        assert_eq!(contents.take(7), None, "once");
        assert_eq!(contents.take(8).unwrap().0, b"its");
        for object in 0..=MOST as u64 {
            contents.keep(object, b"text", (since, contents.changes()));
        }
        assert!(lock(&contents.0).kept.len() <= MOST);
    }
}
