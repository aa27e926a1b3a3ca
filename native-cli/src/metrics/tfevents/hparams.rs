//! Events for TensorBoard's plugin `hparams`, which shows the settings of runs beside their last metrics.
//!
//! Field numbers are those of the plugin's `plugin_data.proto` and of `google.protobuf.Value`. Each event is a summary
//! whose metadata holds all; its tensor has no numbers. There is no event about the *experiment*: the plugin believes
//! the first one that it finds in any run, and hides settings that runs of other algorithms have besides. Without one
//! it gathers settings and metrics from all runs.

use super::{BYTES, FIXED64, VARINT, bytes_field, event, key, record, varint};
use toml::{Table, Value};

/// The event that a session with these settings began.
pub(crate) fn session_start(out: &mut Vec<u8>, wall_time: f64, settings: &Table) {
    let mut info = Vec::new();
    for (name, value) in settings {
        let mut entry = Vec::new();
        bytes_field(&mut entry, 1, name.as_bytes());
        bytes_field(&mut entry, 2, &value_of(value));
        bytes_field(&mut info, 1, &entry);
    }
    double(&mut info, 5, wall_time);
    plugin_event(out, wall_time, "_hparams_/session_start_info", 3, &info);
}

/// The event that a session has ended with success.
pub(crate) fn session_end(out: &mut Vec<u8>, wall_time: f64) {
    let mut info = Vec::new();
    key(&mut info, 1, VARINT);
    varint(&mut info, 1); // STATUS_SUCCESS
    double(&mut info, 2, wall_time);
    plugin_event(out, wall_time, "_hparams_/session_end_info", 4, &info);
}

/// A `google.protobuf.Value`. The plugin takes numbers, truth values and texts; anything else is the text of a file.
fn value_of(value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    match value {
        #[allow(clippy::cast_precision_loss)] // the format holds f64
        Value::Integer(number) => double(&mut out, 2, *number as f64),
        Value::Float(number) => double(&mut out, 2, *number),
        Value::Boolean(truth) => {
            key(&mut out, 4, VARINT);
            varint(&mut out, u64::from(*truth));
        }
        Value::String(text) => bytes_field(&mut out, 3, text.as_bytes()),
        other => bytes_field(&mut out, 3, other.to_string().as_bytes()),
    }
    out
}

/// An event whose plugin data has this field.
fn plugin_event(out: &mut Vec<u8>, wall_time: f64, tag: &str, field: u64, info: &[u8]) {
    let mut content = Vec::new();
    bytes_field(&mut content, field, info);
    let mut plugin = Vec::new();
    bytes_field(&mut plugin, 1, b"hparams");
    bytes_field(&mut plugin, 2, &content);
    let mut metadata = Vec::new();
    bytes_field(&mut metadata, 1, &plugin);

    let mut tensor = Vec::new();
    key(&mut tensor, 1, VARINT);
    varint(&mut tensor, 1); // DT_FLOAT
    bytes_field(&mut tensor, 2, &[BYTES as u8 | 2 << 3, 0]); // shape: one dimension, of size 0

    let mut entry = Vec::new();
    bytes_field(&mut entry, 1, tag.as_bytes());
    bytes_field(&mut entry, 8, &tensor);
    bytes_field(&mut entry, 9, &metadata);
    let mut summary = Vec::new();
    bytes_field(&mut summary, 1, &entry);
    let mut event = event(wall_time, 0);
    bytes_field(&mut event, 5, &summary);
    record(out, &event);
}

fn double(out: &mut Vec<u8>, field: u64, value: f64) {
    key(out, field, FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}
