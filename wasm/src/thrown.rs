//! Errors as JavaScript sees them.

use quickstudy_core::Error;
use wasm_bindgen::prelude::JsValue;

/// Result of what JavaScript calls.
pub type Thrown<T> = Result<T, JsValue>;

/// An `Error` with its [`kind`](Error::kind), and with the setting or name that was wrong.
pub fn thrown(error: Error) -> JsValue {
    let message = match error {
        Error::Unknown { suggestion: None, .. } => format!("{error}; `catalogue()` has all names"),
        _ => error.to_string(),
    };
    let object = with_kind(error.kind(), &message);
    match error {
        Error::Config { key, .. } => set(&object, "key", &key.into()),
        Error::ManyTasks(_) => set(&object, "key", &"env".into()),
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
    with_kind("config", message)
}

fn with_kind(kind: &str, message: &str) -> JsValue {
    let object = JsValue::from(js_sys::Error::new(message));
    set(&object, "kind", &kind.into());
    object
}

/// Adds a property; an `Error` takes any.
pub fn set(object: &JsValue, name: &str, value: &JsValue) {
    _ = js_sys::Reflect::set(object, &name.into(), value);
}
