//! Fuzz target: runs `police_head` of src/layers.rs.
#![no_main]

#[path = "../src/layers.rs"]
mod layers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| layers::police_head(data));
