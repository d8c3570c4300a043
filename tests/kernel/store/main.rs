//! The store on a real kernel: `bakeoff-layers store` from outside, its mounts, and attacks on them.
//!
//! Needs root and /dev/fuse; each test has a tree, a vault and a mount point of its own under the temporary
//! directory, and removes the mount, also when it fails.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

mod attacks;
mod daemon;
mod ends;
mod gocryptfs;
mod reading;
mod releasing;
mod stepped;
mod support;
