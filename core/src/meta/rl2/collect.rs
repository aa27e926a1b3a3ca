//! Trials of many tasks side by side: on environments that run on the device, and as they were played on the host.

use super::learner::Rl2Net;
use crate::Tensor;
use crate::algo::{Distribution, Recorded};
use crate::dist::{RowNoise, fold_in};
use crate::env::{ActionSpace, EnvDef, EnvSpec, TracedStep};
use crate::rng::streams;
use crate::sample::Paths;
use crate::tensor::{Loop, scan};

/// What collects whole trials: one on each of M tasks, per stacked seed.
#[derive(Clone, Copy, Debug)]
pub struct Collector<'a> {
    /// The environment.
    pub env: &'a EnvDef,
    /// The policy.
    pub net: &'a Rl2Net,
    /// Task parameters of each trial, `[S, M, D]`; none if the environment has a single task.
    pub tasks: Option<Tensor>,
    /// Random words of each seed, `[S, 1]` each.
    pub key: [Tensor; 2],
    /// M, trials.
    pub trials: usize,
    /// n, episodes of a trial.
    pub episodes: usize,
    /// Show an episode's last action, reward and end to the next one.
    pub carry_over: bool,
    /// The most probable actions instead of draws.
    pub deterministic: bool,
}

/// Trials as paths: T steps, a row per seed, an episode's first step right after the last one of the episode before.
#[derive(Clone, Copy, Debug)]
pub struct Trials {
    /// What learners use, `[T, S, M, ·]`; `obs` is what the policy saw, [`augmented`], and `valid` ends with the trial.
    pub paths: Paths,
    /// Log-probabilities of the actions, `[T, S, M, 1]`.
    pub logp: Tensor,
    /// What the value says, `[T, S, M, 1]`: returns in deviations from the mean return of the step.
    pub value: Tensor,
    /// Entropies of the policy, `[T, S, M, 1]`.
    pub entropy: Tensor,
    /// Which episode of the trial a step belongs to, u32 from 0, `[T, S, M, 1]`.
    pub episode: Tensor,
    /// Environment states acted in, `[T, S, M, F]`.
    pub states: Tensor,
    /// Actions as the environment got them, `[T, S, M, A]`.
    pub limited: Tensor,
    /// Which steps met a value that is not finite, as [`Distribution::lost`] tells it, `[T, S, M, 1]`.
    pub lost: Tensor,
}

/// Episodes of a trial that one sum over all steps tells apart, each by itself.
const FEW_EPISODES: usize = 32;

/// What the policy sees at a step, `[S, M, O + A + 2]`: observation, previous action, its reward, and whether it led to a
/// final state (not: to a time limit).
///
/// The original's `RL2Env`. `action: [S, M, A]`, a choice as its number; `reward`, `terminated: [S, M, 1]`, f32.
#[track_caller]
pub fn augmented(space: &ActionSpace, obs: Tensor, previous: Option<[Tensor; 3]>) -> Tensor {
    let width = space.choices().unwrap_or(space.dim());
    let Some([action, reward, terminated]) = previous else {
        return obs.pad(2, 0, width + 2);
    };
    let action = match space {
        ActionSpace::Box { .. } => action,
        ActionSpace::Discrete { .. } => Tensor::iota(&[1, 1, width], 2).to_f32().eq(action).to_f32(),
    };
    Tensor::concat(&[obs, action, reward, terminated], 2)
}

impl Collector<'_> {
    /// T, the most steps of a trial.
    pub fn steps(&self) -> usize {
        self.course().steps()
    }

    fn course(&self) -> Course<'_> {
        let Collector { env, net, episodes, carry_over, .. } = *self;
        Course { net, spec: env.spec(), episodes, carry_over }
    }

    /// One trial per task with the parameters `parts: [S, …]`.
    #[track_caller]
    pub fn collect(&self, parts: &[Tensor]) -> Trials {
        let (env, net) = (self.env, self.net);
        let (s, m) = (self.key[0].size(0), self.trials);
        let stream = |name: u32| fold_in(self.key, Tensor::constant_u32(name));
        let (env_key, action_key) = (stream(streams::ENV), stream(streams::ACTION));
        let element = Tensor::iota(&[s, m], 1);
        let first = env.trace_reset(fold_in(env_key, Tensor::constant_u32(0)), element, self.tasks);
        self.course().run(parts, [first.state, first.observation], &[], |At { t, state, steps, policy, .. }| {
            let t = t + Tensor::constant_u32(1);
            let action = match self.deterministic {
                true => policy.mode(),
                false => policy.sample(&RowNoise::new(fold_in(action_key, t), m)),
            };
            let limited = net.policy.limit(action);
            (action, env.trace_step(state, steps, limited, fold_in(env_key, t), element, self.tasks))
        })
    }
}

/// How a trial goes on from step to step, whatever makes the steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course<'a> {
    pub net: &'a Rl2Net,
    pub spec: &'a EnvSpec,
    /// n, episodes of a trial.
    pub episodes: usize,
    pub carry_over: bool,
}

/// Where trials are before a step.
pub(super) struct At<'a> {
    /// The step, u32 `[]` from 0.
    t: Tensor,
    /// Environment states, `[S, M, F]`.
    state: Tensor,
    /// Steps of the running episodes, u32 `[S, M]`.
    steps: Tensor,
    policy: &'a Distribution,
    /// This step's rows of what was given.
    given: &'a [Tensor],
}

impl Course<'_> {
    /// T, the most steps of a trial.
    pub fn steps(&self) -> usize {
        self.episodes * self.spec.horizon
    }

    /// Trials of recorded steps, as they were played from the first observations `[S, M, O]`. Their states are zeros: environments of
    /// the host keep theirs to themselves.
    #[track_caller]
    pub fn replay(&self, parts: &[Tensor], first: Tensor, recorded: &Recorded) -> Trials {
        let Recorded { action, reward, terminated, truncated, last_observation, observation } = *recorded;
        let state = Tensor::zeros(&[first.size(0), first.size(1), 1]);
        let given = [action, reward, terminated, truncated, last_observation, observation];
        self.run(parts, [state, first], &given, |At { state, steps, given, .. }| {
            let get = |i: usize| given.get(i).copied().unwrap_or(Tensor::poison());
            let stepped = TracedStep {
                state,
                steps,
                reward: get(1),
                terminated: get(2),
                truncated: get(3),
                last_observation: get(4),
                observation: get(5),
            };
            (get(0), stepped)
        })
    }

    /// Trials from first states and observations on; `step` gives the action, as drawn, and what it leads to.
    #[track_caller]
    fn run(
        &self,
        parts: &[Tensor],
        [state, observation]: [Tensor; 2],
        given: &[Tensor],
        step: impl FnOnce(At<'_>) -> (Tensor, TracedStep),
    ) -> Trials {
        let (net, space) = (self.net, &self.spec.action);
        let (s, m) = (state.size(0), state.size(1));
        let count = |v: u32| Tensor::constant_u32(v).broadcast_to(&[s, m]);
        let memory = net.policy.gru().initial(s, m);
        let init = [state, count(0), augmented(space, observation, None), memory, count(0)];
        let all = Tensor::constant_u32(u32::try_from(self.episodes).unwrap_or(u32::MAX));
        let column = |x: Tensor| x.unsqueeze(2);
        let (_, ys) = scan(self.steps(), false, &init, given, |t, carry, given| {
            let [state, steps, seen, memory, episode] = carry else {
                return Loop::default();
            };
            let running = episode.lt(all);
            let (policy, memory) = net.policy.step(parts, *seen, *memory);
            let (action, stepped) = step(At { t, state: *state, steps: *steps, policy: &policy, given });
            let limited = net.policy.limit(action);
            let ended = stepped.terminated.bit_or(stepped.truncated);
            let previous = [limited, column(stepped.reward), column(stepped.terminated).to_f32()];
            let mut next = augmented(space, stepped.observation, Some(previous));
            if !self.carry_over {
                next = column(ended).select(augmented(space, stepped.observation, None), next);
            }
            let reward = running.select(stepped.reward, Tensor::constant_f32(0.0));
            let ys = vec![
                *seen,
                action,
                column(reward),
                column(running),
                policy.log_prob(action),
                net.value(parts, memory),
                policy.entropy(),
                column(*episode),
                *state,
                limited,
                policy.lost(*seen, action),
            ];
            let carry = vec![stepped.state, stepped.steps, next, memory, *episode + running.bit_and(ended)];
            Loop { carry, ys }
        });
        let get = |i: usize| ys.get(i).copied().unwrap_or(Tensor::poison());
        Trials {
            paths: Paths { obs: get(0), action: get(1), reward: get(2), valid: get(3) },
            logp: get(4),
            value: get(5),
            entropy: get(6),
            episode: get(7),
            states: get(8),
            limited: get(9),
            lost: get(10),
        }
    }
}

impl Trials {
    /// Return of each episode, `[S, M, n]`; 0 of those that a trial did not come to.
    #[track_caller]
    pub fn episode_returns(&self, episodes: usize) -> Tensor {
        self.by_episode(self.paths.reward, episodes)
    }

    /// Steps of each episode, f32 `[S, M, n]`.
    #[track_caller]
    pub fn episode_lengths(&self, episodes: usize) -> Tensor {
        self.by_episode(self.paths.valid.to_f32(), episodes)
    }

    /// Sums of `x: [T, S, M, 1]`, 0 where no step is valid, over the steps of each episode.
    fn by_episode(&self, x: Tensor, episodes: usize) -> Tensor {
        if episodes > FEW_EPISODES {
            return self.by_many_episodes(x, episodes);
        }
        let own = Tensor::iota(&[1, 1, 1, episodes], 3).eq(self.episode);
        let none = Tensor::constant_f32(0.0);
        let shape = [&x.shape()[..3], &[episodes]].concat();
        let wide = own.select(x.broadcast_to(&shape), none);
        wide.sum_keep(0).reshape(&shape[1..])
    }

    /// The same in memory that does not grow with the episodes of a trial times its steps: sums are taken along the way, and each
    /// episode has that of its last step.
    fn by_many_episodes(&self, x: Tensor, episodes: usize) -> Tensor {
        let (episode, shape) = (self.episode, x.shape());
        let [t, s, m, _] = shape[..] else {
            return Tensor::poison();
        };
        // Steps before the first one and after the last one count as another episode.
        let other = Tensor::constant_u32(u32::MAX).broadcast_to(&[1, s, m, 1]);
        let before = Tensor::concat(&[other, episode.slice(0, 0, t - 1)], 0);
        let after = Tensor::concat(&[episode.slice(0, 1, t), other], 0);
        let (_, sums) = scan(t, false, &[Tensor::zeros(&[s, m, 1])], &[x, episode.ne(before)], |_, sum, row| {
            let sum = row[1].select(Tensor::constant_f32(0.0), sum[0]) + row[0];
            Loop { carry: vec![sum], ys: vec![sum] }
        });
        let sums = sums.first().copied().unwrap_or(Tensor::poison());
        // Rows that do not exist are not stored; padding belongs to the episode after the last one.
        let nowhere = Tensor::constant_u32(u32::MAX);
        let index = episode.ne(after).select(episode, nowhere);
        let by_trial = |x: Tensor| x.permute(&[1, 2, 0, 3]).reshape(&[s, m, t]);
        Tensor::zeros(&[s, m, episodes]).store(by_trial(index), by_trial(sums))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DType, Device, Program, State};

    #[test]
    fn many_episodes_are_added_up_as_few_are() {
        // Two seeds of two trials, with episodes of one to three steps, padded in the end; the sums are exact in f32.
        let (t, s, m, n) = (12, 2, 2, 6);
        let (mut episode, mut reward) = (Vec::new(), Vec::new());
        for step in 0..t {
            for row in 0..s * m {
                let number = ((step + row) / (1 + row % 3)).min(n);
                episode.push(number as u32);
                reward.push(if number < n { (step * 7 + row * 3) as f64 * 0.25 } else { 0.0 });
            }
        }
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let reward = cx.input("reward", &[t, s, m, 1], DType::F32);
            let episode = cx.input("episode", &[t, s, m, 1], DType::U32);
            let valid = episode.lt(Tensor::constant_u32(n as u32));
            let paths = Paths { obs: reward, action: reward, reward, valid };
            let none = Tensor::zeros(&[t, s, m, 1]);
            let trials = Trials {
                paths,
                logp: none,
                value: none,
                entropy: none,
                episode,
                states: none,
                limited: none,
                lost: none,
            };
            for (name, x) in [("returns", reward), ("lengths", valid.to_f32())] {
                cx.output(&format!("{name} of few"), trials.by_episode(x, n));
                cx.output(&format!("{name} of many"), trials.by_many_episodes(x, n));
            }
        })
        .unwrap();
        let reward = device.array(&[t, s, m, 1], &reward).unwrap();
        let episode = device.array_u32(&[t, s, m, 1], &episode).unwrap();
        let out = program.run(&State::new(), &[("reward", &reward), ("episode", &episode)], &[]).unwrap();
        let read = |name: String| pollster::block_on(device.read(out.get(&name).unwrap())).unwrap();
        for name in ["returns", "lengths"] {
            let few = read(format!("{name} of few"));
            assert!(few.iter().any(|x| *x > 1.0) && few.contains(&0.0), "{few:?}");
            assert_eq!(few, read(format!("{name} of many")));
        }
    }
}
