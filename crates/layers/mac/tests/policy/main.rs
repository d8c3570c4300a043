//! Tests of policies: each fault by itself, effective rights against an oracle, reasons in words, real trees.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

mod disk;
mod faults;
mod oracle;
mod reasons;

use bakeoff_layers_mac::policy::disk::{ObjectKind, PathState};
use bakeoff_layers_mac::policy::{Lets, Policy, PolicyError};
use std::path::{Path, PathBuf};

/// A disk on which `/link` leads to `/real`, `/gone` is missing, a name with a dot is a file, and all else is a
/// directory.
fn look(path: &Path) -> PathState {
    let kind = match path {
        path if path.starts_with("/gone") => ObjectKind::Nothing,
        path if path.starts_with("/proc/self") => ObjectKind::OfEachProcess,
        path if path.extension().is_some() => ObjectKind::File,
        _ => ObjectKind::Directory,
    };
    let real = path.strip_prefix("/link").map(|rest| PathBuf::from("/real").join(rest));
    let path = real.unwrap_or_else(|_| path.components().collect());
    PathState { path, kind, others: Vec::new() }
}

fn policy(text: &str, lets: &[&str]) -> Result<Policy, PolicyError> {
    let words: Vec<String> = lets.iter().map(|word| (*word).to_owned()).collect();
    Policy::of_text(text, "p.toml", &Lets::of_words(&words).unwrap(), &look)
}
