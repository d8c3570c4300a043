//! Fuzz target: runs `remotefs_frame` of src/layers.rs.
#![no_main]

#[path = "../src/layers.rs"]
mod layers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| layers::remotefs_frame(data));
