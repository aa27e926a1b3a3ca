//! The command line with an environment of the host: ordinary code with a map and random numbers of its own, and no
//! tensor program.
//!
//! `custom_host_env train ppo --env courier` trains on it, `custom_host_env train promp --env courier-hubs` learns to
//! adapt to its tasks, and every other verb knows both.

#![forbid(unsafe_code)]

use std::collections::BTreeMap;
use std::process::ExitCode;

use quickstudy_core::env::{ActionSpace, Dim, EnvSpec};
use quickstudy_core::host::{Chance, EnvPlace, HostEnv, TaskPerEpisode, Transition};
use quickstudy_core::{Error, Result};

/// Corners of the town are numbered from 0 in both directions.
const TOWN: i64 = 5;
const MOVES: [[i64; 2]; 4] = [[-1, 0], [1, 0], [0, -1], [0, 1]];

/// A courier collects parcels at the corners of a town. The task is the corner around which they appear, so that it is
/// worth to remember, or to learn, where to wait. Reward: 1 for each parcel, minus 0.02 for each one that waits.
pub struct Courier {
    spec: EnvSpec,
    hub: [f64; 2],
    at: [i64; 2],
    /// How many parcels wait at which corner, in an order that repeats exactly; that of a `HashMap` does not.
    parcels: BTreeMap<[i64; 2], u64>,
    /// The state of its own random numbers.
    dice: u64,
}

impl Courier {
    /// Under this name, which the command line knows it by.
    pub fn new(name: &str) -> Courier {
        let far = (TOWN - 1) as f64;
        let dims = |names: [&str; 2], low, high| names.map(|name| Dim::new(name, low, high));
        let mut observation = dims(["x", "y"], 0.0, far).to_vec();
        observation.extend(dims(["to parcel x", "to parcel y"], -far, far));
        observation.push(Dim::new("waiting", 0.0, 50.0));
        let action = ActionSpace::discrete(&["west", "east", "south", "north"]);
        let spec = EnvSpec::new(name, observation, action, 50).task(dims(["hub x", "hub y"], 0.0, far).to_vec());
        Courier { spec, hub: [0.0; 2], at: [0; 2], parcels: BTreeMap::new(), dice: 0 }
    }

    /// A number from 0 to below `end`, by SplitMix64.
    fn roll(&mut self, end: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.dice ^ (self.dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    fn drop_parcel(&mut self) {
        let corner = self.hub.map(|hub| (hub.round() as i64 + self.roll(3) as i64 - 1).clamp(0, TOWN - 1));
        *self.parcels.entry(corner).or_default() += 1;
    }

    fn observe(&self) -> Vec<f64> {
        let distance = |corner: &[i64; 2]| (corner[0] - self.at[0]).abs() + (corner[1] - self.at[1]).abs();
        let nearest = self.parcels.keys().copied().min_by_key(distance).unwrap_or(self.at);
        let waiting = self.parcels.values().sum::<u64>() as f64;
        let [x, y] = self.at.map(|x| x as f64);
        vec![x, y, nearest[0] as f64 - x, nearest[1] as f64 - y, waiting]
    }
}

impl HostEnv for Courier {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// Tasks are drawn uniformly in the ranges of the spec.
    fn set_task(&mut self, task: &[f64]) -> Result<()> {
        self.hub.copy_from_slice(task);
        Ok(())
    }

    /// `chance` is the only source of randomness, so that runs repeat exactly: here it gives a seed.
    fn reset(&mut self, chance: Chance) -> Result<Vec<f64>> {
        self.dice = chance.seed();
        self.at = [TOWN / 2; 2];
        self.parcels.clear();
        self.drop_parcel();
        Ok(self.observe())
    }

    fn step(&mut self, action: &[f64], _chance: Chance) -> Result<Transition> {
        let ahead = MOVES[action[0] as usize];
        self.at = [0, 1].map(|i| (self.at[i] + ahead[i]).clamp(0, TOWN - 1));
        let collected = self.parcels.remove(&self.at).unwrap_or(0) as f64;
        let waiting = self.parcels.values().sum::<u64>() as f64;
        if self.roll(4) == 0 {
            self.drop_parcel();
        }
        Ok(Transition { observation: self.observe(), reward: collected - 0.02 * waiting, ..Transition::default() })
    }

    /// Gives all that changes, so that a resumed run equals the uninterrupted one to the byte. Without it episodes
    /// begin anew.
    fn save(&self) -> Option<Vec<u8>> {
        let mut words =
            vec![self.hub[0].to_bits(), self.hub[1].to_bits(), self.at[0] as u64, self.at[1] as u64, self.dice];
        words.extend(self.parcels.iter().flat_map(|([x, y], count)| [*x as u64, *y as u64, *count]));
        Some(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }

    fn restore(&mut self, state: &[u8]) -> Result<()> {
        let (words, rest) = state.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let problem =
            || Error::Environment { name: self.spec.name.clone(), problem: "no state of a courier".to_owned() };
        let Some(([hub_x, hub_y, x, y, dice], parcels)) = words.split_first_chunk() else { return Err(problem()) };
        let (parcels, more) = parcels.as_chunks();
        if !rest.is_empty() || !more.is_empty() {
            return Err(problem());
        }
        self.hub = [hub_x, hub_y].map(|bits| f64::from_bits(*bits));
        self.at = [*x as i64, *y as i64];
        self.dice = *dice;
        self.parcels = parcels.iter().map(|[x, y, count]| ([*x as i64, *y as i64], *count)).collect();
        Ok(())
    }
}

/// The environments that the command line is to know. Executors ask for as many as training, evaluation and adaptation
/// need.
///
/// Algorithms that adapt give `courier-hubs` its tasks. To the others `courier` has a single task, and draws a hub for
/// each episode.
pub fn environments() -> Result<Vec<EnvPlace>> {
    let with_tasks = EnvPlace::of_envs(|_| Ok(Box::new(Courier::new("courier-hubs"))))?;
    let without = EnvPlace::of_envs(|_| Ok(Box::new(TaskPerEpisode::new(Courier::new("courier")))))?;
    Ok(vec![without, with_tasks])
}

fn main() -> ExitCode {
    match environments() {
        Ok(environments) => quickstudy::cli::main_with(environments, vec![]),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
