//! What a program costs apart from its work: tracing and planning an iteration of PPO, MAML's family and RL², compiling it for
//! the CPU, and replaying a program of one tiny operation.

use criterion::{Criterion, criterion_group, criterion_main};
use quickstudy_core::algo::Ppo;
use quickstudy_core::algo::ppo::PpoConfig;
use quickstudy_core::meta::{Maml, MamlConfig, Rl2, Rl2Config, Rl2Variant, Variant};
use quickstudy_core::{DType, Device, Program, State, env};

fn planning(c: &mut Criterion) {
    let mut group = c.benchmark_group("planning");
    group.sample_size(30);
    for name in ["cartpole", "pendulum"] {
        let Ok(env) = env::builtin(name) else { continue };
        let config = PpoConfig::default();
        group.bench_function(format!("trace and plan PPO on {name}"), |b| b.iter(|| Ppo::plan(&config, &env, 1)));
        let device = Device::cpu(1);
        group.bench_function(format!("all of setting up PPO on {name}"), |b| {
            b.iter(|| Ppo::new(&device, &config, &env, &[0]));
        });
    }
    let Ok(env) = env::builtin("point-corner") else { return };
    for variant in [Variant::ProMp, Variant::MamlTrpo] {
        let config = MamlConfig::of(variant);
        let name = format!("trace and plan {} on point-corner", variant.name());
        group.bench_function(name, |b| b.iter(|| Maml::plan(variant, &config, &env, 1)));
    }
    for variant in Rl2Variant::ALL {
        let config = Rl2Config { episodes: 4, ..Rl2Config::of(variant) };
        let name = format!("trace and plan {} on point-corner, trials of 400 steps", variant.name());
        group.bench_function(name, |b| b.iter(|| Rl2::plan(variant, &config, &env, 1)));
    }
}

fn replay(c: &mut Criterion) {
    let device = Device::cpu(1);
    let program = Program::new(&device, |cx| {
        let x = cx.state("x", &[1], DType::F32);
        cx.update("x", x + 1.0);
    });
    let (Ok(mut program), Ok(x)) = (program, device.array(&[1], &[0.0])) else { return };
    let mut state = State::new();
    state.insert("x", x);
    c.bench_function("replay of one operation", |b| b.iter(|| program.run(&state, &[], &[])));
}

criterion_group!(benches, planning, replay);
criterion_main!(benches);
