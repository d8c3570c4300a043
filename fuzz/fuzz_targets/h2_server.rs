//! Fuzz target: runs `h2_server` of src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::h2_server(data));
