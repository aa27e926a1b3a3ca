//! Settings: what names stand for, how values are typed, and the layers that make a run's settings.

pub mod config;
pub mod keep_snapshots;
pub mod meta_test;
pub mod parse;
pub mod preset_origin;
pub mod python;
pub mod register;
pub mod request;
pub mod run_settings;
pub mod values;
