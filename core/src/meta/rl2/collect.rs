//! Trials of many tasks side by side, in the form that learners use.

use crate::Tensor;
use crate::credit::Paths;
use crate::play::Experience;
use crate::tensor::{CompensatedSum, scan_tree};

/// Trials as paths: T steps, a row per seed. An episode's first step directly follows the last step of the episode
/// before.
#[derive(Clone, Copy, Debug)]
pub struct Trials {
    /// Trials as learners use them, `[T, S, M, ·]`: `obs` is the policy's [`augmented`](super::augmented) input,
    /// and `valid` is 1 to the end of a trial.
    pub paths: Paths,
    /// Log-probabilities of the actions, `[T, S, M, 1]`.
    pub logp: Tensor,
    /// The learned value, `[T, S, M, 1]`, standardised: the difference to the mean return of the step, in deviations.
    pub value: Tensor,
    /// Entropies of the policy, `[T, S, M, 1]`.
    pub entropy: Tensor,
    /// The number of a step's episode in its trial, u32 from 0, `[T, S, M, 1]`.
    pub episode: Tensor,
    /// Environment states before each step, `[T, S, M, F]`.
    pub states: Tensor,
    /// Actions as environments got them, `[T, S, M, A]`.
    pub limited: Tensor,
    /// 1 at steps that met a value that is not finite, as in [`Steps::lost`](crate::play::Steps::lost), `[T, S, M, 1]`.
    pub lost: Tensor,
}

/// The most episodes of a trial for which each episode's sum is taken by itself over all steps.
const FEW_EPISODES: usize = 32;

impl From<&Experience> for Trials {
    /// Takes trials from what a [`TrialPolicy`](super::TrialPolicy) played.
    fn from(played: &Experience) -> Trials {
        let (steps, extra) = (&played.steps, |name: &str| played.steps.extras.get(name));
        Trials {
            paths: steps.paths_seen(),
            logp: extra("log_prob"),
            value: extra("value"),
            entropy: extra("entropy"),
            episode: steps.episode,
            states: steps.state,
            limited: steps.played,
            lost: steps.lost,
        }
    }
}

impl Trials {
    /// The return of each episode, `[S, M, n]`; 0 for episodes that a trial did not reach.
    #[track_caller]
    pub fn episode_returns(&self, episodes: usize) -> CompensatedSum {
        self.by_episode(self.paths.reward, episodes)
    }

    /// The number of steps of each episode, f32 `[S, M, n]`.
    #[track_caller]
    pub fn episode_lengths(&self, episodes: usize) -> Tensor {
        self.by_episode(self.paths.valid.to_f32(), episodes).sum
    }

    /// Sums `x: [T, S, M, 1]`, which is 0 where no step is valid, over the steps of each episode: `[S, M, n]`.
    fn by_episode(&self, x: Tensor, episodes: usize) -> CompensatedSum {
        if episodes > FEW_EPISODES {
            return self.by_many_episodes(x, episodes);
        }
        let own = Tensor::iota(&[1, 1, 1, episodes], 3).eq(self.episode);
        let none = Tensor::constant_f32(0.0);
        let shape = [&x.shape()[..3], &[episodes]].concat();
        let wide = own.select(x.broadcast_to(&shape), none);
        CompensatedSum::of_rows(wide)
    }

    /// Sums as [`by_episode`](Trials::by_episode), in memory that does not grow with the number of episodes times that
    /// of steps: it keeps a running sum, and stores it at each episode's last step.
    fn by_many_episodes(&self, x: Tensor, episodes: usize) -> CompensatedSum {
        let (episode, shape) = (self.episode, x.shape());
        let [t, s, m, _] = shape[..] else {
            return Tensor::poison().into();
        };
        // Steps before the first one and after the last one count as another episode.
        let other = Tensor::constant_u32(u32::MAX).broadcast_to(&[1, s, m, 1]);
        let before = Tensor::concat(&[other, episode.slice(0, 0, t - 1)], 0);
        let after = Tensor::concat(&[episode.slice(0, 1, t), other], 0);
        let (first, begins) = (CompensatedSum::zeros(&[s, m, 1]), episode.ne(before));
        let (_, sums) = scan_tree(t, &first, &[x, begins], |_, sum: CompensatedSum, [x, begins]| {
            let sum = sum.map(|x| begins.select(Tensor::constant_f32(0.0), x)).plus(x);
            (sum, sum)
        });
        let sums = sums.unwrap_or(Tensor::poison().into());
        // Rows that do not exist are not stored; padding belongs to an episode after the last one.
        let nowhere = Tensor::constant_u32(u32::MAX);
        let index = episode.ne(after).select(episode, nowhere);
        let by_trial = |x: Tensor| x.permute(&[1, 2, 0, 3]).reshape(&[s, m, t]);
        sums.map(|sums| Tensor::zeros(&[s, m, episodes]).store(by_trial(index), by_trial(sums)))
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
            let paths = Paths {
                obs: reward,
                next_obs: reward,
                action: reward,
                reward,
                valid,
                env_infos: None,
                agent_infos: None,
            };
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
                cx.output(&format!("{name} of few"), trials.by_episode(x, n).sum);
                cx.output(&format!("{name} of many"), trials.by_many_episodes(x, n).sum);
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
