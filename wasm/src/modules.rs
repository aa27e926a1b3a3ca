//! Environments of another module of WebAssembly, which is loaded when they are first needed.

use std::cell::RefCell;
use std::sync::Arc;

use quickstudy_core::env::{Module, add_module};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::thrown::{Thrown, thrown};

#[wasm_bindgen]
extern "C" {
    /// The other module, as `js/bodies.ts` wraps it.
    pub type RawModule;

    /// Has a question answered; returns how many words the answer has, of which `reply` gets as many as fit.
    #[wasm_bindgen(method)]
    fn call(this: &RawModule, request: u32, env: u32, words: &[u32], reply: &mut [u32]) -> usize;
}

thread_local! {
    /// The modules of this thread. Handles to environments, which might be sent to others, hold places here.
    static MODULES: RefCell<Vec<RawModule>> = const { RefCell::new(Vec::new()) };
}

/// The place of a module.
struct Added(usize);

impl Module for Added {
    fn call(&self, request: u32, env: u32, words: &[u32], reply: &mut [u32]) -> usize {
        // On another thread there is none: it answers nothing.
        MODULES.with_borrow(|all| all.get(self.0).map_or(0, |module| module.call(request, env, words, reply)))
    }
}

/// Makes the environments of another module known.
///
/// # Errors
/// If it is of another version.
#[wasm_bindgen(js_name = addModule)]
pub fn add(module: RawModule) -> Thrown<()> {
    let place = MODULES.with_borrow_mut(|all| {
        all.push(module);
        all.len() - 1
    });
    add_module(Arc::new(Added(place))).map_err(|error| {
        MODULES.with_borrow_mut(|all| all.truncate(place));
        thrown(error)
    })
}
