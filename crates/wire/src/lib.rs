//! Protocol grammar for client and server: bytes to messages and back, without I/O.
//!
//! Both sides of the wall. Owns HTTP/1.1, HTTP/2, the stamps in their messages, the origin's report of what it has
//! sent, the messages by which the parts of a run agree, the formats of access logs, and the processing of TLS records
//! by the TLS library. One parser on both sides could hide a bug from itself, which is why both roles are also run
//! against curl, wrk, ab, nginx and Apache.

#![forbid(unsafe_code)]

pub mod access_log;
pub mod digits;
pub mod h2;
pub mod http1;
pub mod parts;
pub mod stamp;
pub mod tally;
pub mod tls;
