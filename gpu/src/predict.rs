//! Predicts the time of a plan on a graphics card by a model of its dispatches, without the card.
//!
//! A dispatch takes as long as what one of its invocations does, one thing after the other. [`Work`] counts that, and a
//! [`Card`] has a time for each [`Cost`]. The model leaves out bandwidth, and arithmetic where there are more
//! invocations than a card runs at once.

use quickstudy_kernels::Result;

use crate::compile;
use crate::limits::KernelLimits;
use crate::plan::Plan;
use crate::wgsl::Part;
use crate::work::{Cost, Work};

/// The times of a device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Card {
    /// Its name.
    pub name: &'static str,
    /// Microseconds of each cost, in the order of [`Cost::ALL`].
    micros: [f64; Cost::ALL.len()],
}

impl Card {
    /// An NVIDIA H100 at 1.755 GHz with Vulkan. The times of dispatches, rollouts and products are solved from measured
    /// iterations (docs/benchmarks/gpu.md); those of scans, tiles and sums are set; barriers and straight multiply-adds
    /// are estimates.
    pub const H100: Card = Card {
        name: "H100",
        micros: [
            5.1,    // launch, drain and cache flush: wgpu puts a barrier after every write
            0.5,    // about 900 cycles, with the first loads after it
            0.15,   // 260 cycles: a barrier, and the first loads after it
            0.0463, // 81 cycles: two loads, one after the other, the loop's bound and its checks
            0.0055, // 10 cycles: loads that overlap, and four sums at once. PPO with 4 × 128 steps then takes 11 ms
            1.0,    // loads that depend on the step before
            0.157,  // 275 cycles: eight loads from the cache at once, then 16 multiply-adds
            0.7,    // loads from the cache and two barriers
            0.3,    // with its barriers
            0.0,
        ],
    };

    /// A laptop with a graphics card (GeForce RTX 4070, 2.475 GHz) with Vulkan, an estimate: a dispatch takes 4 to 5
    /// µs, all else as many cycles as on an H100.
    pub const LAPTOP: Card = Card::H100.scaled("laptop", 4.5, 1.755 / 2.475);

    /// A laptop with a processor's own graphics (2 TFLOP/s, 60 GB/s) in Chromium, an estimate: a dispatch takes 12 to
    /// 18 µs, all else 3 to 6 times as long as on an H100, whose clock is faster and whose caches are larger.
    pub const CHROMIUM: Card = Card::H100.scaled("Chromium", 15.0, 4.5);

    /// The cards that there are times of.
    pub const ALL: [Card; 3] = [Card::H100, Card::LAPTOP, Card::CHROMIUM];

    /// A card whose dispatches take so many microseconds, and all else so many times as long as here.
    const fn scaled(self, name: &'static str, dispatch: f64, factor: f64) -> Card {
        let mut micros = self.micros;
        let mut i = 0;
        while i < micros.len() {
            micros[i] *= factor;
            i += 1;
        }
        micros[Cost::Dispatch as usize] = dispatch;
        Card { name, micros }
    }

    /// Microseconds that one cost of some work takes.
    pub fn micros_of(&self, work: &Work, cost: Cost) -> f64 {
        self.micros[cost as usize] * work[cost] as f64
    }

    /// Microseconds that some work takes.
    pub fn micros(&self, work: &Work) -> f64 {
        Cost::ALL.iter().map(|cost| self.micros_of(work, *cost)).sum()
    }
}

/// A kernel of a compiled plan, or several that run in turn. Those that are alike are one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelWork {
    /// Its operations, each once.
    pub operations: String,
    /// The place in the source that asked for it; none of copies.
    pub origin: Option<String>,
    /// Dispatches of a run.
    pub dispatches: usize,
    /// Workgroups of a dispatch.
    pub workgroups: usize,
    /// One dispatch, with what one invocation does in it.
    pub work: Work,
}

impl KernelWork {
    /// All dispatches of a run.
    pub fn all(&self) -> Work {
        self.work.times(self.dispatches)
    }

    /// Tells whether both differ in the number of dispatches at most.
    fn is_like(&self, other: &KernelWork) -> bool {
        let same = (self.workgroups, self.work) == (other.workgroups, other.work);
        same && self.origin == other.origin && self.operations == other.operations
    }
}

/// The kernels of a plan, in the order of their first use.
///
/// # Errors
/// If a kernel binds more buffers than it may.
pub fn kernels(plan: &Plan, limits: KernelLimits) -> Result<Vec<KernelWork>> {
    let compiled = compile::compile(plan, limits)?;
    let runs = compiled.runs(&compiled.steps.concat());
    let mut found: Vec<KernelWork> = Vec::new();
    for (dispatch, dispatches) in compiled.dispatches.iter().zip(runs).filter(|(_, runs)| *runs > 0) {
        let (operations, origin) = dispatch.described(plan);
        let (workgroups, work) = done(&dispatch.parts);
        let kernel = KernelWork { operations, origin, dispatches, workgroups, work };
        match found.iter_mut().find(|other| other.is_like(&kernel)) {
            Some(other) => other.dispatches += dispatches,
            None => found.push(kernel),
        }
    }
    Ok(found)
}

/// The workgroups of a dispatch, and what an invocation does in it: where kernels run in turn, one workgroup does what
/// several would.
fn done(parts: &[Part]) -> (usize, Work) {
    let mut work = Work::default().with(Cost::Dispatch, 1).with(Cost::Barrier, parts.len() - 1);
    if let [part] = parts {
        work += part.body.work;
        return (part.body.groups, work);
    }
    parts.iter().for_each(|part| work += part.body.work.times(part.body.groups));
    (1, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Iterations that were measured on an H100 (docs/benchmarks/gpu.md), in milliseconds, and what they did then:
    /// dispatches, iterations of rollouts, steps of scans, iterations of products, of tiles and of sums, as
    /// `quickstudy bench training --device gpu --predict --json` counted at eight buffers per kernel. Each kernel
    /// had a dispatch of its own, and products of rollouts were loops.
    const MEASURED: [(f64, [usize; 6]); 6] = [
        (35.70, [677, 595_200, 256, 10_484, 516, 502]),
        (19.52, [677, 148_800, 64, 35_060, 1284, 1401]),
        (22.91, [888, 148_800, 64, 18_676, 772, 1686]),
        (270.9, [3124, 4_743_168, 2048, 47_427, 1540, 1552]),
        (226.7, [1316, 4_612_096, 2048, 37_187, 1540, 1552]),
        (78.1, [9511, 0, 0, 140_700, 7300, 5700]),
    ];

    #[test]
    fn measured_iterations_are_predicted() {
        let costs = [Cost::Dispatch, Cost::Rollout, Cost::Scan, Cost::Product, Cost::Tile, Cost::Sum];
        for (i, (measured, counts)) in MEASURED.into_iter().enumerate() {
            let work = costs.iter().zip(counts).fold(Work::default(), |work, (cost, count)| work.with(*cost, count));
            let predicted = Card::H100.micros(&work) / 1e3;
            // CartPole with 2048 environments takes longer, by what the model leaves out.
            let error = if i == 2 { 0.35 } else { 0.15 };
            assert!((predicted / measured - 1.0).abs() < error, "{i}: {predicted} ms, {measured} ms measured");
        }
    }

    #[test]
    fn straight_products_take_what_their_estimate_says() {
        // PPO with 4 × 128 steps on CartPole: of an iteration's 35.7 ms stay those of dispatches, tiles, scans and sums
        // (4.2 ms), what the model leaves out (2.3), and a tenth of the products' 1.6. In rollouts, 4480 of a step's
        // 4650 iterations are multiply-adds.
        let step = Work::default().with(Cost::Straight, 4480).with(Cost::Rollout, 170);
        let milliseconds = Card::H100.micros(&step.times(128)) / 1e3 + 4.2 + 2.3 + 0.16;
        assert!((milliseconds - 11.0).abs() < 0.3, "{milliseconds}");
    }
}
