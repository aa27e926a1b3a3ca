//! Makes single steps of a built-in environment, for programs in other languages to compare with.
//!
//! `steps-under-test ENV [f32]` reads records of numbers (f64, little-endian) from standard input: a state, an
//! action, and a task, if there are several. For each it writes the next state, the observation, the reward, and 1
//! where the episode ended. With `f32` it steps in single precision. `steps-under-test ENV sizes` prints how many
//! numbers a state, an action, an observation and a task have, and `steps-under-test ENV task` the name and the
//! range of each number of a task, one per line. `steps-under-test ENV play` reads a linear policy, a row of
//! weights and a constant for each number of an action, and then first states; it plays an episode from each in
//! single precision and writes its return and its length. `steps-under-test ENV resets N SEED` writes N first states,
//! drawn in single precision as for training. `steps-under-test ENV episodes` reads records of a first state and as
//! many actions as an episode has steps at most, plays each from its own states, and writes for each step what it
//! writes for single steps; zeros follow a step that ended the episode.

#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::process::ExitCode;

use quickstudy_core::env::{EnvDef, builtin};

fn run(args: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let env: EnvDef = builtin(args.first().ok_or("expected the name of an environment")?)?;
    let (state, action) = (env.state_len(), env.spec().action.dim());
    if args.get(1).is_some_and(|word| word == "sizes") {
        println!("{state} {action} {} {}", env.spec().observation.len(), env.spec().task.len());
        return Ok(());
    }
    if args.get(1).is_some_and(|word| word == "resets") {
        let [episodes, seed] = [2, 3].map(|at| args.get(at).and_then(|word| word.parse().ok()));
        let (episodes, seed) = episodes.zip(seed).ok_or("expected a number of first states and a seed")?;
        let drawn = (0..episodes).map(|element| env.reset::<f32>(&[], [seed, 1], element));
        return write(&drawn.collect::<Result<Vec<_>, _>>()?.concat().into_iter().map(f64::from).collect::<Vec<_>>());
    }
    if args.get(1).is_some_and(|word| word == "task") {
        env.spec().task.iter().for_each(|dim| println!("{} {} {}", dim.name, dim.low, dim.high));
        return Ok(());
    }
    let narrow = args.get(1).is_some_and(|word| word == "f32");
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let numbers: Vec<f64> = input.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    if args.get(1).is_some_and(|word| word == "play") {
        return write(&play(&env, &numbers)?);
    }
    if args.get(1).is_some_and(|word| word == "episodes") {
        return write(&episodes(&env, &numbers)?);
    }
    let mut out = Vec::new();
    for record in numbers.chunks_exact(state + action + env.spec().task.len()) {
        let (s, rest) = record.split_at(state);
        let (a, task) = rest.split_at(action);
        let (next, seen, reward, ended) = if narrow {
            let [s, a, task] = [s, a, task].map(|numbers| numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>());
            let step = env.step(&s, &a, &task, [0, 0], 0)?;
            let wide = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect();
            (wide(step.state), wide(step.observation), f64::from(step.reward), step.terminated)
        } else {
            let step = env.step(s, a, task, [0, 0], 0)?;
            (step.state, step.observation, step.reward, step.terminated)
        };
        let end = [reward, f64::from(u8::from(ended))];
        out.extend([next, seen, end.to_vec()].concat());
    }
    write(&out)
}

/// Returns and lengths of episodes that a linear policy plays.
fn play(env: &EnvDef, numbers: &[f64]) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let (seen, acted) = (env.spec().observation.len(), env.spec().action.dim());
    let (weights, starts) = numbers.split_at_checked(acted * (seen + 1)).ok_or("expected the weights of a policy")?;
    let mut out = Vec::new();
    for start in starts.chunks_exact(env.state_len()) {
        let mut state: Vec<f32> = start.iter().map(|x| *x as f32).collect();
        let mut shown = env.observe(&state, &[])?;
        let (mut sum, mut length) = (0.0, 0);
        while length < env.spec().horizon {
            let output = |row: &[f64]| {
                let product: f64 = row[..seen].iter().zip(&shown).map(|(w, x)| w * f64::from(*x)).sum();
                (product + row[seen]).clamp(-1.0, 1.0) as f32
            };
            let action: Vec<f32> = weights.chunks_exact(seen + 1).map(output).collect();
            let step = env.step(&state, &action, &[], [0, 0], 0)?;
            sum += f64::from(step.reward);
            length += 1;
            (state, shown) = (step.state, step.observation);
            if step.terminated {
                break;
            }
        }
        out.extend([sum, length as f64]);
    }
    Ok(out)
}

/// Steps of episodes with given actions: state, observation, reward and end of each, and zeros after an end.
fn episodes(env: &EnvDef, numbers: &[f64]) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let (state, action, horizon) = (env.state_len(), env.spec().action.dim(), env.spec().horizon);
    let row = state + env.spec().observation.len() + 2;
    let mut out = Vec::new();
    for (episode, record) in numbers.chunks_exact(state + action * horizon).enumerate() {
        let (first, actions) = record.split_at(state);
        let mut s = first.to_vec();
        for a in actions.chunks_exact(action) {
            let step = env.step(&s, a, &[], [0, 0], 0)?;
            out.extend(step.state.iter().chain(&step.observation));
            out.extend([step.reward, f64::from(u8::from(step.terminated))]);
            s = step.state;
            if step.terminated {
                break;
            }
        }
        out.resize((episode + 1) * horizon * row, 0.0);
    }
    Ok(out)
}

fn write(numbers: &[f64]) -> Result<(), Box<dyn std::error::Error>> {
    let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
    Ok(std::io::stdout().write_all(&bytes)?)
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("steps-under-test: {error}");
            ExitCode::FAILURE
        }
    }
}
