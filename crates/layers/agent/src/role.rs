//! Roles: a part of somebody's rights under a key of its own, sealed under a passphrase.
//!
//! Measured side, cold. A role is a directory with three parts: its sealed key (`base::release`, whose vault is the
//! role's name), its identity, which its owner signed, and the owner's transfer to it. Anybody with the passphrase
//! logs in as the role, and has its rights but no others of its owner.

use crate::files::{self, FileError};
use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::plain::FileAudience;
use bakeoff_layers_base::release::{
    MeasuredState, ReleasePolicy, ReleaseRefusal, SealedFile, Secret, StoreKey,
};
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::{NoKey, PublicKey, SecretKey, Serial};
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::statement::IdentityContent;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Reasons for having no role.
#[derive(Debug, Error)]
pub enum RoleError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Its key cannot be sealed or opened.
    #[error("{}: the key of the role is not given out: {why}", path.display())]
    Sealed {
        /// Path of the directory.
        path: PathBuf,
        /// The reason.
        why: ReleaseRefusal,
    },
    /// No number or key could be made.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// The statements in the directory are refused.
    #[error("{}: {refusal}", path.display())]
    Refused {
        /// Path of the directory.
        path: PathBuf,
        /// The reason.
        refusal: CredentialRefusal,
    },
}

/// Key and statements with which a role logs in.
#[derive(Debug)]
pub struct Role {
    /// Its key.
    pub key: SecretKey,
    /// Identities of its owner and of itself.
    pub identity: Hello,
    /// Transfer from its owner.
    pub transfer: Hello,
}

/// Makes a key and seals it; returns its public half.
///
/// # Errors
/// The directory exists, or the key cannot be sealed.
pub fn make_key(dir: &Path, name: &PrincipalName, secret: Secret) -> Result<PublicKey, RoleError> {
    if dir.exists() {
        return Err(FileError::Exists(dir.to_owned()).into());
    }
    files::make_dir(dir)?;
    let sealed = |why| RoleError::Sealed { path: dir.to_owned(), why };
    let seed = StoreKey::generate().map_err(sealed)?;
    let policy = ReleasePolicy { vault: EscapedName::of(name.to_string()), manifest: None };
    SealedFile::new(&dir.join("key"), secret).keep(&seed, policy).map_err(sealed)?;
    Ok(SecretKey::of_seed(seed.bytes())?.public())
}

/// Writes the role's statements beside its key: the identity, signed by the owner, and the transfer.
///
/// # Errors
/// They cannot be signed or written.
pub fn certify(
    dir: &Path,
    (name, key): (&PrincipalName, PublicKey),
    owner: &SecretKey,
    transfer: &Hello,
    (from_unix_s, until_unix_s): (u64, u64),
) -> Result<(), RoleError> {
    let refused = |refusal| RoleError::Refused { path: dir.to_owned(), refusal };
    let identity = IdentityContent {
        name: name.clone(),
        key,
        groups: Vec::new(),
        serial: Serial::random()?,
        from_unix_s,
        until_unix_s,
    };
    let made = identity.seal(owner).map_err(refused)?;
    let mut identities = transfer.identities.clone();
    identities.push((name.clone(), made));
    let identity = Hello { identities, ..Hello::default() };
    files::write_new(&dir.join("identity"), &identity.write(), FileAudience::Owner)?;
    files::write_new(&dir.join("transfer"), &transfer.write(), FileAudience::Owner)?;
    Ok(())
}

/// Opens a role and its key with the passphrase.
///
/// # Errors
/// The role or the passphrase is not the right one.
pub fn open(dir: &Path, name: &PrincipalName, secret: Secret) -> Result<Role, RoleError> {
    let sealed = |why| RoleError::Sealed { path: dir.to_owned(), why };
    let shown = |file: &str| {
        let make = || format!("bakeoff layer role create NAME --out {}", dir.display());
        let bytes = files::read(&dir.join(file)).map_err(|error| error.or_make(make()))?;
        Hello::read(&bytes).map_err(|refusal| RoleError::Refused { path: dir.join(file), refusal })
    };
    let (identity, transfer) = (shown("identity")?, shown("transfer")?);
    let vault = EscapedName::of(name.to_string());
    let seed = SealedFile::new(&dir.join("key"), secret)
        .release(&vault, &MeasuredState::Unmeasured)
        .map_err(sealed)?;
    Ok(Role { key: SecretKey::of_seed(seed.bytes())?, identity, transfer })
}
