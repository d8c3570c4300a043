//! HTTP/2: the generator towards servers that keep the protocol, and towards some that do not.
//!
//! [`strangers`] are real servers with records of their own. All others are scripts in frames
//! ([`frames`]): what breaks one stream ([`streams`]), what breaks the connection ([`connection`]), what a
//! server may ask for ([`limits`]), how it takes leave ([`leaving`]), when things happened ([`times`]), and how a
//! connection begins ([`opening`]).

mod connection;
pub(crate) mod frames;
mod leaving;
mod limits;
mod opening;
mod server;
mod strangers;
mod streams;
mod times;
