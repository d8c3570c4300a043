//! A file system of another host: a server that exports a directory, and a mount of it that is never stale.
//!
//! Measured side. Owns the frames between both ([`frame`]), the promises that let a kernel keep what it was told
//! ([`lease`]), the [`server`] and the FUSE [`client`]. Under
//! credentials both sides prove who they are (TLS, [`stream`]), and who mounts may do what an access list and his chain say. Without
//! any it listens and connects on this machine and in networks that were made for a test, and nowhere else ([`network`]). Prints
//! nothing (`layers/cli` does).
//!
//! What a mount promises: what an operation here returns is no older than what any operation anywhere has returned
//! before. A cached answer is used only while the server has promised to say when it ends, and the kernel itself
//! counts that time. What `write` returned is at the server; what `fsync` returned is on its disk.

#![forbid(unsafe_code)]

pub mod client;
pub mod frame;
pub mod lease;
pub mod network;
pub mod refusal;
pub mod server;
pub mod stream;
