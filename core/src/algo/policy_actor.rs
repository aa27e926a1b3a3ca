//! A policy on a device that acts in environments on the host.

use super::PolicyNet;
use crate::backend::LocalFuture;
use crate::dist::{RowNoise, fold_in};
use crate::host::{Acted, Actor, Fleet};
use crate::rng::{Key, streams};
use crate::tensor::Tensor;
use crate::{Array, DType, Device, Program, Result, State};

/// Draws actions for K tasks of N environments each, with parameters of each task's own.
///
/// The draws are those of a program on the device with the same keys.
#[derive(Debug)]
pub struct PolicyActor {
    device: Device,
    program: Program,
    /// `[K, N, O]`
    shape: [usize; 3],
    /// Slices of the policy, `[K, …]` each.
    parts: Vec<Array>,
    key: Option<Array>,
}

/// Names of a policy's slices as inputs and outputs of programs.
pub(crate) fn part_names(count: usize) -> Vec<String> {
    (0..count).map(|i| format!("part {i}")).collect()
}

/// Slices as inputs of a run.
pub(crate) fn part_inputs<'a>(names: &'a [String], parts: &'a [Array]) -> impl Iterator<Item = (&'a str, &'a Array)> {
    names.iter().map(String::as_str).zip(parts)
}

/// Slices of a policy for each of K tasks as inputs of a program; `shapes`: those of one task.
pub(crate) fn declare_parts(cx: &mut crate::Context, shapes: &[Vec<usize>], tasks: usize) -> Vec<Tensor> {
    let shape = |shape: &Vec<usize>| [&[tasks], &shape[..]].concat();
    let names = part_names(shapes.len());
    shapes.iter().zip(&names).map(|(s, name)| cx.input(name, &shape(s), DType::F32)).collect()
}

impl PolicyActor {
    /// An actor whose slices have these `shapes` for each task. Give it parameters before it acts.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(
        device: &Device,
        policy: &PolicyNet,
        shapes: &[Vec<usize>],
        fleet: &Fleet,
        deterministic: bool,
    ) -> Result<PolicyActor> {
        let shape = [fleet.tasks, fleet.envs_per_task, fleet.observations()];
        let [k, n, _] = shape;
        let program = Program::new(device, |cx| {
            let parts = declare_parts(cx, shapes, k);
            let obs = cx.input("obs", &shape, DType::F32);
            let key = cx.input("key", &[k, 2], DType::U32);
            let key = [key.slice(1, 0, 1), key.slice(1, 1, 2)];
            let key = fold_in(key, Tensor::constant_u32(streams::ACTION));
            let distribution = policy.distribution(&parts, obs);
            let step = cx.scalar_u32("step");
            let action = match deterministic {
                true => distribution.mode(),
                false => distribution.sample(&RowNoise::new(fold_in(key, step), n)),
            };
            cx.output("actions", Tensor::concat(&[action.unsqueeze(0), policy.limit(action).unsqueeze(0)], 0));
        })?;
        Ok(PolicyActor { device: device.clone(), program, shape, parts: Vec::new(), key: None })
    }

    /// Play with slices `[K, …]` from now on.
    pub fn set_parts(&mut self, parts: Vec<Array>) {
        self.parts = parts;
    }
}

impl Actor for PolicyActor {
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.key = Some(self.device.array_u32(&[self.shape[0], 2], keys.as_flattened())?);
        Ok(())
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        Box::pin(async move {
            let obs = self.device.array(&self.shape, observations)?;
            let names = part_names(self.parts.len());
            let mut inputs: Vec<(&str, &Array)> = part_inputs(&names, &self.parts).collect();
            inputs.push(("obs", &obs));
            inputs.extend(self.key.iter().map(|key| ("key", key)));
            let out = self.program.run(&State::new(), &inputs, &[("step", step.into())])?;
            let mut drawn = self.device.read(out.get("actions")?).await?;
            let played = drawn.split_off(drawn.len() / 2);
            Ok(Acted { drawn, played, info: Vec::new() })
        })
    }
}
