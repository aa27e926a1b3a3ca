//! Bodies and machines as a module of WebAssembly of their own: `bodies.wasm` in the npm package.
//!
//! The package's main module asks this one for environments, as words in the memory of each (`quickstudy_core::env`,
//! `Module` and `Guest`); `wasm/js/bodies.ts` copies them from one to the other. It imports nothing.
#![allow(unsafe_code, reason = "exports have names that are not mangled")]

use std::cell::RefCell;

use quickstudy_core::env::Guest;

thread_local! {
    /// The environments, and room for a question.
    static GUEST: RefCell<(Guest, Vec<u32>)> = RefCell::default();
    /// Where the last answer begins.
    static ANSWER: RefCell<*const u32> = const { RefCell::new(std::ptr::null()) };
}

/// Makes room for a question of so many words, and tells where it is.
#[unsafe(no_mangle)]
pub extern "C" fn room(words: usize) -> *mut u32 {
    GUEST.with_borrow_mut(|(_, room)| {
        room.resize(words, 0);
        room.as_mut_ptr()
    })
}

/// Answers the question that lies in the room, and tells how many words the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn call(request: u32, env: u32) -> usize {
    GUEST.with_borrow_mut(|(guest, room)| {
        let answer = guest.call(request, env, room);
        ANSWER.replace(answer.as_ptr());
        answer.len()
    })
}

/// Where the last answer lies.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u32 {
    ANSWER.with_borrow(|answer| *answer)
}
