//! Checks of the settings before anything is marked: trees that must not be guarded, and flags that a mode needs.

use crate::error::EnforceError;
use crate::settings::EnforcementSettings;
use bakeoff_layers_base::manifest::FaultAction;
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
        if resolved(file).starts_with(&root) {
            return refuse(format!(
                "{} lies in it: the guard would wait for itself; put it elsewhere",
                file.display()
            ));
        }
    }
    match settings.mode {
        FaultAction::Stop if settings.stop_pid.is_none() => {
            Err(EnforceError::Needs { mode: "stop", needs: "--stop-pid PID: the server to end" })
        }
        FaultAction::Lock if settings.lock_store.is_none() => {
            Err(EnforceError::Needs { mode: "lock", needs: "--lock-store FILE: the store's key file" })
        }
        _ => Ok(()),
    }
}

/// The executable and the libraries of this process.
fn own_files() -> Vec<PathBuf> {
    let maps = plain::read_kernels("/proc/self/maps").unwrap_or_default();
    let paths = maps.lines().filter_map(|line| line.find('/').and_then(|at| line.get(at..)));
    paths.map(PathBuf::from).collect()
}

/// Path of a file that need not exist, without symbolic links in its directory.
fn resolved(file: &Path) -> PathBuf {
    if let Ok(path) = file.canonicalize() {
        return path;
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new(".")).canonicalize().unwrap_or_default();
    parent.join(file.file_name().unwrap_or_default())
}
