//! TLS of the generator against the library's own server, in memory, and against nginx: both sides count the same.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod nginx;
mod offers;
mod resumption;
mod strangers;
mod stream;
mod support;
