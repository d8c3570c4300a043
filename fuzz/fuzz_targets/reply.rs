//! Fuzz target: runs `reply` of src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::reply(data));
