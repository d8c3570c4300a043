//! Credentials tested from outside: valid ones, every attack by the name of its refusal, properties against naive
//! models, and leafs and statements judged by other programs.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod attacks;
mod forger;
mod good;
mod keys;
mod properties;
mod strangers;
mod world;
