//! Adaptation to episodes that were played on the host.

use super::config::MamlConfig;
use super::maml::Learner;
use crate::host::{BlockShape, Padded};
use crate::play::{declare_parts, part_names};
use crate::{Array, DType, Device, Program, Result, State};

/// The programs of a [`Learner`] between collections of episodes: the same functions as in the program of an iteration.
#[derive(Debug)]
pub struct HostLearner {
    device: Device,
    names: Vec<String>,
    start: Program,
    adapt: Program,
}

impl HostLearner {
    /// For `seeds` seeds, whose tasks are the block's: K = S · M.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(
        device: &Device,
        learner: &Learner,
        config: &MamlConfig,
        seeds: usize,
        block: BlockShape,
    ) -> Result<HostLearner> {
        let shapes = learner.policy_shapes();
        let names = part_names(shapes.len());
        let (tasks, theta) = (block.tasks / seeds.max(1), [seeds, learner.layout.len()]);
        let start = Program::new(device, |cx| {
            let (parts, _) = learner.start(cx.input("theta", &theta, DType::F32), tasks);
            names.iter().zip(parts).for_each(|(name, part)| cx.output(name, part));
        })?;
        let adapt = Program::new(device, |cx| {
            let (_, step_sizes) = learner.start(cx.input("theta", &theta, DType::F32), tasks);
            let parts = declare_parts(cx, &shapes, block.tasks);
            let phase = learner.phase(config, &parts, &block.declare(cx, ""), seeds);
            let parts = learner.adapt(&parts, &phase, &step_sizes);
            names.iter().zip(parts).for_each(|(name, part)| cx.output(name, part));
        })?;
        Ok(HostLearner { device: device.clone(), names, start, adapt })
    }

    /// What each task starts from: slices of the policy `[K, …]` from `theta: [S, P]`.
    ///
    /// # Errors
    /// If the device fails.
    pub fn start(&mut self, theta: &Array) -> Result<Vec<Array>> {
        let out = self.start.run(&State::new(), &[("theta", theta)], &[])?;
        Ok(out.iter().map(|(_, array)| array.clone()).collect())
    }

    /// Slices after an inner step from `parts` on episodes that they collected; θ has the step sizes where these are learned.
    ///
    /// # Errors
    /// If the device fails or the block has another shape.
    pub fn adapt(&mut self, theta: &Array, parts: &[Array], episodes: &Padded) -> Result<Vec<Array>> {
        let block = episodes.upload(&self.device, "")?;
        let parts = self.names.iter().map(String::as_str).zip(parts);
        let mut inputs: Vec<(&str, &Array)> = parts.chain(block.inputs()).collect();
        inputs.push(("theta", theta));
        let out = self.adapt.run(&State::new(), &inputs, &[])?;
        Ok(out.iter().map(|(_, array)| array.clone()).collect())
    }
}
