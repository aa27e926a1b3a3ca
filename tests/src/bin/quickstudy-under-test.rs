//! The command line as a program of this package, so that tests can run it in processes of its own.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    // The process ends there as if it was killed; see `native-cli/src/files/disk.rs`.
    if let Some(point) = std::env::var("QUICKSTUDY_TEST_ABORT_AT").ok().and_then(|point| point.parse().ok()) {
        quickstudy::internals::abort_at(point);
    }
    // What a program of one's own adds to the command line.
    match std::env::var_os(quickstudy_tests::every::ADD) {
        Some(_) => quickstudy::cli::main_with(Vec::new(), vec![&quickstudy_tests::every::RANKED_SEARCH]),
        None => quickstudy::cli::main(),
    }
}
