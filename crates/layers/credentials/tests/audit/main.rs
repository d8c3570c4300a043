//! The audit log under attack, and replayed. What is wrong is found, where it is, and nothing else.

#![allow(clippy::unwrap_used)] // a world that cannot be made has failed the test

mod chain;
mod replay;
mod world;
