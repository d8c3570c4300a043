//! TLS of the generator: whom it trusts, and which failure counts under which class.

use bakeoff_meter::ErrorClass;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which certificates are accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Those signed by an authority of this PEM file.
    File(PathBuf),
    /// Any: the peer is not authenticated.
    Anyone,
}

/// The authorities that Debian, Ubuntu, Alpine and Arch trust.
const SYSTEM_AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

impl Trust {
    /// The system's own authorities.
    pub fn system() -> Self {
        Self::File(SYSTEM_AUTHORITIES.into())
    }
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    /// The PEM file.
    #[error("{path}: no certificate can be read ({why}); give a PEM file with the authority's certificate")]
    Authority {
        /// File.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The library.
    #[error("TLS cannot be set up: {0}")]
    Library(#[from] rustls::Error),
}

/// Whether a later connection may go on with an earlier one's session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resumption {
    /// As the library does it by default.
    Allowed,
    /// Every handshake is a full one.
    Off,
}

/// Client settings: TLS 1.2 and 1.3.
///
/// # Errors
/// When the PEM file holds no certificate.
pub fn client_config(trust: &Trust, resumption: Resumption) -> Result<Arc<ClientConfig>, TlsSetupError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder =
        ClientConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
    let mut config = match trust {
        Trust::File(path) => builder.with_root_certificates(authorities(path)?).with_no_client_auth(),
        Trust::Anyone => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyone(provider)))
            .with_no_client_auth(),
    };
    if resumption == Resumption::Off {
        config.resumption = rustls::client::Resumption::disabled();
    }
    Ok(Arc::new(config))
}

fn authorities(path: &Path) -> Result<RootCertStore, TlsSetupError> {
    let error = |why: String| TlsSetupError::Authority { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| error(e.to_string()))? {
        let certificate = certificate.map_err(|e| error(e.to_string()))?;
        roots.add(certificate).map_err(|e| error(e.to_string()))?;
    }
    if roots.is_empty() { Err(error("it holds none".to_owned())) } else { Ok(roots) }
}

/// The class under which a TLS failure is counted.
pub(crate) const fn error_class(error: &rustls::Error) -> ErrorClass {
    match error {
        rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
        ) => ErrorClass::TlsName,
        // A bad signature: by another authority of the same name.
        rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::BadSignature,
        ) => ErrorClass::TlsUntrusted,
        _ => ErrorClass::TlsFailed,
    }
}

/// `--insecure`: checks signatures of the handshake, but not whose certificate it is.
#[derive(Debug)]
struct AcceptAnyone(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
