//! Detection of changes that other programs on the server make to the export, past all mounts, just after they
//! happen.
//!
//! Measured side, server process, a thread of its own without the filter of system calls, fed by the kernel alone.
//! Leases of a changed object are revoked, as for a session's change; but until that is done a client may have read
//! the old state. Our own changes for sessions are skipped. If the kernel cannot report changes (not root, an old
//! kernel, a file system without handles) they are seen when leases end, within a term, and the status says so.

use super::export::{ATTRIBUTES, CONTENTS, NAMES};
use super::objects::Object;
use super::state::Server;
use crate::lease::Key;
use bakeoff_layers_base::daemon::degree::Degree;
use bakeoff_sys::changes::{ChangeReport, Changes, Handle, InodeChange};
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

/// Pause between two reads: a program that writes a large file changes it often, and the kernel merges events.
const PAUSE: Duration = Duration::from_millis(5);

/// Begins to listen, before the rights for it are given up; returns the source of changes, and the degree.
pub(super) fn listen(export: &Path) -> (Option<Changes>, Degree) {
    match File::open(export).and_then(Changes::of) {
        Ok(changes) => (Some(changes), Degree::Full),
        Err(error) => (None, Degree::None(format!("{error}; they are seen within a term"))),
    }
}

/// Starts the thread, which begins once it is given the server.
pub(super) fn start(mut changes: Changes, server: Receiver<Weak<Server>>) -> io::Result<()> {
    let work = move || {
        let Ok(server) = server.recv() else { return };
        loop {
            let Ok(told) = changes.read() else { return };
            let Some(server) = server.upgrade() else { return };
            server.heard(&changes, told);
            drop(server);
            thread::sleep(PAUSE);
        }
    };
    thread::Builder::new().name("local".to_owned()).spawn(work).map(drop)
}

/// Objects behind handles, if a session knows them.
struct Resolved<'c> {
    changes: &'c Changes,
    server: &'c Server,
    known: HashMap<Handle, Option<Arc<Object>>>,
}

impl Resolved<'_> {
    fn object(&mut self, handle: Option<Handle>) -> Option<Arc<Object>> {
        let handle = handle?;
        if let Some(object) = self.known.get(&handle) {
            return object.clone();
        }
        let opened = self.changes.open(&handle).ok().map(File::from);
        let object = opened.and_then(|file| self.server.objects.known(&file).ok().flatten());
        self.known.insert(handle, object.clone());
        object
    }
}

impl Server {
    fn heard(&self, changes: &Changes, told: Vec<ChangeReport>) {
        let mut resolved = Resolved { changes, server: self, known: HashMap::new() };
        let mut keys = Vec::new();
        for told in told {
            match told {
                ChangeReport::Change(change) if change.pid == std::process::id() => {}
                ChangeReport::Change(change) => keys.extend(self.keys(change, &mut resolved)),
                ChangeReport::Overflow => return self.export.forget_all(),
            }
        }
        if !keys.is_empty() {
            self.coherence.has_changed(keys);
        }
    }

    /// Parts of it that sessions may have cached; decisions about it are void.
    fn keys(&self, change: InodeChange, resolved: &mut Resolved<'_>) -> impl Iterator<Item = Key> + use<> {
        let InodeChange { contents, named, moved, object, directory, .. } = change;
        let directory = resolved.object(directory.filter(|_| named));
        let object = resolved.object(object);
        if let Some(object) = &object
            && named
        {
            self.export.has_other_names(object, moved);
        }
        let what = if contents || moved { CONTENTS } else { ATTRIBUTES };
        let object = object.map(|object| (object.number, what));
        directory.map(|directory| (directory.number, NAMES)).into_iter().chain(object)
    }
}
