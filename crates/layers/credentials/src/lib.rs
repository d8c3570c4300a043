//! Credentials: identity, delegated rights and access decisions of principals, after CRISIS, in COSE statements and
//! short-lived X.509 leafs.
//!
//! Measured side, pure: bytes come in, an answer or a named refusal goes out. Owns names, statements, leafs, trust
//! bundles, chains of transfers and access lists. Opens no socket and no file and reads no clock: the caller passes
//! the time as seconds since 1970. The only crate beside `base` that other layers may use.

#![forbid(unsafe_code)]

pub mod acl;
pub mod audit;
pub mod bundle;
pub mod cbor;
mod der;
pub mod grant;
pub mod hello;
pub mod key;
pub mod leaf;
pub mod name;
pub mod notice;
pub mod operation;
pub mod path;
mod refusal;
mod revoked;
pub mod statement;
pub mod tls;
mod verify;

pub use refusal::CredentialRefusal;
pub use revoked::{Item, Revoked};
pub use verify::{MOST_SKEW_S, verify, verify_node};
