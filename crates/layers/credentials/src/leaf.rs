//! Leaf certificates: X.509 for minutes, by which an on-line agent counter-signs an identity over the same key.
//!
//! Measured side, pure. The holder shows its leaf in TLS. Its names are SPIFFE URIs: first the holder's, then those
//! of the groups that the agent says it is in. The identity lies in an extension. A verifier needs both signatures:
//! with the agent's key alone nobody can be named, and with the CA's alone there is no leaf.
//!
//! The extension is `2.25.247781882573744415002592301549252040371` (the UUID ba690e02-f3ac-475a-bf51-ea3bd73cd6b3 as
//! one integer). It is not critical, so that a stock `openssl verify` accepts the leaf, too.

use crate::bundle::DomainBundle;
use crate::der;
use crate::key::{PublicKey, SecretKey, Serial, key_of};
use crate::name::{Domain, PrincipalKind, PrincipalName};
use crate::refusal::{CredentialRefusal, Piece};
use crate::statement::{IdentityContent, MOST_GROUPS, within};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, Issuer, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, SignatureAlgorithm, SigningKey,
};
use rustls_pki_types::{CertificateDer, UnixTime};
use std::time::Duration;
use webpki::{EndEntityCert, Error, KeyUsage};

/// Longest life of an agent's statement, in seconds.
pub(crate) const MOST_LIFE_S: u64 = 24 * 60 * 60;
/// Longest certificate.
const MOST_BYTES: usize = 16 * 1024;
/// End of the year 9999, the last time of X.509, in seconds since 1970.
const LAST_UNIX_S: u64 = 253_402_300_799;

/// Identifier of the extension, as encoded in a certificate.
const OURS: [u8; 20] = [
    0x69, 0x82, 0xf4, 0xe9, 0x87, 0x80, 0xde, 0xba, 0xe2, 0x9d, 0xb5, 0xbf, 0xa8, 0xfa, 0xc7, 0xbd, 0xb9,
    0xf3, 0xad, 0x33,
];
/// Stand-in for it: `rcgen` writes numbers of 64 bits only. It has the same length, and is replaced by ours before
/// signing.
const STAND_IN: [u64; 4] = [2, 25, u64::MAX, u64::MAX >> 1];
const STAND_IN_BYTES: [u8; 20] = [
    0x69, 0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    0xff, 0xff, 0x7f,
];

/// A leaf with a verified signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Leaf<'a> {
    pub(crate) name: PrincipalName,
    pub(crate) groups: Vec<PrincipalName>,
    pub(crate) key: PublicKey,
    pub(crate) until_unix_s: u64,
    /// The CA's statement, still unopened.
    pub(crate) identity: &'a [u8],
}

/// Domain whose bundle verifies a leaf: that of its first name. Nothing else in it is believed before.
pub(crate) fn domain_of(leaf: &CertificateDer<'_>, of: &Piece<'_>) -> Result<Domain, CredentialRefusal> {
    let name = parsed(leaf, of)?.valid_uri_names().next().and_then(PrincipalName::of_uri);
    name.map(|name| name.domain().clone()).ok_or_else(|| of.refuse(CredentialRefusal::Malformed))
}

fn parsed<'a>(leaf: &'a CertificateDer<'_>, of: &Piece<'_>) -> Result<EndEntityCert<'a>, CredentialRefusal> {
    if leaf.len() > MOST_BYTES {
        return Err(of.refuse(CredentialRefusal::TooLarge));
    }
    EndEntityCert::try_from(leaf).map_err(|error| refused(&error, of))
}

impl<'a> Leaf<'a> {
    /// Verifies it under the agents of a bundle.
    pub(crate) fn read(
        der: &'a CertificateDer<'_>,
        bundle: &DomainBundle,
        now_unix_s: u64,
        of: &Piece<'_>,
    ) -> Result<Self, CredentialRefusal> {
        let malformed = || of.refuse(CredentialRefusal::Malformed);
        let leaf = parsed(der, of)?;
        let (from_unix_s, until_unix_s) = times(&leaf).ok_or_else(malformed)?;
        within(from_unix_s, until_unix_s, now_unix_s, of)?;
        let (ed25519, usage) = ([webpki::aws_lc_rs::ED25519], KeyUsage::client_auth());
        leaf.verify_for_usage(&ed25519, bundle.anchors(), &[], at(now_unix_s), usage, None, None)
            .map_err(|error| refused(&error, of))?;
        if until_unix_s - from_unix_s > MOST_LIFE_S {
            return Err(of.refuse(CredentialRefusal::LongerLived));
        }
        let mut names = leaf.valid_uri_names().map(PrincipalName::of_uri);
        let name = names
            .next()
            .flatten()
            .filter(|name| name.kind() != PrincipalKind::Group)
            .ok_or_else(malformed)?;
        let groups: Option<Vec<PrincipalName>> = names.collect();
        let groups = groups.filter(|groups| groups.iter().all(|group| group.kind() == PrincipalKind::Group));
        let groups = groups.ok_or_else(malformed)?;
        if [&name].into_iter().chain(&groups).any(|name| *name.domain() != bundle.domain) {
            return Err(of.refuse(CredentialRefusal::NotItsDomain));
        }
        let mut content = der::extension(der, &OURS).ok_or_else(malformed)?;
        let identity = der::take(&mut content, der::OCTETS).ok_or_else(malformed)?;
        if !content.is_empty() {
            return Err(of.refuse(CredentialRefusal::TrailingData));
        }
        let key = key_of(&leaf).ok_or_else(|| of.refuse(CredentialRefusal::UnknownAlgorithm))?;
        Ok(Self { name, groups, key, until_unix_s, identity })
    }
}

/// Content of a new leaf.
#[derive(Clone, Copy, Debug)]
pub struct NewLeaf<'a> {
    /// An identity that was opened under the domain's CA, or its owner's key.
    pub identity: &'a IdentityContent,
    /// Its bytes.
    pub statement: &'a [u8],
    /// The groups of the holder.
    pub groups: &'a [PrincipalName],
    /// Start, in seconds since 1970.
    pub from_unix_s: u64,
    /// End, in seconds since 1970.
    pub until_unix_s: u64,
}

/// Makes a leaf, in DER.
///
/// # Errors
/// It would be refused; or there are no random numbers.
pub fn make(order: &NewLeaf<'_>, domain: &Domain, agent: &SecretKey) -> Result<Vec<u8>, CredentialRefusal> {
    let name = &order.identity.name;
    let of = Piece::of("the leaf").by(name);
    if order.until_unix_s.saturating_sub(order.from_unix_s) > MOST_LIFE_S {
        return Err(of.refuse(CredentialRefusal::LongerLived));
    }
    within(order.identity.from_unix_s, order.identity.until_unix_s, order.from_unix_s, &of)?;
    if [name].into_iter().chain(order.groups).any(|name| name.domain() != domain) {
        return Err(of.refuse(CredentialRefusal::NotItsDomain));
    }
    if order.groups.len() > MOST_GROUPS {
        return Err(of.refuse(CredentialRefusal::TooLarge));
    }
    let malformed = || of.refuse(CredentialRefusal::Malformed);
    if order.groups.iter().any(|group| group.kind() != PrincipalKind::Group) {
        return Err(malformed());
    }
    let names = [name].into_iter().chain(order.groups).map(|name| uri(name.uri()));
    let mut params = params(order.from_unix_s, order.until_unix_s, name.local()).ok_or_else(malformed)?;
    params.subject_alt_names = names.collect::<Option<_>>().ok_or_else(malformed)?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages =
        vec![ExtendedKeyUsagePurpose::ClientAuth, ExtendedKeyUsagePurpose::ServerAuth];
    let content = der::wrap(der::OCTETS, order.statement).ok_or_else(malformed)?;
    params.custom_extensions = vec![CustomExtension::from_oid_content(&STAND_IN, content)];
    let root = params_of_root(domain, order.from_unix_s, order.until_unix_s).ok_or_else(malformed)?;
    let made = params.signed_by(&Holder(order.identity.key), &Issuer::from_params(&root, Agent(agent)));
    made.map(|leaf| with_ours(leaf.der())).map_err(|_| malformed())
}

/// Makes the certificate of an agent, in DER, for the bundle of its domain.
///
/// # Errors
/// Times that X.509 cannot express; or there are no random numbers.
pub fn make_root(
    domain: &Domain,
    agent: &SecretKey,
    from_unix_s: u64,
    until_unix_s: u64,
) -> Result<Vec<u8>, CredentialRefusal> {
    let made = params_of_root(domain, from_unix_s, until_unix_s)
        .and_then(|params| params.self_signed(&Agent(agent)).ok())
        .ok_or_else(|| Piece::of("the agent's certificate").refuse(CredentialRefusal::Malformed))?;
    Ok(made.der().to_vec())
}

/// A certificate with a key and nothing else, in DER: shown in TLS while there is no leaf.
pub(crate) fn bare(key: &SecretKey) -> Option<Vec<u8>> {
    let mut params = params(0, LAST_UNIX_S, "a key")?;
    params.is_ca = IsCa::ExplicitNoCa;
    params.self_signed(&Agent(key)).ok().map(|made| made.der().to_vec())
}

fn params_of_root(domain: &Domain, from_unix_s: u64, until_unix_s: u64) -> Option<CertificateParams> {
    let mut params = params(from_unix_s, until_unix_s, domain.as_str())?;
    params.subject_alt_names = vec![uri(domain.uri())?];
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    Some(params)
}

fn params(from_unix_s: u64, until_unix_s: u64, common_name: &str) -> Option<CertificateParams> {
    let moment = |unix_s: u64| {
        let since = (unix_s <= LAST_UNIX_S).then(|| Duration::from_secs(unix_s))?;
        Some(rcgen::date_time_ymd(1970, 1, 1) + since)
    };
    let mut params = CertificateParams::default();
    (params.not_before, params.not_after) = (moment(from_unix_s)?, moment(until_unix_s)?);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, common_name);
    // The highest bit is the sign there.
    let mut serial = Serial::random().ok()?.0;
    serial[0] &= 0x7f;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    params.use_authority_key_identifier_extension = true;
    Some(params)
}

fn uri(uri: String) -> Option<SanType> {
    uri.try_into().ok().map(SanType::URI)
}

/// Replaces the stand-in that `rcgen` can write by our identifier.
fn with_ours(der: &[u8]) -> Vec<u8> {
    let mut der = der.to_vec();
    let at = der.windows(STAND_IN_BYTES.len()).position(|window| window == STAND_IN_BYTES);
    if let Some(place) = at.and_then(|at| der.get_mut(at..at + OURS.len())) {
        place.copy_from_slice(&OURS);
    }
    der
}

/// An agent's key, in `rcgen`'s form.
struct Agent<'a>(&'a SecretKey);

impl PublicKeyData for Agent<'_> {
    fn der_bytes(&self) -> &[u8] {
        self.0.public_bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

impl SigningKey for Agent<'_> {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, rcgen::Error> {
        Ok(self.0.sign(&with_ours(message)))
    }
}

/// The holder's key, of which only the public half is known.
struct Holder(PublicKey);

impl PublicKeyData for Holder {
    fn der_bytes(&self) -> &[u8] {
        self.0.bytes()
    }

    fn algorithm(&self) -> &'static SignatureAlgorithm {
        &rcgen::PKCS_ED25519
    }
}

const fn at(unix_s: u64) -> UnixTime {
    UnixTime::since_unix_epoch(Duration::from_secs(unix_s))
}

/// Expiry that a leaf states, in seconds since 1970, for its holder; a verifier checks it.
pub fn until_unix_s(leaf: &[u8]) -> Option<u64> {
    times(&EndEntityCert::try_from(&CertificateDer::from(leaf)).ok()?).map(|(_, until_unix_s)| until_unix_s)
}

/// Start and end of a certificate. `webpki` reports them only when it refuses: so it is asked for a time before and
/// one after all others, without a key to verify by.
fn times(certificate: &EndEntityCert<'_>) -> Option<(u64, u64)> {
    let tried = |unix_s| {
        let usage = KeyUsage::client_auth();
        certificate.verify_for_usage(&[], &[], &[], at(unix_s), usage, None, None).err()
    };
    match (tried(0), tried(u64::MAX)) {
        (Some(Error::CertNotValidYet { not_before, .. }), Some(Error::CertExpired { not_after, .. })) => {
            Some((not_before.as_secs(), not_after.as_secs()))
        }
        _ => None,
    }
}

fn refused(error: &Error, of: &Piece<'_>) -> CredentialRefusal {
    of.refuse(match error {
        Error::CertExpired { .. } => CredentialRefusal::Expired,
        Error::CertNotValidYet { .. } => CredentialRefusal::NotYetValid,
        Error::UnknownIssuer => CredentialRefusal::NotItsDomain,
        Error::InvalidSignatureForPublicKey => CredentialRefusal::BadSignature,
        Error::UnsupportedSignatureAlgorithmContext(_)
        | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => CredentialRefusal::UnknownAlgorithm,
        _ => CredentialRefusal::Malformed,
    })
}
