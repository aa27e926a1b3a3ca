//! Time. The standard library has no clock in a browser, where `performance.now` counts in steps of up to 100 µs.

use std::time::Duration;

/// A moment, in seconds.
pub(crate) struct Clock(f64);

impl Clock {
    /// Now.
    pub fn start() -> Clock {
        Clock(now())
    }

    /// The time since then.
    pub fn elapsed(&self) -> Duration {
        Duration::from_secs_f64((now() - self.0).max(0.0))
    }
}

/// Seconds since some moment.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn now() -> f64 {
    use std::sync::OnceLock;
    use std::time::Instant;
    static START: OnceLock<Instant> = OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}

/// Seconds since some moment.
#[cfg(target_arch = "wasm32")]
pub(crate) fn now() -> f64 {
    performance_now() / 1e3
}

#[cfg(target_arch = "wasm32")]
#[wasm_bindgen::prelude::wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_namespace = performance, js_name = now)]
    fn performance_now() -> f64;
}
