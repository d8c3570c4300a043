//! Audit log under attack, and replayed. Every fault is found at its place, and nothing else.

#![allow(clippy::unwrap_used)] // a world that cannot be made has failed the test

mod chain;
mod replay;
mod world;
