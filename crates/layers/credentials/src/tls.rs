//! TLS configurations that present keys and leafs.
//!
//! Measured side, pure: configurations, no sockets. TLS 1.3 alone, Ed25519 alone, and no state that outlives a
//! connection: no resumption, no tickets, no early data, as a resumed session would keep an authority that ended. A
//! handshake proves that the other side has the key of its certificate, and to a client which server that is. Rights
//! are decided by later messages. A server must check that its protocol was agreed upon: rustls accepts clients that
//! name none.

use crate::bundle::Bundles;
use crate::key::{NoKey, PublicKey, SecretKey, key_of};
use crate::leaf::bare;
use crate::name::PrincipalName;
use crate::refusal::CredentialRefusal;
use crate::verify::verify_node;
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::{default_provider, sign::any_eddsa_type};
use rustls::crypto::{CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature};
use rustls::server::NoServerSessionStorage;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, OtherError,
    ServerConfig, SignatureScheme,
};
use rustls_pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use std::sync::Arc;
use webpki::EndEntityCert;

/// The protocol between a file server and its clients.
pub const REMOTEFS: &[u8] = b"bakeoff-remotefs/1";
/// The protocol between an agent and its clients.
pub const AGENT: &[u8] = b"bakeoff-agent/2";

static ED25519: WebPkiSupportedAlgorithms = WebPkiSupportedAlgorithms {
    all: &[webpki::aws_lc_rs::ED25519],
    mapping: &[(SignatureScheme::ED25519, &[webpki::aws_lc_rs::ED25519])],
};

/// A key with its leaf.
#[derive(Debug)]
pub struct Holder {
    /// The key.
    pub key: SecretKey,
    /// The leaf, in DER.
    pub leaf: Vec<u8>,
}

/// Reasons for having no configuration.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// Key and leaf do not match, or the certificate is malformed.
    #[error("the key and the certificate that TLS shall show do not go together ({0}); log in again")]
    Holder(#[from] Error),
    /// The key cannot be exported.
    #[error(transparent)]
    Key(#[from] NoKey),
    /// There is no certificate for a key.
    #[error("no certificate could be made over the key; the machine gives no random numbers")]
    Certificate,
}

/// For a file server. It demands a certificate of each client and accepts any with a proven key: HELLO decides the
/// rest.
///
/// # Errors
/// Key and leaf do not match.
pub fn server(holder: &Holder) -> Result<ServerConfig, TlsError> {
    serving(shown(&holder.key, holder.leaf.clone())?, REMOTEFS)
}

/// For a client of a file server, which must hold a leaf of this name.
///
/// # Errors
/// Key and leaf do not match.
pub fn client(
    holder: &Holder,
    bundles: Arc<Bundles>,
    server: &PrincipalName,
) -> Result<ClientConfig, TlsError> {
    let wanted = AcceptedServers::Node { bundles, name: server.clone() };
    asking(shown(&holder.key, holder.leaf.clone())?, wanted, REMOTEFS)
}

/// For an agent, which shows the certificate that is pinned in the bundle of its domain.
///
/// # Errors
/// Key and certificate do not match.
pub fn agent_server(agent: &SecretKey, root: &[u8]) -> Result<ServerConfig, TlsError> {
    serving(shown(agent, root.to_vec())?, AGENT)
}

/// For a client of an agent. The agent knows it by its key; it may have no leaf yet, so it shows a certificate with
/// only the key. The agent's must be one of `roots`, byte for byte.
///
/// # Errors
/// No certificate can be made.
pub fn agent_client(key: &SecretKey, roots: &[CertificateDer<'static>]) -> Result<ClientConfig, TlsError> {
    let own = bare(key).ok_or(TlsError::Certificate)?;
    asking(shown(key, own)?, AcceptedServers::Pinned(roots.to_vec()), AGENT)
}

/// The key that the other side has proven to have.
pub fn peer_key(certificates: Option<&[CertificateDer<'_>]>) -> Option<PublicKey> {
    key_of(&EndEntityCert::try_from(certificates?.first()?).ok()?)
}

/// Our reason for refusing the other side's certificate, if that was the error.
pub fn refusal(error: &Error) -> Option<&CredentialRefusal> {
    match error {
        Error::InvalidCertificate(CertificateError::Other(OtherError(why))) => why.downcast_ref(),
        _ => None,
    }
}

fn shown(key: &SecretKey, certificate: Vec<u8>) -> Result<Arc<CertifiedKey>, TlsError> {
    let pkcs8 = key.to_pkcs8()?;
    let signer = any_eddsa_type(&PrivatePkcs8KeyDer::from(pkcs8.as_slice()))?;
    let shown = CertifiedKey::new(vec![certificate.into()], signer);
    shown.keys_match()?;
    Ok(Arc::new(shown))
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(default_provider())
}

fn serving(shown: Arc<CertifiedKey>, protocol: &[u8]) -> Result<ServerConfig, TlsError> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(AnyKey))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
    config.alpn_protocols = vec![protocol.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    config.max_early_data_size = 0;
    Ok(config)
}

fn asking(
    shown: Arc<CertifiedKey>,
    wanted: AcceptedServers,
    protocol: &[u8],
) -> Result<ClientConfig, TlsError> {
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(wanted))
        .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(shown)));
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    config.enable_early_data = false;
    Ok(config)
}

/// How either side's signature is looked at.
macro_rules! ed25519_alone {
    () => {
        // No version before 1.3 is agreed upon, so nobody asks.
        fn verify_tls12_signature(
            &self,
            _: &[u8],
            _: &CertificateDer<'_>,
            _: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            Err(Error::General("only TLS 1.3 is spoken".to_owned()))
        }

        fn verify_tls13_signature(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signature: &DigitallySignedStruct,
        ) -> Result<HandshakeSignatureValid, Error> {
            verify_tls13_signature(message, certificate, signature, &ED25519)
        }

        fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
            ED25519.supported_schemes()
        }
    };
}

/// What certificates say is somebody else's question: they must have an Ed25519 key, and the signature be by it.
#[derive(Debug)]
struct AnyKey;

/// Servers that a client accepts.
#[derive(Debug)]
enum AcceptedServers {
    /// A server with a leaf of this name.
    Node { bundles: Arc<Bundles>, name: PrincipalName },
    /// A server with one of these certificates.
    Pinned(Vec<CertificateDer<'static>>),
}

impl ClientCertVerifier for AnyKey {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let key = peer_key(Some(std::slice::from_ref(certificate)));
        key.map(|_| ClientCertVerified::assertion()).ok_or_else(|| CertificateError::BadEncoding.into())
    }

    ed25519_alone!();
}

impl ServerCertVerifier for AcceptedServers {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self {
            Self::Node { bundles, name } => {
                let verified = verify_node(certificate, bundles, name, now.as_secs());
                verified.map_err(|refusal| CertificateError::Other(OtherError(Arc::new(refusal))))?;
            }
            Self::Pinned(roots) if roots.contains(certificate) => {}
            Self::Pinned(_) => return Err(CertificateError::UnknownIssuer.into()),
        }
        Ok(ServerCertVerified::assertion())
    }

    ed25519_alone!();
}
