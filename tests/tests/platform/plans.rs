//! Plans of shipped programs: a lost fusion fails here, without a GPU.

use quickstudy_core::algo::ppo::PpoConfig;
use quickstudy_core::algo::{Ppo, Training};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::tensor::Op;
use quickstudy_core::train::{Preset, Setup, presets};
use quickstudy_gpu::{Kernel, KernelSchedule, Kind, Plan, PlanOptions};
use quickstudy_tests::gpu::plan;
use quickstudy_tests::panel::Panel;

fn ppo(env: &str) -> Plan {
    ppo_on(&builtin(env).expect("a built-in environment"), PlanOptions::default().chains)
}

fn ppo_on(env: &EnvDef, chains: Option<usize>) -> Plan {
    let ppo = Ppo::new(&PpoConfig::default(), env.spec()).expect("valid settings");
    let trace = Training::trace(&ppo, env, 1).expect("a trace");
    let plan = Plan::new(trace, &PlanOptions { chains, ..PlanOptions::default() }).expect("a plan");
    plan.validate().expect("a plan without faults");
    plan
}

fn loops(schedule: &KernelSchedule) -> Vec<&KernelSchedule> {
    schedule.kernels.iter().filter_map(|k| k.body.as_deref()).collect()
}

/// Kernels and dispatches of one step of the rollout, of its episodes, of the advantages and of a minibatch.
fn counts(plan: &Plan) -> Vec<(usize, usize)> {
    loops(&plan.schedule).iter().map(|body| (body.kernels.len(), body.dispatches(&plan.trace.graph))).collect()
}

#[test]
fn ppo_takes_few_dispatches() {
    let several = Panel::Shown.env().with_time_limit(500).expect("a longer episode");
    let [discrete, continuous] = ["cartpole", "pendulum"].map(|name| builtin(name).expect("a built-in environment"));
    // A minibatch as kernels, and with chains, which are two dispatches each.
    let cases = [(discrete, 11, 41, (10, 11)), (continuous, 9, 38, (11, 12)), (several, 11, 45, (15, 17))];
    for (env, rollout, kernels, with_chains) in cases {
        for (chains, minibatch) in [(None, (kernels, kernels)), (Some(16_384), with_chains)] {
            let plan = ppo_on(&env, chains);
            assert_eq!(counts(&plan), [(rollout, rollout), (3, 3), (1, 1), minibatch], "{plan}");
        }
    }
}

/// Debug builds and the feature `validate` follow what each place of a plan holds.
#[test]
fn every_preset_has_a_plan_without_faults() {
    for preset in presets().expect("presets").into_iter().filter(Preset::is_builtin) {
        let env = builtin(&preset.env).expect("a built-in environment");
        let setup = Setup::resolve(preset.algorithm, env, &[0], None, &[]).expect("a setup");
        for trace in setup.traces().expect("traces") {
            assert!(plan(trace).dispatches() > 0, "{}", preset.name);
        }
    }
}

#[test]
fn no_kernel_binds_more_than_a_gpu_does() {
    fn visit(plan: &Plan, schedule: &KernelSchedule) {
        for kernel in &schedule.kernels {
            match &kernel.body {
                Some(body) => visit(plan, body),
                // Results of environments are bound one by one.
                None if is_call(plan, kernel) => {}
                // Most of what a chain reads and writes shares a buffer.
                None if kernel.kind == Kind::Chain => {}
                None => assert!(kernel.bindings() <= 8, "{kernel:?}"),
            }
        }
    }
    fn is_call(plan: &Plan, kernel: &Kernel) -> bool {
        kernel.nodes.iter().any(|id| matches!(plan.trace.graph.nodes[*id as usize].op, Op::Call(_)))
    }
    for env in ["cartpole", "pendulum"] {
        let plan = ppo(env);
        visit(&plan, &plan.schedule);
    }
}

#[test]
fn ppo_computes_what_its_networks_need() {
    let config = PpoConfig::default();
    let flops = ppo("cartpole").trace.flops();
    // Multiplications of a row: two networks of 64 × 64 with four inputs, two logits and one value.
    let (policy, value) = (4 * 64 + 64 * 64 + 64 * 2, 4 * 64 + 64 * 64 + 64);
    // A gradient: each weight's, and each layer's input but the first one's.
    let gradient = 2 * (policy + value) - 2 * 4 * 64;
    let (rows, envs) = (config.sampling.batch() as u64, config.sampling.envs as u64);
    // Each step's action and value, and values of the last and of cut-off observations, one per environment each.
    let rollout = rows * (policy + value) + 2 * envs * value;
    let updates = config.epochs as u64 * rows * (policy + value + gradient);
    assert_eq!(flops.products, 2 * (rollout + updates));
    // Activations, environments, losses and Adam are a small part.
    assert!(flops.others > flops.products / 100 && flops.others < flops.products / 5, "{flops:?}");
}

#[test]
fn a_plan_reads_like_a_program() {
    let text = ppo("cartpole").to_string();
    assert_eq!(text, ppo("cartpole").to_string(), "the same trace gives the same text");
    for part in ["arguments:\n", "@1 state `theta` f32[1, ", "graph:\n", "plan: ", "matmul [1, ", "call `env_step`"] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    let kinds = [Kind::Map, Kind::Reduce, Kind::MatMul, Kind::Scan];
    assert!(kinds.iter().all(|kind| text.contains(&format!(" {} [", kind.name()))));
}
