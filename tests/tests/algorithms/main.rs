//! Algorithms: they learn, resume bit for bit, compute equal results on device and host, and have right gradients.

#![forbid(unsafe_code)]

mod meta;
mod off_policy;
mod on_policy;
mod originals;
mod search;
mod session;
