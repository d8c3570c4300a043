//! Fuzz targets of the layers as ordinary tests; `main.rs` beside does the same for the measuring side. Two test
//! programs, as nothing may link both sides of the wall.

#![allow(clippy::print_stdout, reason = "a failing input is shown whole")]
#![allow(clippy::unwrap_used)] // a test that cannot read the seeds has failed

mod engine;
#[path = "../../fuzz/src/layers.rs"]
#[allow(unreachable_pub)] // the fuzz targets use it, too
mod targets;

use std::path::{Path, PathBuf};

#[test]
fn manifest() {
    smoke("manifest");
}

#[test]
fn vault() {
    smoke("vault");
}

#[test]
fn mac_policy() {
    smoke("mac_policy");
}

#[test]
fn mac_audit() {
    smoke("mac_audit");
}

#[test]
fn police_rules() {
    smoke("police_rules");
}

#[test]
fn police_head() {
    smoke("police_head");
}

#[test]
fn credentials() {
    smoke("credentials");
}

#[test]
fn remotefs_frame() {
    smoke("remotefs_frame");
}

#[test]
fn agent_message() {
    smoke("agent_message");
}

#[test]
fn audit_segment() {
    smoke("audit_segment");
}

#[test]
fn every_target_has_a_binary_and_a_test() {
    engine::assert_complete(&root(), &targets::TARGETS, "tests/fuzz_smoke/layers.rs");
}

fn smoke(name: &str) {
    engine::smoke(&root(), &targets::TARGETS, name);
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}
