//! Guesses of a policy that infers a belief: the places where it would go by its belief, at each step of its
//! adaptation.

use super::adapted::{Adaptation, MetaTest};
use super::evaluation::eval_key;
use super::evaluator::Evaluator;
use super::under_test::UnderTest;
use crate::algo::{Algorithm, Family};
use crate::backend::room;
use crate::credit::Paths;
use crate::dist::fold_in;
use crate::meta::{Trial, Tried, per_task, try_adapting};
use crate::play::{BROKEN, Keys, Play, Running, Steps};
use crate::policy::{Acting, How};
use crate::rng::stream;
use crate::tensor::scan_tree;
use crate::{DType, Error, Program, Result, Tensor};

/// The stream of the episodes in which draws from a belief are acted out.
const GUESSED: u32 = stream("guessed");

/// The most draws from a belief.
const MAX_DRAWS: usize = 1024;

/// The adaptation of a policy to a task, and its guesses in the course of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Guesses {
    /// The episodes that the policy infers from, with drawn actions: a stage each.
    pub adaptation: Adaptation,
    /// Places in the plane, by stage, by the number of steps made in it (from 0 to the time limit), and by draw. Each
    /// is the end of an episode of the deterministic actions, by a draw from the belief after these steps. A draw has
    /// the same random numbers and the same first state at all times, so that it moves only as the belief does. Where
    /// the environment itself ends an episode, the place is that of the last step.
    pub places: Vec<Vec<Vec<[f32; 2]>>>,
}

impl Evaluator {
    /// Lets the policy adapt to the given task, `[D]`, episode by episode (none for the number of training), and acts
    /// out `draws` draws from its belief after each step. `seed` names all random numbers.
    ///
    /// # Errors
    /// [`Error::Config`] if the policy infers no belief, the environment lies in no plane, or
    /// numbers do not fit; or if the device fails.
    pub async fn guesses(&self, task: &[f32], episodes: Option<usize>, draws: usize, seed: u64) -> Result<Guesses> {
        if self.family() != Family::Inference {
            let problem = format!("a policy of {} infers no belief that it could guess by", self.algorithm());
            return Err(Error::config("algorithm", problem));
        }
        if draws == 0 || draws > MAX_DRAWS {
            return Err(Error::config("draws", format!("{draws} is not in 1 to {MAX_DRAWS}")));
        }
        let env = self.env().device()?;
        let Some(plane) = env.spec().plane else {
            let problem = format!("`{}` lies in no plane in which there could be guesses", env.spec().name);
            return Err(Error::config("env", problem));
        };
        let test = MetaTest { tasks: 1, episodes, seed, deterministic: false, ..MetaTest::default() };
        let trial = self.trial(&test, false)?;
        let adaptation = self.adapt_to(&[task.to_vec()], test).await?;
        let given = self.on().array_f32(&[1, task.len()], task)?;
        let of = UnderTest { device: self.on(), env, policy: self.policy(), key: eval_key(seed), given: Some(&given) };
        let places = places(of, self.fitted(), trial, (draws, plane)).await?;
        Ok(Guesses { adaptation, places })
    }
}

/// Computes the places of all draws in an adaptation, whose trial is `trial`.
async fn places(
    test: UnderTest<'_>,
    algorithm: &dyn Algorithm,
    trial: Trial,
    (draws, plane): (usize, [usize; 2]),
) -> Result<Vec<Vec<Vec<[f32; 2]>>>> {
    let UnderTest { device, env, .. } = test;
    let (episodes, moments) = (trial.rounds + 1, trial.episodes * algorithm.course().steps + 1);
    let list = 2 * size_of::<Vec<f32>>() + draws * size_of::<[f32; 2]>();
    // The places of all episodes are kept, and those of one are read at a time.
    let bytes = (episodes + 1).saturating_mul(moments).saturating_mul(list);
    let _kept = device.take_on_host(bytes as u64).map_err(|error| error.lowered_by(&["draws", "episodes"]))?;
    let mut program = Program::new(device, |cx| {
        let held = algorithm.declare_policy(cx, 1);
        let key = cx.input("key", &[1, 2], DType::U32);
        let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
        let given = test.declare(cx);
        let Tried { tasks, stages, acting } = try_adapting(algorithm, env, &held, key, given, trial);
        let tasks = tasks.map(|tasks| tasks.reshape(&[1, env.spec().task.len()]));
        let key = fold_in(key, Tensor::constant_u32(GUESSED)).map(|word| word.broadcast_to(&[moments, 1]));
        for (number, (steps, acting)) in stages.iter().zip(&acting).enumerate() {
            let acting = algorithm.adapt(&held, &repeated(acting, moments), &prefixes(steps));
            let play = Play {
                env,
                policy: &*algorithm.policy(),
                acting: &acting,
                how: How::Exploit,
                rows: [moments, draws],
                tasks: tasks.map(|tasks| tasks.broadcast_to(&[moments, tasks.size(1)])),
                keys: Keys::of(key),
            };
            let last = last_states(&play, moments - 1);
            cx.output(&name(number), Tensor::concat(&plane.map(|i| last.slice(2, i, i + 1)), 2));
        }
    })
    .map_err(|error| error.lowered_by(&["draws", "episodes"]))?;
    let out = test.run(&mut program)?;
    let mut all = room(episodes)?;
    for number in 0..episodes {
        let flat = device.read_f32(out.get(&name(number))?).await?;
        if flat.iter().any(|x| !x.is_finite()) {
            return Err(Error::NonFinite(format!("guesses in episode {number}: {BROKEN}")));
        }
        let (places, _) = flat.as_chunks::<2>();
        all.push(places.chunks(draws).map(<[_]>::to_vec).collect());
    }
    Ok(all)
}

fn name(episode: usize) -> String {
    format!("places {episode}")
}

/// The values by which a single group acts, repeated for K groups.
fn repeated(acting: &Acting, groups: usize) -> Acting {
    let wide = |x: Tensor| per_task(&[x], groups).first().copied().unwrap_or(x);
    let values = acting.values.iter().map(|(name, x)| (name, wide(x))).collect();
    Acting { parts: per_task(&acting.parts, groups), values }
}

/// The beginnings of episodes `[T, 1, N, …]`, each for a group of its own: none of their steps, the first one, and so
/// on to all T, `[T, T + 1, N, …]`.
fn prefixes(steps: &Steps) -> Paths {
    let paths = steps.paths();
    let Paths { obs, next_obs, action, reward, valid, .. } = paths;
    let t = valid.size(0);
    let wide = |x: Tensor| x.broadcast_to(&[t, t + 1, x.size(2), x.size(3)]);
    let made = Tensor::iota(&[t, 1, 1, 1], 0).lt(Tensor::iota(&[1, t + 1, 1, 1], 1));
    Paths {
        obs: wide(obs),
        next_obs: wide(next_obs),
        action: wide(action),
        reward: wide(reward),
        valid: wide(valid).bit_and(made),
        ..paths
    }
}

/// The states in which episodes of `steps` steps end, `[K, N, F]`.
fn last_states(play: &Play<'_>, steps: usize) -> Tensor {
    let first = play.begin();
    let [k, n] = play.rows;
    let going = Tensor::constant_u32(1).broadcast_to(&[k, n, 1]);
    let init = (first.clone(), (first.state, going));
    type Carry = (Running, (Tensor, Tensor));
    let ((_, (last, _)), _) = scan_tree(steps, &init, &(), |t, (running, (last, going)): Carry, ()| {
        // At the time limit another episode would begin, and the state would be its first. A count of 0 steps avoids
        // this.
        let from = Running { steps: Tensor::constant_u32(0).broadcast_to(&[k, n]), ..running };
        let (next, made) = play.step(t + play.keys.first, &from);
        let going = going.bit_and(made.terminated.bit_or(made.truncated).not());
        let last = going.select(next.state, last);
        ((next, (last, going)), ())
    });
    last
}
