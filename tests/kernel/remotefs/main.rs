//! Remote file system on a real kernel: a server and two mounts of it, attacks on both, and their deaths.
//!
//! Needs root and /dev/fuse; each test has an export, a server on a port of its own and mount points under the
//! temporary directory, and removes everything, also when it fails.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

mod caches;
mod clocks;
mod commands;
mod cost;
mod crowds;
mod cuts;
#[path = "../store/daemon.rs"]
mod daemon;
mod ends;
mod failures;
mod first;
mod frames;
mod hosts;
mod litmus;
mod local;
mod paths;
mod principals;
mod programs;
mod relay;
mod revocation;
mod rootless;
mod sessions;
mod support;
mod transport;
mod world;
#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../credentials/support.rs"]
mod yard;
