//! Values of JavaScript.

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

use crate::thrown::{Thrown, misused};

#[wasm_bindgen]
extern "C" {
    /// `console.error`.
    #[wasm_bindgen(js_namespace = console, js_name = error)]
    pub fn console_error(text: &str);
}

/// A plain object, such as `JSON.parse` makes.
pub fn plain(value: &impl Serialize) -> Thrown<JsValue> {
    let serializer = serde_wasm_bindgen::Serializer::json_compatible();
    value.serialize(&serializer).map_err(|e| misused(&format!("a value could not be passed to JavaScript: {e}")))
}

/// Reads a plain object; `what` names it in the error.
pub fn read<T: DeserializeOwned>(what: &str, value: JsValue) -> Thrown<T> {
    serde_wasm_bindgen::from_value(value).map_err(|e| misused(&format!("{what}: {e}")))
}
