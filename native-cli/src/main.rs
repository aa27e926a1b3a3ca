//! The quickstudy command line.
fn main() {}
