//! Training on environments of the host: the parameters that programs on the device train, bit for bit.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::algo::Algorithm;
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::host::{Executor, HostEnv, IterativeExecutor, ParallelExecutor, Wrapped};
use quickstudy_core::meta::{HostMaml, Maml, MamlConfig, Variant};
use quickstudy_core::{Device, Result};
use quickstudy_tests::toy_env::{Fault, ToyEnv};

fn wait<T>(future: impl Future<Output = Result<T>>) -> T {
    pollster::block_on(future).unwrap()
}

fn config(variant: Variant) -> MamlConfig {
    MamlConfig {
        meta_batch: 3,
        rollouts: 4,
        horizon: 12,
        hidden: vec![16],
        log_std_init: -1.2,
        ..MamlConfig::of(variant)
    }
}

/// Metrics of each of three iterations, then all arrays of the state.
fn train(device: &Device, algorithm: &mut dyn Algorithm) -> Vec<Vec<u32>> {
    let bits = |x: Vec<f32>| x.into_iter().map(f32::to_bits).collect::<Vec<u32>>();
    let mut seen: Vec<Vec<u32>> = (0..3)
        .map(|done| {
            let metrics = wait(algorithm.step(done, 3));
            bits(wait(device.read_f32(&metrics)))
        })
        .collect();
    for name in ["theta", "adam_m", "adam_v", "adam_scale"] {
        seen.push(bits(wait(device.read_f32(algorithm.state().get(name).unwrap()))));
    }
    seen
}

fn executor(env: &EnvDef, config: &MamlConfig, seeds: usize, parallel: bool) -> Box<dyn Executor> {
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(env))) };
    let (tasks, horizon) = (seeds * config.meta_batch, config.steps(env.spec().horizon));
    match parallel {
        true => Box::new(ParallelExecutor::new(tasks, config.rollouts, horizon, 2, make).unwrap()),
        false => Box::new(IterativeExecutor::new(tasks, config.rollouts, horizon, make).unwrap()),
    }
}

#[test]
fn mamls_family_trains_the_same_parameters_on_host_and_device() {
    let device = Device::cpu(2);
    let seeds = [5, 1 << 40];
    let pool = MamlConfig { inner_steps: 2, learn_inner_lr: true, train_tasks: 4, ..config(Variant::ProMp) };
    let mut cases = vec![("point-corner", Variant::ProMp, pool)];
    cases.extend(Variant::ALL.map(|variant| ("point-corner", variant, config(variant))));
    // Episodes that end early, and choices.
    cases.push(("point-arena", Variant::ProMp, config(Variant::ProMp)));
    cases.push(("key-door", Variant::EMaml, config(Variant::EMaml)));
    for (i, (name, variant, config)) in cases.into_iter().enumerate() {
        let env = builtin(name).unwrap();
        let mut on_device = Maml::new(&device, variant, &config, &env, &seeds).unwrap();
        let first = wait(device.read_f32(on_device.state().get("theta").unwrap()));
        let want = train(&device, &mut on_device);
        assert_ne!(want[3], first.into_iter().map(f32::to_bits).collect::<Vec<u32>>(), "nothing was learnt");
        let executor = executor(&env, &config, seeds.len(), i % 2 == 0);
        let mut on_host = HostMaml::new(&device, variant, &config, executor, &seeds).unwrap();
        let got = train(&device, &mut on_host);
        for (what, (got, want)) in got.iter().zip(&want).enumerate() {
            assert!(got == want, "{name}, {}: array {what}\n{got:?}\n{want:?}", variant.name());
        }
        let steps = 3 * seeds.len() * config.batch(env.spec().horizon);
        assert!(on_host.env_steps() <= steps as u64, "{} of {steps} steps", on_host.env_steps());
    }
}

#[test]
fn training_on_an_environment_of_ones_own_changes_its_parameters_and_reports_its_faults() {
    let device = Device::cpu(1);
    let config = MamlConfig { horizon: 6, ..config(Variant::ProMp) };
    let toys = |fault: Option<Fault>| -> Box<dyn Executor> {
        Box::new(IterativeExecutor::new(3, 4, 6, |_| Ok(Box::new(ToyEnv::failing(fault)))).unwrap())
    };
    let mut training = HostMaml::new(&device, Variant::ProMp, &config, toys(None), &[1]).unwrap();
    let theta = |training: &HostMaml| wait(device.read_f32(training.state().get("theta").unwrap()));
    let first = theta(&training);
    let metrics = wait(training.step(0, 1));
    assert!(wait(device.read(&metrics)).iter().all(|x| x.is_finite()));
    assert_ne!(theta(&training), first);
    let mut training = HostMaml::new(&device, Variant::ProMp, &config, toys(Some(Fault::Panic)), &[1]).unwrap();
    let error = pollster::block_on(training.step(0, 1)).unwrap_err().to_string();
    assert_eq!(error, "environment toy: number 0 (copy 0 of task 0), step: panicked: out of cheese");
    let refused = HostMaml::new(&device, Variant::ProMp, &config, toys(None), &[1, 2]).unwrap_err().to_string();
    assert_eq!(
        refused,
        "executor: the executor plays 3 tasks on 4 environments each for at most 6 steps; 2 seeds with these settings need \
         6, 4 and 6"
    );
}
