//! Trust in servers: the certificates that are accepted.
//!
//! Cold: read when options are loaded, called in full handshakes. The error class of a failure is decided by
//! [`super::error_class`].

use super::TlsSetupError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, RootCertStore, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The certificates that are accepted.
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

pub(super) fn authorities(path: &Path) -> Result<RootCertStore, TlsSetupError> {
    let error = |why: String| TlsSetupError::Authority { path: path.to_owned(), why };
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|e| error(e.to_string()))? {
        let certificate = certificate.map_err(|e| error(e.to_string()))?;
        roots.add(certificate).map_err(|e| error(e.to_string()))?;
    }
    if roots.is_empty() { Err(error("it holds none".to_owned())) } else { Ok(roots) }
}

/// `--insecure`: checks signatures of the handshake, but not the owner of the certificate.
#[derive(Debug)]
pub(super) struct AcceptAnyone(pub(super) Arc<CryptoProvider>);

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
