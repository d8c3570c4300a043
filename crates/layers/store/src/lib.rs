//! Store: a sealed, encrypted, read-only image of a tree in one file, and its mount.
//!
//! Measured side. Sealing and verifying are cold; [`Vault::read`] and [`mount`] are hot, except for files in the
//! kernel's page cache. Owns the vault's format, its keys below the store key, and the FUSE daemon. Does not decide
//! who gets the store key (`bakeoff-layers-base`, release) and does not print (`layers/cli` does).
//!
//! Guarantees of a vault: a reader with the store key reads exactly the sealed bytes, or gets EIO. Without the key
//! one sees the total size rounded up, the vault's id, its sequence number and which vaults share a key; no names, no
//! sizes, no contents. An older vault as a whole is a valid vault: only the sequence number that the release
//! remembers tells it from the newest.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod aligned;
mod cipher;
pub mod gocryptfs;
mod layout;
pub mod mount;
mod refusal;
pub mod seal;
mod source;
mod tree;
mod vault;
mod verify;

pub use layout::{BlockSize, FileHeader, HeaderError};
pub use refusal::{OpenError, ReadRefusal};
pub use source::Caching;
pub use tree::{Node, NodeId, NodeKind, Tree, TreeError};
pub use vault::{Contents, Vault, summary};
pub use verify::{Damage, verify};
