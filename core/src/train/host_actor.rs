//! A trained policy without a memory in environments on the host.

use super::config::Config;
use super::evaluate::{PolicyArrays, expect_finite};
use super::fixed::FixedPolicy;
use crate::algo::LocalFuture;
use crate::dist::{RowNoise, fold_in};
use crate::host::{Acted, Actor, Fleet};
use crate::rng::{Key, streams};
use crate::{Array, DType, Device, Program, Result, State, Tensor};

/// Acts for all environments of a fleet at once.
#[derive(Debug)]
pub(super) struct HostActor {
    device: Device,
    program: Program,
    policy: PolicyArrays,
    /// `[M, E, O]`
    shape: [usize; 3],
    key: Array,
}

impl HostActor {
    pub fn new(
        device: &Device,
        config: &Config,
        fleet: &Fleet,
        policy: PolicyArrays,
        deterministic: bool,
    ) -> Result<HostActor> {
        let net = FixedPolicy::new(config, &fleet.spec)?;
        let shape = [fleet.tasks, fleet.envs_per_task, fleet.observations()];
        let [m, e, o] = shape;
        let program = Program::new(device, |cx| {
            let parts = net.declare(cx, 1);
            // One policy for all tasks: to it they are more rows of one batch.
            let obs = cx.input("obs", &shape, DType::F32).reshape(&[1, m * e, o]);
            let key = cx.input("key", &[m, 2], DType::U32);
            let key = fold_in([key.slice(1, 0, 1), key.slice(1, 1, 2)], Tensor::constant_u32(streams::ACTION));
            let step = cx.scalar_u32("step");
            let distribution = net.distribution(&parts, obs);
            let action = match deterministic {
                true => distribution.mode(),
                // Rows are numbered through, so one task's key will do.
                false => distribution.sample(&RowNoise::new(fold_in(key, step).map(|word| word.slice(0, 0, 1)), m * e)),
            };
            let flat = |x: Tensor| x.reshape(&[x.len()]);
            let lost = distribution.lost(obs, action);
            cx.output("actions", Tensor::concat(&[action, net.net.limit(action), lost].map(flat), 0));
        })?;
        let key = device.zeros(&[m, 2], DType::U32)?;
        Ok(HostActor { device: device.clone(), program, policy, shape, key })
    }
}

impl Actor for HostActor {
    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        self.key = self.device.array_u32(&[self.shape[0], 2], keys.as_flattened())?;
        Ok(())
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        Box::pin(async move {
            let obs = self.device.array(&self.shape, observations)?;
            let mut inputs = vec![("obs", &obs), ("key", &self.key)];
            inputs.extend(self.policy.arrays.iter().map(|(name, array)| (*name, array)));
            let out = self.program.run(&State::new(), &inputs, &[("step", step.into())])?;
            let mut drawn = self.device.read(out.get("actions")?).await?;
            let lost = drawn.split_off(drawn.len() - self.shape[0] * self.shape[1]);
            let played = drawn.split_off(drawn.len() / 2);
            expect_finite(&lost, &lost, |row| format!("environment {row}"))?;
            Ok(Acted { drawn, played, info: Vec::new() })
        })
    }
}
