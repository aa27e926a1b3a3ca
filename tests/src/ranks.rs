//! Ranks that are threads of a test.

use std::rc::Rc;

use quickstudy_core::Device;
use quickstudy_core::backend::ThreadRanks;

/// Gives what each of `count` ranks makes of its device, which has one thread.
///
/// # Panics
/// If one of them does.
pub fn each<T: Send>(count: usize, f: impl Fn(&Device) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let one = |ranks: ThreadRanks| {
            let f = &f;
            scope.spawn(move || f(&Device::cpu(1).among(Rc::new(ranks))))
        };
        let threads: Vec<_> = ThreadRanks::team(count).into_iter().map(one).collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}
