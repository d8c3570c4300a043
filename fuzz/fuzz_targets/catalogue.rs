//! Fuzz target: runs `catalogue` of src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::catalogue(data));
