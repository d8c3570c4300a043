//! Copies of a configuration on disk, and links to what lies beside the originals.
//!
//! Measuring side, cold. Writes below the private directory only; originals are linked, never opened for writing.

use crate::error::AdoptError;
use crate::setting::StandIns;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Entries of a configuration's directory beyond which nothing more is linked.
const MOST_LINKS: usize = 5_000;

/// A change of one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// `FILE:LINE`.
    pub place: String,
    /// The statement, on one line.
    pub was: String,
    /// What stands in its place; empty: nothing.
    pub now: String,
}

/// The copies of a configuration, and what they are told from the originals by.
#[derive(Clone, Debug)]
pub struct Copies {
    pub(crate) files: Vec<CopiedFile>,
    /// Directories of its caches.
    pub caches: Vec<PathBuf>,
    /// In the order of the configuration.
    pub changes: Vec<Change>,
    /// The stand-ins that it asks.
    pub stand_ins: StandIns<bool>,
    /// Addresses for which one answers, as they are written, each with its `FILE:LINE`.
    pub played: Vec<(String, String)>,
}

#[derive(Clone, Debug)]
pub(crate) struct CopiedFile {
    pub(crate) original: PathBuf,
    pub(crate) copy: PathBuf,
    pub(crate) text: String,
}

impl Copies {
    /// The copy that the server is started with.
    pub fn main(&self) -> &Path {
        self.files.first().map_or(Path::new("/"), |file| &file.copy)
    }

    /// All files in one text, each under its original's name, as `nginx -T` prints them.
    pub fn whole_text(&self) -> String {
        let of =
            |file: &CopiedFile| format!("# configuration file {}:\n{}\n", file.original.display(), file.text);
        self.files.iter().map(of).collect()
    }

    /// Writes them. What else lies in the main file's directory is linked beside its copy, so that a relative path
    /// leads where it led.
    ///
    /// # Errors
    /// The disk is full, or a copy is there already.
    pub fn write(&self) -> Result<(), AdoptError> {
        let wrong = |path: &Path| {
            let path = path.to_owned();
            move |source| AdoptError::Write { path, source }
        };
        for file in &self.files {
            let dir = file.copy.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(dir).map_err(wrong(dir))?;
            fs::File::create_new(&file.copy)
                .and_then(|mut copy| io::Write::write_all(&mut copy, file.text.as_bytes()))
                .map_err(wrong(&file.copy))?;
        }
        self.caches.iter().try_for_each(|dir| fs::create_dir(dir).map_err(wrong(dir)))?;
        if let Some((from, to)) =
            self.files.first().and_then(|file| file.original.parent().zip(file.copy.parent()))
        {
            link_rest(from, to, &mut 0).map_err(wrong(to))?;
        }
        Ok(())
    }
}

/// Links each entry of `from` that `to` does not have; a directory that both have is gone through.
fn link_rest(from: &Path, to: &Path, made: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from)?.flatten() {
        let (original, copy) = (entry.path(), to.join(entry.file_name()));
        match fs::symlink_metadata(&copy) {
            Ok(there) if there.is_dir() => link_rest(&original, &copy, made)?,
            Ok(_) => {}
            Err(_) if *made < MOST_LINKS => {
                std::os::unix::fs::symlink(&original, &copy)?;
                *made += 1;
            }
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}
