//! Steps of policy and value function on a rollout, together or apart.

use std::ops::Range;

use super::rank_moments::{merged_over_ranks, moments_of, standardise_by};
use super::{AdvantageScope, CriticConfig, Losses, Minibatch, PolicyGradient, Rollout, StepCredit};
use super::{rollout::by_time, standardise};
use crate::Tensor;
use crate::algo::{Held, Metrics, Statistics, merge_steps};
use crate::learn::{Between, Descended, Descent, Look, Passes, Turn, by_seed};
use crate::optim::{OptimiserConfig, Trained};
use crate::play::Iteration;
use crate::policy::Distribution;

/// The limit, in deviations, of advantages that are standardised by running statistics.
const ADVANTAGE_LIMIT: f64 = 1e6;

/// The rules of the steps of policy and value function.
#[derive(Clone, Copy, Debug)]
pub struct StepRules<'a> {
    /// The optimiser of both networks.
    pub optimiser: &'a OptimiserConfig,
    /// The settings of the value function's steps.
    pub critic: &'a CriticConfig,
    /// The number of passes over the rollout, or of the policy's passes if both networks make their steps apart.
    pub epochs: usize,
    /// The weight of the value function's loss, if both networks make their steps together.
    pub value_coef: f64,
    /// The weight of the entropy.
    pub entropy_coef: f64,
    /// The norm to which longer gradients are scaled down; 0 for no limit.
    pub max_grad_norm: f64,
    /// True if advantages are standardised.
    pub normalise_advantages: bool,
    /// The target of the KL: an iteration stops its updates at 1.5 times this; 0 for no limit.
    pub target_kl: f64,
    /// Names of the numbers, among those seen in each minibatch, whose averages are logged.
    pub sums: &'a [&'static str],
}

impl PolicyGradient {
    /// The rules of one pass over a rollout along the gradient of the return.
    pub fn steps(&self) -> StepRules<'_> {
        StepRules {
            optimiser: &self.optimiser,
            critic: &self.critic,
            epochs: 1,
            value_coef: self.value_coef,
            entropy_coef: self.entropy_coef,
            max_grad_norm: self.max_grad_norm,
            normalise_advantages: self.normalise_advantages,
            target_kl: 0.0,
            sums: &["policy_loss", "value_loss", "entropy", "grad_norm"],
        }
    }
}

/// The networks during an iteration: the groups of their parameters, each with its optimiser's memory.
#[derive(Debug)]
pub struct Networks<'a> {
    rollout: &'a Rollout<'a>,
    steps: StepRules<'a>,
    turn: Option<&'a dyn Turn>,
    /// The policy's group, or that of both networks, if they make their steps together.
    actor: Trained,
    /// The value function's group, if it makes steps of its own.
    critic: Option<Trained>,
    /// Averages over the steps of each group.
    metrics: [Metrics; 2],
    /// The numbers of dropped steps, by group.
    dropped: Vec<Tensor>,
    /// The numbers of steps made, by group.
    made: Vec<Tensor>,
}

impl<'a> Networks<'a> {
    /// Reads the networks from a state. `turn` changes the policy's gradients before each step, after their norms are
    /// limited.
    pub fn begin(
        rollout: &'a Rollout<'a>,
        steps: StepRules<'a>,
        held: &Held,
        turn: Option<&'a dyn Turn>,
    ) -> Networks<'a> {
        let mut groups = rollout.nets.groups().begin(held).into_iter();
        let actor = groups.next().unwrap_or_else(|| Trained { theta: Tensor::poison(), ..held.trained() });
        let metrics = [Metrics::default(), Metrics::default()];
        let (dropped, made) = (Vec::new(), Vec::new());
        Networks { rollout, steps, turn, actor, critic: groups.next(), metrics, dropped, made }
    }

    /// The copy of θ with the value function's parameters, `[S, P]`.
    pub fn critic(&self) -> Tensor {
        self.critic.unwrap_or(self.actor).theta
    }

    /// Makes passes over the rollout in which the policy steps along the gradient of a loss, and the value function
    /// with it if both make their steps together. `losses` gets slices of θ, a minibatch, and true if it is to
    /// standardise advantages in that.
    #[track_caller]
    pub fn step_policy(
        &mut self,
        it: &mut Iteration<'_>,
        held: &Held,
        credit: &StepCredit,
        losses: &dyn Fn(&[Tensor], &Minibatch, bool) -> Losses,
    ) {
        let StepRules { critic, value_coef, entropy_coef, max_grad_norm, target_kl, .. } = self.steps;
        let (rollout, layout, together) = (self.rollout, &self.rollout.nets.layout, !critic.apart());
        let mut sums: Vec<_> =
            self.steps.sums.iter().copied().filter(|name| together || *name != "value_loss").collect();
        if critic.log_details {
            sums.push("policy_grad_norm");
            sums.extend(together.then_some("critic_grad_norm"));
        }
        let descent = Descent {
            layout,
            optimiser: self.steps.optimiser.rule(),
            learning_rate: it.scalar("learning_rate"),
            max_grad_norm,
            sums: &sums,
            stop: (target_kl > 0.0).then_some(("approx_kl", 1.5 * target_kl)),
        };
        let here = self.steps.normalise_advantages && critic.advantage_scope == AdvantageScope::Minibatch;
        let loss = |losses: &Losses| losses.total(together.then_some(value_coef), entropy_coef);
        let norms = self.norms();
        let between = Between { norms: critic.log_details.then_some(&norms), turn: self.turn, ..Between::default() };
        let (rows, passes) =
            (rollout.rows(&self.scaled(it, held, credit)), rollout.passes(self.steps.epochs, rollout.sampling.split()));
        let of_ranks = (here && it.ranks() > 1).then(|| rollout.moments_of_ranks(it, rows, &passes));
        let xs = (passes.xs(), of_ranks);
        let end = descent.run_with(it.context(), between, self.actor, passes.steps(), &xs, |parts, (x, of_ranks)| {
            let minibatch = rollout.drawn(rows, &passes, &x);
            let minibatch = match of_ranks {
                Some(moments) => minibatch.standardised_by(moments),
                None => minibatch,
            };
            let losses = losses(parts, &minibatch, here && of_ranks.is_none());
            Look { loss: loss(&losses), seen: minibatch.counted(losses.seen()) }
        });
        self.metrics[0] = descent.means(&end);
        if critic.log_details {
            let all = rollout.minibatch(rows);
            let at = |theta: Tensor| loss(&losses(&layout.split(theta), &all, here));
            self.detail(
                [("train/loss_before", at(self.actor.theta)), ("train/loss_after", at(end.trained.theta))],
                end.trained.theta,
                &all,
            );
        }
        self.actor = end.trained;
        self.count(&end);
    }

    /// Makes passes over the rollout in which the value function steps towards its targets, if it makes steps of its
    /// own.
    #[track_caller]
    pub fn step_critic(&mut self, it: &mut Iteration<'_>, credit: &StepCredit) {
        let Some(critic) = self.critic else { return };
        let (rollout, StepRules { optimiser, critic: settings, .. }) = (self.rollout, self.steps);
        let descent = Descent {
            layout: &rollout.nets.layout,
            optimiser: settings.rule.optimiser(optimiser),
            learning_rate: it.scalar("critic_learning_rate"),
            max_grad_norm: settings.critic_max_grad_norm,
            sums: &["value_loss", "critic_grad_norm"],
            stop: None,
        };
        let norms = self.norms();
        let between = Between { norms: Some(&norms), ..Between::default() };
        let passes = rollout.passes(settings.critic_epochs, settings.split(&rollout.sampling));
        let end = rollout.fit_values(it, between, &descent, critic, &passes, credit);
        self.metrics[1] = descent.means(&end);
        self.critic = Some(end.trained);
        self.count(&end);
    }

    /// Counts a baseline's fit; `dropped`, `[S, 1]`, is 1 where it was not finite.
    pub fn count_fit(&mut self, dropped: Tensor) {
        self.dropped.push(dropped);
    }

    /// Writes networks and rollout to the state. Gives the metrics of the iteration: episodes, averages, and
    /// `explained`, the share of variance that values explain.
    #[track_caller]
    pub fn keep(self, it: &mut Iteration<'_>, explained: Tensor) -> Metrics {
        let trained: Vec<Trained> = [self.actor].into_iter().chain(self.critic).collect();
        self.rollout.nets.groups().keep(it, &trained);
        self.rollout.keep(it);
        let sum = |x: Vec<Tensor>| x.into_iter().reduce(|a, b| a + b).unwrap_or(Tensor::poison());
        let [policy, critic] = self.metrics;
        let metrics = self.rollout.metrics().with(policy).with(critic);
        metrics
            .last("train/explained_variance", explained)
            .sum(Metrics::NON_FINITE, sum(self.dropped))
            .sum(Metrics::UPDATES, sum(self.made))
    }

    fn count(&mut self, end: &Descended) {
        self.dropped.push(end.non_finite);
        self.made.push(end.updates);
    }

    /// Gives the function that measures the norms of both networks' gradients.
    fn norms(&self) -> impl Fn(Tensor) -> Vec<(&'static str, Tensor)> + use<> {
        let value = self.rollout.nets.value_places();
        move |gradient| {
            let of = |places: &[Range<usize>]| {
                let squares = places.iter().filter(|places| !places.is_empty());
                let squares = squares.map(|places| gradient.slice(1, places.start, places.end).square().sum_keep(1));
                squares.reduce(|a, b| a + b).map_or_else(|| Tensor::zeros(&[gradient.size(0), 1]), Tensor::sqrt)
            };
            let policy = [0..value.start, value.end..gradient.size(1)];
            vec![("policy_grad_norm", of(&policy)), ("critic_grad_norm", of(std::slice::from_ref(&value)))]
        }
    }

    /// Adds losses over all steps, and σ after the updates, to the policy's metrics.
    fn detail(&mut self, losses: [(&'static str, Tensor); 2], theta: Tensor, all: &Minibatch) {
        let net = self.rollout.nets;
        let [before, after] = losses;
        let mut metrics = std::mem::take(&mut self.metrics[0]).last(before.0, before.1).last(after.0, after.1);
        let policy = net.distribution_of(&net.layout.split(theta), all.obs, all.sequences.as_ref());
        if let Distribution::Vector(gaussian) = policy {
            let std = gaussian.log_std().exp();
            let [seeds, n] = [std.size(0), std.len() / std.size(0).max(1)];
            metrics = metrics.last("train/std", std.reshape(&[seeds, n]).sum_keep(1) * (1.0 / n as f64));
        }
        self.metrics[0] = metrics;
    }

    /// The credit with advantages standardised over the rollout or by statistics of all rollouts so far, if the
    /// settings ask for it.
    fn scaled(&self, it: &mut Iteration<'_>, held: &Held, credit: &StepCredit) -> StepCredit {
        let rollout = self.rollout;
        let of = |f: &dyn Fn(Tensor) -> Tensor| {
            let shape = credit.advantages.shape();
            let [t, s, n, _] = shape[..] else { return Tensor::poison() };
            by_time(f(by_seed(credit.advantages)), [t, s, n])
        };
        let advantages = match self.steps.critic.advantage_scope {
            AdvantageScope::Rollout if self.steps.normalise_advantages && it.ranks() > 1 => {
                let own = moments_of(by_seed(credit.advantages), rollout.valid()).unsqueeze(0);
                let moments = merged_over_ranks(it, own);
                let moments = moments.reshape(&moments.shape()[1..]);
                of(&|x| standardise_by(x, moments))
            }
            AdvantageScope::Rollout if self.steps.normalise_advantages => of(&|x| standardise(x, rollout.valid())),
            AdvantageScope::Running if self.steps.normalise_advantages => {
                let Some(moments) = Statistics::ADVANTAGES.find(held) else { return *credit };
                let moments = merge_steps(it, moments, credit.advantages, rollout.valid);
                Statistics::ADVANTAGES.keep(it, &moments);
                of(&|x| moments.standardise(x, ADVANTAGE_LIMIT))
            }
            _ => credit.advantages,
        };
        StepCredit { advantages, ..*credit }
    }
}

impl Rollout<'_> {
    /// Makes passes over the rollout in which the value function steps towards its targets.
    #[track_caller]
    pub fn fit_values(
        &self,
        it: &mut Iteration<'_>,
        between: Between<'_>,
        descent: &Descent<'_>,
        critic: Trained,
        passes: &Passes,
        credit: &StepCredit,
    ) -> Descended {
        let (net, rows) = (self.nets, self.rows(credit));
        descent.run_with(it.context(), between, critic, passes.steps(), &passes.xs(), |parts, x| {
            let minibatch = self.drawn(rows, passes, &x);
            let value = net.value_of(parts, minibatch.obs, minibatch.sequences.as_ref());
            let loss = minibatch.value_loss(value, None);
            Look { loss, seen: minibatch.counted([("value_loss", loss)].into()) }
        })
    }
}
