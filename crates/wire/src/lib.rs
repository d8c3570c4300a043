//! Bytes to messages and back, for both roles, without I/O.
//!
//! Both sides of the wall. Owns protocol grammar: HTTP/1.1, HTTP/2, the stamps in their
//! messages, what an origin says it has sent, how the parts of a run agree, the formats of access logs, and how records
//! of TLS go through the library that makes them. One
//! parser on both sides could hide a bug from itself, which is why both roles are also run against
//! curl, wrk, ab, nginx and Apache.

#![forbid(unsafe_code)]

pub mod access_log;
pub mod digits;
pub mod h2;
pub mod http1;
pub mod parts;
pub mod stamp;
pub mod tally;
pub mod tls;
