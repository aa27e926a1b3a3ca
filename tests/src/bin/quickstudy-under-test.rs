//! The command line as a program of this package, so that tests can run it in processes of its own.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    quickstudy::cli::main()
}
