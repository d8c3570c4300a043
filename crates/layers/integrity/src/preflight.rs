//! Checks of the settings before anything is marked: trees that must not be guarded.

use crate::error::EnforceError;
use crate::settings::EnforcementSettings;
use bakeoff_layers_base::plain;
use std::path::{Path, PathBuf};

/// Refuses settings that would stop the machine or the guard itself.
pub(crate) fn check(settings: &EnforcementSettings) -> Result<(), EnforceError> {
    let failed = |source| EnforceError::Root { path: settings.root.clone(), source };
    let root = settings.root.canonicalize().map_err(failed)?;
    let refuse = |why: String| Err(EnforceError::Unguardable { path: root.clone(), why });
    if root == Path::new("/") {
        return refuse("it is the whole machine; guard the directory that is served".to_owned());
    }
    let system = ["/proc", "/sys", "/dev", "/run"];
    if let Some(system) = system.iter().find(|system| root.starts_with(system)) {
        return refuse(format!("{system} is the kernel's; guard a directory on a disk"));
    }
    if let Some(own) = own_files().into_iter().find(|own| own.starts_with(&root)) {
        return refuse(format!(
            "{} lies in it, which the guard itself runs from; guard a directory without it",
            own.display()
        ));
    }
    let manifest = [&settings.manifest, &settings.public_key];
    let written = [&settings.high_water, &settings.status, &settings.lock_store];
    for file in manifest.into_iter().chain(written.into_iter().flatten()) {
        if plain::resolved(file).starts_with(&root) {
            return refuse(format!(
                "{} lies in it: the guard would wait for itself; put it elsewhere",
                file.display()
            ));
        }
    }
    Ok(())
}

/// The executable and the libraries of this process.
fn own_files() -> Vec<PathBuf> {
    let maps = plain::read_kernels("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    paths.map(PathBuf::from).collect()
}
