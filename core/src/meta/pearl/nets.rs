//! The networks of PEARL, and one update of them.

use super::config::PearlConfig;
use super::encoder::ContextEncoder;
use super::loss::{PolicyNumbers, Regularisers, critic_loss, critic_target, policy_loss, regularisation, value_loss};
use super::policy::{ContextPolicy, augmented};
use crate::algo::{First, Held, Metrics, ParameterGroups, StateEntry, Trained};
use crate::env::EnvSpec;
use crate::learn::{Descent, Look};
use crate::nn::{Layout, Mlp};
use crate::optim::Adam;
use crate::play::Iteration;
use crate::policy::Squashed;
use crate::program::Context;
use crate::replay::{Transitions, mean};
use crate::tensor::Named;
use crate::{DType, Result, Tensor};

/// The number of the policy's group. The parameters of a group are stepped together.
const POLICY: usize = 0;
/// The number of the group of the encoder and, behind it, of both critics.
const CRITICS: usize = 1;
const VALUE: usize = 2;

/// Policy, encoder, critics and value function for one environment.
#[derive(Clone, Debug)]
pub struct PearlNets {
    /// The settings.
    pub config: PearlConfig,
    /// Reads contexts.
    pub encoder: ContextEncoder,
    /// The optimiser of all networks; the settings hold its step sizes.
    pub optimiser: Adam,
    groups: ParameterGroups,
    actor: Squashed,
    critics: [Mlp; 2],
    value: Mlp,
    /// The number of the encoder's slices, and that of its parameters.
    of_encoder: [usize; 2],
}

/// All state that updates change.
#[derive(Clone, Debug)]
pub struct PearlLearner {
    policy: Trained,
    critics: Trained,
    value: Trained,
    /// Parameters of the value function in the critics' targets, `[S, P]`.
    target: Tensor,
}

crate::tree!(PearlLearner: policy, critics, value, target);

/// The data of one update, for M tasks of each of S seeds.
#[derive(Clone, Debug)]
pub struct PearlBatch {
    /// Evidence before the context is read, `[S, M, ·]` each.
    pub evidence: Named,
    /// The context in the encoder's form, `[S, M, C, I]`.
    pub context: Tensor,
    /// Transitions, `[S, M · B, …]`.
    pub transitions: Transitions,
    /// Standard normal numbers for draws of z, `[S, M, Z]`.
    pub of_z: Tensor,
    /// Standard normal numbers for draws of actions, `[S, M · B, A]`.
    pub of_actions: Tensor,
}

/// The result of an update.
#[derive(Clone, Debug)]
pub struct PearlUpdated {
    /// The learner after the update.
    pub learner: PearlLearner,
    /// Metrics of the update; all updates have metrics of equal names.
    pub metrics: Metrics,
    /// Evidence after the context is read, without a gradient.
    pub evidence: Named,
}

impl PearlNets {
    /// Declares the networks for an environment.
    ///
    /// # Errors
    /// If a setting is invalid, or the environment takes discrete actions.
    pub fn new(config: &PearlConfig, spec: &EnvSpec) -> Result<PearlNets> {
        config.validate()?;
        let (mut of_policy, mut of_critics, mut of_value) = (Layout::new(), Layout::new(), Layout::new());
        let seen = augmented(spec, config.latent_dim);
        let actor = Squashed::new(&mut of_policy, &seen, &config.net, 0)?;
        let encoder = ContextEncoder::new(&mut of_critics, config, spec);
        let of_encoder = [of_critics.parts().len(), of_critics.len()];
        let gain = config.net.orthogonal_init.then_some(1.0);
        let network = |layout: &mut Layout, name: &str, inputs: usize| {
            let sizes = [&[inputs], &config.net.hidden[..], &[1]].concat();
            Mlp::new(layout, name, 0, &sizes, config.net.activation, gain)
        };
        let seen = seen.observation.len();
        // Each critic begins with parameters of its own. If both began alike, as garage's do, their minimum would be no
        // caution.
        let critics = ["critic.0", "critic.1"].map(|name| network(&mut of_critics, name, seen + spec.action.dim()));
        let value = network(&mut of_value, "value", seen);
        let groups = vec![
            (ParameterGroups::SCALE, of_policy),
            ("adam_scale_critics", of_critics),
            ("adam_scale_value", of_value),
        ];
        Ok(PearlNets {
            config: config.clone(),
            encoder,
            optimiser: Adam { eps: config.adam_eps, ..Adam::default() },
            groups: ParameterGroups::new(groups),
            actor,
            critics,
            value,
            of_encoder,
        })
    }

    /// The slices of θ, by name.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        self.groups.layout()
    }

    /// The policy that acts. It infers its belief anew after `infers` episodes each, or not at all.
    #[must_use]
    pub fn policy(&self, infers: Option<usize>) -> ContextPolicy<'_> {
        let slices = self.groups.of(POLICY).slices().count();
        ContextPolicy { net: &self.actor, encoder: &self.encoder, slices, latent: self.config.latent_dim, infers }
    }

    /// The slices of θ `[S, P]` that the policy acts by: its own, then the encoder's.
    #[track_caller]
    #[must_use]
    pub fn acting_parts(&self, theta: Tensor) -> Vec<Tensor> {
        let (policy, critics) = (self.groups.offset(POLICY), self.groups.offset(CRITICS));
        let split = |group: usize, from: usize| {
            let layout = self.groups.of(group);
            layout.split(theta.slice(1, from, from + layout.len()))
        };
        let encoder = split(CRITICS, critics).into_iter().take(self.of_encoder[0]);
        split(POLICY, policy).into_iter().chain(encoder).collect()
    }

    /// The entries of the state: parameters, their optimiser's memory, and the target's parameters.
    #[must_use]
    pub fn entries(&self) -> Vec<StateEntry> {
        let mut entries = self.groups.entries();
        let target = StateEntry::new("target", &[self.groups.of(VALUE).len()], DType::F32);
        entries.push(target.from(First::Parameters(self.groups.offset(VALUE))));
        entries
    }

    /// Reads the learner from a state.
    #[must_use]
    pub fn begin(&self, held: &Held) -> PearlLearner {
        let mut groups = self.groups.begin(held).into_iter();
        let mut next = || groups.next().unwrap_or_else(|| Trained { theta: Tensor::poison(), ..held.trained() });
        PearlLearner { policy: next(), critics: next(), value: next(), target: held.get("target") }
    }

    /// Writes the learner to the state.
    pub fn keep(&self, it: &mut Iteration<'_>, learner: &PearlLearner) {
        let PearlLearner { policy, critics, value, target } = learner.clone();
        self.groups.keep(it, &[policy, critics, value]);
        it.update("target", target);
    }

    fn descent<'a>(&'a self, group: usize, rate: Tensor, sums: &'a [&'static str]) -> Descent<'a> {
        Descent {
            layout: self.groups.of(group),
            optimiser: self.optimiser.into(),
            learning_rate: rate,
            max_grad_norm: 0.0,
            sums,
            stop: None,
        }
    }

    /// Step sizes of the encoder and, behind them, of the critics: `[1, P]`, or `[]` if both are equal.
    fn critic_rates(&self) -> Tensor {
        let PearlConfig { context_lr, qf_lr, .. } = self.config;
        let (encoder, all) = (self.of_encoder[1], self.groups.of(CRITICS).len());
        let rate = |rate: f64, count: usize| Tensor::constant_f32(rate).broadcast_to(&[1, count]);
        match context_lr == qf_lr {
            true => Tensor::constant_f32(qf_lr),
            false => Tensor::concat(&[rate(context_lr, encoder), rate(qf_lr, all - encoder)], 1),
        }
    }

    /// Makes one update: of critics and encoder by the critics' loss and the belief's divergence, of the value function
    /// by the new critics, of its target, and of the policy. Only the first of these moves the encoder.
    #[track_caller]
    #[must_use]
    pub fn update(&self, cx: &mut Context, learner: PearlLearner, data: &PearlBatch) -> PearlUpdated {
        let PearlLearner { policy, critics, value, target } = learner;
        let PearlBatch { evidence, context, transitions, of_z, of_actions } = data;
        let Transitions { obs, action, next_obs, reward, terminated } = *transitions;
        let config = &self.config;
        let (of_policy, of_critics, of_value) =
            (self.groups.of(POLICY), self.groups.of(CRITICS), self.groups.of(VALUE));
        let (seeds, m, rows) = (of_z.size(0), of_z.size(1), obs.size(1));
        let per_row = |z: Tensor| {
            let latent = z.size(2);
            z.unsqueeze(2).broadcast_to(&[seeds, m, rows / m, latent]).reshape(&[seeds, rows, latent])
        };
        let beside = |x: &[Tensor]| Tensor::concat(x, 2);
        let infer = |parts: &[Tensor]| {
            let after = self.encoder.after(parts, evidence, *context, None);
            let belief = self.encoder.belief(parts, &after);
            (after, belief, per_row(belief.draw(*of_z)))
        };
        let valued = |parts: &[Tensor], action: Tensor, z: Tensor| {
            let input = beside(&[obs, action, z]);
            [0, 1].map(|i| self.critics[i].forward(parts, input))
        };
        let (after, belief, z) = infer(&of_critics.split(critics.theta));
        let z = z.stop_gradient();

        let next_value = self.value.forward(&of_value.split(target), beside(&[next_obs, z]));
        let y = critic_target(reward, terminated, next_value, config.reward_scale, config.gamma);
        let of_loss = self.descent(CRITICS, self.critic_rates(), &["value_loss", "belief_kl"]);
        let critic = of_loss.run(cx, critics, 1, &(), |parts, ()| {
            let (_, belief, z) = infer(parts);
            let (loss, kl) = (critic_loss(valued(parts, action, z), y), belief.divergence());
            Look { loss: loss + kl * config.kl_lambda, seen: [("value_loss", loss), ("belief_kl", kl)].into() }
        });

        let fixed = of_critics.split(critic.trained.theta);
        let act = |parts: &[Tensor]| {
            let here = self.actor.distribution(parts, beside(&[obs, z]));
            let drawn = here.disturbed(*of_actions);
            let [a, b] = valued(&fixed, drawn.tanh(), z);
            (here, drawn, here.log_prob_before(drawn), a.min(b))
        };
        let (_, _, log_prob, lower) = act(&of_policy.split(policy.theta));
        let of_values = self.descent(VALUE, Tensor::constant_f32(config.vf_lr), &["state_value_loss"]);
        let valuer = of_values.run(cx, value, 1, &(), |parts, ()| {
            let loss = value_loss(self.value.forward(parts, beside(&[obs, z])), lower, log_prob);
            Look { loss, seen: [("state_value_loss", loss)].into() }
        });

        let of_actor = self.descent(POLICY, Tensor::constant_f32(config.policy_lr), &["policy_loss", "entropy"]);
        let actor = of_actor.run(cx, policy, 1, &(), |parts, ()| {
            let (here, drawn, log_prob, lower) = act(parts);
            let loss = policy_loss(lower, log_prob);
            let factors = Regularisers {
                mean: config.policy_mean_reg_coeff,
                std: config.policy_std_reg_coeff,
                draw: config.policy_pre_activation_coeff,
            };
            let numbers = PolicyNumbers { mean: here.middle(), log_std: here.log_std(), drawn };
            let small = regularisation(&numbers, factors);
            Look { loss: loss + small, seen: [("policy_loss", loss), ("entropy", -mean(log_prob))].into() }
        });

        let average =
            |x: Tensor| x.sum_keep(2).sum_keep(1).reshape(&[seeds, 1]) * (1.0 / (x.size(1) * x.size(2)) as f64);
        let mut metrics = of_loss.means(&critic).with(of_values.means(&valuer)).with(of_actor.means(&actor));
        metrics = metrics.last("train/belief_mean", average(belief.mean.abs()));
        if let Some(variance) = belief.variance {
            metrics = metrics.last("train/belief_std", average(variance.sqrt()));
        }
        let metrics = metrics.with(critic.counts());
        PearlUpdated {
            learner: PearlLearner {
                policy: actor.trained,
                critics: critic.trained,
                value: valuer.trained,
                target: config.polyak.step(target, valuer.trained.theta),
            },
            metrics,
            evidence: after.iter().map(|(name, x)| (name, x.stop_gradient())).collect(),
        }
    }
}
