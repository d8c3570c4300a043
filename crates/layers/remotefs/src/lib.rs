//! Remote file system: a server that exports a directory, and a mount of it that is never stale.
//!
//! Measured side. Owns the frames between both ([`frame`]), the promises that let a kernel keep answers ([`lease`]),
//! the [`server`] and the FUSE [`client`]. With credentials both sides prove their identity (TLS, [`stream`]), and a
//! user may do what an access list and the user's chain grant. Without them it listens and connects on this machine
//! and in test networks only ([`network`]). Prints nothing (`layers/cli` does).
//!
//! Guarantee of a mount: no operation returns anything older than any operation anywhere has returned before. A
//! cached answer is used only while the server has promised to say when it ends, and the kernel itself counts that
//! time. Data is at the server when `write` returns, and on its disk when `fsync` returns.

#![forbid(unsafe_code)]

pub mod client;
pub mod frame;
pub mod lease;
pub mod network;
pub mod refusal;
pub mod server;
pub mod stream;
