//! The origin in conversation: raw sockets that send bytes of a script, and other projects' clients.
//!
//! A test has 20 seconds; a longer wait counts as a hang.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod burning;
mod connections;
mod endings;
mod http2;
mod replies;
mod requests;
mod strangers;
mod support;
mod thinking;
mod tls;
mod world;
