//! Credentials from outside: what is good, every attack by the name of its refusal, properties against naive models, and
//! what strangers say of leafs and statements.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed
#![allow(clippy::print_stdout, reason = "a test that is skipped says so")]

mod attacks;
mod forger;
mod good;
mod keys;
mod properties;
mod strangers;
mod world;
