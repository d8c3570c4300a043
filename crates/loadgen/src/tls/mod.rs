//! TLS of the generator: what is offered to servers, what came of it, and which failure counts under
//! which class.
//!
//! Measuring side, hot in [`session`] alone. No socket: bytes come in, bytes go out. Options are plain
//! data ([`options`]), loaded once ([`TlsOptions::load`]); from then on every lane has a [`TlsClient`] of
//! its own, so that no thread waits for another's lock. Says which share of the handshakes went on with
//! an earlier session and what they cost ([`ledger`]); does not judge either.

mod client;
mod ledger;
mod names;
mod options;
mod session;
mod share;
mod store;
mod trust;

pub use client::TlsClient;
pub use ledger::{HandshakeLedger, HandshakeSummary, HandshakeTally};
pub use options::{Alpn, Identity, TlsOptions, TlsSettings, TlsSetupError, Versions};
pub use session::{HandshakeKind, TlsProgress, TlsSession};
pub use share::{ParseShareError, Share};
pub use trust::Trust;

use bakeoff_meter::ErrorClass;
use rustls::{CertificateError, ClientConfig};
use std::sync::Arc;

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
    let resume = match resumption {
        Resumption::Allowed => Share::ALL,
        Resumption::Off => Share::NONE,
    };
    Ok(TlsOptions::new(trust.clone()).resume(resume).load()?.config().clone())
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
