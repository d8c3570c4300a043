//! HTTP/2 (RFC 9113): bytes to messages and back, for client and server, without I/O.
//!
//! Both sides of the wall. Hot, fed by strangers: nothing here panics, allocates without a bound or
//! trusts a length. Owns framing, streams, windows and header compression; knows nothing of sockets,
//! workloads or whether a status is welcome. Prior knowledge or ALPN is for the caller to settle.

pub mod frame;
pub mod hpack;

pub use frame::ErrorCode;
