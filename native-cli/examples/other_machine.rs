//! Plays saved policies on machines that they were not trained on.
//!
//! `other_machine EPISODES SNAPSHOT… -- ENV…` prints a line for each environment: the mean return of all policies, the
//! return of each, and how many episodes of a Qube end with a second in which its pole is within 10° of upright. All
//! play from the same first states, by their deterministic actions.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use quickstudy_core::Device;
use quickstudy_core::env::builtin;
use quickstudy_core::host::{EnvPlace, FleetSize, HostPath, MetaSampler, Wrapped};
use quickstudy_core::rng::key_from_seed;
use quickstudy_core::train::Evaluator;

type Outcome<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// Returns of episodes, and how many end upright.
struct Played {
    returns: Vec<f64>,
    upright: usize,
}

fn play(policy: &Evaluator, name: &str, episodes: usize) -> Outcome<Played> {
    let env = builtin(name)?;
    if !env.spec().task.is_empty() {
        return Err(format!("{name} has a machine for each task, and not one").into());
    }
    let made = env.clone();
    let place = EnvPlace::of_envs(move |_| Ok(Box::new(Wrapped::new(&made))))?;
    let EnvPlace::Host(host) = place else { return Err("environments are not on the host".into()) };
    let size = FleetSize { tasks: 1, envs_per_task: episodes, horizon: env.spec().horizon };
    let executor = host.executor(size)?;
    let fleet = executor.fleet().clone();
    let mut sampler = MetaSampler::episodes(executor, 1);
    let key = key_from_seed(7);
    let samples = pollster::block_on(async {
        let mut actor = policy.actor(&fleet, true).await?;
        sampler.obtain(&mut *actor, &[key]).await
    })?;
    let seen = env.spec().observation.len();
    let cos = env.spec().observation.iter().position(|dim| dim.name == "cos_alpha");
    let second = (1.0 / env.spec().dt).round() as usize;
    let stands = |path: &&HostPath| {
        let Some(cos) = cos else { return false };
        let last: Vec<f64> = path.observations.chunks(seen).map(|row| row[cos]).collect();
        let whole = path.rewards.len() == env.spec().horizon;
        whole && last[last.len() - second..].iter().all(|cos| -cos >= 10_f64.to_radians().cos())
    };
    let upright = samples.paths().filter(stands).count();
    Ok(Played { returns: samples.paths().map(|path| path.rewards.iter().sum()).collect(), upright })
}

fn run(args: &[String]) -> Outcome<()> {
    let usage = "other_machine EPISODES SNAPSHOT… -- ENV…";
    let [episodes, rest @ ..] = args else { return Err(usage.into()) };
    let (snapshots, envs) = rest.split_at(rest.iter().position(|arg| arg == "--").ok_or(usage)?);
    let load = |path: &String| Outcome::Ok(Evaluator::load(&Device::cpu(1), &std::fs::read(path)?)?);
    let policies = snapshots.iter().map(load).collect::<Outcome<Vec<Evaluator>>>()?;
    for env in &envs[1..] {
        let played = policies.iter().map(|policy| play(policy, env, episodes.parse()?));
        let played = played.collect::<Outcome<Vec<Played>>>()?;
        let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
        let each: Vec<f64> = played.iter().map(|played| mean(&played.returns)).collect();
        let upright: Vec<usize> = played.iter().map(|played| played.upright).collect();
        println!("{env}: {:.1} of {each:.1?}; upright {upright:?} of {episodes}", mean(&each));
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}
