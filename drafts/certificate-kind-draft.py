import re
def sub(p, *pairs):
    s=open(p).read()
    for a,b in pairs:
        assert a in s, (p,a)
        s=s.replace(a,b,1)
    open(p,'w').write(s)

# adopt: the user's certificates
sub('crates/adopt/src/setting.rs',('''    /// What makes the pages''','''    /// Files of its certificates, as far as they are named; none: it has none, or gets them by itself.
    pub certificates: Vec<PathBuf>,
    /// What makes the pages'''))
sub('crates/adopt/src/nginx/server.rs',
('''    application: Option<Application>,
}''','''    application: Option<Application>,
    certificates: Vec<PathBuf>,
}'''),
('''        application: application::of(tree, server),
''','''        application: application::of(tree, server),
        certificates: certificates(tree, server),
'''),
('''        application: server.application.clone(),
''','''        certificates: server.certificates.clone(),
        application: server.application.clone(),
'''),
('''/// The server for `host`, or''','''/// Files of the server's certificates, else of all servers'. One that a variable names is known to nginx alone.
fn certificates(tree: &Tree, server: &Statement) -> Vec<PathBuf> {
    let home = tree.sources[0].path.parent().unwrap_or(Path::new("/"));
    let of = |block: &Statement| -> Vec<PathBuf> {
        let lines = block.inner().filter(|one| one.name() == "ssl_certificate");
        lines.filter_map(|one| one.argument(0)).map(|path| home.join(path)).collect()
    };
    let everywhere = || flat(&tree.statements).filter(|one| one.name() == "http").flat_map(of).collect();
    Some(of(server)).filter(|own| !own.is_empty()).unwrap_or_else(everywhere)
}

/// The server for `host`, or'''),
('use std::ops::Range;','use std::ops::Range;\nuse std::path::{Path, PathBuf};'))
sub('crates/adopt/src/apache/vhost.rs',
('''    is_idle: bool,
}''','''    is_idle: bool,
    /// As they are written.
    certificates: Vec<String>,
}'''),
('''                is_idle,
            };''','''                is_idle,
                certificates: certificates_of(one.inner()),
            };'''),
('''            is_idle: false,
        });''','''            is_idle: false,
            certificates: Vec::new(),
        });'''),
('''        application: application::of(tree, &host.place),''','''        certificates: certificates(tree, host),
        application: application::of(tree, &host.place),'''),
('''impl VirtualHost {''','''/// Files of the host's certificates, else of the main server's.
fn certificates(tree: &Tree, host: &VirtualHost) -> Vec<PathBuf> {
    let own = Some(host.certificates.clone()).filter(|own| !own.is_empty());
    let all = own.unwrap_or_else(|| certificates_of(flat(&tree.statements)));
    all.into_iter().map(|path| tree.homes.find(&path).unwrap_or_else(|| PathBuf::from(path))).collect()
}

fn certificates_of<'t>(statements: impl Iterator<Item = &'t Statement>) -> Vec<String> {
    let lines = statements.filter(|one| one.key == "sslcertificatefile");
    lines.filter_map(|one| one.argument(0).map(str::to_owned)).collect()
}

impl VirtualHost {'''),
('use std::collections::BTreeSet;','use std::collections::BTreeSet;\nuse std::path::PathBuf;'))
sub('crates/adopt/src/caddy/site.rs',
('''        application: application::of(tree, &site.placed),''','''        certificates: certificates(tree, &site.placed),
        application: application::of(tree, &site.placed),'''),
('''fn is_for(name: &str''','''/// Files of `tls CERTIFICATE KEY`; others Caddy gets by itself.
fn certificates(tree: &Tree, site: &Placed<'_>) -> Vec<PathBuf> {
    let home = tree.sources[0].path.parent().unwrap_or(Path::new("/"));
    let inner = tree.flat(site.one.inner(), &site.arguments);
    let files = inner.iter().filter(|placed| placed.one.name() == "tls" && placed.one.arguments().len() == 2);
    files.map(|placed| home.join(with_arguments(&placed.one.arguments()[0].text, &placed.arguments))).collect()
}

fn is_for(name: &str'''),
('use crate::setting::Entrance;','use crate::setting::Entrance;\nuse std::path::{Path, PathBuf};'))

# subject
sub('crates/subject/Cargo.toml',('rcgen.workspace = true\n','aws-lc-rs.workspace = true\nrcgen.workspace = true\nrustls-pki-types.workspace = true\nrustls-webpki.workspace = true\n'))
sub('crates/subject/src/certificate.rs',
('''//! A throw-away certificate authority and one certificate for the servers of a run.
//!
//! Measuring side, cold path. ECDSA P-256, the usual choice, so that handshakes cost what they
//! cost elsewhere. Nothing''','''//! A throw-away certificate authority, and certificates for the servers of a run.
//!
//! Measuring side, cold path. ECDSA P-256, the usual choice, or of the kind that a running server has, so that handshakes
//! cost what they cost elsewhere. Nothing'''),
('''    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};''','''    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use crate::key_kind::KeyKind;'''),
('''    pub key: PathBuf,
}''','''    pub key: PathBuf,
    /// The same for keys of other kinds.
    others: Vec<(KeyKind, PathBuf, PathBuf)>,
}'''),
('''        Self::create_for(dir, &[])
    }

    /// The same for further names.
    pub fn create_for(dir: &Path, names: &[&str]) -> Result<Self, SubjectError> {
        let failed = |reason: String| SubjectError::Certificate { dir: dir.to_owned(), reason };
        let (ca, cert, key) = issue(names).map_err(|error| failed(error.to_string()))?;
''','''        Self::create_for(dir, &[], &BTreeSet::new())
    }

    /// The same for further names, and besides for keys of these kinds.
    pub fn create_for(dir: &Path, names: &[&str], kinds: &BTreeSet<KeyKind>) -> Result<Self, SubjectError> {
        let failed = |reason: String| SubjectError::Certificate { dir: dir.to_owned(), reason };
        let issued = || -> Result<_, rcgen::Error> {
            let (ca, authority) = authority()?;
            let usual = leaf(&authority, names, KeyKind::P256)?;
            let others = kinds.iter().filter(|kind| **kind != KeyKind::P256);
            let others: Result<Vec<_>, _> =
                others.map(|kind| Ok((*kind, leaf(&authority, names, *kind)?))).collect();
            Ok((ca, usual, others?))
        };
        let (ca, (cert, key), others) = issued().map_err(|error| failed(error.to_string()))?;
'''),
('''        Ok(Self {
            ca: written''','''        let write_other = |(kind, (cert, key)): (KeyKind, (String, String))| {
            let name = kind.file_name();
            let cert = written(&format!("cert-{name}.pem"), &cert, 0o644)?;
            Ok((kind, cert, written(&format!("key-{name}.pem"), &key, 0o600)?))
        };
        Ok(Self {
            ca: written'''),
('''            key: written("key.pem", &key, 0o600)?,
        })
    }
''','''            key: written("key.pem", &key, 0o600)?,
            others: others.into_iter().map(write_other).collect::<Result<_, SubjectError>>()?,
        })
    }

    /// The one of this kind, if it was made; else the usual one.
    #[must_use]
    pub fn of_kind(mut self, kind: KeyKind) -> Self {
        if let Some((_, cert, key)) = self.others.iter().find(|(known, ..)| *known == kind) {
            (self.cert, self.key) = (cert.clone(), key.clone());
        }
        self
    }
'''),
('''        Ok(Self { ca: self.ca.clone(), cert, key })''','''        Ok(Self { ca: self.ca.clone(), cert, key, others: Vec::new() })'''),
('''use std::fs::{self''','''use std::collections::BTreeSet;
use std::fs::{self'''))
s=open('crates/subject/src/certificate.rs').read()
a=s.index("/// PEM of authority, certificate and key."); b=s.index("fn params(")
s=s[:a]+'''/// PEM of the authority, and what issues.
fn authority() -> Result<(String, Issuer<'static, KeyPair>), rcgen::Error> {
    let mut authority = params(&[], "bakeoff throw-away authority")?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
    let pem = authority.self_signed(&key)?.pem();
    Ok((pem, Issuer::new(authority, key)))
}

/// PEM of certificate and key.
fn leaf(
    authority: &Issuer<'static, KeyPair>,
    further: &[&str],
    kind: KeyKind,
) -> Result<(String, String), rcgen::Error> {
    let mut leaf = params(&[&NAMES, further].concat(), "localhost")?;
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    if kind.is_rsa() {
        leaf.key_usages.push(KeyUsagePurpose::KeyEncipherment); // suites without Diffie-Hellman
    }
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    let key = kind.generate()?;
    Ok((leaf.signed_by(&key, authority)?.pem(), key.serialize_pem()))
}

'''+s[b:]
s=s.replace('''    #[test]
    fn the_key_is_nobody_elses_to_read()''','''    #[test]
    fn certificates_are_of_the_kinds_that_are_asked_for() {
        let dir = tempfile::tempdir().unwrap();
        let kinds = KeyKind::ALL.into_iter().collect();
        let made = Certificate::create_for(dir.path(), &[], &kinds).unwrap();
        for kind in KeyKind::ALL {
            let own = made.clone().of_kind(kind);
            assert_eq!(KeyKind::of_file(&own.cert).unwrap(), kind);
            assert_eq!(fs::metadata(&own.key).unwrap().permissions().mode() & 0o777, 0o600, "{kind}");
        }
        let usual = Certificate::create(dir.path()).unwrap();
        assert_eq!(usual.clone().of_kind(KeyKind::Rsa4096), usual, "one that was not made");
    }

    #[test]
    fn the_key_is_nobody_elses_to_read()''',1)
open('crates/subject/src/certificate.rs','w').write(s)
open('crates/subject/src/key_kind.rs','w').write('''//! Kinds of keys in certificates, found in a file and made anew.
//!
//! Measuring side, cold path. Certificates are public; files of keys are never opened here.

use aws_lc_rs::rsa::PublicEncryptingKey;
use rcgen::{
    KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PKCS_RSA_SHA256, RsaKeySize,
};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{AlgorithmIdentifier, CertificateDer, alg_id};
use std::fmt;
use std::path::Path;

/// Kind and size of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum KeyKind {
    /// ECDSA, P-256.
    P256,
    /// ECDSA, P-384.
    P384,
    /// Ed25519.
    Ed25519,
    /// RSA, 2,048 bits.
    Rsa2048,
    /// RSA, 3,072 bits.
    Rsa3072,
    /// RSA, 4,096 bits.
    Rsa4096,
}

impl KeyKind {
    /// All, ECDSA first, as clients take it where a server has several.
    pub const ALL: [Self; 6] =
        [Self::P256, Self::P384, Self::Ed25519, Self::Rsa2048, Self::Rsa3072, Self::Rsa4096];

    /// The kind of the key in the first certificate of a PEM file.
    ///
    /// # Errors
    /// Why it is not known, in words: the file cannot be read, or the key is of none of these kinds.
    pub fn of_file(path: &Path) -> Result<Self, String> {
        let certificate = CertificateDer::from_pem_file(path).map_err(|error| error.to_string())?;
        let parsed = webpki::EndEntityCert::try_from(&certificate).map_err(|error| error.to_string())?;
        let key = parsed.subject_public_key_info();
        let other = || "its key is none of RSA 2048, 3072 and 4096, ECDSA P-256 and P-384, Ed25519".to_owned();
        let has = |algorithm: &AlgorithmIdentifier| algorithm_of(&key).is_some_and(|own| own == algorithm.as_ref());
        if has(&alg_id::RSA_ENCRYPTION) {
            let bits = PublicEncryptingKey::from_der(&key).map_err(|_| other())?.key_size_bits();
            let known = [(2048, Self::Rsa2048), (3072, Self::Rsa3072), (4096, Self::Rsa4096)];
            return known.iter().find(|(size, _)| *size == bits).map(|(_, kind)| *kind).ok_or_else(other);
        }
        let known = [
            (alg_id::ECDSA_P256, Self::P256),
            (alg_id::ECDSA_P384, Self::P384),
            (alg_id::ED25519, Self::Ed25519),
        ];
        known.iter().find(|(algorithm, _)| has(algorithm)).map(|(_, kind)| *kind).ok_or_else(other)
    }

    /// Whether it is RSA.
    pub(crate) const fn is_rsa(self) -> bool {
        matches!(self, Self::Rsa2048 | Self::Rsa3072 | Self::Rsa4096)
    }

    pub(crate) const fn file_name(self) -> &'static str {
        match self {
            Self::P256 => "p256",
            Self::P384 => "p384",
            Self::Ed25519 => "ed25519",
            Self::Rsa2048 => "rsa2048",
            Self::Rsa3072 => "rsa3072",
            Self::Rsa4096 => "rsa4096",
        }
    }

    /// A new key.
    pub(crate) fn generate(self) -> Result<KeyPair, rcgen::Error> {
        let rsa = |size| KeyPair::generate_rsa_for(&PKCS_RSA_SHA256, size);
        match self {
            Self::P256 => KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256),
            Self::P384 => KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384),
            Self::Ed25519 => KeyPair::generate_for(&PKCS_ED25519),
            Self::Rsa2048 => rsa(RsaKeySize::_2048),
            Self::Rsa3072 => rsa(RsaKeySize::_3072),
            Self::Rsa4096 => rsa(RsaKeySize::_4096),
        }
    }
}

impl fmt::Display for KeyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::P256 => "ECDSA P-256",
            Self::P384 => "ECDSA P-384",
            Self::Ed25519 => "Ed25519",
            Self::Rsa2048 => "RSA 2048",
            Self::Rsa3072 => "RSA 3072",
            Self::Rsa4096 => "RSA 4096",
        })
    }
}

/// The kind of a server that has these certificates: of several the one that clients prefer, else why none is known. None:
/// there are no files.
pub fn key_kind_of(certificates: &[impl AsRef<Path>]) -> Option<Result<KeyKind, String>> {
    let all = || certificates.iter().map(|path| KeyKind::of_file(path.as_ref()));
    all().filter_map(Result::ok).min().map(Ok).or_else(|| all().next())
}

/// Contents of the algorithm in a `SubjectPublicKeyInfo`, whose outer length may take several bytes and whose inner one
/// takes one.
fn algorithm_of(key: &[u8]) -> Option<&[u8]> {
    const LONG: u8 = 0x80;
    let length = *key.get(1)?;
    let outer = if length & LONG == 0 { 2 } else { 2 + usize::from(length & !LONG) };
    let inner = usize::from(*key.get(outer + 1)?);
    key.get(outer + 2..outer + 2 + inner)
}
''')
sub('crates/subject/src/lib.rs',('pub use adopted::{application, language};','pub use adopted::{application, key_kind, language};'),
('pub use layer::','pub use key_kind::{KeyKind, key_kind_of};\npub use layer::'))
s=open('crates/subject/src/lib.rs').read()
s=re.sub(r'\nmod layer;','\nmod key_kind;\nmod layer;',s,1); open('crates/subject/src/lib.rs','w').write(s)
sub('crates/subject/src/adopted.rs',('''/// Writes the copies for one start.''','''/// The kind of the key that an arm's server has where it runs, as far as its certificate's file says it.
///
/// # Errors
/// The configuration cannot be read.
pub fn key_kind(spec: &Spec, context: &Context<'_>) -> Result<Option<KeyKind>, SubjectError> {
    let entrance = configuration(spec, context)?.map(|(_, entrance)| entrance);
    Ok(entrance.and_then(|entrance| key_kind_of(&entrance.certificates)?.ok()))
}

/// Writes the copies for one start.'''),
('use crate::product::Product;','use crate::key_kind::{KeyKind, key_kind_of};\nuse crate::product::Product;'))

# experiment
sub('crates/experiment/src/run/servers/pages.rs',('''        let context = Context {
            home: Some(run.plan.base_dir.clone()),
            allowed_upstreams: arm.allowed_upstreams.clone(),
            asked_host: arm.client.name_in_tls().map(str::to_owned),
            files: run.plan.written.clone(),
            ..Context::new(&arm.name, scratch.path(), scratch.path(), run.interrupted)
        };
        let Some(own) = application(spec, &context)? else''','''        let Some(own) = application(spec, &context(run, scratch, arm))? else'''),
('''/// The server of an arm that reads''','''/// What it takes to read an arm's configuration.
pub(super) fn context<'a>(run: &'a Run<'_>, scratch: &'a Scratch, arm: &Arm) -> Context<'a> {
    Context {
        home: Some(run.plan.base_dir.clone()),
        allowed_upstreams: arm.allowed_upstreams.clone(),
        asked_host: arm.client.name_in_tls().map(str::to_owned),
        files: run.plan.written.clone(),
        ..Context::new(&arm.name, scratch.path(), scratch.path(), run.interrupted)
    }
}

/// The server of an arm that reads'''))
sub('crates/experiment/src/run/servers/files.rs',
('''    pub(super) certificate: Option<Certificate>,
}''','''    pub(super) certificate: Option<Certificate>,
    /// Kinds of the keys of running servers, by arm.
    kinds: BTreeMap<String, KeyKind>,
}

impl Files {
    /// The certificate of an arm's parts.
    pub(super) fn certificate_of(&self, arm: &Arm) -> Option<Certificate> {
        let made = self.certificate.clone()?;
        Some(self.kinds.get(&arm.name).map_or_else(|| made.clone(), |kind| made.clone().of_kind(*kind)))
    }
}'''),
('''    scratch: &Scratch,
    arms: &[Arm],
    (workload''','''    run: &Run<'_>,
    scratch: &Scratch,
    (workload'''),
('''    let root = scratch.subdirectory("site")?;''','''    let arms = &run.plan.arms;
    let root = scratch.subdirectory("site")?;'''),
('''    let certificate = makes_tls.then(|| Certificate::create_for(scratch.path(), &names)).transpose()?;
    Ok(Files { reference: root.clone(), root, own: BTreeMap::new(), catalogue, certificate })''','''    let mut kinds = BTreeMap::new();
    for arm in arms {
        let kind = spec(arm).map(|spec| key_kind(spec, &context(run, scratch, arm))).transpose()?.flatten();
        kinds.extend(kind.map(|kind| (arm.name.clone(), kind)));
    }
    let needed = kinds.values().copied().collect();
    let create = || Certificate::create_for(scratch.path(), &names, &needed);
    let certificate = makes_tls.then(create).transpose()?;
    Ok(Files { reference: root.clone(), root, own: BTreeMap::new(), catalogue, certificate, kinds })'''),
('use super::pages::{DiskSite, reading};','use super::pages::{DiskSite, context, reading};'),
('use crate::run::{RunError, RunProgress};','use crate::run::{Run, RunError, RunProgress};'),
('use bakeoff_subject::{Certificate, Spec};','use bakeoff_subject::{Certificate, KeyKind, Spec, key_kind};'))
sub('crates/experiment/src/run/servers/mod.rs',('files::prepare(&scratch, &plan.arms, (workload','files::prepare(run, &scratch, (workload'))
sub('crates/experiment/src/run/servers/arm.rs',('certificate: self.files.certificate.clone(),','certificate: self.files.certificate_of(arm),'))

# cli
sub('crates/cli/src/commands/adopted.rs',('''        let scheme = if self.entrance.tls''','''        lines.extend(self.certificate());
        let scheme = if self.entrance.tls'''),
('''}

/// Most names in a line.''','''
    /// What its throw-away certificate is like.
    fn certificate(&self) -> Option<String> {
        let own = self.entrance.certificates.first().filter(|_| self.entrance.tls)?.display();
        Some(match key_kind_of(&self.entrance.certificates)? {
            Ok(kind) => format!("  certificate: throw-away, {kind} as in {own}; the key is not read"),
            Err(why) => format!("  certificate: throw-away, ECDSA P-256, as {own} cannot be read: {why}"),
        })
    }
}

/// Most names in a line.'''),
('use bakeoff_subject::{Product, language};','use bakeoff_subject::{Product, key_kind_of, language};'))
sub('docs/guide.md',('user and certificates (ECDSA P-256);','user and certificates (kind and size as yours, ECDSA P-256 where that file cannot be read);'))
sub('CHANGELOG.md',('''  stand-in takes escaped paths, and answers conditions and ranges.
''','''  stand-in takes escaped paths, and answers conditions and ranges.
- The throw-away certificate of a running server's copy is of the kind and size of its own (RSA 2048, 3072, 4096, ECDSA P-256, P-384, Ed25519), found from the
  certificate's file; it was always ECDSA P-256, which still stands in where the file cannot be read, and `compare` says so.
'''))
