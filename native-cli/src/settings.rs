//! Settings: what names stand for, how values are typed, and the layers that make a run's settings.

pub(crate) mod catalogue;
pub(crate) mod config;
pub(crate) mod keep_snapshots;
pub(crate) mod parse;
pub(crate) mod python;
pub(crate) mod register;
pub(crate) mod request;
pub(crate) mod run_settings;
pub(crate) mod values;
