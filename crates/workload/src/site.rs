//! The objects of a workload as files.
//!
//! Measuring side, before the measurement. Owns the files below one fresh directory, and the rule that nothing is
//! written elsewhere: names are refused where they are parsed, again here, and no file or directory is used that this
//! code did not create itself, so that no link planted in the directory is followed.

use crate::WorkloadError;
use bakeoff_content::{Body, Catalogue, MODIFIED_SECS};
use bakeoff_units::Bytes;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::{self, File, FileTimes, OpenOptions, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Block size of file systems.
const BLOCK: u64 = 4096;

/// A set of files.
#[derive(Clone, Debug, Default)]
pub struct Site {
    catalogue: Arc<Catalogue>,
}

/// Space that a site needs on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskNeed {
    /// Files rounded up to blocks of 4 KiB, and a block for each directory.
    pub bytes: Bytes,
    /// Files.
    pub files: u64,
    /// Directories, the site's own included.
    pub directories: u64,
}

impl Site {
    /// The files of these objects, if they take at most `max` bytes on disk.
    ///
    /// # Errors
    /// They take more.
    pub fn new(catalogue: impl Into<Arc<Catalogue>>, max: Bytes) -> Result<Self, WorkloadError> {
        let site = Self { catalogue: catalogue.into() };
        let DiskNeed { bytes: need, files, .. } = site.disk_need();
        if need > max { Err(WorkloadError::SiteTooLarge { need, files, max }) } else { Ok(site) }
    }

    /// The objects, as an origin without files serves them.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// Modification time of every file: 2015-05-17T10:05:03Z.
    pub fn modified() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(MODIFIED_SECS)
    }

    /// Relative paths and contents, in the order of paths.
    pub fn files(&self) -> impl Iterator<Item = (&Path, Body)> {
        self.catalogue.iter().map(|(path, body)| {
            let relative = path.strip_prefix(b"/").unwrap_or(path);
            (Path::new(OsStr::from_bytes(relative)), body)
        })
    }

    /// Space that it needs on disk, computed without touching one. Sizes come from strangers: sums stop at the largest
    /// number.
    pub fn disk_need(&self) -> DiskNeed {
        let mut directories = HashSet::from([Path::new("")]);
        let mut bytes = 0_u64;
        for (path, body) in self.files() {
            bytes = bytes.saturating_add(body.len().div_ceil(BLOCK).saturating_mul(BLOCK));
            for parent in path.ancestors().skip(1) {
                if !directories.insert(parent) {
                    break;
                }
            }
        }
        let (files, directories) = (self.catalogue.len() as u64, directories.len() as u64);
        DiskNeed { bytes: Bytes::new(bytes.saturating_add(directories * BLOCK)), files, directories }
    }

    /// Writes all files below `dir`, which is created or is an empty directory. They are readable
    /// by everyone, and as old as [`Self::modified`] says.
    ///
    /// # Errors
    /// `dir` has something in it, or writing fails; what was written until then stays.
    pub fn write_to(&self, dir: &Path) -> Result<(), WorkloadError> {
        make_fresh(dir)?;
        let mut made = HashSet::from([dir.to_owned()]);
        for (relative, body) in self.files() {
            let path = dir.join(relative);
            let failed = |source| WorkloadError::SiteWrite { path: path.clone(), source };
            if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
                return Err(failed(io::ErrorKind::InvalidInput.into()));
            }
            make_parents(&path, &mut made)?;
            write_file(&path, body).map_err(failed)?;
        }
        Ok(())
    }
}

fn make_fresh(dir: &Path) -> Result<(), WorkloadError> {
    let failed = |source| WorkloadError::SiteWrite { path: dir.to_owned(), source };
    match fs::create_dir(dir) {
        Ok(()) => return fs::set_permissions(dir, Permissions::from_mode(0o755)).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(failed(error)),
    }
    let empty = dir.is_dir() && fs::read_dir(dir).map_err(failed)?.next().is_none();
    if empty { Ok(()) } else { Err(WorkloadError::SiteDirNotEmpty { dir: dir.to_owned() }) }
}

/// Creates the directories above `path` that are not made yet; one that is there and was not made
/// here is an error, a link as well.
fn make_parents(path: &Path, made: &mut HashSet<PathBuf>) -> Result<(), WorkloadError> {
    let missing: Vec<&Path> = path.ancestors().skip(1).take_while(|parent| !made.contains(*parent)).collect();
    for parent in missing.into_iter().rev() {
        let failed = |source| WorkloadError::SiteWrite { path: parent.to_owned(), source };
        fs::create_dir(parent).map_err(failed)?;
        fs::set_permissions(parent, Permissions::from_mode(0o755)).map_err(failed)?;
        made.insert(parent.to_owned());
    }
    Ok(())
}

/// `create_new` fails on anything that is there, and does not follow a link.
fn write_file(path: &Path, body: Body) -> io::Result<()> {
    let mut file: File = OpenOptions::new().write(true).create_new(true).open(path)?;
    body.write_to(&mut file)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.set_times(FileTimes::new().set_accessed(Site::modified()).set_modified(Site::modified()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn site(paths: &[(&str, u64)]) -> Site {
        let mut catalogue = Catalogue::default();
        for (path, size) in paths {
            catalogue.insert(path.as_bytes(), *size);
        }
        Site::new(catalogue, Bytes::new(u64::MAX)).unwrap()
    }

    #[test]
    fn files_have_their_bytes_age_and_modes() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("site");
        let site = site(&[("/", 0), ("/a/b/c d", 5000), ("/é", 1)]);
        site.write_to(&dir).unwrap();
        for (path, body) in site.files() {
            let bytes = fs::read(dir.join(path)).unwrap();
            assert!(bytes.len() as u64 == body.len() && body.matches(0, &bytes));
            let meta = fs::metadata(dir.join(path)).unwrap();
            assert_eq!(meta.modified().unwrap(), Site::modified());
            assert_eq!(meta.permissions().mode() & 0o777, 0o644);
        }
        assert_eq!(fs::metadata(dir.join("a/b")).unwrap().permissions().mode() & 0o777, 0o755);
        assert!(dir.join("index.html").exists());
    }

    #[test]
    fn the_need_is_whole_blocks_and_over_the_limit_nothing_is_made() {
        let need = site(&[("/", 0), ("/a/b/c", 4097), ("/a/d", 1)]).disk_need();
        assert_eq!(need, DiskNeed { bytes: Bytes::new(6 * 4096), files: 3, directories: 3 });
        let mut catalogue = Catalogue::default();
        catalogue.insert(b"/a", u64::MAX);
        catalogue.insert(b"/b", u64::MAX);
        let error = Site::new(catalogue, Bytes::new(2_000_000_000)).unwrap_err();
        assert!(matches!(error, WorkloadError::SiteTooLarge { files: 2, .. }));
        assert!(error.to_string().contains("max_site"));
    }

    #[test]
    fn a_directory_with_anything_in_it_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), dir.path().join("a")).unwrap();
        let error = site(&[("/a/b", 1)]).write_to(dir.path()).unwrap_err();
        assert!(matches!(error, WorkloadError::SiteDirNotEmpty { .. }));
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        let file = dir.path().join("file");
        fs::write(&file, "x").unwrap();
        assert!(matches!(site(&[]).write_to(&file), Err(WorkloadError::SiteDirNotEmpty { .. })));
    }

    /// The directory was empty when it was looked at; the links came after.
    #[test]
    fn links_planted_on_the_way_are_not_followed() {
        let dir = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), dir.path().join("a")).unwrap();
        symlink(outside.path().join("new"), dir.path().join("f")).unwrap();
        let mut made = HashSet::from([dir.path().to_owned()]);
        assert!(make_parents(&dir.path().join("a/b"), &mut made).is_err());
        let body = site(&[("/f", 3)]).files().next().unwrap().1;
        assert!(write_file(&dir.path().join("f"), body).is_err());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_catalogue_that_points_outside_is_not_written() {
        let parent = tempfile::tempdir().unwrap();
        let dir = parent.path().join("site");
        assert!(site(&[("/../evil", 1)]).write_to(&dir).is_err());
        assert!(site(&[("/a/../../evil", 1)]).write_to(&parent.path().join("two")).is_err());
        assert!(!parent.path().join("evil").exists());
    }
}
