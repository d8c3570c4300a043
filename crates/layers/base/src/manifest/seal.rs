//! Sealing: lists a tree once, then hashes its files on all cores into the entries of a manifest.
//!
//! Cold. A file that changes while it is read is noticed and refused, never sealed half old and half new.

use super::load::signature_path;
use super::{
    FaultAction, Manifest, ManifestEntry, ManifestHeader, ManifestRefusal, SignedComment, load, signature,
    write,
};
use crate::digest::{Algorithm, Digest};
use crate::key::{KeyError, SecretKey};
use crate::name::EscapedName;
use crate::plain::{self, FileAudience, FileLocation, PathError};
use crate::threads;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Header fields and options of a new manifest.
#[derive(Clone, Debug)]
pub struct Sealing {
    /// Digest algorithm.
    pub algorithm: Algorithm,
    /// Must be larger than that of the previous manifest.
    pub version: u64,
    /// Now, in seconds since 1970.
    pub created_unix_s: u64,
    /// Expiry, in seconds since 1970.
    pub not_after_unix_s: u64,
    /// Strongest reaction to a fault in any of the files.
    pub action: FaultAction,
    /// Paths below the root that are left out, with everything below them.
    pub exclude: Vec<String>,
    /// Name of the tree, the same for each newer version; `None` for the directory's full path.
    pub name: Option<EscapedName>,
}

/// Reasons for not sealing a tree.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestSealError {
    /// A file or directory cannot be read.
    #[error("{}: {source}; everything below the directory must be readable, or be left out with --exclude", .path.display())]
    Read {
        /// The path.
        path: PathBuf,
        /// The I/O error.
        source: io::Error,
    },
    /// Neither a directory, nor a file that a manifest can fully describe, nor a symbolic link that stays inside.
    #[error("{}: {what}; remove it, or leave it out with --exclude", .path.display())]
    Odd {
        /// The path.
        path: PathBuf,
        /// The kind of file or link.
        what: &'static str,
    },
    /// It is being written to.
    #[error("{}: changed while it was sealed; seal a tree that nobody writes to", .0.display())]
    Changed(PathBuf),
    /// The manifest would have to be part of itself.
    #[error("the manifest {} would lie in the tree that is sealed; choose another place", .0.display())]
    Inside(PathBuf),
    /// The manifest would be refused.
    #[error("such a tree cannot have a manifest ({}): {}", .0.name(), .0)]
    Refused(ManifestRefusal),
    /// It cannot be signed.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The manifest cannot be written.
    #[error(transparent)]
    Write(#[from] PathError),
}

/// Contents of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Regular files, in the order of their paths' bytes.
    pub files: Vec<String>,
    /// Directories, the root as the empty path, each before everything below it.
    pub dirs: Vec<String>,
    /// Symbolic links that stay inside the tree, in the order of their paths' bytes.
    pub links: Vec<String>,
}

/// Lists a tree.
///
/// # Errors
/// A file that cannot be read, or that a manifest cannot name.
pub fn scan(root: &Path, exclude: &[String]) -> Result<Scan, ManifestSealError> {
    let root =
        &root.canonicalize().map_err(|source| ManifestSealError::Read { path: root.to_owned(), source })?;
    let mut found = Scan::default();
    let mut rest = vec![String::new()];
    while let Some(dir) = rest.pop() {
        let path = root.join(&dir);
        let failed = |source| ManifestSealError::Read { path: path.clone(), source };
        for entry in std::fs::read_dir(&path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let odd = |what| Err(ManifestSealError::Odd { path: entry.path(), what });
            let Some(name) = name.to_str() else { return odd("a name that is not UTF-8") };
            let below = if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") };
            if is_below_any(&below, exclude) {
                continue;
            }
            if name.chars().any(|c| c.is_ascii_control()) {
                return odd("a name with a control character");
            }
            let kind = entry.file_type().map_err(failed)?;
            match (kind.is_dir(), kind.is_file(), kind.is_symlink()) {
                (true, ..) => rest.push(below),
                (_, true, _) => found.files.push(below),
                (.., true) => match odd_link(root, &entry.path()) {
                    None => found.links.push(below),
                    Some(what) => return odd(what),
                },
                _ => return odd("neither a file nor a directory"),
            }
        }
        found.dirs.push(dir);
    }
    found.files.sort_unstable();
    found.dirs.sort_unstable();
    found.links.sort_unstable();
    Ok(found)
}

/// Whether a path is one of `tops` or lies below one.
pub fn is_below_any(path: &str, tops: &[String]) -> bool {
    tops.iter().any(|top| {
        let top = top.trim_matches('/');
        path.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// The fault of a symbolic link, if any. Its target is checked under its own path; a link to the outside would serve
/// unsigned content. `root` must be without symbolic links.
pub fn odd_link(root: &Path, link: &Path) -> Option<&'static str> {
    const OUT: &str = "a symbolic link that leads out of the tree: what is there is not signed";
    const NOWHERE: &str = "a symbolic link that leads nowhere";
    let Ok(target) = std::fs::read_link(link) else { return Some(NOWHERE) };
    if !stays_below(root, &link.parent().unwrap_or(root).join(target)) {
        return Some(OUT);
    }
    match link.canonicalize() {
        Ok(target) if target.starts_with(root) => None,
        Ok(_) => Some(OUT),
        Err(_) => Some(NOWHERE),
    }
}

/// Whether a path, taken by its words alone, stays below the root: a path that leaves the tree and comes back could
/// be led astray outside.
pub fn stays_below(root: &Path, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(root) else { return false };
    let mut depth = 0_usize;
    below.components().all(|part| match part {
        Component::ParentDir => {
            let inside = depth > 0;
            depth = depth.saturating_sub(1);
            inside
        }
        Component::Normal(_) => {
            depth += 1;
            true
        }
        _ => true,
    })
}

/// Digest of the paths and targets of symbolic links below `root`, which are in the order of their paths' bytes.
///
/// # Errors
/// One cannot be read.
pub fn links_digest<'a>(root: &Path, links: impl Iterator<Item = &'a Path>) -> io::Result<String> {
    let mut bytes = Vec::new();
    for link in links {
        for part in [link.as_os_str(), std::fs::read_link(root.join(link))?.as_os_str()] {
            bytes.extend_from_slice(part.as_bytes());
            bytes.push(0);
        }
    }
    Ok(Algorithm::Sha256.digest(&bytes).to_string())
}

/// Hashes a tree: the bytes of its manifest, and the digest of its links.
///
/// # Errors
/// As [`scan`]; or a file changes meanwhile.
pub fn tree(root: &Path, sealing: &Sealing, key_id: u64) -> Result<(Vec<u8>, String), ManifestSealError> {
    let Scan { files, links, .. } = scan(root, &sealing.exclude)?;
    let facts = hash_all(root, &files, sealing.algorithm)?;
    let changed = |_| ManifestSealError::Changed(root.to_owned());
    let linked = links_digest(root, links.iter().map(Path::new)).map_err(changed)?;
    let again = scan(root, &sealing.exclude)?;
    if (again.files, again.links) != (files.clone(), links) {
        return Err(ManifestSealError::Changed(root.to_owned()));
    }
    let header = ManifestHeader {
        version: sealing.version,
        created_unix_s: sealing.created_unix_s,
        not_after_unix_s: sealing.not_after_unix_s,
        key_id,
        algorithm: sealing.algorithm,
    };
    let entries = files.iter().zip(&facts).map(|(path, facts)| ManifestEntry {
        digest: facts.digest,
        size_bytes: facts.size_bytes,
        mode: facts.mode,
        action: sealing.action,
        path,
    });
    Ok((write::text(&header, entries), linked))
}

/// Seals a tree and writes manifest and signature, each whole or not at all.
///
/// # Errors
/// As [`tree`]; the result would be refused (twins); a file cannot be written.
pub fn seal(
    root: &Path,
    sealing: &Sealing,
    key: &SecretKey,
    out: &Path,
) -> Result<Manifest, ManifestSealError> {
    if plain::resolved(out).starts_with(plain::resolved(root)) {
        return Err(ManifestSealError::Inside(out.to_owned()));
    }
    let (text, links) = tree(root, sealing, signature::id_of(key))?;
    let manifest = load::parse_unverified(text.clone()).map_err(ManifestSealError::Refused)?;
    let failed = |source| ManifestSealError::Read { path: root.to_owned(), source };
    let name = match &sealing.name {
        Some(name) => name.clone(),
        None => EscapedName::of(root.canonicalize().map_err(failed)?),
    };
    let comment = SignedComment { name: Some(name), links: Some(links) };
    let signature = signature::sign(&text, key, &comment.text(sealing.version))?;
    // The signature first: between the two renames an old manifest has a new signature and is refused, which is the
    // safer state to be interrupted in.
    write_whole(&signature_path(out), signature.as_bytes())?;
    write_whole(out, &text)?;
    Ok(manifest)
}

/// Facts about a file.
#[derive(Clone, Copy)]
struct Facts {
    digest: Digest,
    size_bytes: u64,
    mode: u16,
}

fn hash_all(root: &Path, files: &[String], algorithm: Algorithm) -> Result<Vec<Facts>, ManifestSealError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let work = || -> Result<Vec<(usize, Facts)>, ManifestSealError> {
        let mut own = Vec::new();
        while !failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            let facts = hash(&root.join(file), algorithm);
            own.push((index, facts.inspect_err(|_| failed.store(true, Ordering::Relaxed))?));
        }
        Ok(own)
    };
    let parts: Result<Vec<_>, ManifestSealError> = threads::on(threads::cores(), work).into_iter().collect();
    let mut facts = parts?.concat();
    facts.sort_unstable_by_key(|(index, _)| *index);
    Ok(facts.into_iter().map(|(_, facts)| facts).collect())
}

fn hash(path: &Path, algorithm: Algorithm) -> Result<Facts, ManifestSealError> {
    let failed = |source| ManifestSealError::Read { path: path.to_owned(), source };
    let file = plain::open_in_tree(path, libc::O_NOFOLLOW).map_err(failed)?;
    let before = file.metadata().map_err(failed)?;
    let (digest, size_bytes) = algorithm.digest_reader(&file).map_err(failed)?;
    let after = file.metadata().map_err(failed)?;
    if stamp(&before) != stamp(&after) || size_bytes != after.len() {
        return Err(ManifestSealError::Changed(path.to_owned()));
    }
    if bakeoff_sys::inode::has_capabilities(&file).map_err(failed)? {
        let what = "has file capabilities (setcap), which a manifest does not sign";
        return Err(ManifestSealError::Odd { path: path.to_owned(), what });
    }
    if bakeoff_sys::inode::has_access_list(&file).map_err(failed)? {
        let what = "has an access list (setfacl), which a manifest does not sign";
        return Err(ManifestSealError::Odd { path: path.to_owned(), what });
    }
    let mode = (after.permissions().mode() & 0o7777) as u16;
    Ok(Facts { digest, size_bytes, mode })
}

/// Fields that change when a file or its attributes are written.
fn stamp(metadata: &Metadata) -> (u64, i64, i64, u64) {
    (metadata.ino(), metadata.ctime(), metadata.ctime_nsec(), metadata.len())
}

fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), ManifestSealError> {
    let written = FileLocation::guarded(path).and_then(|place| place.replace(bytes, FileAudience::Everybody));
    Ok(written.map_err(PathError::written(path))?)
}
