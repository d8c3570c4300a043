//! Fuzz targets of the measuring side as ordinary tests: over their seeds, and over some thousand mutations of them.
//!
//! Needs neither cargo-fuzz nor a nightly compiler. The same bytes in every run: the seed is fixed. A failing input is
//! written to `target/tmp/fuzz_smoke-TARGET`, to become a seed and a unit test.

#![allow(clippy::print_stdout, reason = "a failing input is shown whole")]
#![allow(clippy::unwrap_used)] // a test that cannot read the seeds has failed

mod engine;
#[path = "../../fuzz/src/lib.rs"]
#[allow(unreachable_pub)] // it is a crate of its own, too
mod targets;

use std::path::{Path, PathBuf};

#[test]
fn reply() {
    smoke("reply");
}

#[test]
fn request() {
    smoke("request");
}

#[test]
fn h2_client() {
    smoke("h2_client");
}

#[test]
fn h2_server() {
    smoke("h2_server");
}

#[test]
fn access_log() {
    smoke("access_log");
}

#[test]
fn plan() {
    smoke("plan");
}

#[test]
fn catalogue() {
    smoke("catalogue");
}

#[test]
fn world() {
    smoke("world");
}

#[test]
fn stamp() {
    smoke("stamp");
}

#[test]
fn judge() {
    smoke("judge");
}

#[test]
fn robots_plan() {
    smoke("robots_plan");
}

#[test]
fn every_target_has_a_binary_and_a_test() {
    engine::assert_complete(&root(), &targets::TARGETS, "tests/fuzz_smoke/main.rs");
}

fn smoke(name: &str) {
    engine::smoke(&root(), &targets::TARGETS, name);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
