//! Agents and holders of credentials: domain administration, the on-line agent that counter-signs names for hours,
//! and sessions.
//!
//! Measured side. Owns the files and sockets around `credentials`, which has neither: the directory of a domain's
//! administrator ([`authority`]), those of trust bundles ([`trust`]), the on-line agent ([`server`]) with its
//! protocol ([`message`], [`client`]), and a holder's [`session`]. Decides nothing about served files. Prints nothing
//! (`layers/cli` does).

#![forbid(unsafe_code)]

pub mod authority;
mod channel;
pub mod client;
mod files;
pub mod message;
pub mod refusal;
pub mod role;
mod roll;
pub mod server;
pub mod session;
pub mod trust;

pub use files::{FileError, item, read, read_public_key, read_secret_key, write, write_secret_key};
