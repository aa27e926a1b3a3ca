//! Raw bindings of the npm package `quickstudy`; `js/` is the API that people use.
//!
//! Values cross as plain objects, numbers that are many as typed arrays. What fails throws an `Error` with a `code`.

#![forbid(unsafe_code)]

mod describe;
mod device;
mod js;
mod js_env;
mod js_executor;
mod policy;
mod scene;
mod session;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod settings_ts;
mod thrown;
mod viewer;

use wasm_bindgen::prelude::wasm_bindgen;

/// The version of the package.
#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Sends the messages of panics to the console: the trap that follows says nothing.
#[wasm_bindgen(start)]
pub fn start() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|info| js::console_error(&format!("quickstudy failed, please report it: {info}"))));
}
