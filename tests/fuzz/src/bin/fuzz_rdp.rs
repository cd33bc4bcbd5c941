//! `fuzz::rdp` under libFuzzer.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| pipeline_fuzz::rdp(bytes));
