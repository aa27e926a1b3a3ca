//! Sessions from snapshots.

use super::finished::Finished;
use super::own::Own;
use super::setup::Setup;
use super::snapshot::{self, Decoded, SnapshotKind};
use super::tensors;
use crate::backend::room;
use crate::{DType, Device, Result, State};

/// Iterations made, and of each seed the steps made and the finished episodes.
pub(super) type Progress = (u64, Vec<u64>, Vec<Finished>);

/// The content of snapshots.
pub(super) type Restored = (Setup, State, Progress);

/// Reads snapshots, one per seed, of runs that differ in the seed alone.
pub(super) fn restored(device: &Device, own: &Own<'_>, snapshots: &[&[u8]]) -> Result<Restored> {
    // Their words, once by seed and once stacked.
    let bytes = snapshots.iter().map(|bytes| bytes.len() as u64).sum::<u64>();
    let _copies = device.take_on_host(bytes.saturating_mul(2))?;
    let decoded: Vec<Decoded<'_>> =
        snapshots.iter().map(|bytes| snapshot::decode(bytes, own.algorithms)).collect::<Result<_>>()?;
    let Some((first, algorithm, _)) = decoded.first() else {
        return Err(snapshot::wrong("no snapshot was given"));
    };
    for (header, ..) in &decoded {
        if header.kind != SnapshotKind::Session {
            return Err(snapshot::wrong("it holds a policy only, not the state that training goes on from"));
        }
        let same = header.algorithm == first.algorithm
            && header.env == first.env
            && header.steps == first.steps
            && header.config == first.config;
        if !same {
            return Err(snapshot::wrong("the runs differ in more than the seed; resume them one by one"));
        }
        if header.iteration != first.iteration {
            return Err(snapshot::wrong(
                "the runs stopped after different numbers of iterations; resume them one by one",
            ));
        }
    }
    let env = own.environment(first)?;
    let seeds: Vec<u64> = decoded.iter().map(|(h, ..)| h.seed).collect();
    let setup = Setup::of_snapshot(algorithm, env, &seeds, (first.steps, first.iteration), &first.config)
        .map_err(|e| snapshot::wrong(e.to_string()))?;
    let made = decoded.iter().map(|(header, ..)| snapshot::steps_made(header, setup.batch()));
    let made = made.collect::<Result<Vec<_>>>()?;
    let algorithm = setup.fitted();
    let (layout, entries) = (algorithm.layout(), algorithm.entries(setup.env.state_len()));
    let mut arrays = Vec::with_capacity(decoded.len());
    for (header, _, tensors) in &decoded {
        arrays.push(tensors::read(tensors, header.format, &entries, layout)?);
    }
    let mut state = State::new();
    for (i, entry) in entries.iter().enumerate() {
        let shape = [&[seeds.len()], &entry.shape[..]].concat();
        let mut words: Vec<u32> = room(shape.iter().product())?;
        for of_seed in &mut arrays {
            words.extend_from_slice(&std::mem::take(&mut of_seed[i].words));
        }
        let limit = setup.env.spec().horizon;
        if let Some(steps) = words.iter().find(|steps| entry.name == "env_steps" && **steps as usize > limit) {
            return Err(snapshot::wrong(format!("an episode has {steps} steps, and the time limit is {limit}")));
        }
        let array = match entry.dtype {
            DType::U32 => device.array_u32(&shape, &words)?,
            DType::F32 => device.array_f32(&shape, bytemuck::cast_slice(&words))?,
        };
        state.insert(entry.name, array);
    }
    let finished = decoded.iter().map(|(_, _, e)| snapshot::finished(e)).collect::<Result<_>>()?;
    let iteration = first.iteration;
    Ok((setup, state, (iteration, made, finished)))
}
