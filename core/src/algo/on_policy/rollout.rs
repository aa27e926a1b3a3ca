//! Rollouts as learners need them: values, returns and episodes are computed from what was played, on devices and on the host alike.

use crate::algo::count::Count;
use crate::algo::{ActorCritic, Held};
use crate::credit::{Baseline, Moments};
use crate::dist::fold_in;
use crate::play::{Amount, Cast, Experience, Iteration, Running, Until};
use crate::policy::{Acting, MEMORY, Normalised};
use crate::rng::streams;
use crate::tensor::{Named, fail, scan_tree};
use crate::{Error, Tensor};

use super::{Sampling, Sequences, by_seed};

/// T steps of N environments per seed.
#[derive(Clone, Debug)]
pub(super) struct Rollout {
    /// Observations as they are, `[T, S, N, O]`.
    pub obs: Tensor,
    /// The same as the networks get them, `[S, T · N, O]`.
    pub seen: Tensor,
    /// The same with the observations that time limits cut off and the next ones behind them, `[S, T · N + C · N + N, O]`.
    pub all: Tensor,
    /// Actions as drawn, `[T, S, N, A]`.
    pub action: Tensor,
    /// Their log-probabilities, `[T, S, N, 1]`.
    pub logp: Tensor,
    /// Values of the observations, `[T, S, N, 1]`.
    pub value: Tensor,
    /// Rewards, `[T, S, N, 1]`.
    pub reward: Tensor,
    /// Added to the rewards that are learned from once they are scaled, `[T, S, N, 1]`.
    pub bonus: Option<Tensor>,
    /// u32, `[T, S, N, 1]`.
    pub terminated: Tensor,
    /// u32, `[T, S, N, 1]`.
    pub truncated: Tensor,
    /// Discounted returns, `[T, S, N, 1]`.
    pub discounted: Tensor,
    /// Returns of the episodes that ended, in their last steps: `[T, S, N, 1]`, as [`Metrics::returns`] has them.
    pub ended: Tensor,
    /// Value of the last observation that a time limit cut off, in each of C spans of time: `[S, C · N, 1]`.
    pub cut_value: Tensor,
    /// Environment states `[S, N, F]`, where the next rollout starts.
    pub env_state: Tensor,
    /// Observations there, `[S, N, O]`.
    pub next_obs: Tensor,
    /// Their tasks `[S, N, D]`, where each episode has its own.
    pub next_task: Option<Tensor>,
    /// Values of the observations there, `[S, N, 1]`.
    pub next_value: Tensor,
    /// How its steps follow each other, where networks remember.
    pub sequences: Option<Sequences>,
    /// The states of their memories there, `[S, N, W]` each.
    pub next_memory: Option<[Tensor; 2]>,
    /// Running episodes there, and those that ended in this rollout.
    pub count: Count,
    /// 1 where a step counts, 0 behind the last whole episode, u32 `[T, S, N, 1]`; none where rollouts go on.
    pub valid: Option<Tensor>,
}

/// An actor-critic that plays and learns with fixed parameters.
pub(super) struct Collector<'a> {
    pub sampling: Sampling,
    pub net: &'a ActorCritic,
    /// Slices of θ and, if observations are normalised, their statistics.
    pub acting: Acting,
    /// Each seed's key, words of `[S, 1]`.
    pub key: [Tensor; 2],
    /// Number of the iteration, from 1; 0 is the reset.
    pub iteration: Tensor,
}

/// Steps per span of time: within a span, no environment is cut off twice and no noise matrix is renewed.
///
/// A time limit cuts an environment off at most once in as many steps. So one final observation per environment and
/// span is all that bootstrapping needs, instead of one per step.
pub(super) fn span(config: &Sampling, time_limit: usize) -> usize {
    let unit = if config.sde && config.sde_sample_freq > 0 { config.sde_sample_freq } else { config.horizon };
    (1..=unit.min(time_limit)).rev().find(|d| unit % d == 0).unwrap_or(1)
}

impl<'a> Collector<'a> {
    /// With the parameters and statistics of a state.
    pub fn new(sampling: Sampling, net: &'a ActorCritic, it: &Iteration<'_>, held: &Held) -> Collector<'a> {
        Collector { sampling, net, acting: net.acting(held), key: it.key(), iteration: it.number() }
    }

    /// Observations as the networks get them, `[S, B, O]`.
    pub fn normalised(&self, obs: Tensor) -> Tensor {
        Normalised::seen(&self.acting, obs)
    }

    /// One rollout: from where the last one ended, or of whole episodes from new ones on.
    pub fn collect(&self, it: &mut Iteration<'_>, held: &Held) -> Rollout {
        if let Some(amount) = self.sampling.whole() {
            return self.collect_whole(it, held, amount);
        }
        if !it.spec().task.is_empty() && held.find("task").is_none() {
            fail(Error::one_task(&it.spec().name));
            return Rollout::poison();
        }
        let Sampling { horizon, envs, sde, sde_sample_freq, .. } = self.sampling;
        let (obs, steps) = (held.get("obs"), held.get("env_steps"));
        let rows = [obs.size(0), envs];
        let state = held.find("env_state").unwrap_or(obs);
        let memories = self.memories(held);
        let memory = memories.map_or_else(Named::new, |[policy, _]| Named::from([(MEMORY, policy)]));
        let from = Running { state, steps: steps.reshape(&rows), obs, memory, task: held.find("task") };
        let policy = Normalised(&self.net.policy);
        let span = span(&self.sampling, it.spec().horizon);
        let until = Until { steps: horizon, span, lasting: sde.then_some(sde_sample_freq) };
        let cast = Cast { policy: &policy, acting: &self.acting, rows };
        self.rollout(&it.go_on(cast, from, until, Tensor::constant_u32(0)), held, memories)
    }

    /// Whole episodes from new ones on.
    fn collect_whole(&self, it: &mut Iteration<'_>, held: &Held, amount: Amount) -> Rollout {
        let Sampling { horizon, envs, .. } = self.sampling;
        let rows = [self.key[0].size(0), envs];
        let stream = fold_in(self.key, Tensor::constant_u32(streams::EPISODES));
        let policy = Normalised(&self.net.policy);
        let cast = Cast { policy: &policy, acting: &self.acting, rows };
        let mut played = it.own_episodes(cast, fold_in(stream, self.iteration), amount, horizon, false);
        let steps = &mut played.steps;
        let (valid, none) = (steps.valid, Tensor::constant_f32(0.0));
        // An environment that goes on behind its last episode may get anywhere: what is seen there is not even looked at.
        for x in [&mut steps.obs, &mut steps.next_obs, &mut steps.action] {
            *x = valid.select(*x, none);
        }
        let said =
            |(name, x): (&'static str, Tensor)| (name, if name == "log_prob" { valid.select(x, none) } else { x });
        steps.extras = steps.extras.iter().map(said).collect();
        if let ([t, s, n, o], true) = (&steps.next_obs.shape()[..], it.in_program()) {
            // In a span the time limit, which alone cuts off here, does so at most once. On the host it may happen in every step.
            let spans = horizon / span(&self.sampling, it.spec().horizon);
            let cut = steps.truncated.select(steps.next_obs, none).reshape(&[spans, t / spans, *s, *n, *o]);
            played.cut_obs = Some(cut.sum_keep(1).reshape(&[spans, *s, *n, *o]));
        } else {
            played.cut_obs = Some(steps.next_obs);
        }
        let memories = self.net.cells().map(|cells| cells.map(|cell| cell.initial(&self.acting.parts, rows)));
        Rollout { valid: Some(valid), ..self.rollout(&played, held, memories) }
    }

    /// The states of both networks' memories where the rollout begins, `[S, N, W]` each, if there are such: where an episode has just begun,
    /// the first ones by these parameters.
    fn memories(&self, held: &Held) -> Option<[Tensor; 2]> {
        let cells = self.net.cells()?;
        let begins = held.get("env_steps").eq(Tensor::constant_u32(0));
        let state = |network: usize| {
            let kept = held.get(MEMORIES[network]);
            begins.select(cells[network].initial(&self.acting.parts, [begins.size(0), begins.size(1)]), kept)
        };
        Some([state(0), state(1)])
    }

    /// The rollout that was played.
    fn rollout(&self, played: &Experience, held: &Held, memories: Option<[Tensor; 2]>) -> Rollout {
        let steps = &played.steps;
        let shape = steps.reward.shape();
        let [t, s, n, _] = shape[..] else { return Rollout::poison() };
        // Values of everything at once: rows of a product do not depend on each other.
        let by_time = |x: Tensor| x.reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
        let cut_obs = by_seed(played.cut_obs.unwrap_or(Tensor::poison()));
        let rows = t * n;
        let all = self.normalised(Tensor::concat(&[by_seed(steps.obs), cut_obs, played.next.obs], 1));
        let seen = all.slice(1, 0, rows);
        let parts = &self.acting.parts;
        let sequences = memories.map(|states| {
            let ended = steps.terminated.bit_or(steps.truncated);
            let begins = running_steps(held, [s, n]).eq(Tensor::constant_u32(0)).unsqueeze(0);
            Sequences { starts: Tensor::concat(&[begins, ended], 0).slice(0, 0, t), states }
        });
        let logp = steps.extras.find("log_prob").unwrap_or_else(|| {
            // The host does not record what the policy says about its actions.
            let policy = self.net.distribution_of(parts, seen, sequences.as_ref());
            by_time(policy.log_prob(by_seed(steps.action)))
        });
        let [ep_return, discounted] =
            ["ep_return", "discounted"].map(|name| held.find(name).unwrap_or(Tensor::zeros(&[s, n, 1])));
        let init = Count::from(running_steps(held, [s, n]), ep_return, discounted);
        // Where rollouts go on, all steps count.
        let counts = |end: Tensor| if held.find("obs").is_some() { end } else { steps.valid.bit_and(end) };
        let xs = [steps.reward, counts(steps.terminated), counts(steps.truncated)];
        let (count, [discounted, ended]) = init.over(t, xs, self.sampling.gamma);
        let ends = [steps.terminated, steps.truncated];
        let ([value, cut_value, next_value], value_memory) =
            values_of(self.net, parts, (all, ends), sequences.as_ref(), [t, s, n]);
        let next_memory = value_memory.map(|value| [played.next.memory.get(MEMORY), value]);
        Rollout {
            obs: steps.obs,
            seen,
            all,
            action: steps.action,
            logp,
            value,
            reward: steps.reward,
            bonus: None,
            terminated: steps.terminated,
            truncated: steps.truncated,
            discounted,
            ended,
            cut_value,
            env_state: played.next.state,
            next_obs: played.next.obs,
            next_task: played.next.task,
            next_value,
            sequences,
            next_memory,
            count,
            valid: None,
        }
    }
}

/// Steps of the episodes that run where a rollout begins, u32 `[S, N, 1]`: 0 where it begins with new ones.
fn running_steps(held: &Held, [s, n]: [usize; 2]) -> Tensor {
    held.find("env_steps").unwrap_or_else(|| Tensor::constant_u32(0).broadcast_to(&[s, n, 1]))
}

/// The entries of the memories of policy and value function.
pub(super) const MEMORIES: [&str; 2] = ["policy_memory", "value_memory"];

/// Values of all that was seen, `all: [S, T · N + C · N + N, O]`: of the steps `[T, S, N, 1]`, of what time limits cut off `[S, C · N, 1]`, and
/// of what comes next `[S, N, 1]`; and the state of the value function's memory then, `[S, N, W]`, if it has one.
#[track_caller]
fn values_of(
    net: &ActorCritic,
    parts: &[Tensor],
    (all, [terminated, truncated]): (Tensor, [Tensor; 2]),
    sequences: Option<&Sequences>,
    [t, s, n]: [usize; 3],
) -> ([Tensor; 3], Option<Tensor>) {
    let (rows, total) = (t * n, all.size(1));
    let (Some(sequences), Some([_, cell])) = (sequences, net.cells()) else {
        return (split(net.value(parts, all), [t, s, n]), None);
    };
    let states = sequences.run(cell, parts, all.slice(1, 0, rows), 1);
    let of = |state: Tensor| net.value(parts, cell.output(parts, state));
    let value = of(by_seed(states)).reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
    // An environment is cut off at most once in a span: the sum has one state of each.
    let (spans, width) = ((total - rows) / n - 1, cell.width());
    let cut = truncated.select(states, Tensor::constant_f32(0.0)).reshape(&[spans, t / spans, s, n, width]);
    let cut = by_seed(cut.sum_keep(1).reshape(&[spans, s, n, width]));
    let cut_value = of(cell.step(parts, all.slice(1, rows, total - n), cut));
    let ended = terminated.bit_or(truncated).index(0, t - 1);
    let next = ended.select(cell.initial(parts, [s, n]), states.index(0, t - 1));
    ([value, cut_value, of(cell.step(parts, all.slice(1, total - n, total), next))], Some(next))
}

/// Values `[S, T · N + C · N + N, 1]` as [`values_of`] gives them.
#[track_caller]
fn split(values: Tensor, [t, s, n]: [usize; 3]) -> [Tensor; 3] {
    let (rows, total) = (t * n, values.size(1));
    let value = values.slice(1, 0, rows).reshape(&[s, t, n, 1]).permute(&[1, 0, 2, 3]);
    [value, values.slice(1, rows, total - n), values.slice(1, total - n, total)]
}

impl Rollout {
    /// Values by other parameters, as [`value`](Rollout::value), [`cut_value`](Rollout::cut_value) and
    /// [`next_value`](Rollout::next_value).
    #[track_caller]
    pub fn values(&self, net: &ActorCritic, parts: &[Tensor]) -> [Tensor; 3] {
        let shape = self.value.shape();
        let [t, s, n, _] = shape[..] else { return [Tensor::poison(); 3] };
        values_of(net, parts, (self.all, [self.terminated, self.truncated]), self.sequences.as_ref(), [t, s, n]).0
    }

    /// The same of a baseline with a fit, weights `[S, n]` and the least and the largest return that it was made to `[S, 2]`: predictions
    /// stay between these, as a fit says nothing of what lies far from its data. `steps`: as [`numbers`](Rollout::numbers) gives them. One
    /// without features predicts 0.
    #[track_caller]
    pub fn predictions(&self, baseline: Baseline, fit: Option<[Tensor; 2]>, steps: Tensor) -> [Tensor; 3] {
        let shape = self.value.shape();
        let [t, s, n, _] = shape[..] else { return [Tensor::poison(); 3] };
        let values = match (baseline.features(self.all, steps), fit) {
            (Some(features), Some([weights, range])) => {
                let limit = |i| range.slice(1, i, i + 1).unsqueeze(2);
                features.matmul(weights.unsqueeze(2)).max(limit(0)).min(limit(1))
            }
            _ => Tensor::zeros(&steps.shape()),
        };
        split(values, [t, s, n])
    }

    /// Running moments with those of the steps that count of `x: [T, S, N, D]`.
    #[track_caller]
    pub fn merged(&self, moments: Moments, x: Tensor) -> Moments {
        match self.valid {
            None => moments.merge(by_seed(x)),
            Some(valid) => moments.merge_valid(by_seed(x), by_seed(valid)),
        }
    }

    /// The numbers of steps in their episodes, from 0, of all that was seen, f32 `[S, T · N + C · N + N, 1]`, from the state before.
    #[track_caller]
    pub fn numbers(&self, held: &Held) -> Tensor {
        let shape = self.value.shape();
        let [t, s, n, _] = shape[..] else { return Tensor::poison() };
        let first = running_steps(held, [s, n]);
        let (zero, one) = (Tensor::constant_u32(0), Tensor::constant_u32(1));
        let ended = self.terminated.bit_or(self.truncated);
        let (_, numbers) =
            scan_tree(t, &first, &ended, |_, now: Tensor, ended: Tensor| (ended.select(zero, now + one), now));
        let numbers = numbers.unwrap_or(Tensor::poison());
        // An environment is cut off at most once in a span.
        let spans = self.cut_value.size(1) / n;
        let cut = self.truncated.select(numbers + one, zero).reshape(&[spans, t / spans, s, n, 1]);
        let cut = by_seed(cut.max_keep(1).reshape(&[spans, s, n, 1]));
        Tensor::concat(&[by_seed(numbers), cut, self.count.steps.reshape(&[s, n, 1])], 1).to_f32()
    }

    /// The rollout of a trace that has failed.
    fn poison() -> Rollout {
        let x = Tensor::poison();
        let count = Count::from(x, x, x);
        Rollout {
            obs: x,
            seen: x,
            all: x,
            action: x,
            logp: x,
            value: x,
            reward: x,
            bonus: None,
            terminated: x,
            truncated: x,
            discounted: x,
            ended: x,
            cut_value: x,
            env_state: x,
            next_obs: x,
            next_task: None,
            next_value: x,
            sequences: None,
            next_memory: None,
            count,
            valid: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::algo::{Ppo, PpoConfig, Training};
    use crate::env::{ActionSpace, Dim, EnvSpec, builtin};
    use crate::policy::{MemoryConfig, MemoryKind, NetConfig};

    #[test]
    fn spans_divide_the_rollout_and_fit_into_the_time_limit() {
        let config = |horizon, sde_sample_freq| Sampling { horizon, sde: true, sde_sample_freq, ..Sampling::default() };
        assert_eq!(span(&config(128, 0), 500), 128);
        assert_eq!(span(&config(1024, 0), 200), 128);
        assert_eq!(span(&config(1024, 4), 200), 4);
        assert_eq!(span(&config(1024, 512), 200), 128);
        assert_eq!(span(&config(7, 0), 3), 1);
        assert_eq!(span(&Sampling { sde: false, ..config(1024, 4) }, 200), 128);
    }

    /// Values, with memories, of a rollout in which one environment ends an episode and another is cut off: what comes behind a cut is seen
    /// with the memory of the episode that it cuts, and what comes behind an end with a new one.
    #[test]
    fn values_behind_the_ends_of_episodes_are_by_the_right_memories() {
        let [t, n] = [4, 2];
        let spec = EnvSpec::new("e", vec![Dim::unbounded("x")], ActionSpace::discrete(&["l", "r"]), 2);
        let memory = MemoryConfig { cell: MemoryKind::Lstm, units: 2, learned_start: true, ..MemoryConfig::default() };
        let net = ActorCritic::remembering(&spec, &NetConfig::default(), &memory, &Sampling::default());
        let theta: Vec<f64> = (0..net.layout.len()).map(|i| 0.5 * (1.7 * i as f64).sin()).collect();
        // Rows are steps times environments; then two spans with what was cut off in them, and what comes next.
        let obs = [0.1, -0.2, 0.3, -0.4, 0.5, -0.6, 0.7, -0.8, 0.0, 5.0, 6.0, 0.0, 0.9, -1.0];
        let terminated = [0, 0, 0, 0, 0, 0, 0, 1];
        let truncated = [0, 0, 0, 1, 1, 0, 0, 0];
        let device = Device::reference();
        let mut program = crate::Program::new(&device, |cx| {
            let parts = net.layout.split(Tensor::literal_f32(&theta).unsqueeze(0));
            let [_, cell] = net.cells().unwrap();
            let first = Tensor::literal_f32(&[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]).reshape(&[1, n, 4]);
            let flags = |x: &[u32]| Tensor::literal_u32(x).reshape(&[t, 1, n, 1]);
            let ends = [flags(&terminated), flags(&truncated)];
            let ended = ends[0].bit_or(ends[1]);
            let none = Tensor::literal_u32(&[0, 0]).reshape(&[1, 1, n, 1]);
            let starts = Tensor::concat(&[none, ended.slice(0, 0, t - 1)], 0);
            let sequences = Sequences { starts, states: [first; 2] };
            let all = Tensor::literal_f32(&obs).reshape(&[1, obs.len(), 1]);
            let ([value, cut, next], after) = values_of(&net, &parts, (all, ends), Some(&sequences), [t, 1, n]);
            // The same one by one.
            let of = |state: Tensor| net.value(&parts, cell.output(&parts, state));
            let begin = cell.initial(&parts, [1, 1]);
            let see = |x: f64, state: Tensor| cell.step(&parts, Tensor::literal_f32(&[x]).reshape(&[1, 1, 1]), state);
            let (mut each, mut cuts, mut last) = (Vec::new(), Vec::new(), Vec::new());
            for e in 0..n {
                let mut state = first.slice(1, e, e + 1);
                for i in 0..t {
                    state = see(obs[i * n + e], state);
                    each.push(of(state));
                    if truncated[i * n + e] == 1 {
                        cuts.push(of(see(obs[t * n + (i / 2) * n + e], state)));
                    }
                    if terminated[i * n + e] + truncated[i * n + e] > 0 {
                        state = begin;
                    }
                }
                last.push(state);
                each.push(of(see(obs[t * n + 2 * n + e], state)));
            }
            let expected = Tensor::concat(&[&each[..], &cuts].concat(), 1);
            let got: Vec<Tensor> = (0..n)
                .flat_map(|e| {
                    let own = (0..t).map(move |i| value.index(0, i).slice(1, e, e + 1));
                    own.chain([next.slice(1, e, e + 1)])
                })
                .chain([cut.slice(1, 2, 3), cut.slice(1, 1, 2)])
                .collect();
            cx.output("values", Tensor::concat(&got, 1) - expected);
            cx.output("memory", after.unwrap() - Tensor::concat(&last, 1));
        })
        .unwrap();
        let out = program.run(&crate::State::new(), &[], &[]).unwrap();
        for (name, array) in out.iter() {
            let off = pollster::block_on(device.read(array)).unwrap();
            assert!(off.len() > 7 && off.iter().all(|x| x.abs() < 1e-12), "{name}: {off:?}");
        }
    }

    /// A memory goes on from one rollout to the next within an episode, and where an episode begins it is of no interest.
    #[test]
    fn memories_outlive_rollouts_and_not_episodes() {
        let (device, env) = (Device::cpu(1), builtin("cartpole").unwrap());
        // Parameters after `before` iterations, the memories overwritten, and one more.
        let train = |before: u64, overwritten: &[&str]| {
            let config = PpoConfig {
                sampling: Sampling { horizon: 4, envs: 2, minibatches: 1, ..Sampling::default() },
                memory: MemoryConfig { cell: MemoryKind::Gru, units: 3, ..MemoryConfig::default() },
                ..PpoConfig::default()
            };
            let ppo = std::rc::Rc::new(Ppo::new(&config, env.spec()).unwrap());
            let mut training = Training::new(&device, ppo, &env, &[1]).unwrap();
            for done in 0..before {
                pollster::block_on(training.step(done, 9)).unwrap();
            }
            for name in overwritten {
                training.state.insert(*name, device.array(&[1, 2, 3], &[0.5; 6]).unwrap());
            }
            pollster::block_on(training.step(before, 9)).unwrap();
            pollster::block_on(device.read(training.state.get("theta").unwrap())).unwrap()
        };
        assert_eq!(train(0, &[]), train(0, &MEMORIES));
        for name in MEMORIES {
            assert_ne!(train(1, &[]), train(1, &[name]), "{name} is forgotten");
        }
    }
}
