//! The packages of kernel and policy: which versions, fetched and kept, never installed.
//!
//! Measuring side, cold.

use crate::GuestError;
use crate::error::at;
use crate::records::Package;
use crate::tools::Tool;
use std::fs;
use std::path::{Path, PathBuf};

/// Names the kernel's package in its dependencies.
const KERNEL: &str = "linux-image-cloud-amd64";
/// Debian's reference policy.
const POLICY: &str = "selinux-policy-default";

/// The kernel's and the policy's package, of the versions that apt would install.
pub(super) fn wanted() -> Result<[Package; 2], GuestError> {
    let meta = shown(KERNEL)?;
    let image = field(&meta, "Depends").and_then(|depends| depends.split([' ', ',']).next());
    let image = image.ok_or_else(|| GuestError::NoPackage { package: KERNEL.to_owned() })?;
    Ok([version(image)?, version(POLICY)?])
}

fn version(name: &str) -> Result<Package, GuestError> {
    let shown = shown(name)?;
    let version = field(&shown, "Version").map(str::to_owned);
    let version = version.ok_or_else(|| GuestError::NoPackage { package: name.to_owned() })?;
    Ok(Package { name: name.to_owned(), version })
}

fn shown(package: &str) -> Result<String, GuestError> {
    let shown = Tool::new("apt-cache").words(["show", "--no-all-versions", package]).text();
    shown.map_err(|_| GuestError::NoPackage { package: package.to_owned() })
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

/// Its file in `dir`; fetched where it is not there.
pub(super) fn fetch(package: &Package, dir: &Path) -> Result<PathBuf, GuestError> {
    fs::create_dir_all(dir).map_err(at(dir))?;
    if let Some(there) = find(package, dir)? {
        return Ok(there);
    }
    let not_fetched =
        |why: String| GuestError::NotFetched { package: package.name.clone(), why, packages: dir.to_owned() };
    // Half a file must not be taken for a whole one when this is killed.
    let beside = dir.join(format!(".{}", std::process::id()));
    fs::create_dir_all(&beside).map_err(at(&beside))?;
    let got = Tool::new("apt-get")
        .words(["-q", "download", &format!("{}={}", package.name, package.version)])
        .within(&beside)
        .run()
        .map_err(|why| not_fetched(why.to_string()))
        .and_then(|_| find(package, &beside)?.ok_or_else(|| not_fetched("apt left no file".to_owned())))
        .and_then(|file| {
            let kept = dir.join(file.file_name().unwrap_or_default());
            fs::rename(&file, &kept).map_err(at(&kept)).map(|()| kept)
        });
    let _ = fs::remove_dir_all(&beside);
    got
}

/// apt writes the colon of a version as `%3a`.
fn find(package: &Package, dir: &Path) -> Result<Option<PathBuf>, GuestError> {
    let begins = format!("{}_{}_", package.name, package.version.replace(':', "%3a"));
    let entries = fs::read_dir(dir).map_err(at(dir))?;
    let mut files = entries.flatten().filter(|entry| {
        let name = entry.file_name();
        name.to_str().is_some_and(|name| name.starts_with(&begins) && name.ends_with(".deb"))
    });
    Ok(files.next().map(|entry| entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_that_is_there_is_not_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let package = Package { name: "p".to_owned(), version: "2:1.0-9".to_owned() };
        let file = dir.path().join("p_2%3a1.0-9_all.deb");
        fs::write(dir.path().join("p_2%3a1.0-8_all.deb"), "").unwrap();
        assert_eq!(find(&package, dir.path()).unwrap(), None);
        fs::write(&file, "").unwrap();
        assert_eq!(fetch(&package, dir.path()).unwrap(), file);
    }

    #[test]
    fn a_package_that_cannot_be_had_says_where_to_put_it() {
        let dir = tempfile::tempdir().unwrap();
        let package = Package { name: "bakeoff-no-such-package".to_owned(), version: "1".to_owned() };
        let said = fetch(&package, dir.path()).unwrap_err().to_string();
        assert!(said.contains("put its .deb into") && said.contains("bakeoff-no-such"), "{said}");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is left");
    }
}
