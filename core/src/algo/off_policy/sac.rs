//! Soft Actor-Critic.
//!
//! Haarnoja et al. 2018, arXiv:1812.05905, algorithm 1 and eq. 2 to 7, 18; for choices Christodoulou 2019,
//! arXiv:1910.07207. Departures from the paper, each with its reason:
//!  1. the gradient of the temperature is that of ln α, as in the authors' code: it does not vanish when α does
//!  2. time-limited episodes bootstrap from their final observation (arXiv:1712.00378)
//!  3. an update with a gradient that is not finite is dropped and counted
//!
//! In an update, the critics make a step towards the soft target; then the policy makes one by the new critics, then
//! the temperature, then the targets, in every so many updates (`target_update_interval`).

mod actor;
mod config;
mod loss;

use actor::{Soft, SoftActor};
pub use config::SacConfig;
pub use loss::{critic_loss, policy_loss, standardised, target, temperature_loss};

use super::shared::rewards::scaled;
use super::shared::target_steps::TargetSteps;
use super::shared::{Occasion, OffPolicy, OffPolicyLearner, Replay, UpdateOutcome};
use crate::algo::{AlgorithmDef, Family, First, Held, ParameterGroups, StateEntry, Trained};
use crate::dist::RowNoise;
use crate::env::EnvSpec;
use crate::learn::{Descent, Look};
use crate::nn::{Init, Layout, Mlp};
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, LayersConfig, Policy};
use crate::program::Context;
use crate::replay::{Transitions, mean};
use crate::settings::Settings as _;
use crate::tensor::Named;
use crate::{DType, Result, Tensor};

/// SAC in the register.
pub static SAC: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("sac/presets.toml"),
    ..AlgorithmDef::new::<SacConfig>(
        "sac",
        "Soft Actor-Critic (arXiv:1812.05905, for discrete actions 1910.07207)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Sac::of(&SacConfig::default().with(settings)?, spec)?)),
    )
};

/// SAC on an environment.
pub type Sac = OffPolicyLearner<SacNets>;

/// The number of the policy's group of parameters.
const POLICY: usize = 0;
const VALUES: usize = 1;
const TEMPERATURE: usize = 2;

/// The networks and settings of SAC.
#[derive(Clone, Debug)]
pub struct SacNets {
    config: SacConfig,
    groups: ParameterGroups,
    actor: SoftActor,
    values: [Mlp; 2],
    target_entropy: f64,
}

/// The learner of SAC: all that updates change.
#[derive(Clone, Debug)]
pub struct SacLearner {
    policy: Trained,
    values: Trained,
    /// ln α and its optimiser's memory, if it is learned.
    temperature: Option<Trained>,
    /// Parameters of the target critics, `[S, P]`.
    target: Tensor,
    /// Updates since their last step, u32 `[S, 1]`, if not every update has one.
    since: Option<Tensor>,
}

crate::tree!(SacLearner: policy, values, temperature, target, since);

impl Sac {
    /// Makes SAC for an environment; discrete actions have a form of their own (arXiv:1910.07207).
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn of(config: &SacConfig, spec: &EnvSpec) -> Result<Sac> {
        OffPolicyLearner::new(SacNets::new(config, spec)?, spec)
    }
}

impl SacNets {
    /// Makes the networks for an environment; discrete actions have a form of their own (arXiv:1910.07207).
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(config: &SacConfig, spec: &EnvSpec) -> Result<SacNets> {
        config.validate()?;
        let (mut of_policy, mut of_values) = (Layout::new(), Layout::new());
        let actor = SoftActor::new(&mut of_policy, spec, config)?;
        let [inputs, outputs] = actor.sizes(spec.observation.len());
        let sizes = [&[inputs], &config.net.hidden[..], &[outputs]].concat();
        let gain = config.net.orthogonal_init.then_some(1.0);
        let values =
            ["value.0", "value.1"].map(|name| Mlp::new(&mut of_values, name, 0, &sizes, config.net.activation, gain));
        let mut groups = vec![(ParameterGroups::SCALE, of_policy), ("adam_scale_values", of_values)];
        if config.learn_temperature {
            let mut layout = Layout::new();
            layout.add("log_temperature", &[1], Init::Constant(config.temperature.ln()));
            groups.push(("adam_scale_temperature", layout));
        }
        let target_entropy = match spec.action.choices() {
            Some(choices) => config.target_entropy_share * (choices as f64).ln(),
            None => config.target_entropy * spec.action.dim() as f64,
        };
        Ok(SacNets { config: config.clone(), groups: ParameterGroups::new(groups), actor, values, target_entropy })
    }

    /// Rewards as updates learn from them: standardised and scaled, if the settings ask for it.
    fn rewards(&self, reward: Tensor) -> Tensor {
        let config = &self.config;
        let reward = match config.standardise_rewards {
            false => reward,
            true => standardised(reward),
        };
        scaled(reward, config.reward_scale)
    }

    /// The steps of the targets, if not every update has one.
    fn target_steps(&self) -> Option<TargetSteps> {
        let (interval, polyak) = (self.config.target_update_interval, self.config.polyak);
        (interval > 1).then_some(TargetSteps { interval, polyak })
    }

    fn descent<'a>(&'a self, group: usize, rate: Tensor, sums: &'a [&'static str]) -> Descent<'a> {
        Descent {
            layout: self.groups.of(group),
            optimiser: self.config.adam.optimiser().into(),
            learning_rate: rate,
            max_grad_norm: if group == POLICY { self.config.max_grad_norm } else { 0.0 },
            sums,
            stop: None,
        }
    }

    /// Makes the temperature's step, by the mean log-probability `[S, 1]` of actions that the policy drew.
    fn temper(
        &self,
        cx: &mut Context,
        temperature: Option<Trained>,
        rate: Tensor,
        log_prob: Tensor,
    ) -> Option<Trained> {
        let temperature = temperature?;
        let end = self.descent(TEMPERATURE, rate, &[]).run(cx, temperature, 1, &(), |parts, ()| Look {
            loss: temperature_loss(parts[0], log_prob, self.target_entropy),
            seen: Named::new(),
        });
        Some(end.trained)
    }
}

impl OffPolicy for SacNets {
    type Learner = SacLearner;

    fn replay(&self) -> &Replay {
        &self.config.replay
    }

    fn net(&self) -> &LayersConfig {
        &self.config.net
    }

    fn layout(&self) -> &Layout {
        self.groups.layout()
    }

    fn policy(&self) -> Box<dyn Policy + '_> {
        self.actor.policy()
    }

    fn entries(&self) -> Vec<StateEntry> {
        let mut entries = self.groups.entries();
        let target = StateEntry::new("target", &[self.groups.of(VALUES).len()], DType::F32);
        entries.push(target.from(First::Parameters(self.groups.offset(VALUES))));
        entries.extend(self.target_steps().map(|steps| steps.entry()));
        entries
    }

    fn begin(&self, held: &Held) -> SacLearner {
        let mut groups = self.groups.begin(held).into_iter();
        let mut next = || groups.next();
        let none = || Trained { theta: Tensor::poison(), ..held.trained() };
        let (policy, values) = (next().unwrap_or_else(none), next().unwrap_or_else(none));
        let (temperature, target, since) = (next(), held.get("target"), held.find(TargetSteps::SINCE));
        SacLearner { policy, values, temperature, target, since }
    }

    fn acting(&self, learner: &SacLearner, _rates: &Named) -> Acting {
        Acting::of(&self.groups.of(POLICY).split(learner.policy.theta))
    }

    fn noise_lasts(&self) -> bool {
        self.config.sde
    }

    fn update(&self, cx: &mut Context, learner: SacLearner, occasion: Occasion<'_>) -> UpdateOutcome<SacLearner> {
        let SacLearner { policy, values, mut temperature, target: targets, since } = learner;
        let Occasion { rates, batch, key, .. } = occasion;
        let Transitions { obs, action, next_obs, reward, terminated } = batch.transitions;
        let (rate, rows) = (rates.get("learning_rate"), obs.size(1));
        let [of_next, of_obs] = [1, 2].map(|stream| RowNoise::new(key, rows).apart(stream));
        let (of_policy, of_values) = (self.groups.of(POLICY), self.groups.of(VALUES));
        let parts = of_policy.split(policy.theta);
        if self.config.temperature_first {
            let log_prob = mean(self.actor.log_prob(&parts, obs, &of_obs));
            temperature = self.temper(cx, temperature, rate, log_prob);
        }
        let log_alpha = match &temperature {
            Some(temperature) => temperature.theta,
            None => Tensor::constant_f32(self.config.temperature.ln()).broadcast_to(&[obs.size(0), 1]),
        };
        let alpha = log_alpha.exp().unsqueeze(2);

        let Soft { log_prob, value } =
            self.actor.soft(&parts, (&self.values, &of_values.split(targets)), next_obs, &of_next);
        let y = target(self.rewards(reward), terminated, value, log_prob, alpha, batch.discount);
        let taken = |parts: &[Tensor]| self.actor.taken((&self.values, parts), obs, action);
        let critics = self.descent(VALUES, rate, &["value_loss"]);
        let critic = critics.run(cx, values, 1, &(), |parts, ()| {
            let loss = critic_loss(taken(parts), y, batch);
            Look { loss, seen: [("value_loss", loss)].into() }
        });
        let [first, _] = taken(&of_values.split(values.theta));

        let fixed = of_values.split(critic.trained.theta);
        let actors = self.descent(POLICY, rate, &["policy_loss", "entropy", "grad_norm"]);
        let actor = actors.run(cx, policy, 1, &(), |parts, ()| {
            let Soft { log_prob, value } = self.actor.soft(parts, (&self.values, &fixed), obs, &of_obs);
            let loss = mean(policy_loss(alpha, log_prob, value));
            Look { loss, seen: [("policy_loss", loss), ("entropy", -mean(log_prob))].into() }
        });
        if !self.config.temperature_first {
            let entropy = actor.averages().slice(1, 1, 2);
            temperature = self.temper(cx, temperature, rate, -entropy);
        }

        let metrics = actors.means(&actor).with(critics.means(&critic));
        let metrics = metrics.last("train/temperature", alpha.reshape(&[obs.size(0), 1])).with(critic.counts());
        let learned = critic.trained.theta;
        let (target, since) = match self.target_steps().zip(since) {
            None => (self.config.polyak.step(targets, learned), None),
            Some((steps, since)) => {
                let [target, since] = steps.after(targets, since, learned);
                (target, Some(since))
            }
        };
        let learner = SacLearner { policy: actor.trained, values: critic.trained, temperature, target, since };
        UpdateOutcome { learner, metrics, errors: (y - first).abs() }
    }

    fn keep(&self, it: &mut Iteration<'_>, learner: &SacLearner) {
        let SacLearner { policy, values, temperature, target, since } = learner.clone();
        let groups: Vec<Trained> = [policy, values].into_iter().chain(temperature).collect();
        self.groups.keep(it, &groups);
        it.update("target", target);
        if let Some(since) = since {
            it.update(TargetSteps::SINCE, since);
        }
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        vec![("train/learning_rate", self.config.adam.rate(at))]
    }
}
