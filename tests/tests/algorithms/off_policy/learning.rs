//! Each algorithm learns, and does not when its gradient is turned around.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::rc::Rc;

use quickstudy_core::Device;
use quickstudy_core::algo::off_policy::{OffPolicy, OffPolicyLearner};
use quickstudy_core::algo::{
    Algorithm, DdpgConfig, DqlConfig, DqnConfig, Metrics, SacConfig, Td3Config, Training, ddpg, dql, dqn, sac, td3,
};
use quickstudy_core::env::{EnvDef, builtin};
use quickstudy_core::settings::Settings as _;
use quickstudy_tests::ranks::each;
use quickstudy_tests::turned::Turned;

use super::all::{SEEDS, table, wait};

/// The mean return of each seed's episodes that ended in the last iterations.
fn late(algorithm: Rc<dyn Algorithm>, env: &EnvDef, iterations: u64, last: u64) -> [f64; 2] {
    late_on(&Device::cpu(2), algorithm, env, SEEDS, (iterations, last))
}

/// The mean return of the last episodes on a device of one's own.
fn late_on<const S: usize>(
    device: &Device,
    algorithm: Rc<dyn Algorithm>,
    env: &EnvDef,
    seeds: [u64; S],
    (iterations, last): (u64, u64),
) -> [f64; S] {
    let mut training = Training::new(device, algorithm, env, &seeds).unwrap();
    let mut sums = [[0.0; 2]; S];
    for done in 0..iterations {
        let names = training.metric_names(done);
        let column = |name: &str| names.iter().position(|known| known == name).unwrap();
        let [episodes, returns] = [Metrics::EPISODES, Metrics::RETURN_SUM].map(column);
        let row = wait(training.step(done, iterations));
        let metrics = wait(device.read(&row));
        for (sum, row) in sums.iter_mut().zip(metrics.chunks(metrics.len() / S)).filter(|_| done + last >= iterations) {
            *sum = [sum[0] + row[episodes], sum[1] + row[returns]];
        }
    }
    sums.map(|[episodes, returns]| returns / episodes)
}

fn learner<C: OffPolicy>(networks: C, env: &EnvDef, steps: u64) -> Rc<dyn Algorithm> {
    OffPolicyLearner::new(networks, env.spec()).unwrap().for_steps(steps).unwrap().unwrap().into()
}

/// Late returns of an algorithm, and those of it with its gradient turned around.
fn both<C: OffPolicy>(networks: impl Fn() -> C, env: &EnvDef, iterations: u64, batch: u64) -> [[f64; 2]; 2] {
    let (steps, last) = (iterations * batch, iterations / 5);
    let learned = late(learner(networks(), env, steps), env, iterations, last);
    let turned = late(learner(Turned(networks()), env, steps), env, iterations, last);
    println!("{learned:?}, turned around {turned:?}");
    [learned, turned]
}

const PENDULUM: &str = "learning_rate = 2e-3\npolicy_learning_rate = 2e-3\ngamma = 0.98\nbatch_size = 128\ntau = 0.01\n\
                        hidden = [64, 64]\nlearning_starts = 1000\niteration_steps = 200";

/// Checks returns on Pendulum. Even draws come to −1200, and so do algorithms that are turned around.
fn pendulum([learned, turned]: [[f64; 2]; 2]) {
    assert!(learned.iter().all(|mean| *mean > -450.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < -700.0), "{turned:?}");
}

#[test]
fn ddpg_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("pendulum").unwrap();
    let settings = table(&format!("{PENDULUM}\nweight_decay = 0.0\nsigma = 0.1\nnoise = \"gaussian\""));
    let config = DdpgConfig::default().with(&settings).unwrap();
    pendulum(both(|| ddpg::networks(&config, env.spec()).unwrap(), &env, 40, 200));
}

#[test]
fn td3_learns_pendulum_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("pendulum").unwrap();
    let config = Td3Config::default().with(&table(PENDULUM)).unwrap();
    pendulum(both(|| td3::networks(&config, env.spec()).unwrap(), &env, 40, 200));
}

/// Checks late returns of three seeds that two ranks train together, each with a replay buffer of its own.
fn on_two_ranks<C: OffPolicy>(networks: impl Fn() -> C + Sync) {
    let env = builtin("pendulum").unwrap();
    let late = |device: &Device, turned: bool| {
        let (learned, amiss) = (|| learner(networks(), &env, 10_000), || learner(Turned(networks()), &env, 10_000));
        let (algorithm, iterations) = if turned { (amiss(), (10, 3)) } else { (learned(), (26, 5)) };
        late_on(device, algorithm, &env, [0, 1, 2], iterations)
    };
    let both = [false, true].map(|turned| each(2, |device| late(device, turned)));
    println!("{both:?}");
    assert!(both.iter().all(|ranks| ranks[0] == ranks[1]), "{both:?}");
    let [learned, turned] = both.map(|ranks| ranks[0]);
    assert!(learned.iter().all(|mean| *mean > -700.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < -1000.0), "{turned:?}");
}

#[test]
#[ignore = "half a minute: scripts/second-tier.sh"]
fn sac_and_td3_learn_on_two_ranks() {
    let env = builtin("pendulum").unwrap();
    let sac = SacConfig::default().with(&table(&PENDULUM.replace("policy_learning_rate = 2e-3\n", ""))).unwrap();
    let td3 = Td3Config::default().with(&table(PENDULUM)).unwrap();
    on_two_ranks(|| sac::SacNets::new(&sac, env.spec()).unwrap());
    on_two_ranks(|| td3::networks(&td3, env.spec()).unwrap());
}

const CARTPOLE: &str = "batch_size = 64\nlearning_starts = 1000\niteration_steps = 200\ntrain_freq = 4\n\
                        gradient_steps = 2\nmemory_size = 20000\nhidden = [64, 64]";

/// Checks returns on CartPole. Even draws come to 22.
fn cartpole([learned, turned]: [[f64; 2]; 2]) {
    assert!(learned.iter().all(|mean| *mean > 70.0), "{learned:?}");
    assert!(turned.iter().all(|mean| *mean < 40.0), "{turned:?}");
}

#[test]
fn dql_learns_cartpole_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("cartpole").unwrap();
    let more = "gamma = 0.99\nlearning_rate = 1e-3\nepsilon_initial = 1.0\nepsilon_decay = 0.94\n\
                target_update_interval = 100\nmax_grad_norm = 10.0";
    let config = DqlConfig::default().with(&table(&format!("{CARTPOLE}\n{more}"))).unwrap();
    cartpole(both(|| dql::networks(&config, env.spec()).unwrap(), &env, 120, 200));
}

#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn sac_learns_choices_and_does_not_when_its_gradient_is_turned_around() {
    let env = builtin("cartpole").unwrap();
    let more = "learning_rate = 2e-3\ntau = 0.01\ntarget_entropy_share = 0.3\ntemperature = 0.2";
    let config = SacConfig::default().with(&table(&format!("{CARTPOLE}\n{more}"))).unwrap();
    cartpole(both(|| sac::SacNets::new(&config, env.spec()).unwrap(), &env, 80, 200));
}

fn dqn_learns_with(more: &str) {
    let env = builtin("cartpole").unwrap();
    let base = "learning_rate = 1e-3\ntarget_update_interval = 100\nexploration_fraction = 0.3";
    let config = DqnConfig::default().with(&table(&format!("{CARTPOLE}\n{base}\n{more}"))).unwrap();
    cartpole(both(|| dqn::networks(&config, env.spec()).unwrap(), &env, 80, 200));
}

#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn dqn_learns_with_priorities() {
    dqn_learns_with("prioritised = true");
}

#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn dqn_learns_with_several_steps() {
    dqn_learns_with("n_step = 3");
}

/// This is the experiment of the paper on hindsight, section 3.1, with fewer bits.
#[test]
fn goals_that_are_never_reached_are_learned_with_hindsight_alone() {
    let env = builtin("bit-flip:bits=10").unwrap();
    let reached = |hindsight: f64| {
        let text = format!(
            "learning_rate = 1e-3\nhidden = [128]\nbatch_size = 128\ngamma = 0.98\ntrain_freq = 8\ngradient_steps = 8\n\
             iteration_steps = 200\nlearning_starts = 1000\ntarget_update_interval = 200\nexploration_fraction = 0.3\n\
             epsilon_final = 0.02\nhindsight = {hindsight}"
        );
        let config = DqnConfig::default().with(&table(&text)).unwrap();
        let networks = dqn::networks(&config, env.spec()).unwrap();
        late(learner(networks, &env, 16_000), &env, 80, 10)
    };
    let (with, without) = (reached(0.8), reached(0.0));
    println!("{with:?}, without hindsight {without:?}");
    // An episode that reaches no goal is worth −10; a policy that knows the rule gets −4 on average.
    assert!(with.iter().all(|mean| *mean > -6.0), "{with:?}");
    assert!(without.iter().all(|mean| *mean < -8.5), "{without:?}");
}
