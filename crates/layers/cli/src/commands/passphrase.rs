//! Passphrases from files: nothing prompts for one, so that a layer starts without a person.

use crate::exit::Failure;
use bakeoff_layers_base::plain::{FileOwner, open_regular};
use bakeoff_layers_base::release::Secret;
use clap::Args;
use std::io::{ErrorKind, Read};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// Longest file that is read.
const MOST_BYTES: usize = 4096;

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
        // Large enough for any passphrase at once: a growing buffer would leave copies behind.
        let mut text = Zeroizing::new(String::with_capacity(MOST_BYTES));
        let file = open_regular(path, FileOwner::Trusted).map(|file| file.take(MOST_BYTES as u64));
        file.and_then(|mut file| file.read_to_string(&mut text)).map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => {
                    "there is no such file; put the passphrase into its first line".to_owned()
                }
                _ => format!("{error}; give a file that can be read"),
            };
            Failure::failed(format!("{}: {why}", path.display()))
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

/// The secret that opens a role's key.
pub(super) fn secret(passphrase: &PassphraseArgs) -> Result<Secret, Failure> {
    let words = passphrase
        .read()?
        .ok_or_else(|| Failure::usage("a role's key has a passphrase: give --passphrase-file FILE"))?;
    Secret::passphrase(words.into_bytes()).map_err(Failure::failed)
}
