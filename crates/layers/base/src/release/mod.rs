//! Key release: a store's key is given out only to a machine in the state that its owner demands.
//!
//! Measured side, cold: once when a store is mounted. Owns the words of its refusals, and the place that keeps the key: a
//! file, wrapped under a passphrase or a key file ([`SealedFile`]). [`measure`] finds the state of the machine.
//!
//! A sealed file protects a stolen disk: without the passphrase or key file it yields nothing. An honest machine also
//! notices a changed set of programs or an older manifest before the key is out. It cannot keep root, who can restore
//! all the files, from undoing a lock or a counter; a chip that counts and measures by itself could.

mod lock;
mod measure;
mod sealed;
mod secret;
mod text;

pub use bakeoff_sys::secret::{burn_stack, lock_heap};
pub use lock::{ANSWER, StoreHold, StoreLock};
pub use measure::measure;
pub use sealed::SealedFile;
pub use secret::{KEY_FILE_BYTES, Secret, make_key_file};

use crate::manifest::load::LoadError;
use crate::name::EscapedName;
use crate::named;
use crate::plain::PathError;
use aws_lc_rs::rand;
use bakeoff_sys::secret::SecretBytes;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use thiserror::Error;

/// The key of a store: 32 bytes in locked memory, wiped when its last copy is dropped.
#[derive(Clone)]
pub struct StoreKey(Arc<SecretBytes>);

impl StoreKey {
    /// A new key from the kernel's random numbers.
    ///
    /// # Errors
    /// There are no random numbers, or no memory may be locked.
    pub fn generate() -> Result<Self, ReleaseRefusal> {
        let mut bytes = SecretBytes::zeroed(32).map_err(ReleaseRefusal::Memory)?;
        rand::fill(&mut bytes).map_err(|_| ReleaseRefusal::Cipher)?;
        Ok(Self(Arc::new(bytes)))
    }

    /// A known key.
    ///
    /// # Errors
    /// No memory may be locked.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, ReleaseRefusal> {
        SecretBytes::copy_of(bytes).map(|bytes| Self(Arc::new(bytes))).map_err(ReleaseRefusal::Memory)
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

/// Conditions that a key is bound to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleasePolicy {
    /// The only vault that it opens.
    pub vault: EscapedName,
    /// The manifest of the long-lived set; `None` asks for the secret alone.
    pub manifest: Option<ExpectedManifest>,
}

/// The manifest that must verify. Another one is refused, even if the same admin signed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedManifest {
    /// Key that must have signed it.
    pub admin: AdminKey,
    /// Name that it must carry.
    pub name: EscapedName,
    /// Directory that its paths are below.
    pub root: EscapedName,
    /// Its lowest version.
    pub least_version: u64,
}

/// Measured state of the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MeasuredState {
    /// Not measured.
    Unmeasured,
    /// The long-lived set was compared with a manifest whose signature is right.
    Measured {
        /// Key of the signature.
        admin: AdminKey,
        /// Name that the manifest carries.
        name: EscapedName,
        /// Directory that was compared.
        root: EscapedName,
        /// The manifest's version.
        version: u64,
        /// Paths of the set that differ from the manifest.
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

/// Reasons for not giving out, or not keeping, a key.
#[derive(Debug, Error)]
pub enum ReleaseRefusal {
    /// The sealed key does not exist.
    #[error(
        "{} is not there: without the sealed key nobody can read the vault. Bring it back from a copy, or seal the tree again",
        .0.display()
    )]
    KeyLost(PathBuf),
    /// The sealed key was changed since it was written.
    #[error("{} is damaged ({what}). Bring it back from a copy", path.display())]
    Damaged {
        /// Path of the file.
        path: PathBuf,
        /// Its fault.
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
        /// The requested vault.
        is: EscapedName,
        /// The vault that the key is bound to.
        wanted: EscapedName,
    },
    /// A manifest was given, but the key asks for none.
    #[error(
        "the store's key was made without a manifest, so --manifest would protect nothing; leave it out, or move the sealed key away with its .memory and seal the tree again with the manifest"
    )]
    NotBound,
    /// Another manifest of the same admin.
    #[error(
        "the manifest is of {is}, and the store's key is bound to the one of {wanted}; if it is a newer one of the same, seal it with --name {wanted}"
    )]
    WrongManifest {
        /// Name that it carries.
        is: EscapedName,
        /// Name that the key is bound to.
        wanted: EscapedName,
    },
    /// The manifest was compared with another directory.
    #[error("--root is {is}, and the store's key is bound to {wanted}")]
    WrongRoot {
        /// Directory that was compared.
        is: EscapedName,
        /// Directory that the key is bound to.
        wanted: EscapedName,
    },
    /// A manifest that lists no file.
    #[error("{} names no file, so nothing would be measured; seal what the key is to be bound to", .0.display())]
    EmptyManifest(PathBuf),
    /// A manifest that does not carry a name.
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
    /// A lock without a sealed key: nothing would obey it.
    #[error("{} is not there, so nothing was locked: name the vault, or its sealed key with --sealed", .0.display())]
    NothingToLock(PathBuf),
    /// A mount has not answered a lock.
    #[error(
        "{} is locked, and its key is given out no more; but a mount of it has not dropped its keys within 1 s: its files are still open. End that process (fuser -v {})",
        .0.display(), .0.display()
    )]
    StillMounted(PathBuf),
    /// Wrong passphrase or key file.
    #[error("the {0} is not the one that the key was sealed with")]
    WrongSecret(&'static str),
    /// A passphrase in place of a key file, or the other way round.
    #[error("the key is sealed under a {sealed}, and a {given} was given: give that")]
    OtherSecret {
        /// What it is sealed under.
        sealed: &'static str,
        /// What was given.
        given: &'static str,
    },
    /// The wrapped key does not open although the secret is right.
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
    /// Locked, and only the admin that the key is bound to can unlock it.
    #[error(
        "the store's key is bound to an admin, and it is for him to unlock it: give his secret key with --admin-key FILE, and take it off this machine again"
    )]
    NotTheAdmin,
    /// Another admin's manifest.
    #[error("the manifest is signed by another admin than the one the store was sealed for")]
    WrongAdmin,
    /// An older manifest or vault.
    #[error("{what} {is} is older than {what} {newest}, which was used before; use the newest")]
    RolledBack {
        /// `manifest` or `vault`.
        what: &'static str,
        /// The given number.
        is: u64,
        /// The highest number seen.
        newest: u64,
    },
    /// Files of the long-lived set differ from the manifest.
    #[error("{first}{} not as the manifest says; the store's key stays sealed", and_more(*more))]
    LongLivedChanged {
        /// The first of them.
        first: String,
        /// Number of the others.
        more: usize,
    },
    /// The file that remembers the newest numbers is gone.
    #[error("{} is not there, so an older vault could not be told from the newest. Bring it back from a copy, or begin anew: bakeoff layer store unlock", .0.display())]
    MemoryLost(PathBuf),
    /// The key file's permissions are too wide.
    #[error("{} can be read by others than its owner; chmod 600 it, and think about who has read it", .0.display())]
    OpenKeyFile(PathBuf),
    /// The file is no key file.
    #[error("{} is no key file: 64 hexadecimal digits and a line end. Make one: bakeoff layer store keygen --key FILE", .0.display())]
    NoKeyFile(PathBuf),
    /// There is no key file.
    #[error("{}: there is no such file; make one: bakeoff layer store keygen --key {}", .0.display(), .0.display())]
    MissingKeyFile(PathBuf),
    /// Reading or writing failed.
    #[error(transparent)]
    Io(#[from] PathError),
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
/// The first condition that fails.
pub fn judge(
    policy: &ReleasePolicy,
    vault: &EscapedName,
    state: &MeasuredState,
) -> Result<Option<u64>, ReleaseRefusal> {
    if *vault != policy.vault {
        return Err(ReleaseRefusal::WrongVault { is: vault.clone(), wanted: policy.vault.clone() });
    }
    let (wanted, admin, name, root, version, wrong) = match (&policy.manifest, state) {
        (None, MeasuredState::Unmeasured) => return Ok(None),
        (None, MeasuredState::Measured { .. }) => return Err(ReleaseRefusal::NotBound),
        (Some(_), MeasuredState::Unmeasured) => return Err(ReleaseRefusal::Unmeasured),
        (Some(wanted), MeasuredState::Measured { admin, name, root, version, wrong }) => {
            (wanted, admin, name, root, version, wrong)
        }
    };
    if *admin != wanted.admin {
        return Err(ReleaseRefusal::WrongAdmin);
    }
    if *name != wanted.name {
        return Err(ReleaseRefusal::WrongManifest { is: name.clone(), wanted: wanted.name.clone() });
    }
    if *root != wanted.root {
        return Err(ReleaseRefusal::WrongRoot { is: root.clone(), wanted: wanted.root.clone() });
    }
    if *version < wanted.least_version {
        let (is, newest) = (*version, wanted.least_version);
        return Err(ReleaseRefusal::RolledBack { what: Counter::Manifest.name(), is, newest });
    }
    match wrong.split_first() {
        Some((first, rest)) => {
            Err(ReleaseRefusal::LongLivedChanged { first: first.clone(), more: rest.len() })
        }
        None => Ok(Some(*version)),
    }
}
