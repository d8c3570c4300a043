//! Key release: a store's key is given out only to a machine in the state its owner asked for.
//!
//! Measured side, cold: once when a store is mounted. Owns the trait that every place a key can be
//! kept in must satisfy (`tests/release` is its contract), the words of its refusals, and the one
//! place there is today: a file, wrapped under a passphrase or a key file ([`SealedFile`]). The state
//! of the machine is what [`measure`] finds.
//!
//! What a file buys: a stolen disk without the passphrase or key file yields nothing, and an honest
//! machine notices a changed set of programs or an older manifest before the key is out. What it
//! cannot: keep root, who can put back all the files, from undoing a lock or a counter. A chip that
//! counts and measures by itself can; it would be one more implementation of this trait.

mod measure;
mod sealed;
mod secret;
mod text;

pub use bakeoff_sys::secret::{burn_stack, lock_heap};
pub use measure::measure;
pub use sealed::SealedFile;
pub use secret::{KEY_FILE_BYTES, Secret, make_key_file};

use crate::manifest::load::LoadError;
use crate::name::Name;
use crate::named;
use aws_lc_rs::rand;
use bakeoff_sys::secret::SecretBytes;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// The key of a store: 32 bytes in locked memory, wiped when the last copy of it goes.
#[derive(Clone)]
pub struct StoreKey(Arc<SecretBytes>);

impl StoreKey {
    /// A new one from the kernel's random numbers.
    ///
    /// # Errors
    /// When there are none, or no memory may be locked.
    pub fn generate() -> Result<Self, Refusal> {
        let mut bytes = SecretBytes::zeroed(32).map_err(Refusal::Memory)?;
        rand::fill(&mut bytes).map_err(|_| Refusal::Cipher)?;
        Ok(Self(Arc::new(bytes)))
    }

    /// One that is known.
    ///
    /// # Errors
    /// No memory may be locked.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, Refusal> {
        SecretBytes::copy_of(bytes).map(|bytes| Self(Arc::new(bytes))).map_err(Refusal::Memory)
    }

    /// Its bytes, for deriving keys from.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("StoreKey(..)")
    }
}

/// The admin's public key: 32 bytes of Ed25519.
pub type AdminKey = [u8; 32];

/// What a key is bound to: what must be so before it is given out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The one vault that it opens.
    pub vault: Name,
    /// The manifest of the long-lived set; `None` asks for the secret alone.
    pub manifest: Option<Wanted>,
}

/// The manifest that must verify. Another one is refused, though the same admin signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Who must have signed it.
    pub admin: AdminKey,
    /// What it says that it is of.
    pub name: Name,
    /// The directory that its paths are below.
    pub root: Name,
    /// Its lowest version.
    pub least_version: u64,
}

/// What was measured of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing.
    Unmeasured,
    /// The long-lived set was compared with a manifest whose signature is right.
    Measured {
        /// Whose signature it is.
        admin: AdminKey,
        /// What the manifest says that it is of.
        name: Name,
        /// The directory that was looked at.
        root: Name,
        /// The manifest's version.
        version: u64,
        /// Paths of the set that are not as the manifest says.
        wrong: Vec<String>,
    },
}

named! {
    /// Numbers that only rise.
    pub enum Counter {
        /// The version of the manifest of the long-lived set.
        Manifest "manifest",
        /// The sequence number of the vault.
        Vault "vault",
    }
}

/// A place that keeps a store key and gives it out only in the right state.
pub trait Release {
    /// Keeps a key under a policy; what was kept before is gone.
    ///
    /// # Errors
    /// When it cannot be kept.
    fn keep(&mut self, key: &StoreKey, policy: Policy) -> Result<(), Refusal>;

    /// Gives the key of this vault out if the secret is right, nothing is locked and the state is what the
    /// policy asks for. The version of a measured state counts from then on as the newest: no other manifest
    /// ever raises it.
    ///
    /// # Errors
    /// With the first thing that is not right.
    fn release(&mut self, vault: &Name, state: &State) -> Result<StoreKey, Refusal>;

    /// Notes that this number was seen; it must not be lower than any before.
    ///
    /// # Errors
    /// [`Refusal::RolledBack`], and nothing is noted.
    fn advance(&mut self, counter: Counter, to: u64) -> Result<(), Refusal>;

    /// The highest number seen.
    ///
    /// # Errors
    /// When it is lost or was changed.
    fn newest(&mut self, counter: Counter) -> Result<u64, Refusal>;

    /// No key is given out from now on, until it is unlocked. Needs no secret.
    ///
    /// # Errors
    /// When it cannot be noted.
    fn lock(&mut self, reason: &str) -> Result<(), Refusal>;

    /// Ends a lock; needs the secret. For a key that is bound to an admin it needs him, too: the secret
    /// may lie on the machine that was locked, so that it mounts without a person. `admin` is a public key
    /// whose secret half the caller was shown.
    ///
    /// # Errors
    /// When the secret or the admin is not the right one.
    fn unlock(&mut self, admin: Option<&AdminKey>) -> Result<(), Refusal>;
}

/// Why a key was not given out, or not kept.
#[derive(Debug, Error)]
pub enum Refusal {
    /// The sealed key is not there.
    #[error(
        "{} is not there: without the sealed key nobody can read the vault. Bring it back from a copy, or seal the tree again",
        .0.display()
    )]
    KeyLost(PathBuf),
    /// The sealed key is not what was written.
    #[error("{} is damaged ({what}). Bring it back from a copy", path.display())]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The sealed key was made when keys were not yet bound to a vault.
    #[error(
        "{} was made by an earlier bakeoff, which bound it neither to its vault nor to one manifest. Move it away with its .memory, and seal the tree again: that makes a new one",
        .0.display()
    )]
    OldFormat(PathBuf),
    /// Another vault's key.
    #[error(
        "the sealed key is the one of the vault {wanted}, not of {is}: each vault has a key of its own; if it was renamed, say --name {wanted}"
    )]
    WrongVault {
        /// What was asked for.
        is: Name,
        /// What the key is bound to.
        wanted: Name,
    },
    /// A manifest was given, and the key asks for none.
    #[error(
        "the store's key was made without a manifest, so --manifest would protect nothing; leave it out, or move the sealed key away with its .memory and seal the tree again with the manifest"
    )]
    NotBound,
    /// Another manifest of the same admin.
    #[error(
        "the manifest is of {is}, and the store's key is bound to the one of {wanted}; if it is a newer one of the same, seal it with --name {wanted}"
    )]
    WrongManifest {
        /// What it says that it is of.
        is: Name,
        /// What the key is bound to.
        wanted: Name,
    },
    /// The manifest was compared with another directory.
    #[error("--root is {is}, and the store's key is bound to {wanted}")]
    WrongRoot {
        /// What was looked at.
        is: Name,
        /// What the key is bound to.
        wanted: Name,
    },
    /// A manifest of no file.
    #[error("{} names no file, so nothing would be measured; seal what the key is to be bound to", .0.display())]
    EmptyManifest(PathBuf),
    /// A manifest that does not say what it is of.
    #[error(
        "{} does not say what it is of, so another one could stand in for it; seal it again: bakeoff layer integrity seal",
        .0.display()
    )]
    NamelessManifest(PathBuf),
    /// The manifest itself.
    #[error(transparent)]
    Manifest(#[from] LoadError),
    /// No memory may be locked.
    #[error("the kernel locks no memory for keys ({0}); allow it some: ulimit -l")]
    Memory(io::Error),
    /// Wrong passphrase or key file.
    #[error("the {0} is not the one that the store's key was sealed with")]
    WrongSecret(&'static str),
    /// The wrap does not open although the secret is right.
    #[error("{} was changed after it was written. Bring it back from a copy", .0.display())]
    Altered(PathBuf),
    /// Locked.
    #[error("the store is locked ({0}). Look into it, then: bakeoff layer store unlock")]
    Locked(String),
    /// The policy asks for a measured state.
    #[error(
        "the store's key is given out only with a signed manifest of the long-lived files; name it with --manifest, --pub and --root"
    )]
    Unmeasured,
    /// Locked, and to be unlocked by the admin that the key is bound to.
    #[error(
        "the store's key is bound to an admin, and it is for him to unlock it: give his secret key with --key FILE, and take it off this machine again"
    )]
    NotTheAdmin,
    /// Another admin's manifest.
    #[error("the manifest is signed by another admin than the one the store was sealed for")]
    WrongAdmin,
    /// An older manifest or vault.
    #[error("{what} {is} is older than {what} {newest}, which was used before; use the newest")]
    RolledBack {
        /// What of: `manifest` or `vault`.
        what: &'static str,
        /// The number that was given.
        is: u64,
        /// The highest that was seen.
        newest: u64,
    },
    /// Files of the long-lived set are not as the manifest says.
    #[error("{first}{} not as the manifest says; the store's key stays sealed", and_more(*more))]
    LongLivedChanged {
        /// The first of them.
        first: String,
        /// How many others.
        more: usize,
    },
    /// The file that remembers the newest numbers is gone.
    #[error("{} is not there, so an older vault could not be told from the newest. Bring it back from a copy, or begin anew: bakeoff layer store unlock", .0.display())]
    MemoryLost(PathBuf),
    /// The key file's permissions.
    #[error("{} can be read by others than its owner; chmod 600 it, and think about who has read it", .0.display())]
    OpenKeyFile(PathBuf),
    /// The key file is none.
    #[error("{} is no key file: 64 hexadecimal digits and a line end. Make one: bakeoff layer store keygen", .0.display())]
    NoKeyFile(PathBuf),
    /// Reading or writing failed.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The cipher library failed.
    #[error("the cipher library failed; is the processor's random source there?")]
    Cipher,
}

fn and_more(more: usize) -> String {
    match more {
        0 => " is".to_owned(),
        more => format!(" and {more} more are"),
    }
}

/// Whether a policy is content with a vault and a state; the counter is the place's own business.
///
/// # Errors
/// With the first thing that is not right.
pub fn judge(policy: &Policy, vault: &Name, state: &State) -> Result<Option<u64>, Refusal> {
    if *vault != policy.vault {
        return Err(Refusal::WrongVault { is: vault.clone(), wanted: policy.vault.clone() });
    }
    let (wanted, admin, name, root, version, wrong) = match (&policy.manifest, state) {
        (None, State::Unmeasured) => return Ok(None),
        (None, State::Measured { .. }) => return Err(Refusal::NotBound),
        (Some(_), State::Unmeasured) => return Err(Refusal::Unmeasured),
        (Some(wanted), State::Measured { admin, name, root, version, wrong }) => {
            (wanted, admin, name, root, version, wrong)
        }
    };
    if *admin != wanted.admin {
        return Err(Refusal::WrongAdmin);
    }
    if *name != wanted.name {
        return Err(Refusal::WrongManifest { is: name.clone(), wanted: wanted.name.clone() });
    }
    if *root != wanted.root {
        return Err(Refusal::WrongRoot { is: root.clone(), wanted: wanted.root.clone() });
    }
    if *version < wanted.least_version {
        let (is, newest) = (*version, wanted.least_version);
        return Err(Refusal::RolledBack { what: Counter::Manifest.name(), is, newest });
    }
    match wrong.split_first() {
        Some((first, rest)) => Err(Refusal::LongLivedChanged { first: first.clone(), more: rest.len() }),
        None => Ok(Some(*version)),
    }
}
