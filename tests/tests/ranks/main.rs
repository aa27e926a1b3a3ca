//! Several ranks, started by the launcher of a real MPI.

#![forbid(unsafe_code)]

mod divided;
mod ends;
mod launcher;
mod together;
