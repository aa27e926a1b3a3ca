//! The quickstudy command line, as a library so that tests, benches and examples use the same parts.
//!
//! Each verb is one file in [`cmd`]; everything that touches files, clocks, signals or the terminal lives here and
//! not in `quickstudy-core`.

#![forbid(unsafe_code)]

pub mod activity;
pub mod adaptation_plot;
pub mod agreement;
pub mod args;
pub mod atomic;
pub mod axis_words;
pub mod band;
pub mod choose;
pub mod cli;
pub mod cmd;
pub mod columns;
pub mod comparison;
pub mod config;
pub mod controls;
pub mod curve;
pub mod device;
pub mod disk;
pub mod engine;
pub mod experiments;
pub mod fits;
pub mod gif;
pub mod gpus;
pub mod history;
pub mod jobs;
pub mod json;
pub mod keep;
pub mod kept;
pub mod kinds;
pub mod known;
pub mod lettering;
pub mod markup;
pub mod memory;
pub mod meta_test;
pub mod metrics;
pub mod numerals;
pub mod onnx;
pub mod outcome;
pub mod output;
pub mod particles;
pub mod picture_file;
pub mod plan;
pub mod planned;
pub mod progress;
pub mod provenance;
pub mod python;
pub mod quote;
pub mod ranks;
pub mod raster;
pub mod recording;
pub mod recover;
pub mod report;
pub mod run;
pub mod run_folder;
pub mod run_settings;
pub mod scene_picture;
pub mod score;
pub mod segments;
pub mod sheet;
pub mod signals;
pub mod stats;
pub mod study;
pub mod sweep;
pub mod tfevents;
pub mod ticker;
pub mod warm_start;
pub mod watch;
