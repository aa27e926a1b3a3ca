//! Makes single steps of a built-in environment, for programs in other languages to compare with.
//!
//! `steps-under-test ENV [f32]` reads records of numbers (f64, little-endian) from standard input: a state and an
//! action. For each it writes the next state, the observation, the reward, and 1 where the episode ended. With `f32` it
//! steps in single precision. `steps-under-test ENV sizes` prints how many numbers a state, an action and an
//! observation have.

#![forbid(unsafe_code)]

use std::io::{Read, Write};
use std::process::ExitCode;

use quickstudy_core::env::{EnvDef, builtin};

fn run(args: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let env: EnvDef = builtin(args.first().ok_or("expected the name of an environment")?)?;
    let (state, action) = (env.state_len(), env.spec().action.dim());
    if args.get(1).is_some_and(|word| word == "sizes") {
        println!("{state} {action} {}", env.spec().observation.len());
        return Ok(());
    }
    let narrow = args.get(1).is_some_and(|word| word == "f32");
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input)?;
    let numbers: Vec<f64> = input.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes)).collect();
    let mut out = Vec::new();
    for record in numbers.chunks_exact(state + action) {
        let (s, a) = record.split_at(state);
        let (next, seen, reward, ended) = if narrow {
            let [s, a] = [s, a].map(|numbers| numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>());
            let step = env.step(&s, &a, &[], [0, 0], 0)?;
            let wide = |numbers: Vec<f32>| numbers.into_iter().map(f64::from).collect();
            (wide(step.state), wide(step.observation), f64::from(step.reward), step.terminated)
        } else {
            let step = env.step(s, a, &[], [0, 0], 0)?;
            (step.state, step.observation, step.reward, step.terminated)
        };
        let end = [reward, f64::from(u8::from(ended))];
        out.extend([next, seen, end.to_vec()].concat().into_iter().flat_map(f64::to_le_bytes));
    }
    std::io::stdout().write_all(&out)?;
    Ok(())
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
