//! Iterations that are traced: of one algorithm, or of variants that are rows of one program.

use super::Held;
#[cfg(not(target_arch = "wasm32"))]
use super::Together;
use super::algorithm::Algorithm;
use super::row_algorithms::RowAlgorithms;
#[cfg(not(target_arch = "wasm32"))]
use crate::Program;
use crate::host::EnvPlace;
use crate::learn::Metrics;
use crate::optim::Progress;
use crate::play::{HostAct, Iteration, schedule_entry};
use crate::program::{Context, RowNumbers, Segments};
use crate::{DType, Device, Error, Result};

/// The iterations of a stage, compiled.
#[derive(Debug)]
pub(super) struct Traced {
    pub segments: Segments,
    /// Names of the metrics.
    pub names: Vec<String>,
    /// The numbers that each row has its own values of, where rows are of several variants.
    pub numbers: Option<RowNumbers>,
}

/// Tells whether each of this number of stacked seeds has its own values of schedules.
pub(super) fn by_seed(algorithm: &dyn Algorithm, seeds: usize) -> bool {
    seeds > 1 && algorithm.counts_steps()
}

/// Traces and compiles the iterations of all stages, with the host's part in each. Whole episodes have room for `room`
/// steps, if it is limited.
pub(super) fn trace_all(
    device: &Device,
    rows: &RowAlgorithms,
    place: &EnvPlace,
    room: Option<usize>,
) -> Result<(Vec<Traced>, Vec<Vec<HostAct>>)> {
    let (mut traced, mut acts) = (Vec::new(), Vec::new());
    for stage in 0..rows.first().stages().max(1) {
        let (one, of_stage) = if rows.differ() {
            (trace_variants(device, rows, stage, place)?, Vec::new())
        } else {
            let (mut names, mut of_stage) = (Vec::new(), Vec::new());
            let (algorithm, seeds) = (&**rows.first(), rows.rows());
            let by_seed = by_seed(algorithm, seeds);
            let trace = |cx: &mut Context| {
                (names, of_stage) = trace((cx, device), algorithm, (stage, room), place, (seeds, by_seed));
            };
            let segments = Segments::new(device, trace)?;
            (Traced { segments, names, numbers: None }, of_stage)
        };
        traced.push(one);
        acts.push(of_stage);
    }
    Ok((traced, acts))
}

/// Traces and compiles the iterations of a stage where rows have algorithms of their own.
#[cfg(not(target_arch = "wasm32"))]
fn trace_variants(device: &Device, rows: &RowAlgorithms, stage: usize, place: &EnvPlace) -> Result<Traced> {
    let mut names: Vec<Vec<String>> = Vec::new();
    let (segments, numbers) = Segments::joined(device, [rows.rows(), rows.variants.len()], &mut |variant, cx| {
        names.push(trace_variant((cx, device), rows, (variant, stage), place));
    })?;
    Ok(Traced { segments, names: names.swap_remove(0), numbers: Some(numbers) })
}

/// Traces an iteration of one variant, in all rows. Scalars become numbers of the rows, whether seeds may be apart or
/// not.
#[cfg(not(target_arch = "wasm32"))]
fn trace_variant(
    cx: (&mut Context, &Device),
    rows: &RowAlgorithms,
    (variant, stage): (usize, usize),
    place: &EnvPlace,
) -> Vec<String> {
    trace(cx, &*rows.variants[variant], (stage, None), place, (rows.rows(), false)).0
}

/// Checks that variants can be rows of one program: that their iterations differ in numbers alone.
///
/// # Errors
/// [`Error::Program`] that says where they differ.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn check_variants(rows: &RowAlgorithms, place: &EnvPlace) -> Result<()> {
    // Policies that act on the host have programs of their own, which are made on some device and dropped.
    let device = Device::cpu(1);
    for stage in 0..rows.first().stages().max(1) {
        Program::join(rows.variants.len(), rows.rows(), &mut |variant, cx| {
            trace_variant((cx, &device), rows, (variant, stage), place);
        })?;
    }
    Ok(())
}

/// A page trains one setting at a time, and the joining of variants would only make it larger.
#[cfg(target_arch = "wasm32")]
fn trace_variants(_: &Device, _: &RowAlgorithms, _: usize, _: &EnvPlace) -> Result<Traced> {
    Err(Error::Program("variants of an algorithm are not trained together here".to_owned()))
}

/// Traces an iteration of a stage. Gives the names of its metrics, and the host's part.
pub(super) fn trace(
    (cx, device): (&mut Context, &Device),
    algorithm: &dyn Algorithm,
    (stage, room): (usize, Option<usize>),
    place: &EnvPlace,
    (seeds, by_seed): (usize, bool),
) -> (Vec<String>, Vec<HostAct>) {
    let held = Held::declare(cx, &algorithm.entries(place.state_len()), seeds);
    let number = cx.scalar_u32("iteration");
    let words = held.get("key");
    let scheduled = by_seed.then(|| {
        let names = algorithm.scalars(Progress::default()).into_iter().map(|(name, _)| name);
        names.map(|name| (name, cx.state(&schedule_entry(name), &[seeds, 1], DType::F32))).collect()
    });
    let words = [words.slice(1, 0, 1), words.slice(1, 1, 2)];
    let mut it = Iteration::new(cx, place, words, number).of_stage(stage).with_room(room).acting_on(device);
    if let Some(scheduled) = scheduled {
        it = it.scheduled_by_seed(scheduled);
    }
    let metrics = algorithm.iteration(&mut it, &held);
    metrics.check(seeds);
    #[cfg(not(target_arch = "wasm32"))]
    let metrics = match it.ranks() > 1 && algorithm.together() == Together::Gradients {
        true => metrics.of_ranks(it.context(), seeds),
        false => metrics,
    };
    let (names, metrics) = metrics.joined();
    if names.iter().any(|name| name == Metrics::STEPS) != algorithm.counts_steps() {
        let problem = "an iteration reports `env_steps` if `Algorithm::counts_steps` is true, and only then";
        crate::tensor::fail(Error::Program(problem.to_owned()));
    }
    let acts = it.into_acts();
    cx.output("metrics", metrics);
    (names, acts)
}
