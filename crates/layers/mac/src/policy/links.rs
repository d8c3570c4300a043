//! Check for hard links that join two types: the name by which such a file is opened would decide its rights.
//!
//! Measured side, cold: walks whole trees, follows no symbolic link, changes nothing.

use super::fault::{Faults, PolicyFaultKind};
use crate::grant::{DomainGrant, Name};
use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The kernel's own file systems, endless and without hard links.
const NO_FILES: [&str; 2] = ["/proc", "/sys"];

/// Looks through the trees of all types.
pub(super) fn check(grant: &DomainGrant, faults: &mut Faults) {
    let strange = NO_FILES.iter().filter_map(|path| Some(fs::metadata(path).ok()?.dev())).collect();
    let mut walk = Walk { grant, strange, names: HashMap::new(), faults };
    for typed in grant.types.iter().filter(|typed| typed.there) {
        let inside = typed.path.parent().is_some_and(|parent| grant.typed(parent).is_some());
        if !inside {
            walk.tree(typed.path.clone(), typed.line);
        }
    }
}

struct Walk<'w> {
    grant: &'w DomainGrant,
    /// Devices that are left out.
    strange: Vec<u64>,
    /// One name of each file that has several.
    names: HashMap<(u64, u64), PathBuf>,
    faults: &'w mut Faults,
}

impl Walk<'_> {
    fn tree(&mut self, top: PathBuf, line: usize) {
        let mut left = vec![top];
        while let Some(path) = left.pop() {
            let listed = fs::symlink_metadata(&path).and_then(|about| {
                self.file(&path, &about);
                if about.is_dir() && !self.strange.contains(&about.dev()) {
                    children(&path)
                } else {
                    Ok(Vec::new())
                }
            });
            match listed {
                Ok(children) => left.extend(children),
                // A file that vanished meanwhile joins nothing.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let sentence = format!("{}: {error}; its hard links were not looked at", Name(&path));
                    self.faults.add(line, PolicyFaultKind::Unread, sentence);
                }
            }
        }
    }

    fn file(&mut self, path: &Path, about: &Metadata) {
        if about.is_dir() || about.nlink() < 2 {
            return;
        }
        let other = self.names.entry((about.dev(), about.ino())).or_insert_with(|| path.to_owned());
        let (Some(here), Some(there)) = (self.grant.typed(path), self.grant.typed(other)) else { return };
        if here.label != there.label {
            let sentence = format!(
                "{} (type {}) is the same file as {} (type {}), and is judged by the name that is opened: make it a copy",
                Name(path),
                here.label,
                Name(other),
                there.label,
            );
            self.faults.add(here.line, PolicyFaultKind::HardLink, sentence);
        }
    }
}

fn children(path: &Path) -> io::Result<Vec<PathBuf>> {
    fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect()
}
