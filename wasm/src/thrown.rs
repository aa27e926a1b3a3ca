//! Errors as JavaScript sees them.

use quickstudy_core::Error;
use wasm_bindgen::prelude::JsValue;

/// Result of what JavaScript calls.
pub type Thrown<T> = Result<T, JsValue>;

/// The stable code of each kind of error.
pub fn code(error: &Error) -> &'static str {
    match error {
        Error::Config { .. } => "config",
        Error::Unknown { .. } => "unknown",
        Error::Snapshot(_) | Error::NewerSnapshot { .. } => "snapshot",
        Error::Environment { .. } => "environment",
        Error::Device(_) => "device",
        Error::Lost(_) => "device-lost",
        Error::NonFinite(_) => "non-finite",
        Error::Memory(_) => "memory",
        _ => "internal",
    }
}

/// An `Error` with a `code`, and with the setting or name that was wrong.
pub fn thrown(error: Error) -> JsValue {
    let message = match error {
        Error::Unknown { suggestion: None, .. } => format!("{error}; `catalogue()` has all names"),
        _ => error.to_string(),
    };
    let object = with_code(code(&error), &message);
    match error {
        Error::Config { key, .. } => set(&object, "key", &key.into()),
        Error::Unknown { name, suggestion, .. } => {
            set(&object, "unknownName", &name.into());
            set(&object, "suggestion", &suggestion.into());
        }
        _ => {}
    }
    object
}

/// An `Error` for a call that cannot be meant.
pub fn misused(message: &str) -> JsValue {
    with_code("config", message)
}

fn with_code(code: &str, message: &str) -> JsValue {
    let object = JsValue::from(js_sys::Error::new(message));
    set(&object, "code", &code.into());
    object
}

/// Adds a property; an `Error` takes any.
pub fn set(object: &JsValue, name: &str, value: &JsValue) {
    _ = js_sys::Reflect::set(object, &name.into(), value);
}
