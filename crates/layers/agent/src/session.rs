//! Session: the keys and statements of a logged-in holder.
//!
//! Measured side, in the process that uses it. One directory, readable by its owner alone, which should lie in
//! memory:
//!
//! ```text
//! key         the secret key, in PEM
//! leaf        the agent's certificate, in DER
//! identity    the holder's identity, and before it those of a role's owners
//! transfer    rights handed to the holder, if in use: a chain, with the identities that it needs
//! trust       path of the directory of trust bundles
//! ```

use crate::files::{self, FileError};
use bakeoff_layers_base::plain::{FileAudience, FileLocation, PathError};
use bakeoff_layers_credentials::CredentialRefusal;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::{PrincipalKind, PrincipalName};
use bakeoff_layers_credentials::tls::Holder;
use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use thiserror::Error;

const FILES: [&str; 5] = ["key", "leaf", "identity", "transfer", "trust"];

/// Reasons for having no session.
#[derive(Debug, Error)]
pub enum SessionError {
    /// A file cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The statements in a file are refused.
    #[error("{}: {refusal}", path.display())]
    Refused {
        /// Path of the file.
        path: PathBuf,
        /// The reason.
        refusal: CredentialRefusal,
    },
    /// The session does not exist.
    #[error("{}: nobody is logged in there; bakeoff layer login begins a session", .0.display())]
    None(PathBuf),
    /// Others may look into it.
    #[error("{}: a session is its owner's alone; chmod 700 it, and think about who has looked into it", .0.display())]
    Open(PathBuf),
    /// There is no default place for it.
    #[error(
        "XDG_RUNTIME_DIR is not set, and a key is not put just anywhere; say --session DIR, a directory in memory that is yours alone"
    )]
    NoPlace,
    /// There are several.
    #[error("{} sessions are below {}; say which with --session NAME", count, at.display())]
    Several {
        /// Their number.
        count: usize,
        /// The path.
        at: PathBuf,
    },
}

/// Content of a new session.
#[derive(Clone, Copy, Debug)]
pub struct NewSession<'a> {
    /// The holder's key.
    pub key: &'a SecretKey,
    /// Leaf from the agent.
    pub leaf: &'a [u8],
    /// The holder's identity, and before it those of a role's owners.
    pub identity: &'a Hello,
    /// Rights handed to the holder.
    pub transfer: Option<&'a Hello>,
    /// The trust bundles.
    pub trust: &'a Path,
}

/// A session, as it was when it was opened.
#[derive(Debug)]
pub struct AgentSession {
    dir: PathBuf,
    name: PrincipalName,
    key: SecretKey,
    leaf: Vec<u8>,
    identity: Hello,
    transfer: Hello,
    trust: PathBuf,
}

/// Default path of the session of a name.
///
/// # Errors
/// There is no such place.
pub fn place(name: &PrincipalName) -> Result<PathBuf, SessionError> {
    Ok(above()?.join(name.to_string()))
}

/// Whose session is meant if none is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionOf {
    /// Anybody's.
    Anybody,
    /// A node's: a server acts as one.
    Node,
    /// A user's or a role's.
    Person,
}

impl SessionOf {
    fn includes(self, dir: &Path) -> bool {
        let name = dir.file_name().and_then(|name| name.to_str()).and_then(|name| name.parse().ok());
        let is_node = name.is_some_and(|name: PrincipalName| name.kind() == PrincipalKind::Node);
        match self {
            Self::Anybody => true,
            Self::Node => is_node,
            Self::Person => !is_node,
        }
    }
}

/// Path of the meant session: of a name in its default place, else that directory. If none is named, the only one of
/// its kind, or the only one there is.
///
/// # Errors
/// There is no default place; or there is no session, or several.
pub fn find(said: Option<&Path>, whose: SessionOf) -> Result<PathBuf, SessionError> {
    let Some(said) = said else { return only(&above()?, whose) };
    named(said).map_or_else(|| Ok(said.to_owned()), |name| place(&name))
}

/// The name, if the argument is neither a directory nor a path to one: `user:` may be left out.
pub fn named(said: &Path) -> Option<PrincipalName> {
    let text = said.to_str().filter(|_| !said.is_dir())?;
    text.parse().or_else(|_| format!("user:{text}").parse()).ok()
}

fn only(at: &Path, whose: SessionOf) -> Result<PathBuf, SessionError> {
    let entries = fs::read_dir(at).map_err(|_| SessionError::None(at.to_owned()))?;
    let all: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    let of_kind: Vec<&PathBuf> = all.iter().filter(|dir| whose.includes(dir)).collect();
    match (of_kind.as_slice(), all.as_slice()) {
        ([dir], _) => Ok(PathBuf::clone(dir)),
        ([], [dir]) => Ok(dir.clone()),
        (_, []) => Err(SessionError::None(at.to_owned())),
        _ => Err(SessionError::Several { count: all.len(), at: at.to_owned() }),
    }
}

fn above() -> Result<PathBuf, SessionError> {
    let runtime = env::var_os("XDG_RUNTIME_DIR").filter(|dir| !dir.is_empty());
    Ok(PathBuf::from(runtime.ok_or(SessionError::NoPlace)?).join("bakeoff"))
}

impl AgentSession {
    /// Begins a session, or continues one with a new leaf.
    ///
    /// # Errors
    /// It cannot be written, or others could read it.
    pub fn begin(dir: &Path, begun: NewSession<'_>) -> Result<Self, SessionError> {
        files::make_dir(dir)?;
        own(dir)?;
        let key = dir.join("key");
        files::write(&key, files::pem(&key, begun.key)?.as_bytes(), FileAudience::Owner)?;
        files::write(&dir.join("leaf"), begun.leaf, FileAudience::Owner)?;
        files::write(&dir.join("identity"), &begun.identity.write(), FileAudience::Owner)?;
        let transfer = begun.transfer.unwrap_or(&Hello::default()).write();
        files::write(&dir.join("transfer"), &transfer, FileAudience::Owner)?;
        let trust = begun.trust.to_string_lossy();
        files::write(&dir.join("trust"), trust.as_bytes(), FileAudience::Owner)?;
        Self::open(dir)
    }

    /// Reads a session.
    ///
    /// # Errors
    /// It does not exist, or others can read it.
    pub fn open(dir: &Path) -> Result<Self, SessionError> {
        own(dir)?;
        let shown = |file: &str| {
            let path = dir.join(file);
            let bytes = files::read(&path)?;
            Hello::read(&bytes).map_err(|refusal| SessionError::Refused { path, refusal })
        };
        let identity = shown("identity")?;
        let none = || SessionError::None(dir.to_owned());
        let name = identity.identities.last().map(|(name, _)| name.clone()).ok_or_else(none)?;
        Ok(Self {
            name,
            key: files::read_secret_key(&dir.join("key"))?,
            leaf: files::read(&dir.join("leaf"))?,
            identity,
            transfer: shown("transfer")?,
            trust: PathBuf::from(String::from_utf8_lossy(&files::read(&dir.join("trust"))?).into_owned()),
            dir: dir.to_owned(),
        })
    }

    /// Its directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Its holder.
    pub const fn name(&self) -> &PrincipalName {
        &self.name
    }

    /// The holder's key.
    pub const fn key(&self) -> &SecretKey {
        &self.key
    }

    /// Its directory of trust bundles.
    pub fn trust(&self) -> &Path {
        &self.trust
    }

    /// The holder's identity, and before it those of a role's owners.
    pub const fn identity(&self) -> &Hello {
        &self.identity
    }

    /// Key and leaf for TLS.
    pub fn holder(self) -> Holder {
        Holder { key: self.key, leaf: self.leaf }
    }

    /// Statements to show to a server, except statuses.
    pub fn hello(&self) -> Hello {
        let mut shown = self.transfer.clone();
        let owners = self.identity.identities.split_last().map_or(&[][..], |(_, owners)| owners);
        join(&mut shown, owners);
        shown
    }

    /// Statements to pass on with a transfer: the held transfer, and all identities.
    pub fn handing_on(&self) -> Hello {
        let mut shown = self.transfer.clone();
        join(&mut shown, &self.identity.identities);
        shown
    }

    /// Whether it is gone. A session that cannot be looked at now may still exist.
    pub fn is_over(dir: &Path) -> bool {
        matches!(fs::symlink_metadata(dir), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// Ends a session: overwrites the key before removing its file, as far as the file system really overwrites.
    ///
    /// # Errors
    /// Some of it is left.
    pub fn end(dir: &Path) -> Result<(), SessionError> {
        own(dir)?;
        let failed = |error| FileError::from(PathError::written(dir)(error));
        overwrite(&dir.join("key")).map_err(failed)?;
        for file in FILES {
            let removed = FileLocation::guarded(&dir.join(file)).and_then(|place| place.remove());
            removed.or_else(
                |error| if error.kind() == ErrorKind::NotFound { Ok(()) } else { Err(failed(error)) },
            )?;
        }
        fs::remove_dir(dir).map_err(failed)?;
        Ok(())
    }
}

/// Adds the missing identities, in their order.
fn join(shown: &mut Hello, more: &[(PrincipalName, Vec<u8>)]) {
    for identity in more {
        if !shown.identities.contains(identity) {
            shown.identities.push(identity.clone());
        }
    }
}

fn own(dir: &Path) -> Result<(), SessionError> {
    let there = fs::symlink_metadata(dir).map_err(|_| SessionError::None(dir.to_owned()))?;
    let own = there.is_dir() && there.uid() == nix::unistd::geteuid().as_raw() && there.mode() & 0o077 == 0;
    if own { Ok(()) } else { Err(SessionError::Open(dir.to_owned())) }
}

fn overwrite(path: &Path) -> io::Result<()> {
    let mut file = match OpenOptions::new().write(true).open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        file => file?,
    };
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(0).min(4096);
    file.write_all(&vec![0; length])?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt;

    fn begun(dir: &Path) -> Result<AgentSession, SessionError> {
        let key = SecretKey::generate().unwrap();
        let name: PrincipalName = "user:alice@home.example".parse().unwrap();
        let identity = Hello { identities: vec![(name, vec![1])], ..Hello::default() };
        let begun =
            NewSession { key: &key, leaf: &[2], identity: &identity, transfer: None, trust: Path::new("/t") };
        AgentSession::begin(dir, begun)
    }

    #[test]
    fn a_session_is_its_owners_alone_and_nothing_of_it_is_left() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("bakeoff/alice");
        let session = begun(&dir).unwrap();
        assert_eq!((session.name().local(), session.trust()), ("alice", Path::new("/t")));
        assert_eq!(session.hello(), Hello::default(), "one's own identity is in the leaf");
        assert_eq!(session.handing_on().identities.len(), 1);
        for file in FILES {
            assert_eq!(dir.join(file).metadata().unwrap().mode() & 0o777, 0o600, "{file}");
        }
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o750)).unwrap();
        assert!(matches!(AgentSession::open(&dir), Err(SessionError::Open(_))));
        assert!(matches!(begun(&dir), Err(SessionError::Open(_))));
        assert!(matches!(AgentSession::end(&dir), Err(SessionError::Open(_))));
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).unwrap();
        let key = File::open(dir.join("key")).unwrap();
        AgentSession::end(&dir).unwrap();
        let mut left = Vec::new();
        io::Read::read_to_end(&mut &key, &mut left).unwrap();
        assert!(!left.is_empty() && left.iter().all(|byte| *byte == 0), "the key was not overwritten");
        assert!(matches!(AgentSession::open(&dir), Err(SessionError::None(_))));
    }

    #[test]
    fn a_name_is_whose_session_is_meant_unless_a_directory_has_it() {
        let named = |said: &str| named(Path::new(said)).map(|name| name.to_string());
        for (said, name) in [
            ("user:alice@home.example", Some("user:alice@home.example")),
            ("alice@home.example", Some("user:alice@home.example")),
            ("node:files@home.example", Some("node:files@home.example")),
            ("./alice@home.example", None),
            ("run/user:alice@home.example", None),
            ("alice", None),
            ("node:files", None),
            ("Alice@home.example", None),
            ("", None),
        ] {
            assert_eq!(named(said).as_deref(), name, "{said}");
        }
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().join("bob@home.example");
        fs::create_dir(&at).unwrap();
        assert_eq!(find(Some(&at), SessionOf::Person).unwrap(), at);
    }

    #[test]
    fn the_only_session_of_a_kind_is_meant_if_none_is_named() {
        use SessionOf::{Anybody, Node, Person};
        let above = tempfile::tempdir().unwrap();
        let meant = |whose| only(above.path(), whose).map(|dir| dir.file_name().unwrap().to_owned());
        let begin = |name: &str| fs::create_dir(above.path().join(name)).unwrap();
        assert!(matches!(meant(Node), Err(SessionError::None(_))));
        let (alice, files) = ("user:alice@home.example", "node:files@home.example");
        begin(alice);
        // Alone it is meant by a server, too.
        assert!([Anybody, Node, Person].iter().all(|whose| meant(*whose).unwrap() == alice));
        begin(files);
        assert_eq!((meant(Node).unwrap(), meant(Person).unwrap()), (files.into(), alice.into()));
        assert!(matches!(meant(Anybody), Err(SessionError::Several { count: 2, .. })));
        begin("role:editor.alice@home.example");
        assert!(
            matches!(meant(Person), Err(SessionError::Several { count: 3, .. })),
            "a role has fewer rights"
        );
        assert_eq!(meant(Node).unwrap(), files);
    }
}
