//! Flags that open a store's key, and the commands about it.
//!
//! Nothing prompts at a terminal, so that a mount starts without a person.

use super::super::passphrase::PassphraseArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_base::key::read_secret;
use bakeoff_layers_base::manifest::signature::{AdminPublicKey, proven_public};
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::plain::beside;
use bakeoff_layers_base::release::{
    AdminKey, ExpectedManifest, MeasuredState, ReleasePolicy, SealedFile, Secret, StoreHold, StoreKey,
    StoreLock, judge, make_key_file, measure,
};
use clap::Args;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// What opens a sealed key.
#[derive(Args, Debug)]
pub(super) struct SecretArgs {
    /// Key file that the store's key is sealed under: `store keygen` makes one
    #[arg(long, alias = "key-file", value_name = "FILE", conflicts_with = "passphrase_file")]
    key: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
}

impl SecretArgs {
    pub(super) fn read(&self) -> Result<Option<Secret>, Failure> {
        if let Some(path) = &self.key {
            return Secret::key_file(path).map(Some).map_err(Failure::failed);
        }
        let words = self.passphrase.read()?;
        words.map(|words| Secret::passphrase(words.into_bytes())).transpose().map_err(Failure::failed)
    }

    pub(super) fn need(&self) -> Result<Secret, Failure> {
        self.read()?.ok_or_else(|| {
            Failure::usage(
                "what opens the store's key? Give --key FILE (`bakeoff layer store keygen` makes one) or \
                 --passphrase-file FILE",
            )
        })
    }
}

/// By what the state of the machine is told.
#[derive(Args, Debug)]
pub(super) struct StateArgs {
    /// Signed manifest of the long-lived files (`bakeoff layer integrity seal`): the store's key is
    /// given out only when they are what it says, once a vault was sealed with it
    #[arg(long, value_name = "FILE", requires = "public", requires = "root")]
    manifest: Option<PathBuf>,
    /// The public key that signed it
    #[arg(long = "pub", id = "public", value_name = "FILE", requires = "manifest")]
    public: Option<PathBuf>,
    /// The directory that the manifest's paths are below
    #[arg(long, value_name = "DIR", requires = "manifest")]
    root: Option<PathBuf>,
}

impl StateArgs {
    pub(super) fn measure(&self) -> Result<MeasuredState, Failure> {
        let (Some(manifest), Some(public), Some(root)) = (&self.manifest, &self.public, &self.root) else {
            return Ok(MeasuredState::Unmeasured);
        };
        let public = AdminPublicKey::read(public).map_err(Failure::failed)?;
        measure(manifest, &public, root, now_unix_s()).map_err(Failure::failed)
    }
}

/// Conditions of a new key: its vault, and the given manifest, from this version on.
fn policy_of(vault: &EscapedName, state: &MeasuredState) -> Result<ReleasePolicy, Failure> {
    let manifest = match state {
        MeasuredState::Unmeasured => None,
        MeasuredState::Measured { admin, name, root, version, .. } => Some(ExpectedManifest {
            admin: *admin,
            name: name.clone(),
            root: root.clone(),
            least_version: *version,
        }),
    };
    let policy = ReleasePolicy { vault: vault.clone(), manifest };
    judge(&policy, vault, state).map_err(Failure::failed)?;
    Ok(policy)
}

/// Where a sealed key is.
#[derive(Args, Debug)]
pub(super) struct SealedArgs {
    /// The sealed key [default: VAULT.key]
    #[arg(long, value_name = "FILE")]
    sealed: Option<PathBuf>,
}

impl SealedArgs {
    pub(super) fn of(&self, vault: &Path) -> PathBuf {
        self.sealed.clone().unwrap_or_else(|| beside(vault, ".key"))
    }
}

/// A sealed key, the name that it is bound to, and what opens it.
#[derive(Args, Debug)]
pub(super) struct KeyArgs {
    #[command(flatten)]
    pub(super) sealed: SealedArgs,
    /// The vault's name, which its key is bound to: vaults cannot stand in for each other [default: the name
    /// of its file]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    #[command(flatten)]
    pub(super) secret: SecretArgs,
    #[command(flatten)]
    state: StateArgs,
}

impl KeyArgs {
    /// Gets the key of the vault at this path, if it is released.
    pub(super) fn release(&self, vault: &Path) -> Result<(SealedFile, StoreKey), Failure> {
        let mut place = SealedFile::new(&self.sealed.of(vault), self.secret.need()?);
        let key = place.release(&self.name_of(vault)?, &self.state.measure()?).map_err(Failure::failed)?;
        Ok((place, key))
    }

    /// The same, or a new key that is kept there from now on; and the message about a new one.
    pub(super) fn release_or_make(
        &self,
        vault: &Path,
    ) -> Result<(SealedFile, StoreKey, Option<String>), Failure> {
        let sealed = self.sealed.of(vault);
        if sealed.exists() {
            return self.release(vault).map(|(place, key)| (place, key, None));
        }
        let mut place = SealedFile::new(&sealed, self.secret.need()?);
        let policy = policy_of(&self.name_of(vault)?, &self.state.measure()?)?;
        let key = StoreKey::generate().map_err(Failure::failed)?;
        place.keep(&key, policy).map_err(Failure::failed)?;
        let new = format!(
            "sealed key: {}\nKeep a copy of it: without it, or without what opens it, nobody reads the store.",
            sealed.display()
        );
        Ok((place, key, Some(new)))
    }

    fn name_of(&self, vault: &Path) -> Result<EscapedName, Failure> {
        let given = self.name.as_ref().map(OsStr::new).filter(|name| !name.is_empty());
        given.or(vault.file_name()).map(EscapedName::of).ok_or_else(|| {
            Failure::usage(format!("{} has no name of its own; give one with --name", vault.display()))
        })
    }
}

/// A vault and its sealed key.
#[derive(Args, Debug)]
pub(super) struct VaultArgs {
    /// The vault
    #[arg(value_name = "VAULT")]
    pub(super) vault: PathBuf,
    #[command(flatten)]
    pub(super) key: KeyArgs,
}

/// Lock of a sealed key, and the hold on it of a mount.
pub(super) fn hold(sealed: &Path) -> Result<(StoreLock, StoreHold), Failure> {
    let lock = StoreLock::of(sealed).map_err(Failure::failed)?;
    let hold = lock.hold().map_err(Failure::failed)?;
    Ok((lock, hold))
}

#[derive(Args, Debug)]
pub(crate) struct KeygenArgs {
    /// File for the new key; only its owner can read it
    #[arg(long, alias = "out", value_name = "FILE")]
    key: PathBuf,
}

pub(super) fn keygen(args: &KeygenArgs) -> Result<Exit, Failure> {
    make_key_file(&args.key).map_err(Failure::failed)?;
    terminal::say(&format!(
        "key file: {}\nKeep it off the disk that the vault lies on, and keep a copy: without it nobody reads the vault.",
        args.key.display()
    ));
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
pub(crate) struct LockArgs {
    /// The vault
    #[arg(value_name = "VAULT")]
    vault: PathBuf,
    #[command(flatten)]
    sealed: SealedArgs,
    /// Why, for whoever finds it locked
    #[arg(long, value_name = "WORDS", default_value = "locked by hand")]
    reason: String,
}

pub(super) fn lock(args: &LockArgs) -> Result<Exit, Failure> {
    let sealed = args.sealed.of(&args.vault);
    let lock = StoreLock::of(&sealed).map_err(Failure::failed)?;
    lock.lock(&args.reason).and_then(|()| lock.wait_for_mounts()).map_err(Failure::failed)?;
    terminal::say(&format!("locked: {}", sealed.display()));
    Ok(Exit::Done)
}

#[derive(Args, Debug)]
pub(crate) struct UnlockArgs {
    /// The vault
    #[arg(value_name = "VAULT")]
    vault: PathBuf,
    #[command(flatten)]
    sealed: SealedArgs,
    #[command(flatten)]
    secret: SecretArgs,
    /// The admin's secret key, for a store that was sealed with his manifest
    #[arg(long, value_name = "FILE")]
    admin_key: Option<PathBuf>,
    /// File with the passphrase of the admin's key in its first line; `/dev/stdin` reads it from there
    #[arg(long, alias = "key-passphrase-file", value_name = "FILE", requires = "admin_key")]
    admin_key_passphrase_file: Option<PathBuf>,
}

impl UnlockArgs {
    /// Public half of the admin's key, once its secret half was shown.
    fn admin(&self) -> Result<Option<AdminKey>, Failure> {
        let Some(path) = &self.admin_key else { return Ok(None) };
        let words = PassphraseArgs { passphrase_file: self.admin_key_passphrase_file.clone() }.read()?;
        let secret = read_secret(path, words).map_err(Failure::failed)?;
        let public = proven_public(&secret);
        public.map(Some).ok_or_else(|| {
            Failure::failed(format!("{}: it cannot sign; give the admin's secret key", path.display()))
        })
    }
}

pub(super) fn unlock(args: &UnlockArgs) -> Result<Exit, Failure> {
    let sealed = args.sealed.of(&args.vault);
    let mut place = SealedFile::new(&sealed, args.secret.need()?);
    place.unlock(args.admin()?.as_ref()).map_err(Failure::failed)?;
    terminal::say("unlocked; a store that was mounted when it was locked must be mounted again");
    Ok(Exit::Done)
}
