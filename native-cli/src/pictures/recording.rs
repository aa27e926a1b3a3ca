//! Recordings of policies: episodes with their images, steps and returns.

use crate::outcome::Stop;
use crate::pictures::gif::{Clip, Image};
use crate::pictures::raster::Picture;
use crate::settings::python;
use crate::text::numbers::{alike, duration};
use quickstudy_bridge::{Frames, Recipe, is_name};
use quickstudy_core::env::EnvDef;
use quickstudy_core::host::{EnvPlace, FleetSize};
use quickstudy_core::train::{Evaluator, Trajectory};

/// Episodes that would take fewer seconds are slowed down to as many, but not to more than half a second for a step.
const SHORT: f64 = 3.0;
const SLOWEST: f64 = 0.5;

/// The episodes that are to be recorded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asking {
    /// Their number.
    pub episodes: usize,
    /// The seed of the first states.
    pub seed: u64,
    /// True if actions are drawn.
    pub stochastic: bool,
    /// Steps in a second, instead of the environment's own speed.
    pub fps: Option<u64>,
}

/// Checks that episodes of a policy can be recorded.
pub(crate) fn check(policy: &Evaluator) -> Result<(), Stop> {
    match policy.env() {
        EnvPlace::Host(host) if is_name(&host.spec().name) => {
            match policy.draws_only() {
                true => Err(Stop::user("policies that adapt are not recorded in environments of Python")
                    .hint("leave --gif out")),
                false => Ok(()),
            }
        }
        env => {
            let hint = "leave --gif out; environments of the host cannot be drawn";
            env.device().map(drop).map_err(|error| Stop::from(error).hint(hint))
        }
    }
}

/// Plays and draws episodes: those that an evaluation with this seed begins with.
pub(crate) fn clips(policy: &Evaluator, asking: &Asking) -> Result<Vec<Clip>, Stop> {
    let (dt, several) = (policy.env().spec().dt, asking.episodes > 1);
    let number = |i: usize| several.then_some((i, asking.episodes));
    if let EnvPlace::Host(host) = policy.env() {
        let (spec, options) = (host.spec(), python::options());
        let size = FleetSize { tasks: 1, envs_per_task: asking.episodes, horizon: spec.horizon };
        let (executor, frames): (_, Frames) = Recipe::parse(&spec.name, &options)?.recording(spec, size)?;
        pollster::block_on(policy.play(executor, asking.seed, !asking.stochastic))?;
        let clip = |(i, frames): (usize, Vec<(quickstudy_bridge::Picture, f64)>)| {
            let (pictures, returns): (Vec<_>, Vec<f64>) = frames.into_iter().unzip();
            let images = pictures.into_iter().map(|picture| {
                let pixels = picture.pixels.as_chunks().0.to_vec();
                Image::Picture(Picture { width: picture.width, height: picture.height, pixels })
            });
            captioned(images.collect(), &returns, asking.fps, number(i), dt)
        };
        return Ok(frames.take().into_iter().enumerate().map(clip).collect());
    }
    let env = policy.env().device()?;
    let played = pollster::block_on(policy.trajectories(asking.episodes, asking.seed, !asking.stochastic))?;
    let clip = |(i, episode)| clip(env, episode, asking.fps, number(i));
    Ok(played.iter().enumerate().map(clip).collect::<Result<_, _>>()?)
}

/// An episode of programs, drawn.
fn clip(
    env: &EnvDef,
    episode: &Trajectory,
    fps: Option<u64>,
    number: Option<(usize, usize)>,
) -> Result<Clip, quickstudy_core::Error> {
    let steps = episode.rewards.len();
    let mut sum = 0.0;
    let returns = std::iter::once(0.0).chain(episode.rewards.iter().map(|reward| {
        sum += f64::from(*reward);
        sum
    }));
    let returns: Vec<f64> = returns.collect();
    let image = |step: usize| {
        // Where the state after the last step is not known, the one before it shows the whole return at the end.
        let state = &episode.states[step.min(episode.states.len() - 1)];
        Ok(Image::Scene(env.draw(state, &episode.task)?))
    };
    let images = (0..=steps).map(image).collect::<Result<Vec<_>, quickstudy_core::Error>>()?;
    Ok(captioned(images, &returns, fps, number, env.spec().dt))
}

/// Clips in words: `3 episodes, 120 steps, 0:06, slower than they happen`. `dt`: seconds of a step of the environment.
pub(crate) fn describe(clips: &[Clip], dt: f64, fps: Option<u64>) -> String {
    let steps = |clip: &Clip| clip.frames.len() - 1;
    let all: usize = clips.iter().map(steps).sum();
    let seconds: f64 = clips.iter().map(|clip| clip.seconds * steps(clip) as f64).sum();
    let episodes = if clips.len() > 1 { format!("{} episodes, ", clips.len()) } else { String::new() };
    let slower = seconds > 1.05 * dt * all as f64 && fps.is_none();
    let slower = if slower { ", slower than they happen" } else { "" };
    format!("{episodes}{all} steps, {}{slower}", duration(seconds))
}

/// Seconds of a step of an episode that has so many: the environment's own, `dt`, but for a short one.
pub(crate) fn pace(dt: f64, steps: usize) -> f64 {
    dt.max((SHORT / steps.max(1) as f64).min(SLOWEST))
}

/// An episode with its step and its return until then; of several, with its number.
fn captioned(images: Vec<Image>, returns: &[f64], fps: Option<u64>, number: Option<(usize, usize)>, dt: f64) -> Clip {
    let steps = images.len().saturating_sub(1);
    let of = number.map_or_else(String::new, |(i, count)| format!("episode {} of {count}   ", i + 1));
    let returns = alike(returns);
    let captions = returns.iter().enumerate().map(|(step, sum)| format!("{of}step {step}   return {sum}"));
    let frames = images.into_iter().zip(captions).collect();
    let seconds = fps.map_or_else(|| pace(dt, steps), |fps| 1.0 / fps as f64);
    Clip { frames, seconds }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recordings_say_step_and_return_and_short_episodes_are_slow() {
        let env = quickstudy_core::env::builtin("point-robot").unwrap();
        let episode = |steps: usize| Trajectory {
            states: vec![vec![0.0, 0.0]; steps],
            actions: vec![vec![0.0, 0.0]; steps],
            rewards: vec![-1.5; steps],
            task: vec![0.5, 0.5],
        };
        let one = clip(&env, &episode(20), None, None).unwrap();
        assert_eq!((one.frames.len(), one.seconds), (21, 0.15));
        assert_eq!([&one.frames[0].1, &one.frames[20].1], ["step 0   return 0.00", "step 20   return -30.00"]);
        assert_eq!(
            clip(&env, &episode(2), None, Some((1, 3))).unwrap().frames[1].1,
            "episode 2 of 3   step 1   return -1.50"
        );
        assert_eq!(clip(&env, &episode(2), None, None).unwrap().seconds, 0.5);
        assert_eq!(clip(&env, &episode(20), Some(10), None).unwrap().seconds, 0.1);
        assert_eq!(clip(&env, &episode(300), None, None).unwrap().seconds, env.spec().dt);
    }
}
