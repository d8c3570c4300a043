//! Errors of a guest's run.

use crate::tools::{self, Need};
use bakeoff_experiment::run::RunError;
use bakeoff_results::directory::DirectoryError;
use bakeoff_subject::SubjectError;
use std::io;
use std::path::PathBuf;

/// See the module.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// Not x86-64.
    #[error("the guest is a kernel for x86-64, and this is {0}; run the plan on an x86-64 machine")]
    Architecture(&'static str),
    /// Programs that are not there.
    #[error("the guest needs {}; install them: {}", named(.0), tools::remedy(.0))]
    Missing(Vec<Need>),
    /// A program that failed.
    #[error("{program} failed while the guest was built: {why}")]
    Tool {
        /// Which.
        program: &'static str,
        /// Its status and last words.
        why: String,
    },
    /// A package that apt does not know.
    #[error("apt knows no package {package}; on Debian `apt-get update` fetches the lists")]
    NoPackage {
        /// Which.
        package: String,
    },
    /// A package that cannot be fetched.
    #[error(
        "{package} cannot be fetched: {why}; without a network put its .deb into {}", packages.display()
    )]
    NotFetched {
        /// Which.
        package: String,
        /// What apt said.
        why: String,
        /// Where packages are kept.
        packages: PathBuf,
    },
    /// Something that is not what the recipe expects.
    #[error("{0}")]
    Recipe(String),
    /// A file of the build.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A boot that did not come to its end, or not to everything.
    #[error("boot {boot} ({what}): {why}{}", last(.lines))]
    Boot {
        /// Its number, from 1 on.
        boot: usize,
        /// Mode and perturbation.
        what: String,
        /// In words, with what to do.
        why: String,
        /// The console's last lines.
        lines: Vec<String>,
    },
    /// A run that was begun with another guest.
    #[error(
        "what would be booted now is not what was booted before (other: {0}), and counts of the two cannot stand side by side; run the plan anew"
    )]
    OtherGuest(String),
    /// Somebody pressed Ctrl-C.
    #[error("interrupted")]
    Interrupted,
    /// QEMU cannot be started.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The temporary directory.
    #[error(transparent)]
    Scratch(#[from] RunError),
    /// The results directory.
    #[error(transparent)]
    Directory(#[from] DirectoryError),
}

fn named(missing: &[Need]) -> String {
    let words: Vec<String> =
        missing.iter().map(|need| format!("{} ({})", need.program, need.purpose)).collect();
    words.join(", ")
}

fn last(lines: &[String]) -> String {
    let shown: Vec<String> = lines.iter().map(|line| format!("\n    {line}")).collect();
    if shown.is_empty() { String::new() } else { format!(". The console's last lines:{}", shown.concat()) }
}

/// An error with its file.
pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> GuestError {
    let path = path.into();
    move |source| GuestError::File { path, source }
}
