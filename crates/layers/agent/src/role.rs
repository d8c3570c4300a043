//! Roles: a part of somebody's rights under a key of its own, which lies sealed under a passphrase.
//!
//! Measured side, cold. A role is a directory: its sealed key (`base::release`, whose vault is the role's name), its identity,
//! which its owner signed, and the transfer from him. Whoever has the passphrase logs in as the role, and can do what it may and
//! nothing else of its owner's.

use crate::files::{self, FileError};
use bakeoff_layers_base::name::Name as Vault;
use bakeoff_layers_base::plain::For;
use bakeoff_layers_base::release::{Policy, Refusal as Sealed, Release, SealedFile, Secret, State, StoreKey};
use bakeoff_layers_credentials::Refusal;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{NoKey, PublicKey, SecretKey, Serial};
use bakeoff_layers_credentials::name::Name;
use bakeoff_layers_credentials::statement::Identity;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why there is no role.
#[derive(Debug, Error)]
pub enum RoleError {
    /// A file.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its key.
    #[error("{}: the key of the role is not given out: {why}", path.display())]
    Sealed {
        /// Of which directory.
        path: PathBuf,
        /// Why not.
        why: Sealed,
    },
    /// No number, or no key.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// What lies there.
    #[error("{}: {refusal}", path.display())]
    Refused {
        /// Of which directory.
        path: PathBuf,
        /// Why.
        refusal: Refusal,
    },
}

/// What a role logs in by.
#[derive(Debug)]
pub struct Role {
    /// Its key.
    pub key: SecretKey,
    /// Its owner's identity and its own.
    pub identity: Hello,
    /// What its owner handed to it.
    pub transfer: Hello,
}

/// Makes a key and seals it: its public half.
///
/// # Errors
/// There is something already, or it cannot be sealed.
pub fn make_key(dir: &Path, name: &Name, secret: Secret) -> Result<PublicKey, RoleError> {
    if dir.exists() {
        return Err(FileError::Exists(dir.to_owned()).into());
    }
    files::make_dir(dir)?;
    let sealed = |why| RoleError::Sealed { path: dir.to_owned(), why };
    let seed = StoreKey::generate().map_err(sealed)?;
    let policy = Policy { vault: Vault::of(name.to_string()), manifest: None };
    SealedFile::new(&dir.join("key"), secret).keep(&seed, policy).map_err(sealed)?;
    Ok(SecretKey::of_seed(seed.bytes())?.public())
}

/// Puts its papers beside the key: the owner says that it is this role's, and hands it something.
///
/// # Errors
/// They cannot be signed or written.
pub fn certify(
    dir: &Path,
    (name, key): (&Name, PublicKey),
    owner: &SecretKey,
    transfer: &Hello,
    (from_unix_s, until_unix_s): (u64, u64),
) -> Result<(), RoleError> {
    let refused = |refusal| RoleError::Refused { path: dir.to_owned(), refusal };
    let identity = Identity { name: name.clone(), key, serial: Serial::random()?, from_unix_s, until_unix_s };
    let made = identity.seal(owner).map_err(refused)?;
    let mut identities = transfer.identities.clone();
    identities.push((name.clone(), made));
    let identity = Hello { identities, ..Hello::default() };
    files::write_new(&dir.join("identity"), &identity.write(), For::Owner)?;
    files::write_new(&dir.join("transfer"), &transfer.write(), For::Owner)?;
    Ok(())
}

/// What lies there, and its key, for who has the passphrase.
///
/// # Errors
/// It is another's, or the passphrase is.
pub fn open(dir: &Path, name: &Name, secret: Secret) -> Result<Role, RoleError> {
    let sealed = |why| RoleError::Sealed { path: dir.to_owned(), why };
    let shown = |file: &str| {
        let bytes = files::read(&dir.join(file))?;
        Hello::read(&bytes).map_err(|refusal| RoleError::Refused { path: dir.join(file), refusal })
    };
    let (identity, transfer) = (shown("identity")?, shown("transfer")?);
    let vault = Vault::of(name.to_string());
    let seed =
        SealedFile::new(&dir.join("key"), secret).release(&vault, &State::Unmeasured).map_err(sealed)?;
    Ok(Role { key: SecretKey::of_seed(seed.bytes())?, identity, transfer })
}
