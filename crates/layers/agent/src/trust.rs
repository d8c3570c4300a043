//! Directory of trust bundles: the known domains, with the key that vouches for each.
//!
//! Measured side, cold. Each domain has `DOMAIN.trust`, its signature `DOMAIN.trust.minisig`, and `DOMAIN.pub`, the
//! key that was pinned when the domain was first imported. `DOMAIN.seen` has the newest accepted version: an older
//! one is a rollback. An expired bundle stays, and `credentials` refuses statements under it, by name.

use crate::files::{self, FileError};
use bakeoff_layers_base::key::KeyError;
use bakeoff_layers_base::locks;
use bakeoff_layers_base::manifest::ManifestRefusal;
use bakeoff_layers_base::manifest::load::{TrustConditions, signature_path};
use bakeoff_layers_base::manifest::signature::AdminPublicKey;
use bakeoff_layers_base::manifest::{HighWater, HighWaterError};
use bakeoff_layers_base::plain::{FileAudience, PathError};
use bakeoff_layers_credentials::bundle::{Bundles, DomainBundle};
use bakeoff_layers_credentials::name::{Domain, NoName};
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};
use thiserror::Error;

/// Reasons for refusing a directory or bundle.
#[derive(Debug, Error)]
pub enum TrustError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// A key file cannot be used.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The file of the newest versions cannot be used.
    #[error(transparent)]
    Seen(#[from] HighWaterError),
    /// A file whose name is not that of a domain.
    #[error(transparent)]
    Name(#[from] NoName),
    /// A bundle is refused.
    #[error("{}: refused ({}): {refusal}", path.display(), refusal.name())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        refusal: ManifestRefusal,
    },
    /// The bundle is for another domain than its file name says.
    #[error("{}: is of {domain}; take it in with `ca import`, which names files", path.display())]
    Misnamed {
        /// Path of the file.
        path: PathBuf,
        /// The domain.
        domain: Domain,
    },
    /// No key vouches for the domain yet.
    #[error(
        "{0} is not known here yet; say whose word counts for it with --pub FILE, whose key you got in another way"
    )]
    NotPinned(Domain),
    /// Another key vouches for it than before.
    #[error("{domain} was taken in by another key; remove {} if it has really changed, and think about who says so", pinned.display())]
    OtherKey {
        /// The domain.
        domain: Domain,
        /// The file of the key that is pinned.
        pinned: PathBuf,
    },
    /// The directory has no bundle.
    #[error("{}: no bundle is there; take one in: bakeoff layer ca import DOMAIN.trust --pub admin.pub --trust {}", .0.display(), .0.display())]
    Empty(PathBuf),
}

/// The command that makes a bundle and the key that signs it.
const AUTHORITY: &str =
    "bakeoff layer ca init DOMAIN --out ca --ola HOST:PORT (as ca/trust/DOMAIN.trust and ca/admin.pub)";

/// All bundles of a directory; their signatures and versions are checked.
///
/// # Errors
/// One of them is refused.
pub fn read(dir: &Path) -> Result<Bundles, TrustError> {
    let failed = |error| FileError::from(PathError::read(dir)(error));
    let mut bundles = Vec::new();
    let entries = fs::read_dir(dir).map_err(|error| match error.kind() {
        ErrorKind::NotFound => TrustError::Empty(dir.to_owned()),
        _ => failed(error).into(),
    })?;
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|end| end == "trust") {
            let domain: Domain = path.file_stem().unwrap_or_default().to_string_lossy().parse()?;
            let key = AdminPublicKey::read(&of(dir, &domain, "pub"))?;
            bundles.push(verified(&path, &domain, &key, dir, 0)?);
        }
    }
    if bundles.is_empty() {
        Err(TrustError::Empty(dir.to_owned()))
    } else {
        Ok(bundles.into_iter().collect())
    }
}

/// Bundles of a directory that can be read again while they are in use.
#[derive(Clone, Debug)]
pub struct LiveBundles {
    dir: PathBuf,
    now: Arc<RwLock<Arc<Bundles>>>,
}

impl LiveBundles {
    /// Reads a directory.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn open(dir: &Path) -> Result<Self, TrustError> {
        let now = Arc::new(RwLock::new(Arc::new(read(dir)?)));
        Ok(Self { dir: dir.to_owned(), now })
    }

    /// The bundles that were read last.
    pub fn now(&self) -> Arc<Bundles> {
        locks::read(&self.now).clone()
    }

    /// Reads the directory again; with faults there the previous ones stay.
    ///
    /// # Errors
    /// As for [`read`].
    pub fn read_again(&self) -> Result<Arc<Bundles>, TrustError> {
        let bundles = Arc::new(read(&self.dir)?);
        *locks::write(&self.now) = bundles.clone();
        Ok(bundles)
    }
}

/// The bundle of a directory that has one; `None` where it has none or several.
///
/// # Errors
/// As for [`read`].
pub fn only(dir: &Path) -> Result<Option<DomainBundle>, TrustError> {
    let bundles = match read(dir) {
        Err(TrustError::Empty(_)) => return Ok(None),
        read => read?,
    };
    let mut each = bundles.each();
    Ok(each.next().filter(|_| each.next().is_none()).cloned())
}

/// Imports a bundle into a directory: checked by the key that is pinned there, or the first time by `public`.
///
/// # Errors
/// It is refused, or cannot be written.
pub fn import(
    file: &Path,
    public: Option<&Path>,
    dir: &Path,
    now_unix_s: u64,
) -> Result<DomainBundle, TrustError> {
    let bytes = files::read(file).map_err(|error| error.or_make(AUTHORITY))?;
    // Only for the domain that it claims.
    let unverified = DomainBundle::read_unverified(&bytes);
    let refused = |refusal| TrustError::Refused { path: file.to_owned(), refusal };
    let domain = unverified.map_err(refused)?.domain;
    let failed = |error| FileError::from(PathError::written(dir)(error));
    // Whoever may write there could bring back an older bundle, whatever the caller's umask.
    DirBuilder::new().recursive(true).mode(0o755).create(dir).map_err(failed)?;
    let pinned = of(dir, &domain, "pub");
    let given = public.map(AdminPublicKey::read).transpose().map_err(|error| match error {
        KeyError::NoPublic(path) => FileError::Missing { path, make: AUTHORITY.to_owned() }.into(),
        error => TrustError::Key(error),
    })?;
    let key = match (pinned.exists(), given) {
        (false, None) => return Err(TrustError::NotPinned(domain)),
        (false, Some(given)) => given,
        (true, given) => {
            let known = AdminPublicKey::read(&pinned)?;
            if given.is_some_and(|given| given.bytes() != known.bytes()) {
                return Err(TrustError::OtherKey { domain, pinned });
            }
            known
        }
    };
    let bundle = verified(file, &domain, &key, dir, now_unix_s)?;
    if let Some(public) = public {
        files::write(&pinned, &files::read(public)?, FileAudience::Everybody)?;
    }
    let target = of(dir, &domain, "trust");
    files::write(&signature_path(&target), &files::read(&signature_path(file))?, FileAudience::Everybody)?;
    files::write(&target, &bytes, FileAudience::Everybody)?;
    Ok(bundle)
}

/// Path of a domain's file.
fn of(dir: &Path, domain: &Domain, end: &str) -> PathBuf {
    dir.join(format!("{domain}.{end}"))
}

fn verified(
    file: &Path,
    domain: &Domain,
    key: &AdminPublicKey,
    dir: &Path,
    now_unix_s: u64,
) -> Result<DomainBundle, TrustError> {
    let refused = |refusal| TrustError::Refused { path: file.to_owned(), refusal };
    let signature = String::from_utf8(files::read(&signature_path(file))?);
    let signature = signature.map_err(|_| refused(ManifestRefusal::UnreadableSignature))?;
    let seen = HighWater::at(&of(dir, domain, "seen"));
    let trust = TrustConditions { key, now_unix_s, seen_version: seen.read(key.id())? };
    let bundle = DomainBundle::read(&files::read(file)?, &signature, &trust).map_err(refused)?;
    if bundle.domain != *domain {
        return Err(TrustError::Misnamed { path: file.to_owned(), domain: bundle.domain });
    }
    seen.raise(key.id(), bundle.version)?;
    Ok(bundle)
}
