#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| (quickstudy_tests::inputs::target("run-folder").read)(input));
