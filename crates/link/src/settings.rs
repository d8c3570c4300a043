//! TCP settings of the machine, carried over into a new namespace.
//!
//! A new namespace begins with the kernel's defaults. The administrator's tuning is part of the server that is
//! measured, so it holds inside, too.

use crate::LinkError;
use bakeoff_sys::namespace::Namespace;
use std::fs;
use std::path::{Path, PathBuf};

/// Directories, and the settings in them: by name or by the start of it.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/net/ipv4", "tcp_"),
    ("/proc/sys/net/ipv4", "ip_local_port_range"),
    ("/proc/sys/net/core", "somaxconn"),
];
/// A secret, and not a setting.
const SECRET: &str = "tcp_fastopen_key";

/// Gives `inside` the settings that hold where the caller is. One that a namespace cannot have of
/// its own is the machine's anyway, so a refusal is no error.
pub(crate) fn carry_over(inside: &Namespace) -> Result<(), LinkError> {
    let here: Vec<(PathBuf, String)> = SETTINGS
        .iter()
        .flat_map(|(directory, start)| files(directory, start))
        .filter_map(|file| Some((file.clone(), fs::read_to_string(file).ok()?)))
        .collect();
    let write = || {
        for (file, value) in &here {
            if fs::read_to_string(file).is_ok_and(|there| there != *value) {
                let _ = fs::write(file, value);
            }
        }
    };
    inside.run(write).map_err(LinkError::Namespace)
}

fn files(directory: &str, start: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(Path::new(directory)).into_iter().flatten().flatten();
    let ours = |name: &str| name.starts_with(start) && name != SECRET;
    entries.filter(|entry| entry.file_name().to_str().is_some_and(ours)).map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTING: &str = "/proc/sys/net/ipv4/tcp_fin_timeout";

    #[test]
    #[allow(clippy::print_stdout)] // the SKIP line is for whoever runs the tests
    fn what_is_tuned_outside_holds_inside() {
        let (Ok(outer), Ok(inner)) = (Namespace::create(), Namespace::create()) else {
            assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "run as root");
            println!("SKIP what_is_tuned_outside_holds_inside: cannot make a network namespace; run as root");
            return;
        };
        outer.run(|| fs::write(SETTING, "17")).unwrap().unwrap();
        assert_ne!(inner.run(|| fs::read_to_string(SETTING)).unwrap().unwrap(), "17\n");
        outer.run(|| carry_over(&inner)).unwrap().unwrap();
        assert_eq!(inner.run(|| fs::read_to_string(SETTING)).unwrap().unwrap(), "17\n");
    }
}
