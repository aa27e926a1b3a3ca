//! The agent that plays: the newest policy of a run, in episodes that a page asks for.

use super::film::Film;
use crate::files::reading;
use crate::folder::file;
use crate::outcome::Stop;
use crate::pictures::recording;
use crate::settings::register;
use quickstudy_core::Device;
use quickstudy_core::env::EnvDef;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::{Evaluator, Trajectory};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// Episodes that are played at once at most: short ones follow each other without another request.
const EPISODES: usize = 4;
/// Seconds of play in an answer, unless a single episode takes longer.
const SECONDS: f64 = 12.0;
/// Steps of an answer at most, which bounds its size; a longer episode is cut there.
const STEPS: usize = 2_000;
/// Longest episodes that are played: all steps of one are computed at once.
const LONGEST: usize = 20_000;
/// Between loads of a policy at least, however often a run saves one.
const REST: Duration = Duration::from_secs(4);

/// Plays the policy of a run. It computes only while it is asked to.
#[derive(Debug)]
pub(super) struct Player {
    run: PathBuf,
    loaded: Option<Loaded>,
    seed: u64,
}

#[derive(Debug)]
struct Loaded {
    policy: Evaluator,
    stamp: Stamp,
    at: Instant,
}

/// A snapshot file as it was: another one has another time or size.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    written: SystemTime,
    bytes: u64,
}

impl Player {
    /// A player of the run in this folder.
    pub(super) fn new(run: &Path) -> Self {
        Self { run: run.to_owned(), loaded: None, seed: 0 }
    }

    /// Episodes as JSON, `{"steps", "env", "films"}`; or `{"why"}` where nothing can be shown, with `"never"` if that
    /// will stay so.
    pub(super) fn play(&mut self) -> String {
        match self.films() {
            Ok(text) => text,
            Err(Pause::Never(why)) => json!({"why": why, "never": true}).to_string(),
            Err(Pause::Now(why)) => json!({"why": why}).to_string(),
        }
    }

    fn films(&mut self) -> Result<String, Pause> {
        self.load()?;
        let Some(Loaded { policy, .. }) = &self.loaded else { return Err(Pause::Now("there is no policy yet".into())) };
        let env = match policy.env() {
            EnvPlace::Host(_) => {
                return Err(Pause::Never("its environment is one of the host, which is not drawn here".into()));
            }
            place => place.device().map_err(now)?,
        };
        let (horizon, dt) = (env.spec().horizon, env.spec().dt);
        if horizon > LONGEST {
            return Err(Pause::Never(format!(
                "its episodes may have {horizon} steps, and at most {LONGEST} are shown"
            )));
        }
        let episodes = (STEPS / horizon.max(1)).clamp(1, EPISODES);
        let played = pollster::block_on(policy.trajectories(episodes, self.seed, !policy.draws_only())).map_err(now)?;
        self.seed = self.seed.wrapping_add(1);
        let name = serde_json::Value::from(env.spec().name.as_str());
        let mut text = format!("{{\"steps\":{},\"env\":{name},\"films\":[", policy.env_steps());
        let mut seconds = 0.0;
        for (i, episode) in played.iter().enumerate() {
            if i > 0 && seconds > SECONDS {
                break;
            }
            let film = film(env, episode, dt).map_err(now)?;
            seconds += film.seconds * film.pictures.len() as f64;
            text += if i > 0 { "," } else { "" };
            film.write(&mut text);
        }
        Ok(text + "]}")
    }

    /// Loads the newest policy, if it is another one.
    fn load(&mut self) -> Result<(), Pause> {
        let rests = self.loaded.as_ref().is_some_and(|loaded| loaded.at.elapsed() < REST);
        let Some(stamp) = (if rests { None } else { newest(&self.run) }) else { return Ok(()) };
        if self.loaded.as_ref().is_some_and(|loaded| loaded.stamp == stamp) {
            return Ok(());
        }
        let bytes = reading::read(&stamp.path).map_err(|stop| Pause::Now(stop.message))?;
        // One thread, so that the run keeps the others.
        let policy = Evaluator::load_with(&Device::cpu(1), register::own(), &bytes).map_err(now)?;
        self.loaded = Some(Loaded { policy, stamp, at: Instant::now() });
        Ok(())
    }
}

/// Why nothing is shown.
enum Pause {
    /// Now, and perhaps not later.
    Now(String),
    /// At any time.
    Never(String),
}

fn now(error: quickstudy_core::Error) -> Pause {
    Pause::Now(Stop::from(error).message)
}

/// The snapshot that was written last: that of the end so far, or the best one where a run keeps no other.
fn newest(run: &Path) -> Option<Stamp> {
    let stamp = |name: &str| {
        let path = run.join(name);
        let meta = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        Some(Stamp { written: meta.modified().ok()?, bytes: meta.len(), path })
    };
    stamp(file::LAST).or_else(|| stamp(file::BEST))
}

/// An episode, drawn, at its own speed but for very short ones.
fn film(env: &EnvDef, episode: &Trajectory, dt: f64) -> Result<Film, quickstudy_core::Error> {
    let steps = episode.rewards.len().min(STEPS);
    let mut total = 0.0;
    let mut pictures = Vec::with_capacity(steps + 1);
    for step in 0..=steps {
        // Where the state after the last step is not known, the one before it shows the whole return.
        let Some(state) = episode.states.get(step).or(episode.states.last()) else { break };
        pictures.push((env.draw(state, &episode.task)?, total));
        total += episode.rewards.get(step).map_or(0.0, |reward| f64::from(*reward));
    }
    Ok(Film { pictures, seconds: recording::pace(dt, steps) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use serde_json::Value;

    #[test]
    fn without_a_policy_it_says_so_and_damage_is_named() {
        let dir = scratch("watch-player");
        let mut player = Player::new(&dir);
        let told: Value = serde_json::from_str(&player.play()).unwrap();
        assert_eq!((told["why"].as_str(), &told["never"]), (Some("there is no policy yet"), &Value::Null));
        fs::write(dir.join(file::LAST), "no snapshot").unwrap();
        let told: Value = serde_json::from_str(&player.play()).unwrap();
        assert!(told["why"].as_str().is_some_and(|why| why.contains("snapshot")), "{told}");
    }

    #[test]
    fn episodes_are_drawn_to_their_end() {
        let env = quickstudy_core::env::builtin("point-robot").unwrap();
        let episode = Trajectory {
            states: vec![vec![0.0, 0.0]; 20],
            actions: vec![vec![0.0, 0.0]; 20],
            rewards: vec![-1.5; 20],
            task: vec![0.5, 0.5],
        };
        let film = film(&env, &episode, 1.0).unwrap();
        assert_eq!((film.pictures.len(), film.pictures[20].1, film.seconds), (21, -30.0, 1.0));
    }
}
