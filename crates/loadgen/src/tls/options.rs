//! TLS options: plain data, and the one place where they are checked and files are read.
//!
//! Cold. [`TlsOptions`] are the options as given, [`TlsSettings`] the checked ones with their files.

use super::trust::{AcceptAnyone, authorities};
use super::{Share, TlsClient, Trust, names};
use rustls::client::WantsClientCert;
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ConfigBuilder, SupportedProtocolVersion};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// The TLS versions that are offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Versions {
    /// TLS 1.2 alone.
    Tls12,
    /// TLS 1.3 alone.
    Tls13,
    /// Both: the server chooses.
    #[default]
    Both,
}

impl Versions {
    fn list(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Tls12 => vec![&TLS12],
            Self::Tls13 => vec![&TLS13],
            Self::Both => vec![&TLS13, &TLS12],
        }
    }

    /// In words, for sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Tls12 => "TLS 1.2",
            Self::Tls13 => "TLS 1.3",
            Self::Both => "TLS 1.2 or 1.3",
        }
    }
}

/// A text that names no version that can be offered alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no version of TLS known here; known are 1.2 and 1.3")]
pub struct ParseVersionError(String);

/// One alone, as flags and plans name it: `1.2` or `1.3`.
impl FromStr for Versions {
    type Err = ParseVersionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "1.2" => Ok(Self::Tls12),
            "1.3" => Ok(Self::Tls13),
            other => Err(ParseVersionError(other.to_owned())),
        }
    }
}

/// A protocol above TLS, as ALPN names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpn {
    /// `http/1.1`.
    Http11,
    /// `h2`.
    H2,
}

impl Alpn {
    /// Its name on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http11 => "http/1.1",
            Self::H2 => "h2",
        }
    }
}

/// The client's own certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientIdentity {
    /// PEM file with the certificate and its chain, own one first.
    pub certificate: PathBuf,
    /// PEM file with its private key.
    pub key: PathBuf,
}

/// The options of TLS. Empty lists leave the choice to the library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsOptions {
    /// The servers' certificates that are accepted.
    pub trust: Trust,
    /// The versions that are offered.
    pub versions: Versions,
    /// Cipher suites by name, the preferred one first.
    pub suites: Vec<String>,
    /// Key-exchange groups by name, the preferred one first: its share goes out with the first flight.
    pub groups: Vec<String>,
    /// Whether groups that withstand quantum computers may be offered.
    pub post_quantum: bool,
    /// Protocols offered, the preferred one first; none: the extension is not sent.
    pub alpn: Vec<Alpn>,
    /// The certificate for a server that asks for one.
    pub identity: Option<ClientIdentity>,
    /// Share of the connections that resume an earlier one's session where there is one.
    pub resume: Share,
}

/// Error in setting up TLS.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The PEM file of authorities.
    #[error("{path}: no certificate can be read ({why}); give a PEM file with the authority's certificate")]
    Authority {
        /// File.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// A PEM file of the client's own certificate or key.
    #[error("{path}: no {what} can be read ({why}); give PEM files with the client's chain and its key")]
    Identity {
        /// File.
        path: PathBuf,
        /// The item that was expected in the file.
        what: &'static str,
        /// The fault.
        why: String,
    },
    /// Certificate and key of the client do not fit together, or are of an unknown kind.
    #[error("{certificate} and {key} cannot be used together: {why}")]
    IdentityUnfit {
        /// File of the chain.
        certificate: PathBuf,
        /// File of the key.
        key: PathBuf,
        /// The fault.
        why: rustls::Error,
    },
    /// A cipher suite.
    #[error("`{name}` is no cipher suite known here; known are {known}")]
    UnknownSuite {
        /// As given.
        name: String,
        /// The known ones.
        known: String,
    },
    /// A key-exchange group.
    #[error("`{name}` is no key-exchange group known here; known are {known}")]
    UnknownGroup {
        /// As given.
        name: String,
        /// The known ones.
        known: String,
    },
    /// A suite of a version that is not offered.
    #[error("{name} is no cipher suite of {versions}; name suites of versions that are offered")]
    SuiteOfOtherVersion {
        /// Of the suite.
        name: String,
        /// The versions that are offered.
        versions: &'static str,
    },
    /// A group that no offered version has.
    #[error("{name} is no key-exchange group of {versions}; name groups of versions that are offered")]
    GroupOfOtherVersion {
        /// Of the group.
        name: String,
        /// The versions that are offered.
        versions: &'static str,
    },
    /// A post-quantum group is named and none may be offered.
    #[error("{name} is post-quantum, and post-quantum groups are switched off; leave out one of both")]
    PostQuantumOff {
        /// Of the group.
        name: String,
    },
    /// The library.
    #[error("TLS cannot be set up: {0}")]
    Library(#[from] rustls::Error),
}

impl TlsOptions {
    /// The library's defaults, with these certificates accepted; every connection that can resumes an earlier one's
    /// session.
    pub const fn new(trust: Trust) -> Self {
        Self {
            trust,
            versions: Versions::Both,
            suites: Vec::new(),
            groups: Vec::new(),
            post_quantum: true,
            alpn: Vec::new(),
            identity: None,
            resume: Share::ALL,
        }
    }

    /// Offers these versions.
    #[must_use]
    pub const fn versions(mut self, versions: Versions) -> Self {
        self.versions = versions;
        self
    }

    /// Offers these cipher suites and no others.
    #[must_use]
    pub fn suites(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.suites = names.into_iter().map(Into::into).collect();
        self
    }

    /// Offers these key-exchange groups and no others.
    #[must_use]
    pub fn groups(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.groups = names.into_iter().map(Into::into).collect();
        self
    }

    /// Whether groups that withstand quantum computers may be offered.
    #[must_use]
    pub const fn post_quantum(mut self, allowed: bool) -> Self {
        self.post_quantum = allowed;
        self
    }

    /// Offers these protocols.
    #[must_use]
    pub fn alpn(mut self, protocols: impl Into<Vec<Alpn>>) -> Self {
        self.alpn = protocols.into();
        self
    }

    /// Shows this certificate to servers that ask for one.
    #[must_use]
    pub fn identity(mut self, identity: Option<ClientIdentity>) -> Self {
        self.identity = identity;
        self
    }

    /// Lets this share of the connections resume earlier sessions.
    #[must_use]
    pub const fn resume(mut self, share: Share) -> Self {
        self.resume = share;
        self
    }

    /// Checks names, and that they go together. Reads no file.
    ///
    /// # Errors
    /// Unknown names, and names that do not fit together.
    pub fn check(&self) -> Result<(), TlsSetupError> {
        Self { trust: Trust::Anyone, identity: None, ..self.clone() }.load().map(drop)
    }

    /// Checks names and reads files.
    ///
    /// # Errors
    /// Unknown names, names that do not fit together, and files that do not hold what they should.
    pub fn load(&self) -> Result<TlsSettings, TlsSetupError> {
        let provider = Arc::new(self.provider()?);
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&self.versions.list())?;
        let builder = match &self.trust {
            Trust::File(path) => builder.with_root_certificates(authorities(path)?),
            Trust::Anyone => {
                builder.dangerous().with_custom_certificate_verifier(Arc::new(AcceptAnyone(provider)))
            }
        };
        let mut config = match &self.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => identified(builder, identity)?,
        };
        config.alpn_protocols = self.alpn.iter().map(|alpn| alpn.as_str().into()).collect();
        Ok(TlsSettings { config: Arc::new(config), resume: self.resume })
    }

    fn provider(&self) -> Result<CryptoProvider, TlsSetupError> {
        let mut provider = aws_lc_rs::default_provider();
        if !self.suites.is_empty() {
            provider.cipher_suites = names::suites(&self.suites)?;
            self.check_suites(&provider)?;
        }
        if self.groups.is_empty() {
            provider.kx_groups.retain(|group| self.post_quantum || !names::is_post_quantum(*group));
        } else {
            provider.kx_groups = names::groups(&self.groups)?;
            provider.kx_groups.iter().try_for_each(|group| self.check_group(*group))?;
        }
        Ok(provider)
    }

    fn check_suites(&self, provider: &CryptoProvider) -> Result<(), TlsSetupError> {
        let offered = |suite: &&rustls::SupportedCipherSuite| {
            self.versions.list().iter().any(|version| version.version == suite.version().version)
        };
        match provider.cipher_suites.iter().find(|suite| !offered(suite)) {
            None => Ok(()),
            Some(suite) => Err(TlsSetupError::SuiteOfOtherVersion {
                name: names::suite_name(suite),
                versions: self.versions.words(),
            }),
        }
    }

    fn check_group(&self, group: &dyn SupportedKxGroup) -> Result<(), TlsSetupError> {
        let name = names::group_name(group);
        if !self.post_quantum && names::is_post_quantum(group) {
            return Err(TlsSetupError::PostQuantumOff { name });
        }
        if !self.versions.list().iter().any(|version| group.usable_for_version(version.version)) {
            return Err(TlsSetupError::GroupOfOtherVersion { name, versions: self.versions.words() });
        }
        Ok(())
    }
}

fn identified(
    builder: ConfigBuilder<ClientConfig, WantsClientCert>,
    identity: &ClientIdentity,
) -> Result<ClientConfig, TlsSetupError> {
    let chain = chain(&identity.certificate)?;
    let key = PrivateKeyDer::from_pem_file(&identity.key).map_err(|why| TlsSetupError::Identity {
        path: identity.key.clone(),
        what: "private key",
        why: why.to_string(),
    })?;
    builder.with_client_auth_cert(chain, key).map_err(|why| TlsSetupError::IdentityUnfit {
        certificate: identity.certificate.clone(),
        key: identity.key.clone(),
        why,
    })
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsSetupError> {
    let error = |why: String| TlsSetupError::Identity { path: path.to_owned(), what: "certificate", why };
    let read = CertificateDer::pem_file_iter(path).map_err(|why| error(why.to_string()))?;
    let chain: Vec<_> = read.collect::<Result<_, _>>().map_err(|why| error(why.to_string()))?;
    if chain.is_empty() { Err(error("it holds none".to_owned())) } else { Ok(chain) }
}

/// The settings of TLS: checked, with files read. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TlsSettings {
    config: Arc<ClientConfig>,
    resume: Share,
}

impl TlsSettings {
    /// A client for one thread that has up to so many connections at once with the server of this name.
    pub fn client(&self, name: ServerName<'static>, connections: usize) -> TlsClient {
        TlsClient::new(&self.config, self.resume, name, connections)
    }
}
