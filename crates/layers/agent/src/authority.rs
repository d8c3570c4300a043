//! Domain administration: the administrator's keys, certified names, and the trust bundle by which others know the
//! domain.
//!
//! Measured side, cold. One directory, kept off the network:
//!
//! ```text
//! ca.key               signs identities
//! admin.key admin.pub  sign the bundle, in the format of minisign
//! trust/               the bundle, for import by others
//! ola/                 files of the agent, which go to the machine it runs on: its key and certificate, the
//!                      groups, the roll of known keys, and the same bundle
//! ```

use crate::files::{self, FileError};
use crate::roll::{self, Roll};
use crate::trust::{self, TrustError};
use bakeoff_layers_base::key::{self, KeyError};
use bakeoff_layers_base::manifest::ManifestRefusal;
use bakeoff_layers_base::manifest::load::signature_path;
use bakeoff_layers_base::manifest::signature::{AdminPublicKey, sign};
use bakeoff_layers_base::plain::{FileAudience, PathError};
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::bundle::{DomainBundle, Draft, MOST_KEYS};
use bakeoff_layers_credentials::key::{NoKey, PublicKey as Key, SecretKey, Serial};
use bakeoff_layers_credentials::leaf::make_root;
use bakeoff_layers_credentials::name::{Domain, PrincipalKind, PrincipalName};
use bakeoff_layers_credentials::statement::IdentityContent;
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Lifetime of an agent's certificate; it counts only as long as a bundle pins it.
const ROOT_LIFE_S: u64 = 10 * 365 * 24 * 60 * 60;
/// Content of a new file of groups.
const GROUPS: &str = "# A line a group, then who is in it:\n# group:staff@home.example user:alice@home.example user:bob@home.example\n";

/// Errors of an administrator's commands.
#[derive(Debug, Error)]
pub enum AuthorityError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The key that signs bundles cannot be used.
    #[error(transparent)]
    Admin(#[from] KeyError),
    /// No new key or number could be made.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// The domain's own bundle cannot be used.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// A statement or certificate that every verifier would refuse.
    #[error(transparent)]
    Refused(#[from] CredentialRefusal),
    /// A bundle that every verifier would refuse.
    #[error("the bundle would be refused ({name}): {0}", name = .0.name())]
    Bundle(ManifestRefusal),
    /// The directory has several domains, or none.
    #[error("{}: not the directory of one domain; `bakeoff layer ca init` makes one", .0.display())]
    NoDomain(PathBuf),
    /// The name belongs to another domain, or is a role or group.
    #[error(
        "{name} is not certified by {domain}: that does users and nodes of its own; a role's owner certifies it, and a group has no key"
    )]
    NotOurs {
        /// Its owner.
        name: PrincipalName,
        /// The domain.
        domain: Domain,
    },
}

/// Agents and lifetime in a new bundle.
#[derive(Clone, Debug)]
pub struct Terms<'a> {
    /// Addresses of the agents, `HOST:PORT`.
    pub agents: &'a [String],
    /// Expiry of the bundle, in seconds since 1970.
    pub until_unix_s: u64,
    /// The passphrase of the key that signs it.
    pub passphrase: Option<String>,
}

/// Makes a domain: its keys, its agent's directory, its first bundle.
///
/// # Errors
/// The directory exists, or cannot be written.
pub fn init(domain: &Domain, dir: &Path, terms: Terms<'_>, now_unix_s: u64) -> Result<(), AuthorityError> {
    let ola = dir.join("ola");
    for made in [dir, &ola, &ola.join("trust"), &dir.join("trust")] {
        files::make_dir(made)?;
    }
    let (ca, agent) = (SecretKey::generate()?, SecretKey::generate()?);
    files::write_secret_key(&dir.join("ca.key"), &ca)?;
    files::write_secret_key(&ola.join("agent.key"), &agent)?;
    key::generate(&dir.join("admin.key"), &dir.join("admin.pub"), terms.passphrase.clone())?;
    let root = make_root(domain, &agent, now_unix_s, now_unix_s.saturating_add(ROOT_LIFE_S))?;
    files::write_new(&ola.join("groups"), GROUPS.as_bytes(), FileAudience::Owner)?;
    let draft = Draft {
        domain,
        version: now_unix_s,
        not_after_unix_s: terms.until_unix_s,
        ca: &[ca.public()],
        roots: &[root],
        addresses: terms.agents,
    };
    publish(dir, &draft, terms.passphrase, now_unix_s)
}

/// Keys of a new bundle, compared with the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextKeys {
    /// The same.
    Same,
    /// Of each kind the newest alone: the end of a rotation.
    Newest,
    /// A new key of the CA.
    NewCa(KeyBefore),
    /// A new key of the agent.
    NewAgent(KeyBefore),
}

/// Fate of the key that a new one replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBefore {
    /// Counts until the end of the rotation.
    Counts,
    /// Counts no more: it was stolen.
    IsOut,
}

/// Writes a newer bundle: for another key, address of the agent, or expiry.
///
/// # Errors
/// A key cannot be read, or the bundle cannot be written; then the keys are those of before.
pub fn renew(
    dir: &Path,
    keys: NextKeys,
    terms: Terms<'_>,
    now_unix_s: u64,
) -> Result<DomainBundle, AuthorityError> {
    let known = domain(dir)?;
    let mut roots: Vec<Vec<u8>> = known.roots().iter().map(|root| root.to_vec()).collect();
    let mut ca = known.ca.clone();
    let made = match keys {
        NextKeys::Same => None,
        NextKeys::Newest => {
            ca.truncate(1);
            roots.truncate(1);
            None
        }
        NextKeys::NewCa(before) => {
            let key = SecretKey::generate()?;
            replace(&mut ca, key.public(), before);
            Some(NewKey::write(dir.join("ca.key"), &key)?)
        }
        NextKeys::NewAgent(before) => {
            let key = SecretKey::generate()?;
            let root = make_root(&known.domain, &key, now_unix_s, now_unix_s.saturating_add(ROOT_LIFE_S))?;
            replace(&mut roots, root, before);
            Some(NewKey::write(dir.join("ola/agent.key"), &key)?)
        }
    };
    let draft = Draft {
        domain: &known.domain,
        // Two bundles of one second get different versions.
        version: now_unix_s.max(known.version.saturating_add(1)),
        not_after_unix_s: terms.until_unix_s,
        ca: &ca,
        roots: &roots,
        addresses: if terms.agents.is_empty() { &known.addresses } else { terms.agents },
    };
    publish(dir, &draft, terms.passphrase, now_unix_s)?;
    made.map_or(Ok(()), NewKey::put)?;
    domain(dir)
}

/// Puts a key before the others, of which as many count as a bundle may have.
fn replace<T>(keys: &mut Vec<T>, new: T, before: KeyBefore) {
    keys.insert(0, new);
    keys.truncate(match before {
        KeyBefore::Counts => MOST_KEYS,
        KeyBefore::IsOut => 1,
    });
}

/// A new key beside the file of the one before, which it replaces once a bundle has it.
struct NewKey {
    beside: PathBuf,
    path: PathBuf,
}

impl NewKey {
    fn write(path: PathBuf, key: &SecretKey) -> Result<Self, FileError> {
        let new = Self { beside: path.with_extension("key.new"), path };
        // In place of one that is left of an attempt that failed: it was in no bundle.
        files::write(&new.beside, files::pem(&new.beside, key)?.as_bytes(), FileAudience::Owner).map(|()| new)
    }

    fn put(self) -> Result<(), FileError> {
        Ok(fs::rename(&self.beside, &self.path).map_err(PathError::written(&*self.path))?)
    }
}

/// A certified name.
#[derive(Clone, Debug)]
pub struct Certified {
    /// The domain's statement on it.
    pub identity: Vec<u8>,
    /// Line for the agent's `roll`, already added if the agent's directory is still below the domain's.
    pub line: String,
}

/// Makes an identity: the domain's statement that this key belongs to this name, which is in these groups as far as
/// the agent says so, too.
///
/// # Errors
/// The name is not the domain's, or every verifier would refuse the result.
pub fn certify(
    dir: &Path,
    (name, groups): (&PrincipalName, &[PrincipalName]),
    key: Key,
    (from_unix_s, until_unix_s): (u64, u64),
) -> Result<Certified, AuthorityError> {
    let bundle = domain(dir)?;
    if *name.domain() != bundle.domain || matches!(name.kind(), PrincipalKind::Role | PrincipalKind::Group) {
        return Err(AuthorityError::NotOurs { name: name.clone(), domain: bundle.domain });
    }
    let ca = files::read_secret_key(&dir.join("ca.key"))?;
    let identity = IdentityContent {
        name: name.clone(),
        key,
        groups: groups.to_vec(),
        serial: Serial::random()?,
        from_unix_s,
        until_unix_s,
    };
    let statement = identity.seal(&ca)?;
    // By the key in the published bundle, which may differ from the key file here.
    IdentityContent::open(&statement, name, &bundle.ca)?;
    let ola = dir.join("ola");
    if ola.is_dir() {
        Roll::of(&ola).add(name, key)?;
    }
    Ok(Certified { identity: statement, line: roll::line(name, key) })
}

/// The bundle of the only domain of a directory.
fn domain(dir: &Path) -> Result<DomainBundle, AuthorityError> {
    trust::only(&dir.join("trust"))?.ok_or_else(|| AuthorityError::NoDomain(dir.to_owned()))
}

/// Signs a bundle, and imports it where others and the agent find it.
fn publish(
    dir: &Path,
    draft: &Draft<'_>,
    passphrase: Option<String>,
    now_unix_s: u64,
) -> Result<(), AuthorityError> {
    let text = draft.text().map_err(AuthorityError::Bundle)?;
    let admin = key::read_secret(&dir.join("admin.key"), passphrase)?;
    let public = dir.join("admin.pub");
    let comment = format!("trust bundle of {}, version {}", draft.domain, draft.version);
    let signature = sign(text.as_bytes(), &admin, &comment)?;
    // The signature must verify under the published key: a mismatched key pair is found here.
    AdminPublicKey::read(&public)?.verify(text.as_bytes(), &signature).map_err(AuthorityError::Bundle)?;
    let fresh = dir.join(format!("{}.new", draft.domain));
    files::write(&fresh, text.as_bytes(), FileAudience::Everybody)?;
    files::write(&signature_path(&fresh), signature.as_bytes(), FileAudience::Everybody)?;
    for target in ["trust", "ola/trust"] {
        trust::import(&fresh, Some(&public), &dir.join(target), now_unix_s)?;
    }
    let _ = fs::remove_file(signature_path(&fresh));
    let _ = fs::remove_file(fresh);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_764_000_000;

    fn terms(days: u64) -> Terms<'static> {
        Terms { agents: &[], until_unix_s: NOW + days * 86_400, passphrase: None }
    }

    #[test]
    fn a_domain_certifies_its_own_users_and_nodes_and_nobody_else() {
        let dir = tempfile::tempdir().unwrap();
        let ca = dir.path().join("ca");
        init(&"home.example".parse().unwrap(), &ca, terms(30), NOW).unwrap();
        let key = SecretKey::generate().unwrap().public();
        let certify = |name: &str| certify(&ca, (&name.parse().unwrap(), &[]), key, (NOW, NOW + 60));
        let made = certify("user:alice@home.example").unwrap();
        assert_eq!(
            IdentityContent::peek(&made.identity).unwrap(),
            ("user:alice@home.example".parse().unwrap(), key)
        );
        for other in [
            "user:alice@site.example",
            "user:alice@deep.home.example",
            "role:editor.alice@home.example",
            "group:staff@home.example",
        ] {
            assert!(matches!(certify(other), Err(AuthorityError::NotOurs { .. })), "{other}");
        }
        assert!(
            init(&"home.example".parse().unwrap(), &ca, terms(30), NOW).is_err(),
            "keys were overwritten"
        );
    }

    #[test]
    fn a_bundle_is_taken_by_its_first_key_and_never_an_older_one() {
        let dir = tempfile::tempdir().unwrap();
        let (ca, foreign, mine) =
            (dir.path().join("ca"), dir.path().join("foreign"), dir.path().join("trust"));
        let domain: Domain = "home.example".parse().unwrap();
        init(&domain, &ca, terms(30), NOW).unwrap();
        init(&domain, &foreign, terms(30), NOW).unwrap();
        let file = ca.join("trust/home.example.trust");
        let take = |file: &Path, key: Option<&Path>| trust::import(file, key, &mine, NOW + 1);
        assert!(matches!(take(&file, None), Err(TrustError::NotPinned(_))));
        let wrong = take(&file, Some(&foreign.join("admin.pub")));
        assert!(matches!(wrong, Err(TrustError::Refused { refusal: ManifestRefusal::WrongKey, .. })));
        take(&file, Some(&ca.join("admin.pub"))).unwrap();
        let stranger = take(&foreign.join("trust/home.example.trust"), Some(&foreign.join("admin.pub")));
        assert!(matches!(stranger, Err(TrustError::OtherKey { .. })));
        // Somebody kept the old one and tries to restore it.
        let old = dir.path().join("old");
        for end in ["", ".minisig"] {
            fs::copy(format!("{}{end}", file.display()), format!("{}{end}", old.display())).unwrap();
        }
        let newer = renew(&ca, NextKeys::Same, terms(60), NOW).unwrap();
        assert_eq!(take(&file, None).unwrap().version, newer.version);
        let again = take(&old, None);
        assert!(matches!(
            again,
            Err(TrustError::Refused { refusal: ManifestRefusal::RolledBack { .. }, .. })
        ));
        for end in ["", ".minisig"] {
            fs::copy(
                format!("{}{end}", old.display()),
                format!("{}{end}", mine.join("home.example.trust").display()),
            )
            .unwrap();
        }
        assert!(matches!(
            trust::read(&mine),
            Err(TrustError::Refused { refusal: ManifestRefusal::RolledBack { .. }, .. })
        ));
    }

    #[test]
    fn a_key_is_replaced_with_or_without_the_one_before() {
        let dir = tempfile::tempdir().unwrap();
        let (ca, name) = (dir.path().join("ca"), "user:alice@home.example".parse().unwrap());
        init(&"home.example".parse().unwrap(), &ca, terms(30), NOW).unwrap();
        let key = SecretKey::generate().unwrap().public();
        let certified = || certify(&ca, (&name, &[]), key, (NOW, NOW + 60)).unwrap().identity;
        let next = |keys| renew(&ca, keys, terms(30), NOW).unwrap();
        let counts = |identity: &[u8], bundle: &DomainBundle| {
            IdentityContent::open(identity, &name, &bundle.ca).is_ok()
        };
        let first = certified();
        let bundle = next(NextKeys::NewCa(KeyBefore::Counts));
        let second = certified();
        assert!(bundle.ca.len() == 2 && counts(&first, &bundle) && counts(&second, &bundle));
        let bundle = next(NextKeys::Newest);
        assert!(!counts(&first, &bundle) && counts(&second, &bundle));
        let stolen = next(NextKeys::NewCa(KeyBefore::IsOut));
        assert!(!counts(&second, &stolen) && counts(&certified(), &stolen));
        let agent = || files::read_secret_key(&ca.join("ola/agent.key")).unwrap().public();
        let (before, bundle) = (agent(), next(NextKeys::NewAgent(KeyBefore::Counts)));
        assert!(agent() != before && bundle.roots().len() == 2 && bundle.ca == stolen.ca);
        assert_eq!(next(NextKeys::NewAgent(KeyBefore::IsOut)).roots().len(), 1);
        assert!(!ca.join("ca.key.new").exists() && !ca.join("ola/agent.key.new").exists());
        // What cannot be signed replaces nothing.
        let before = agent();
        fs::remove_file(ca.join("admin.key")).unwrap();
        assert!(renew(&ca, NextKeys::NewAgent(KeyBefore::IsOut), terms(30), NOW).is_err());
        assert_eq!(agent(), before);
    }
}
