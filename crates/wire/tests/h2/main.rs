//! HTTP/2 from outside: scripted conversations, fed whole and in pieces, with equal results.

#![allow(clippy::unwrap_used, reason = "helpers of a test")]
#![allow(clippy::print_stdout, reason = "a speed is shown")]

mod both;
mod client;
mod server;
mod speed;
mod support;
mod violations;
