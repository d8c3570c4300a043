//! TLS of the generator against the library's own server, in memory, and against nginx: what one side
//! counts the other counts too.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod nginx;
mod offers;
mod resumption;
mod strangers;
mod stream;
mod support;
