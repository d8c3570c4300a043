//! Files that a plan brings for its arms, written into each private directory before anything is started there, and
//! into the directory outside it that its wraps have to themselves.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file that a plan brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its name in the private directory: one component of a path.
    pub name: String,
    /// Its contents, without substitutions.
    pub text: String,
}

/// Prefix of a configuration's path that names such a file.
const HERE: &str = "{dir}/";

impl Written {
    /// The path that stands for this file.
    pub fn path(name: &str) -> PathBuf {
        PathBuf::from(format!("{HERE}{name}"))
    }

    /// Its name, if the path is that of such a file.
    pub fn meant(path: &Path) -> Option<&str> {
        path.to_str()?.strip_prefix(HERE)
    }

    /// Writes these files into a private directory, and with wraps into a new one outside it, too.
    ///
    /// # Errors
    /// The disk is full, or a directory cannot be written.
    pub fn put(files: &[Self], dir: &Path, with_wraps: bool) -> io::Result<()> {
        let outside = with_wraps.then(|| outside(dir));
        if let Some(outside) = &outside {
            // An earlier start had the directory's name.
            let _ = fs::remove_dir_all(outside);
            fs::create_dir(outside)?;
        }
        let put = |dir: &Path| files.iter().try_for_each(|file| fs::write(dir.join(&file.name), &file.text));
        put(dir)?;
        outside.as_deref().map_or(Ok(()), put)
    }
}

/// The directory of a start's wraps, beside its private one: a sandbox may let its program write anywhere in that.
pub(crate) fn outside(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push("+outside");
    path.into()
}
