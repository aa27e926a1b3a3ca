//! Time, where there is a clock: the standard library has none in a browser.

use std::time::Duration;

/// A moment.
pub(crate) struct Clock {
    #[cfg(not(target_arch = "wasm32"))]
    began: std::time::Instant,
}

impl Clock {
    /// Now.
    pub fn start() -> Clock {
        Clock {
            #[cfg(not(target_arch = "wasm32"))]
            began: std::time::Instant::now(),
        }
    }

    /// The time since then; zero in a browser.
    pub fn elapsed(&self) -> Duration {
        #[cfg(not(target_arch = "wasm32"))]
        return self.began.elapsed();
        #[cfg(target_arch = "wasm32")]
        Duration::ZERO
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

/// Seconds since some moment: the standard library has no clock in a browser.
#[cfg(target_arch = "wasm32")]
pub(crate) fn now() -> f64 {
    js_sys::Date::now() / 1e3
}
