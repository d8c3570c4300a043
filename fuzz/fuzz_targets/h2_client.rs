//! Fuzz target: runs `h2_client` of src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::h2_client(data));
