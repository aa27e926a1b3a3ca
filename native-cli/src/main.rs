//! The quickstudy command line.

fn main() -> std::process::ExitCode {
    quickstudy::cli::main()
}
