//! HTTP/2: the generator against servers that keep the protocol, and against some that do not.
//!
//! [`strangers`] are real servers with records of their own. All others are scripts in frames ([`frames`]): stream
//! errors ([`streams`]), connection errors ([`connection`]), limits that a server may set ([`limits`]), the end of a
//! connection ([`leaving`]), the times of streams ([`times`]), and the beginning of a connection ([`opening`]).

mod connection;
pub(crate) mod frames;
mod leaving;
mod limits;
mod opening;
mod server;
mod strangers;
mod streams;
mod times;
