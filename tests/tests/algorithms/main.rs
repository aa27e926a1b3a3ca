//! Algorithms: they learn, resume bit for bit, give the same on device and host, and their gradients are right.

#![forbid(unsafe_code)]

mod meta;
mod off_policy;
mod on_policy;
mod search;
mod session;
