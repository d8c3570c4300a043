//! Locking of a mounted vault: drops its keys, and everything that the kernel cached of it.
//!
//! Measured side, once. Keys go first: from then on no read is answered. Then the kernel drops its cache, contents
//! before names. For a name it waits for the directory's lock, which any reader can hold as long as it likes (with a
//! page of its own file system under the buffer of its `getdents`); for contents it does not. All this runs in a
//! thread of its own, so that such a wait holds up nothing else.

use super::filesystem::inode;
use crate::tree::NodeId;
use crate::vault::Vault;
use bakeoff_layers_base::release::StoreHold;
use fuser::Notifier;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread;

/// Progress of a lock.
#[derive(Clone, Debug, Default)]
pub(super) struct Dropped(Arc<AtomicU8>);

/// Words for its stages, in this order.
const STAGES: [&str; 4] = ["nothing", "keys", "contents", "names"];

impl Dropped {
    /// The last stage that is done.
    pub(super) fn word(&self) -> &'static str {
        STAGES.get(usize::from(self.0.load(Ordering::Relaxed))).copied().unwrap_or_default()
    }

    fn next(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Drops the keys, and starts a thread that drops everything that the kernel cached of the vault. The hold on the store
/// goes as soon as no content can be read any more: that answers whoever locked it.
pub(super) fn lock(vault: &Arc<Vault>, notifier: &Notifier, dropped: &Dropped, hold: Option<StoreHold>) {
    vault.lock();
    dropped.next();
    let (own, its, seen) = (vault.clone(), notifier.clone(), dropped.clone());
    let forget = move || {
        forget_contents(&own, &its);
        seen.next();
        drop(hold);
        forget_names(&own, &its);
        seen.next();
    };
    // Without a thread the keys are gone, and the lock stays unanswered.
    let _ = thread::Builder::new().name("lock".to_owned()).spawn(forget);
}

/// Drops the contents that the kernel has cached.
pub(super) fn forget_contents(vault: &Vault, notifier: &Notifier) {
    // ENOENT says that the kernel does not have it.
    for (id, _) in vault.tree().nodes() {
        let _ = notifier.inval_inode(inode(id), 0, 0);
    }
}

fn forget_names(vault: &Vault, notifier: &Notifier) {
    let tree = vault.tree();
    for (_, node) in tree.nodes().filter(|(id, _)| *id != NodeId::ROOT) {
        let _ = notifier.inval_entry(inode(tree.parent(node)), OsStr::from_bytes(tree.name(node)));
    }
}
