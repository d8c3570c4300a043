//! The guest's disk: ext4 without a journal, with the labels that the policy has for its files.
//!
//! Measuring side, cold. Labels and owners are written into the image, not to this machine's files, so that
//! neither root nor SELinux is needed here.

use super::base::Base;
use super::tree::DATED;
use crate::GuestError;
use crate::error::at;
use crate::tools::Tool;
use std::fs;
use std::path::{Path, PathBuf};

/// Free space on the disk, beside a tenth of what is on it: data, temporary files, objects of the compile.
const FREE_KIB: u64 = 16 * 1024;
/// Labels that the policy has no rule for, or another one; the last that fits holds.
const LABELS: [(&str, &str); 3] = [
    ("/data", "system_u:object_r:user_home_t:s0"),
    ("/scripts", "system_u:object_r:bin_t:s0"),
    ("/var/www/secret", "system_u:object_r:shadow_t:s0"),
];
/// Identity of the file system and of its hashes: the same in every build.
const UUID: &str = "62616b65-6f66-4621-8000-000000000000";

/// Makes it of a directory; its size in KiB.
pub(super) fn make(root: &Path, base: &Base, disk: &Path) -> Result<u64, GuestError> {
    let mut entries = Vec::new();
    walk(root, &mut entries)?;
    let used: u64 = entries.iter().map(|entry| entry.kib).sum();
    let size = (used + used / 10 + FREE_KIB).next_multiple_of(1024);
    Tool::new("mke2fs")
        .env("E2FSPROGS_FAKE_TIME", &DATED.to_string())
        .words(["-q", "-t", "ext4", "-O", "^has_journal", "-b", "4096", "-m", "0", "-U", UUID])
        .words(["-E", &format!("root_owner=0:0,hash_seed={UUID}"), "-d"])
        .words([root, disk])
        .words([format!("{size}k")])
        .run()?;
    let orders = orders(root, base, &entries)?;
    let file = disk.with_extension("orders");
    fs::write(&file, orders).map_err(at(&file))?;
    let said = Tool::new("debugfs")
        .env("E2FSPROGS_FAKE_TIME", &DATED.to_string())
        .words(["-w".as_ref(), "-f".as_ref(), file.as_os_str(), disk.as_os_str()])
        .run();
    let _ = fs::remove_file(&file);
    said.map(|_| size)
}

struct Entry {
    path: PathBuf,
    kind: &'static str,
    kib: u64,
}

fn walk(dir: &Path, entries: &mut Vec<Entry>) -> Result<(), GuestError> {
    for entry in fs::read_dir(dir).map_err(at(dir))?.flatten() {
        let (path, about) = (entry.path(), entry.metadata().map_err(at(entry.path()))?);
        let kind = match about.file_type() {
            kind if kind.is_dir() => "dir",
            kind if kind.is_symlink() => "lnk_file",
            _ => "file",
        };
        entries.push(Entry { path: path.clone(), kind, kib: about.len().div_ceil(4096) * 4 });
        if kind == "dir" {
            walk(&path, entries)?;
        }
    }
    Ok(())
}

/// Orders for debugfs: owner, label and times of every file.
fn orders(root: &Path, base: &Base, entries: &[Entry]) -> Result<String, GuestError> {
    let mut orders = "ea_set / security.selinux system_u:object_r:root_t:s0\n".to_owned() + &dated("/");
    for kind in ["dir", "file", "lnk_file"] {
        let paths: Vec<String> = entries
            .iter()
            .filter(|entry| entry.kind == kind)
            .map(|entry| format!("/{}", entry.path.strip_prefix(root).unwrap_or(&entry.path).display()))
            .collect();
        let said = Tool::new("matchpathcon")
            .words([
                "-f".as_ref(),
                base.path("file_contexts").as_os_str(),
                "-n".as_ref(),
                "-m".as_ref(),
                kind.as_ref(),
            ])
            .words(&paths)
            .text()?;
        let labels: Vec<&str> = said.lines().collect();
        if labels.len() != paths.len() {
            let why = format!("matchpathcon gave {} labels for {} files", labels.len(), paths.len());
            return Err(GuestError::Recipe(why));
        }
        for (path, label) in paths.iter().zip(labels) {
            let own = LABELS.iter().rev().find(|(place, _)| Path::new(path).starts_with(place));
            let label = own.map_or(label, |(_, label)| label);
            orders += &format!("sif {path} uid 0\nsif {path} gid 0\n{}", dated(path));
            if !label.starts_with('<') {
                orders += &format!("ea_set {path} security.selinux {label}\n");
            }
        }
    }
    Ok(orders)
}

/// mke2fs takes over when a file was changed and read here, and when a directory or link was made, which is another moment
/// in each build.
fn dated(path: &str) -> String {
    ["ctime", "atime", "mtime"].map(|time| format!("sif {path} {time} @{DATED}\n")).concat()
}
