//! Raw bindings of the npm package `quickstudy`; `js/` is the API that people use.
//!
//! Values cross as plain objects, numbers that are many as typed arrays. What fails throws an `Error` with a `kind`.
//!
//! In `js/`, an `Engine` does everything on the thread that it is made on. `thread.ts` puts one into a worker behind a
//! proxy of its methods, or on the calling thread: where there are no workers, and for environments that are objects of
//! a page, which cannot leave it. Each run has a worker of its own, policies share one. `Run` steps a session from the
//! caller's side, so that pausing, aborting and saving happen between iterations. WebAssembly has no threads here:
//! shared memory needs headers that most hosts do not send.

#![forbid(unsafe_code)]

mod describe;
mod device;
mod js;
mod js_env;
mod js_executor;
mod policy;
mod scene;
mod session;
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
