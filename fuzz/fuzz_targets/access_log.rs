//! Fuzz target: runs `access_log` of src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::access_log(data));
