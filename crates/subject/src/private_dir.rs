//! Private directory of a start, with all that its subject writes.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// `base/ARM`, or `base/ARM-2` and so on; the arm's name without characters that are awkward in a path.
pub(crate) fn private_dir(base: &Path, arm: &str) -> io::Result<PathBuf> {
    let name: String =
        arm.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect();
    let base = fs::canonicalize(base)?;
    let mut number = 1;
    loop {
        let dir = base.join(if number == 1 { name.clone() } else { format!("{name}-{number}") });
        match DirBuilder::new().mode(0o755).create(&dir) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && number < 100_000 => number += 1,
            other => return other.map(|()| dir),
        }
    }
}
