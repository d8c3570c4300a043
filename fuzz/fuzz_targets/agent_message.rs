//! Fuzz target: runs `agent_message` of src/layers.rs.
#![no_main]

#[path = "../src/layers.rs"]
mod layers;

libfuzzer_sys::fuzz_target!(|data: &[u8]| layers::agent_message(data));
