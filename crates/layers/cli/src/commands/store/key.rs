//! The flags that open a store's key, and the commands about it.
//!
//! Nothing is asked for at a terminal, so that a mount starts without a person.

use super::super::passphrase::PassphraseArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::release::{Policy, Release, SealedFile, Secret, State, StoreKey, make_key_file};
use clap::Args;
use std::path::{Path, PathBuf};

/// What opens a sealed key.
#[derive(Args, Debug)]
pub(super) struct SecretArgs {
    /// Key file that the store's key is sealed under: `store keygen` makes one
    #[arg(long, value_name = "FILE", conflicts_with = "passphrase_file")]
    key_file: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl SecretArgs {
    pub(super) fn read(&self) -> Result<Option<Secret>, Failure> {
        if let Some(path) = &self.key_file {
            return Secret::key_file(path).map(Some).map_err(Failure::failed);
        }
        Ok(self.passphrase.read()?.map(|words| Secret::passphrase(words.into_bytes())))
    }

    pub(super) fn need(&self) -> Result<Secret, Failure> {
        self.read()?.ok_or_else(|| {
            Failure::usage(
                "what opens the store's key? Give --key-file FILE (`bakeoff layer store keygen` makes one) or \
                 --passphrase-file FILE",
            )
        })
    }
}

/// A vault and its sealed key.
#[derive(Args, Debug)]
pub(super) struct VaultArgs {
    /// The vault
    #[arg(value_name = "VAULT")]
    pub(super) vault: PathBuf,
    /// The sealed key [default: VAULT.key]
    #[arg(long, value_name = "FILE")]
    sealed: Option<PathBuf>,
    #[command(flatten)]
    pub(super) secret: SecretArgs,
}

impl VaultArgs {
    pub(super) fn sealed(&self) -> PathBuf {
        sealed_beside(&self.vault, self.sealed.as_deref())
    }

    /// The store's key, if it is given out.
    pub(super) fn release(&self) -> Result<(SealedFile, StoreKey), Failure> {
        let mut place = SealedFile::new(&self.sealed(), self.secret.need()?);
        let key = place.release(&State::Unmeasured).map_err(Failure::failed)?;
        Ok((place, key))
    }
}

/// The key that is kept there, or a new one that is kept there from now on; and whether it is new.
pub(super) fn release_or_make(place: &mut SealedFile, sealed: &Path) -> Result<(StoreKey, bool), Failure> {
    if sealed.exists() {
        return Ok((place.release(&State::Unmeasured).map_err(Failure::failed)?, false));
    }
    let key = StoreKey::generate().map_err(Failure::failed)?;
    place.keep(&key, Policy::default()).map_err(Failure::failed)?;
    Ok((key, true))
}

/// What to say of a new key.
pub(super) fn new_key(sealed: &Path) -> String {
    format!(
        "sealed key: {}\nKeep a copy of it: without it, or without what opens it, nobody reads the store.",
        sealed.display()
    )
}

pub(super) fn sealed_beside(vault: &Path, sealed: Option<&Path>) -> PathBuf {
    sealed.map_or_else(
        || {
            let mut name = vault.as_os_str().to_owned();
            name.push(".key");
            name.into()
        },
        Path::to_owned,
    )
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// File for the new key; only its owner can read it
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<Exit, Failure> {
    make_key_file(&args.out).map_err(Failure::failed)?;
    terminal::say(&format!(
        "key file: {}\nKeep it off the disk that the vault lies on, and keep a copy: without it nobody reads the vault.",
        args.out.display()
    ));
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
pub(crate) struct LockArgs {
    /// The vault
    #[arg(value_name = "VAULT")]
    vault: PathBuf,
    /// The sealed key [default: VAULT.key]
    #[arg(long, value_name = "FILE")]
    sealed: Option<PathBuf>,
    /// Why, for whoever finds it locked
    #[arg(long, value_name = "WORDS", default_value = "locked by hand")]
    reason: String,
}

pub(super) fn lock(args: &LockArgs) -> Result<Exit, Failure> {
    let sealed = sealed_beside(&args.vault, args.sealed.as_deref());
    SealedFile::lock_file(&sealed, &args.reason).map_err(Failure::failed)?;
    terminal::say(&format!("locked: {}", SealedFile::lock_path(&sealed).display()));
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
pub(crate) struct UnlockArgs {
    #[command(flatten)]
    vault: VaultArgs,
}

pub(super) fn unlock(args: &UnlockArgs) -> Result<Exit, Failure> {
    let mut place = SealedFile::new(&args.vault.sealed(), args.vault.secret.need()?);
    place.unlock().map_err(Failure::failed)?;
    terminal::say("unlocked; a store that was mounted when it was locked must be mounted again");
    Ok(Exit::Done)
}
