//! See `h2_server` in src/lib.rs.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| bakeoff_fuzz::h2_server(data));
