//! TLS of the generator: what is offered to servers, the results of handshakes, and the error classes of TLS failures.
//!
//! Measuring side, hot in [`session`] alone. No socket: bytes come in, bytes go out. Options are plain
//! data ([`options`]), loaded once ([`TlsOptions::load`]); from then on every worker has a [`TlsClient`] of
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
pub use options::{
    Alpn, ClientIdentity, ParseVersionError, TlsOptions, TlsSettings, TlsSetupError, Versions,
};
pub use session::{HandshakeKind, TlsProgress, TlsSession};
pub use share::{ParseShareError, Share};
pub use trust::Trust;

use bakeoff_meter::ErrorClass;
use rustls::CertificateError;

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
