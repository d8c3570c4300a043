//! Contents of small files that came with their names, until they are read.
//!
//! Measured side, client process, hot while the kernel's caches are cold. They are given to the kernel once, which keeps them itself
//! then. Owns what makes them old besides what others do (that a break says): a change of this mount's own, of which nobody tells
//! it. What was asked before such a change is over is not kept.

use super::kernel::Asked;
use bakeoff_layers_base::locks::lock;
use std::collections::HashMap;
use std::sync::Mutex;

/// Files at a time: names of which nobody reads the contents do not pile up.
const MOST: usize = 1024;

/// Changes of this mount's own so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes(u64);

#[derive(Debug, Default)]
struct Inner {
    changes: Changes,
    kept: HashMap<u64, (Vec<u8>, Asked)>,
}

/// Those that are here.
#[derive(Debug, Default)]
pub(super) struct Contents(Mutex<Inner>);

impl Contents {
    /// How many changes there were when something is asked.
    pub(super) fn changes(&self) -> Changes {
        lock(&self.0).changes
    }

    /// Keeps what was asked for at that time.
    pub(super) fn keep(&self, object: u64, bytes: &[u8], (since, changes): (Asked, Changes)) {
        let mut inner = lock(&self.0);
        if bytes.is_empty() || inner.changes != changes {
            return;
        }
        if inner.kept.len() >= MOST {
            inner.kept.clear();
        }
        inner.kept.insert(object, (bytes.to_vec(), since));
    }

    /// Those of an object, once, and when they were asked for.
    pub(super) fn take(&self, object: u64) -> Option<(Vec<u8>, Asked)> {
        lock(&self.0).kept.remove(&object)
    }

    /// This mount has changed an object.
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
