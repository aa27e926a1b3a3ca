//! Learning of a deterministic policy by the gradient of learned values: what DDPG and TD3 share.
//!
//! Silver et al. 2014, doi:10.5555/3044805.3044850. An update: the critics make a step towards the target,
//! then the policy towards actions that the first critic values more, then the targets; the latter two at
//! each d-th update only, if they are delayed.

use super::rewards::scaled;
use super::{Occasion, OffPolicy, Replay, UpdateOutcome};
use crate::algo::{First, Held, Metrics, ParameterGroups, StateEntry, Trained};
use crate::dist::RowNoise;
use crate::env::EnvSpec;
use crate::learn::{Descent, Look, PolyakConfig};
use crate::nn::{Activation, Layout, Mlp};
use crate::optim::{AdamConfig, Progress};
use crate::play::Iteration;
use crate::policy::{Acting, Disturbed, LayersConfig, Noise, Policy};
use crate::program::Context;
use crate::replay::{Transitions, mean};
use crate::settings::Range;
use crate::tensor::{Named, Tree as _, run_tree_if};
use crate::{DType, Result, Tensor};

crate::settings! {
    /// The settings of the policy's steps, targets, exploration, rewards, networks and gradients.
    pub struct DeterministicConfig {
        /// Adam's step size of the policy; learning_rate is that of the critics
        policy_learning_rate: f64 = 1e-3, Range::Positive;
        /// The targets.
        ..polyak: PolyakConfig;
        /// σ of the noise on actions, which are from −1 to 1
        sigma: f64 = 0.1, Range::NotNegative;
        /// factor of rewards, once
        reward_scale: f64 = 1.0, Range::Positive;
        /// longer gradients of the policy are scaled down; 0: never
        max_grad_norm: f64 = 0.0, Range::NotNegative;
        /// The networks.
        ..net: LayersConfig;
    }
}

impl DeterministicConfig {
    /// The defaults with hidden layers of these widths, as PyTorch begins with them.
    #[must_use]
    pub fn hidden(widths: Vec<usize>) -> DeterministicConfig {
        let net = LayersConfig { hidden: widths, activation: Activation::Relu, orthogonal_init: false };
        DeterministicConfig { net, ..DeterministicConfig::default() }
    }
}

/// How an algorithm learns a deterministic policy: its groups of settings, and what it makes of the others.
#[derive(Clone, Debug)]
pub struct DeterministicSettings {
    /// The settings of playing, remembering and drawing.
    pub replay: Replay,
    /// The settings that both algorithms have.
    pub shared: DeterministicConfig,
    /// The steps of the critics, and of the policy but for their size.
    pub adam: AdamConfig,
    /// Noise on actions that are played.
    pub noise: Noise,
    /// Weight of the squares of the critics' weights in their loss.
    pub weight_decay: f64,
    /// Number of critics, of which the lowest counts.
    pub critics: usize,
    /// d, updates of the critics for one of the policy and the targets.
    pub delay: usize,
    /// Noise on the target's actions, and its limit.
    pub smoothing: Option<[f64; 2]>,
}

/// The groups of parameters.
const POLICY: usize = 0;
const VALUES: usize = 1;

/// Networks and settings of an algorithm that learns a deterministic policy.
#[derive(Clone, Debug)]
pub struct Deterministic {
    settings: DeterministicSettings,
    groups: ParameterGroups,
    policy: Disturbed,
    values: Vec<Mlp>,
    actions: usize,
}

/// All that updates change.
#[derive(Clone, Debug)]
pub struct DeterministicLearner {
    policy: Trained,
    values: Trained,
    /// Parameters of all targets, `[S, P]`.
    target: Tensor,
}

crate::tree!(DeterministicLearner: policy, values, target);

/// y = r + γ (1 − d) min Q'(s', ã), eq. 10 of arXiv:1802.09477: `value: [S, B, 1]` is the lowest of the target critics
/// at the next observation and the target policy's action there; `discount` is γ, or γⁿ after n steps.
#[track_caller]
pub fn target(reward: Tensor, terminated: Tensor, value: Tensor, discount: Tensor) -> Tensor {
    (reward + (1.0 - terminated) * value * discount).stop_gradient()
}

/// The target policy's action with smoothing, clip(μ'(s') + clip(ε, −c, c), −1, 1), ε ~ N(0, σ), eq. 14 of
/// arXiv:1802.09477; `z: [S, B, A]` are standard normal numbers.
#[track_caller]
pub fn smoothed(action: Tensor, z: Tensor, [sigma, limit]: [f64; 2]) -> Tensor {
    (action + (z * sigma).clamp(-limit, limit)).clamp(-1.0, 1.0)
}

impl Deterministic {
    /// For an environment whose actions are vectors.
    ///
    /// # Errors
    /// If it takes discrete actions.
    pub fn new(settings: DeterministicSettings, spec: &EnvSpec) -> Result<Deterministic> {
        let (net, noise) = (&settings.shared.net, settings.noise);
        let (mut of_policy, mut of_values) = (Layout::new(), Layout::new());
        let policy = Disturbed::new(&mut of_policy, spec, net, settings.replay.first_layer(), noise)?;
        let (observations, actions) = (spec.observation.len(), spec.action.dim());
        let sizes = [&[observations + actions], &net.hidden[..], &[1]].concat();
        let gain = net.orthogonal_init.then_some(1.0);
        let name = |number: usize| match settings.critics {
            1 => "value".to_owned(),
            _ => format!("value.{number}"),
        };
        let values = (0..settings.critics)
            .map(|number| Mlp::new(&mut of_values, &name(number), 0, &sizes, net.activation, gain))
            .collect();
        let groups = ParameterGroups::new(vec![(ParameterGroups::SCALE, of_policy), ("adam_scale_values", of_values)]);
        Ok(Deterministic { settings, groups, policy, values, actions })
    }

    /// All critics, `[S, B, 1]` each.
    fn all(&self, parts: &[Tensor], obs: Tensor, action: Tensor) -> Vec<Tensor> {
        let input = Tensor::concat(&[obs, action], 2);
        self.values.iter().map(|value| value.forward(parts, input)).collect()
    }

    fn descent<'a>(&'a self, group: usize, rate: Tensor, sums: &'a [&'static str]) -> Descent<'a> {
        Descent {
            layout: self.groups.of(group),
            optimiser: self.settings.adam.optimiser().into(),
            learning_rate: rate,
            max_grad_norm: if group == POLICY { self.settings.shared.max_grad_norm } else { 0.0 },
            sums,
            stop: None,
        }
    }

    /// ½ Σ w² of the critics' weights, `[S, 1]`, by its share in the loss.
    fn decay(&self, parts: &[Tensor]) -> Option<Tensor> {
        let weights = parts.iter().filter(|part| part.rank() == 3);
        let squares = weights.map(|w| w.square().sum(&[1, 2]).reshape(&[w.size(0), 1]));
        let decay = self.settings.weight_decay;
        if decay == 0.0 { None } else { squares.reduce(|a, b| a + b).map(|sum| sum * (0.5 * decay)) }
    }
}

impl OffPolicy for Deterministic {
    type Learner = DeterministicLearner;

    fn replay(&self) -> &Replay {
        &self.settings.replay
    }

    fn net(&self) -> &LayersConfig {
        &self.settings.shared.net
    }

    fn layout(&self) -> &Layout {
        self.groups.layout()
    }

    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }

    fn entries(&self) -> Vec<StateEntry> {
        let mut entries = self.groups.entries();
        entries.push(StateEntry::new("target", &[self.layout().len()], DType::F32).from(First::Parameters(0)));
        entries
    }

    fn begin(&self, held: &Held) -> DeterministicLearner {
        let mut groups = self.groups.begin(held).into_iter();
        let mut next = || groups.next().unwrap_or_else(|| Trained { theta: Tensor::poison(), ..held.trained() });
        DeterministicLearner { policy: next(), values: next(), target: held.get("target") }
    }

    fn acting(&self, learner: &DeterministicLearner, rates: &Named) -> Acting {
        let values = rates.find("sigma").map(|sigma| ("sigma", sigma)).into_iter().collect();
        Acting { parts: self.groups.of(POLICY).split(learner.policy.theta), values }
    }

    fn last_rates(&self) -> Named {
        [("sigma", Tensor::constant_f32(self.settings.shared.sigma))].into()
    }

    fn remembered(&self) -> Vec<(&'static str, usize)> {
        self.policy.remembered()
    }

    fn period(&self) -> usize {
        self.settings.delay
    }

    fn update(
        &self,
        cx: &mut Context,
        learner: DeterministicLearner,
        occasion: Occasion<'_>,
    ) -> UpdateOutcome<DeterministicLearner> {
        let DeterministicLearner { policy, values, target: targets } = learner;
        let (Occasion { rates, batch, key, number }, settings) = (occasion, &self.settings);
        let Transitions { obs, action, next_obs, reward, terminated } = batch.transitions;
        let at = self.groups.offset(VALUES);
        let (of_policy, of_values) = (self.groups.of(POLICY), self.groups.of(VALUES));
        let old = [targets.slice(1, 0, at), targets.slice(1, at, targets.size(1))];

        let ahead = self.policy.action(&of_policy.split(old[0]), next_obs);
        let ahead = match settings.smoothing {
            Some(by) => smoothed(ahead, RowNoise::new(key, obs.size(1)).apart(1).normal(self.actions), by),
            None => ahead,
        };
        let lowest = |values: Vec<Tensor>| values.into_iter().reduce(Tensor::min).unwrap_or(Tensor::poison());
        let value = lowest(self.all(&of_values.split(old[1]), next_obs, ahead));
        let y = target(scaled(reward, settings.shared.reward_scale), terminated, value, batch.discount);
        let critics = self.descent(VALUES, rates.get("learning_rate"), &["value_loss"]);
        let critic = critics.run(cx, values, 1, &(), |parts, ()| {
            let loss = batch.squared_errors(&self.all(parts, obs, action), y);
            let seen = [("value_loss", loss)].into();
            Look { loss: self.decay(parts).map_or(loss, |decay| loss + decay), seen }
        });
        let first = self.values[0].forward(&of_values.split(values.theta), Tensor::concat(&[obs, action], 2));
        let errors = (y - first).abs();
        let metrics = |actor: Metrics| actor.with(critics.means(&critic)).with(critic.counts());
        let values = critic.trained;

        let sums = ["policy_loss", "grad_norm"];
        let fixed = of_values.split(values.theta);
        let actors = self.descent(POLICY, rates.get("policy_learning_rate"), &sums);
        let among_ranks = cx.ranks() > 1;
        let mut moved = |policy: Trained, targets: Tensor| {
            let actor = actors.run(cx, policy, 1, &(), |parts, ()| {
                let input = Tensor::concat(&[obs, self.policy.action(parts, obs)], 2);
                // As the paper of priorities has it, only the critics' errors are weighted.
                let loss = -mean(self.values[0].forward(&fixed, input));
                Look { loss, seen: [("policy_loss", loss)].into() }
            });
            let new = Tensor::concat(&[actor.trained.theta, values.theta], 1);
            let policy = actor.trained;
            (policy, settings.shared.polyak.step(targets, new), actors.means(&actor))
        };
        let (policy, target, actor) = match settings.delay {
            1 => moved(policy, targets),
            delay => {
                // While the policy waits, it has no value of its own, and so no weight.
                let none = Tensor::zeros(&[obs.size(0), 1]);
                let nothing = Metrics::default().means(&sums, none.broadcast_to(&[obs.size(0), sums.len()]), none);
                let last = number.eq(Tensor::constant_u32(delay as u32 - 1));
                let init = ((policy, targets), nothing);
                let mut step = |((policy, targets), _): ((Trained, Tensor), Metrics)| {
                    let (policy, target, actor) = moved(policy, targets);
                    ((policy, target), actor)
                };
                let ((policy, target), actor) = if among_ranks {
                    // Ranks cannot meet inside of what may not be done: the step is made, and dropped.
                    let made = step(init.clone()).flat();
                    let kept = made.iter().zip(init.flat()).map(|(new, old)| last.select(*new, old));
                    init.with(&kept.collect::<Vec<_>>())
                } else {
                    run_tree_if(last, &init, step)
                };
                (policy, target, actor)
            }
        };
        UpdateOutcome { learner: DeterministicLearner { policy, values, target }, metrics: metrics(actor), errors }
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &DeterministicLearner) {
        let DeterministicLearner { policy, values, target } = learner.clone();
        self.groups.keep(it, &[policy, values]);
        it.update("target", target);
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        let DeterministicSettings { adam, shared, .. } = &self.settings;
        let DeterministicConfig { policy_learning_rate, sigma, .. } = *shared;
        let of_policy = policy_learning_rate * adam.factor(at);
        vec![("train/learning_rate", adam.rate(at)), ("train/policy_learning_rate", of_policy), ("train/sigma", sigma)]
    }
}
