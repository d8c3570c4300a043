//! Passphrases come from a file: nothing is asked for, so that a layer starts without a person.

use crate::exit::Failure;
use clap::Args;
use std::path::PathBuf;

/// Where a passphrase comes from.
#[derive(Args, Debug)]
pub(crate) struct PassphraseArgs {
    /// File with the key's passphrase in its first line; `/dev/stdin` reads it from there
    #[arg(long, value_name = "FILE")]
    pub(crate) passphrase_file: Option<PathBuf>,
}

impl PassphraseArgs {
    /// The first line without its end, if a file was given.
    pub(crate) fn read(&self) -> Result<Option<String>, Failure> {
        let Some(path) = &self.passphrase_file else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| {
            Failure::failed(format!("{}: {error}; give a file that can be read", path.display()))
        })?;
        match text.lines().next() {
            Some(line) if !line.is_empty() => Ok(Some(line.to_owned())),
            _ => Err(Failure::failed(format!(
                "{}: no passphrase in its first line; an empty one protects nothing",
                path.display()
            ))),
        }
    }
}
