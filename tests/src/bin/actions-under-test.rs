//! Plays the deterministic actions of saved policies, for programs in other languages to compare with.
//!
//! `actions-under-test play SNAPSHOT EPISODES SEED` writes a JSON object per line. The first is the action space of the
//! snapshot's environment. Each further one is a step: the observation, the action as the environment got it, the
//! reward, the next observation, and how the episode ended, if it did. Episodes follow each other on one task, through
//! which a memory of trials lasts. Of PEARL they are three, by what it has inferred from those before, whose actions
//! are drawn; a line before each has the normal numbers that z is drawn by.
//!
//! `actions-under-test spaces` writes a line for each built-in environment: its name and its action space.
//! `actions-under-test small` writes a line for each algorithm: its name, and an environment and settings for short
//! runs.

#![forbid(unsafe_code)]

use std::process::ExitCode;

use quickstudy_core::algo::Family;
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::{ActionSpace, EnvDef, builtin, builtin_names};
use quickstudy_core::host::{Acted, Actor, Chance, EnvPlace, FleetSize, MetaSampler, Quota, Stepped};
use quickstudy_core::meta::MetaAlgorithm as _;
use quickstudy_core::policy::How;
use quickstudy_core::rng::{Key, fold_in, key_from_seed};
use quickstudy_core::train::{ALGORITHMS, Evaluator, small};
use quickstudy_core::{Device, Result};
use quickstudy_tests::hosted::hosted;
use serde_json::{Value, json};

/// An actor in one environment that writes each step as a line.
struct StepLines<'a> {
    of: &'a mut dyn Actor,
    seen: Vec<f64>,
}

impl Actor for StepLines<'_> {
    fn info(&self) -> &[String] {
        self.of.info()
    }

    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.of.begin(keys)
    }

    fn observe<'a>(&'a mut self, acted: &'a Acted, stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        let line = json!({
            "obs": self.seen,
            "action": acted.played,
            "reward": stepped.rewards[0],
            "next": stepped.last_observations,
            "terminated": stepped.terminated[0],
            "truncated": stepped.truncated[0],
        });
        println!("{line}");
        self.of.observe(acted, stepped)
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        self.seen = observations.to_vec();
        self.of.act(observations, step)
    }
}

fn space(env: &EnvDef) -> Value {
    match &env.spec().action {
        ActionSpace::Discrete { names } => json!({"choices": names.len()}),
        ActionSpace::MultiDiscrete { choices } => {
            json!({"counts": choices.iter().map(|choice| choice.names.len()).collect::<Vec<_>>()})
        }
        ActionSpace::Box { dims } => json!({
            "low": dims.iter().map(|dim| dim.low).collect::<Vec<_>>(),
            "high": dims.iter().map(|dim| dim.high).collect::<Vec<_>>(),
        }),
    }
}

async fn play(snapshot: &str, episodes: usize, seed: u64) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let policy = Evaluator::load(&Device::cpu(1), &std::fs::read(snapshot)?)?;
    let env = policy.env().device()?.clone();
    println!("{}", space(&env));
    let EnvPlace::Host(host) = hosted(&env) else { return Err("the environment is not on the host".into()) };
    let executor = host.executor(FleetSize { tasks: 1, envs_per_task: 1, horizon: env.spec().horizon })?;
    let fleet = executor.fleet().clone();
    let key = key_from_seed(seed);
    let mut sampler = MetaSampler::episodes(executor, episodes);
    if !env.spec().task.is_empty() {
        let task = sampler.sample_tasks(&[Chance { key: fold_in(key, 1), element: 0 }]).await?;
        sampler.set_tasks(&task).await?;
    }
    if policy.family() != Family::Inference {
        let mut actor = match policy.adapts() {
            true => Box::new(policy.meta_algorithm()?.actor(&fleet, 1, How::Exploit, &[])?.0),
            false => policy.actor(&fleet, true).await?,
        };
        sampler.obtain(&mut StepLines { of: &mut *actor, seen: Vec::new() }, &[key]).await?;
        return Ok(());
    }
    // Before anything was seen z is the normal numbers themselves, which the same key draws again later.
    let normal = |key: Key| -> std::result::Result<LocalFuture<'_, Result<Vec<f64>>>, Box<dyn std::error::Error>> {
        let (mut actor, _) = policy.meta_algorithm()?.actor(&fleet, 1, How::Exploit, &[])?;
        actor.begin(&[key])?;
        Ok(Box::pin(async move { Ok(actor.memory().await?.concat()) }))
    };
    sampler.quota = Quota::Episodes(1);
    let mut adapting = policy.meta_algorithm()?;
    let mut acting = adapting.exploration_policy(&fleet).await?;
    for episode in 0..3 {
        let key = fold_in(key, 10 + episode);
        println!("{}", json!({"normal": normal(key)?.await?}));
        let samples = sampler.obtain(&mut StepLines { of: &mut *acting, seen: Vec::new() }, &[key]).await?;
        acting = acting.adapt(&samples).await?;
    }
    Ok(())
}

fn run(args: &[&str]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    match args {
        ["play", snapshot, episodes, seed] => pollster::block_on(play(snapshot, episodes.parse()?, seed.parse()?)),
        ["spaces"] => {
            for name in builtin_names() {
                println!("{}", json!([name, space(&builtin(name)?)]));
            }
            Ok(())
        }
        ["small"] => {
            for def in ALGORITHMS {
                let (env, settings) = small(def)?;
                println!("{}", json!([def.name, env.spec().name, settings]));
            }
            Ok(())
        }
        _ => Err("expected play SNAPSHOT EPISODES SEED, spaces or small".into()),
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args.iter().map(String::as_str).collect::<Vec<_>>()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("actions-under-test: {error}");
            ExitCode::FAILURE
        }
    }
}
