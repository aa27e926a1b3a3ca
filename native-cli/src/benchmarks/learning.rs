//! Returns after training with presets, and those of a random policy.

use super::stepping::random_return;
use crate::json::bench::Learning;
use crate::json::{ends, finite};
use crate::outcome::Stop;
use crate::settings::register;
use crate::statistics;
use quickstudy_core::backend::Device;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Evaluator, Preset, Session, Setup};
use std::time::Instant;

/// The presets of an algorithm and for an environment, where these are named.
pub(crate) fn presets(algorithm: Option<&str>, env: Option<&EnvPlace>) -> quickstudy_core::Result<Vec<Preset>> {
    let mut all = quickstudy_core::train::presets()?;
    all.retain(|preset| {
        // Others need Python, so that they are measured if they are named.
        env.map_or(preset.is_builtin(), |env| env.spec().name == preset.env)
            && algorithm.is_none_or(|name| name == preset.algorithm)
    });
    Ok(all)
}

/// Trains by a preset with all seeds, and plays so many episodes with the deterministic policy of each.
pub(crate) fn measure(device: &Device, preset: &Preset, seeds: &[u64], episodes: usize) -> Result<Learning, Stop> {
    let start = Instant::now();
    let setup = Setup::resolve(preset.algorithm, register::environment(&preset.env)?, seeds, None, &[])?;
    let mut session = Session::new(device, &setup)?;
    while !session.done() {
        session.step_blocking()?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let mut means = Vec::with_capacity(seeds.len());
    for index in 0..seeds.len() {
        let bytes = pollster::block_on(session.policy_snapshot(index))?;
        let mut policy = Evaluator::load_with(device, register::own(), &bytes)?;
        let ended = pollster::block_on(policy.evaluate(episodes, 1, true))?;
        means.push(statistics::mean(&ended.iter().map(|episode| episode.ret).collect::<Vec<f64>>()));
    }
    let [low, high] = ends(statistics::bootstrap95(&means, statistics::iqm));
    Ok(Learning {
        preset: preset.name.clone(),
        algorithm: preset.algorithm.to_owned(),
        environment: preset.env.to_owned(),
        steps: session.env_steps(),
        seeds: seeds.len(),
        episodes,
        iqm: finite(statistics::iqm(&means)),
        low,
        high,
        lowest: finite(means.iter().copied().fold(f64::INFINITY, f64::min)),
        random: setup.env.device().ok().map(random_return).and_then(finite),
        seconds,
    })
}
