//! Actions at the ends of their ranges and beyond, held for whole episodes: what policies do that have learned little,
//! and random actions never do.

use super::engine::lockstep::Lockstep;
use super::row_fault::RowFault;
use super::{ActionSpace, Dim, EnvDef};
use crate::backend::cpu::simd::isa::Isa;
use crate::rng::{Threefry, fold_in, key_from_seed};

/// Environments that are stepped side by side.
const COUNT: usize = 64;

/// The least and the most steps of a pass: whole episodes, unless these are very long.
const STEPS: [usize; 2] = [1200, 10_000];

/// How far actions go beyond their ranges, in widths of these: not at all, as the noise of a policy, and as numbers in
/// another unit.
const BEYOND: [f32; 3] = [0.0, 1.0, 1000.0];

/// Steps until an action that changes slowly does so.
const SLOW: usize = 25;

/// The ways in which lanes choose between the ends, in turn.
const WAYS: [&str; 8] = [
    "all numbers held at their lowest",
    "all numbers held at their highest",
    "the lowest and the highest in turn",
    "the lowest and the highest for 25 steps each",
    "every other number at its lowest, the others at their highest",
    "every other number at its highest, the others at their lowest",
    "the lowest or the highest by chance",
    "one number at its highest after the other, or one option, for 25 steps each",
];

/// A number of an action with its ends.
struct HeldNumber {
    name: String,
    low: f32,
    high: f32,
    /// How many options it chooses from; 0 if none.
    options: usize,
    whole: bool,
}

impl HeldNumber {
    fn all(space: &ActionSpace) -> Vec<HeldNumber> {
        let option = |name: String, options: usize| {
            let high = options.saturating_sub(1) as f32;
            HeldNumber { name, low: 0.0, high, options, whole: true }
        };
        let number = |dim: &Dim| {
            let [low, high] = dim.single();
            HeldNumber { name: dim.name.clone(), low, high, options: 0, whole: dim.whole }
        };
        match space {
            ActionSpace::Discrete { names } => vec![option("action".to_owned(), names.len())],
            ActionSpace::MultiDiscrete { choices } => {
                choices.iter().map(|choice| option(choice.name.clone(), choice.names.len())).collect()
            }
            ActionSpace::Box { dims } => dims.iter().map(number).collect(),
        }
    }

    /// Its ends, moved outwards by this many widths of the range.
    fn ends(&self, beyond: f32) -> [f32; 2] {
        let more = beyond * (self.high - self.low).max(1.0);
        [(self.low - more).max(f32::MIN), (self.high + more).min(f32::MAX)]
    }

    /// Its value as number `number` of `all`, in a step of a lane.
    fn value(&self, [number, all]: [usize; 2], lane: usize, t: usize, beyond: f32, chance: bool) -> f32 {
        let [low, high] = self.ends(beyond);
        let turn = lane / WAYS.len() + t / SLOW;
        let highest = match lane % WAYS.len() {
            0 => false,
            1 => true,
            2 => !t.is_multiple_of(2),
            3 => !(t / SLOW).is_multiple_of(2),
            4 => !number.is_multiple_of(2),
            5 => number.is_multiple_of(2),
            6 => chance,
            _ if self.options > 0 && beyond == 0.0 => return (turn % self.options) as f32,
            _ if turn % all.max(1) == number => true,
            _ => {
                let middle = self.low + (self.high - self.low) / 2.0;
                return if self.whole { middle.floor() } else { middle };
            }
        };
        if highest { high } else { low }
    }
}

/// Plays whole episodes with such actions. Says what was played, or which number was wrong, when, and after which
/// actions.
pub(super) fn play(env: &EnvDef) -> Result<String, String> {
    let parts = HeldNumber::all(&env.spec().action);
    let steps = env.spec().horizon.clamp(STEPS[0], STEPS[1]);
    for beyond in BEYOND {
        let mut rows = Lockstep::new(env, Isa::detect(), COUNT);
        let mut rng = Threefry::new(key_from_seed(9));
        rows.sample_tasks(key_from_seed(77));
        rows.reset(key_from_seed(1));
        for t in 0..steps {
            let made: Vec<u32> = Lockstep::words(&rows.steps);
            for (number, (part, lanes)) in parts.iter().zip(rows.action.chunks_mut(COUNT)).enumerate() {
                for (lane, action) in lanes.iter_mut().enumerate() {
                    let chance = rng.word() % 2 == 1;
                    *action = part.value([number, parts.len()], lane, t, beyond, chance);
                }
            }
            rows.step(fold_in(key_from_seed(2), t as u32));
            if let Some(fault) = RowFault::of_step(env, &rows) {
                return Err(sentence(&fault, &parts, &rows, beyond, made[fault.lane] + 1));
            }
        }
    }
    Ok(format!("finite and in range over {steps} steps of held actions, up to {} ranges beyond their own", BEYOND[2]))
}

/// The fault as a part of a sentence: the number, the step of the episode, its actions, and the remedy.
fn sentence(fault: &RowFault, parts: &[HeldNumber], rows: &Lockstep, beyond: f32, step: u32) -> String {
    const SHOWN: usize = 4;
    let RowFault { lane, number, remedy } = fault;
    let value = |(part, lanes): (&HeldNumber, &[f32])| format!("`{}` = {}", part.name, lanes[*lane]);
    let mut last: Vec<String> = parts.iter().zip(rows.action.chunks(COUNT)).map(value).take(SHOWN).collect();
    if parts.len() > SHOWN {
        last.push("…".to_owned());
    }
    let (last, way) = (last.join(", "), WAYS[lane % WAYS.len()]);
    let (place, limit) = match beyond > 0.0 {
        true => ("beyond", ", or limit the action by `clamp` first"),
        false => ("at the ends of", ""),
    };
    format!(
        "{number} at step {step} of an episode with actions {place} their ranges ({way}; the last one was \
         {last}){remedy}{limit}"
    )
}
