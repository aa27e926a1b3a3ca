//! The quickstudy command line.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    quickstudy::cli::main()
}
