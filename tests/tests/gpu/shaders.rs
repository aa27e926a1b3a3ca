//! Every shader of shipped and of random programs is valid and translates to SPIR-V, Metal's language and HLSL; no GPU
//! is needed.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::HashSet;

use naga::back::{hlsl, msl, spv};
use naga::proc::Layouter;
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};
use naga::{AddressSpace, Module};
use quickstudy_core::algo::{Ppo, PpoConfig, Sampling, Training};
use quickstudy_core::{Program, env};
use quickstudy_gpu::{KernelLimits, Plan, shaders};
use quickstudy_tests::gpu;
use quickstudy_tests::panel::Panel;
use quickstudy_tests::random_graph::{Scale, generate};
use quickstudy_tests::single_task_names;

use crate::dispatches::first_presets;

fn translate(text: &str) -> Module {
    let module = naga::front::wgsl::parse_str(text).unwrap_or_else(|e| panic!("{}\n{text}", e.emit_to_string(text)));
    let validated = Validator::new(ValidationFlags::all(), Capabilities::empty()).validate(&module);
    let info: ModuleInfo = validated.unwrap_or_else(|e| panic!("{}\n{text}", e.emit_to_string(text)));
    spv::write_vec(&module, &info, &spv::Options::default(), None).unwrap();
    let mut metal = msl::Options { fake_missing_bindings: true, ..msl::Options::default() };
    metal.lang_version = (2, 4);
    msl::write_string(&module, &info, &metal, &msl::PipelineOptions::default()).unwrap();
    let options = hlsl::Options { fake_missing_bindings: true, ..hlsl::Options::default() };
    let pipeline = hlsl::PipelineOptions::default();
    let mut out = String::new();
    hlsl::Writer::new(&mut out, &options, &pipeline).write(&module, &info, None).unwrap();
    module
}

/// Bytes of workgroup memory, and invocations of a workgroup.
fn room(module: &Module) -> [u32; 2] {
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).unwrap();
    let shared = module.global_variables.iter().filter(|(_, var)| var.space == AddressSpace::WorkGroup);
    let invocations = module.entry_points.iter().map(|entry| entry.workgroup_size.iter().product());
    [shared.map(|(_, var)| layouter[var.ty].size).sum(), invocations.max().unwrap()]
}

#[test]
fn ppo_translates_to_every_shading_language() {
    let builtin = single_task_names().into_iter().map(|name| env::builtin(name).unwrap());
    for env in builtin.chain([Panel::Shown.env().with_time_limit(500).unwrap()]) {
        let (name, sde) = (&env.spec().name, env.spec().action.counts().is_none());
        let sampling = Sampling { sde, normalise_observations: true, normalise_rewards: true, ..Sampling::default() };
        let config = PpoConfig { sampling, ..PpoConfig::default() };
        let plan = gpu::plan(Training::trace(&Ppo::new(&config, env.spec()).unwrap(), &env, 2).unwrap());
        for (tiled, runs, bindings) in [(false, false, 8), (false, true, 8), (true, true, 8), (true, true, 32)] {
            let limits = KernelLimits { bindings, tiled, runs, teams: tiled, ..KernelLimits::default() };
            let texts = shaders(&plan, limits).unwrap();
            // Rollouts, the episodes in them, and advantages are loops in one kernel.
            assert_eq!(texts.iter().filter(|t| t.contains("for (var step =")).count(), 3, "{name}");
            assert!(texts.len() > if runs { 8 } else { 20 }, "{name}: {}", texts.len());
            texts.iter().for_each(|text| _ = translate(text));
            // Drivers take longer the longer a shader is, and a step of the cheetah is the longest.
            let longest = texts.iter().map(String::len).max().unwrap();
            println!("{name}, {bindings} buffers: the longest shader has {longest} bytes");
            assert!(longest <= 150_000, "{name}: {longest}");
        }
    }
}

#[test]
fn random_programs_translate_to_every_shading_language() {
    let mut texts = HashSet::new();
    let sizes = (1000..1180).map(|seed| (seed, Scale::Small)).chain((1000..1020).map(|seed| (seed, Scale::Rows)));
    for (seed, scale) in sizes {
        let recipe = generate(seed, scale);
        let plan = gpu::plan(Program::trace_of(|cx| recipe.trace(cx)).unwrap());
        // As many buffers as a browser may bind.
        for text in
            shaders(&plan, KernelLimits::default()).unwrap_or_else(|e| panic!("seed {seed}, {scale:?}: {e}\n{recipe}"))
        {
            if texts.insert(text.clone()) {
                translate(&text);
            }
        }
    }
    println!("{} shaders", texts.len());
    assert!(texts.len() > 500, "{}", texts.len());
}

/// Checks that any browser runs the shaders of a plan's chains, alone and in runs with others. Gives the length of the
/// longest text, and the bytes of the most workgroup memory.
fn check_chains(plan: &Plan, texts: &mut HashSet<String>) -> [usize; 2] {
    let mut most = [0; 2];
    for runs in [false, true] {
        for text in shaders(plan, KernelLimits { runs, ..KernelLimits::default() }).unwrap() {
            // Only chains have rows in workgroup memory.
            if text.contains("var<workgroup> rows0") && texts.insert(text.clone()) {
                let [bytes, invocations] = room(&translate(&text));
                assert!(
                    bytes <= 16_384 && invocations <= 256 && text.len() <= 150_000,
                    "{bytes}, {invocations}\n{text}"
                );
                most = [most[0].max(text.len()), most[1].max(bytes as usize)];
            }
        }
    }
    most
}

#[test]
fn chains_translate_to_every_shading_language_and_have_room_in_any_browser() {
    let mut texts = HashSet::new();
    for (name, env, setup) in first_presets() {
        let before = texts.len();
        let [text, bytes] = check_chains(&gpu::plan(setup.trace().unwrap()), &mut texts);
        let count = texts.len() - before;
        println!("{name} on {env}: {count} shaders with chains, {text} bytes, {bytes} in workgroups");
    }
    let of_presets = texts.len();
    let mut most = [0; 2];
    for seed in 1000..1050 {
        let recipe = generate(seed, Scale::Chains);
        let found = check_chains(&gpu::plan(Program::trace_of(|cx| recipe.trace(cx)).unwrap()), &mut texts);
        most = [0, 1].map(|i| most[i].max(found[i]));
    }
    let of_programs = texts.len() - of_presets;
    println!("random programs: {of_programs} shaders with chains, {} bytes, {} in workgroups", most[0], most[1]);
    assert!(of_presets > 20 && of_programs > 40, "{of_presets}, {of_programs}");
}

#[test]
fn products_and_reductions_translate_to_every_shading_language() {
    let (mut tiled_ones, mut lane_ones, mut split_ones) = (0, 0, 0);
    for case in crate::programs::cases() {
        let plan = gpu::plan(Program::trace_of(|cx| case.trace(cx)).unwrap());
        let mut count = Vec::new();
        for tiled in [false, true] {
            let limits = KernelLimits { tiled, runs: false, ..KernelLimits::default() };
            let texts = shaders(&plan, limits).unwrap();
            let in_runs = shaders(&plan, KernelLimits { runs: true, ..limits }).unwrap();
            texts.iter().chain(&in_runs).for_each(|text| _ = translate(text));
            tiled_ones += texts.iter().filter(|text| text.contains("vectors1")).count();
            lane_ones += texts.iter().filter(|text| text.contains("var total = vec4")).count();
            count.push(texts.len());
            // A product is summed in one place, not again where its result is used.
            let count_of = |what: &str| texts.iter().map(|text| text.matches(what).count()).sum::<usize>();
            assert!(count_of("++") <= 1 && count_of("for (;") <= 2, "{}: {texts:?}", case.name);
        }
        assert_eq!(count[0], count[1], "{}", case.name);
        split_ones += usize::from(plan.dispatches() > plan.schedule.kernels.len());
        assert_eq!(count[0], plan.dispatches(), "{}\n{plan}", case.name);
    }
    println!("{tiled_ones} with tiles, {lane_ones} with lanes, {split_ones} with slices");
    assert!(tiled_ones > 30 && lane_ones > 10 && split_ones > 30);
}
