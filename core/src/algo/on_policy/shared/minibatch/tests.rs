//! Steps on minibatches that do not divide a rollout, against steps that are written out.

use std::rc::Rc;

use crate::algo::on_policy::{
    A2cConfig, CriticConfig, CriticOptimiser, CriticRule, CriticSchedule, CriticSteps, Minibatch, OnPolicy,
    OnPolicyLearner, Parts, PolicyGradient, Rollout, Sampling, likelihood_losses,
};
use crate::algo::{ActorCritic, Held, Metrics, Training};
use crate::env::builtin;
use crate::grad::value_and_grad;
use crate::learn::{Passes, Split, Turn};
use crate::optim::{OptimiserConfig, OptimiserKind, Progress};
use crate::play::Iteration;
use crate::policy::{MemoryConfig, MemoryKind, NetConfig};
use crate::{Device, Result, Tensor};

/// A2C whose steps on each minibatch are written out, one after the other and without padding: by the whole loss, or,
/// if the value function steps apart, by its loss alone.
#[derive(Clone, Debug)]
struct ByHand(A2cConfig);

impl ByHand {
    /// The rows of each minibatch of a pass, u32 `[S, B]`.
    fn index(passes: &Passes, size: usize) -> Vec<Tensor> {
        let one = |first: usize| {
            let x = [0, first as u32].map(Tensor::constant_u32);
            passes.index(&x).slice(1, 0, size.min(passes.rows - first))
        };
        (0..passes.rows).step_by(size).map(one).collect()
    }
}

impl OnPolicy for ByHand {
    fn parts(&self) -> Parts<'_> {
        self.0.parts()
    }

    fn sampling_mut(&mut self) -> &mut Sampling {
        &mut self.0.sampling
    }

    fn validate(&self) -> Result<()> {
        self.0.validate()
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        OnPolicy::schedules(&self.0, at)
    }

    fn iteration(&self, nets: &ActorCritic, it: &mut Iteration<'_>, held: &Held, _: Option<&dyn Turn>) -> Metrics {
        let PolicyGradient { critic, value_coef, entropy_coef, normalise_advantages, .. } = self.0.gradient;
        let rollout = Rollout::collect(&self.0.sampling, nets, it, held);
        let credit = rollout.credit(&rollout.values, None);
        let rows = rollout.rows(&credit);
        let split = if critic.apart() { critic.split(&self.0.sampling) } else { self.0.sampling.split() };
        let Split::Size(size) = split else { return Metrics::default() };
        let rate = it.scalar(if critic.apart() { "critic_learning_rate" } else { "learning_rate" });
        let mut theta = held.theta();
        for index in ByHand::index(&rollout.passes(1, split), size) {
            let batch: Minibatch = rollout.minibatch(rows.gather(index));
            let (_, gradient) = value_and_grad(&[theta], |theta| {
                let parts = nets.layout.split(theta[0]);
                let value = || nets.value_of(&parts, batch.obs, batch.sequences.as_ref());
                let loss = match critic.apart() {
                    true => batch.value_loss(value(), None),
                    false => {
                        let losses = likelihood_losses(nets, &parts, &batch, normalise_advantages);
                        losses.total(Some(value_coef), entropy_coef)
                    }
                };
                loss.sum_all()
            });
            theta = theta - gradient[0] * rate;
        }
        it.update("theta", theta);
        rollout.keep(it);
        rollout.metrics()
    }
}

/// Settings of plain gradient descent on rollouts of 40 steps.
fn descent(split: [usize; 2]) -> A2cConfig {
    let [minibatches, minibatch_size] = split;
    let sgd = OptimiserConfig {
        optimiser: OptimiserKind::Sgd,
        momentum: 0.0,
        learning_rate: 0.5,
        ..OptimiserConfig::default()
    };
    A2cConfig {
        gradient: PolicyGradient {
            optimiser: sgd,
            max_grad_norm: 0.0,
            entropy_coef: 0.1,
            normalise_advantages: true,
            ..PolicyGradient::default()
        },
        sampling: Sampling { horizon: 8, envs: 5, minibatches, minibatch_size, ..Sampling::default() },
        net: NetConfig::hidden(vec![4]),
        ..A2cConfig::default()
    }
}

/// The parameters after two iterations, at first and then, and the place of the value function among them.
fn trained<C: OnPolicy + 'static>(config: &C) -> ([Vec<f64>; 2], std::ops::Range<usize>) {
    let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
    let learner = OnPolicyLearner::new(config, env.spec()).unwrap();
    let places = learner.net().value_places();
    let mut training = Training::new(&device, Rc::new(learner), &env, &[3]).unwrap();
    let theta = |training: &Training| pollster::block_on(device.read(training.state.get("theta").unwrap())).unwrap();
    let before = theta(&training);
    (0..2).for_each(|done| drop(pollster::block_on(training.step(done, 9)).unwrap()));
    ([before, theta(&training)], places)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

#[test]
fn forty_steps_in_minibatches_of_32_are_learned_from_as_32_and_8() {
    let gru = MemoryConfig { cell: MemoryKind::Gru, units: 3, ..MemoryConfig::default() };
    let remembers = A2cConfig { memory: gru, ..descent([1, 2]) };
    // Where policies remember, five environments in minibatches of two are 2, 2 and 1.
    for (what, config) in [("32 and 8", descent([1, 32])), ("2, 2 and 1", remembers)] {
        let ([before, after], _) = trained(&config);
        let ([_, by_hand], _) = trained(&ByHand(config));
        assert!(distance(&before, &by_hand) > 1e-2, "{what}");
        assert!(distance(&after, &by_hand) < 1e-5, "{what}: {}", distance(&after, &by_hand));
    }
    // Sizes that divide are the same bits as a number of minibatches.
    let [by_size, by_count] = [[7, 20], [2, 0]].map(|split| trained(&descent(split)).0);
    assert_eq!(by_size, by_count);
    assert_ne!(by_size, trained(&descent([1, 0])).0);
    // More than there are is all of them.
    assert_eq!(trained(&descent([1, 100])).0, trained(&descent([1, 0])).0);
}

#[test]
fn a_critic_apart_has_minibatches_a_rule_and_a_schedule_of_its_own() {
    let base = descent([1, 0]);
    let rule = CriticRule {
        critic_optimiser: CriticOptimiser::Sgd,
        critic_learning_rate_schedule: CriticSchedule::Linear,
        ..CriticRule::default()
    };
    let critic = CriticConfig {
        critic: CriticSteps::Last,
        critic_epochs: 1,
        critic_learning_rate: 0.2,
        critic_minibatch_size: 16,
        rule,
        ..base.gradient.critic
    };
    // The policy stays where it is, as steps of Adam are no longer than their size.
    let adam = OptimiserConfig { optimiser: OptimiserKind::Adam, learning_rate: 1e-12, ..base.gradient.optimiser };
    let config = A2cConfig { gradient: PolicyGradient { optimiser: adam, critic, ..base.gradient }, ..base };
    let ([before, after], places) = trained(&config);
    let ([_, by_hand], _) = trained(&ByHand(config.clone()));
    let of = |theta: &[f64]| theta[places.clone()].to_vec();
    assert!(distance(&of(&before), &of(&by_hand)) > 1e-2);
    assert!(distance(&of(&after), &of(&by_hand)) < 1e-5, "{}", distance(&of(&after), &of(&by_hand)));
    // The rate falls on a line while the policy's stays.
    let half = Progress { iterations: 5, steps: 200, budget: 400 };
    let rates = OnPolicy::schedules(&config, half);
    assert_eq!(rates, [("train/learning_rate", 1e-12), ("train/critic_learning_rate", 0.1)]);
}

#[test]
fn minibatches_of_one_step_have_no_advantages_to_standardise() {
    let problem = |size: usize| OnPolicyLearner::new(&descent([1, size]), builtin("cartpole").unwrap().spec());
    let message = |size: usize| problem(size).unwrap_err().to_string();
    assert_eq!(
        message(39),
        "minibatch_size: 39 leaves one step of 40 (horizon × envs) in the last minibatch of a pass, whose advantage \
         cannot be standardised; 40 fits"
    );
    assert!(message(1).contains("in each minibatch") && message(1).ends_with("2 fits"), "{}", message(1));
    assert!(problem(3).unwrap_err().to_string().ends_with("4 fits"));
    for size in [2, 32, 38, 40, 41, 1000] {
        problem(size).unwrap();
    }
}
