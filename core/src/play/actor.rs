//! A policy on a device that acts in environments of the host.

use std::fmt;

use crate::backend::LocalFuture;
use crate::dist::{RowNoise, fold_in};
use crate::host::{Acted, Actor, Stepped};
use crate::policy::{Acting, Feedback, How, Policy};
use crate::rng::{self, Key, streams};
use crate::tensor::Named;
use crate::{Array, Context, DType, Device, Error, Program, Result, State, Tensor};

/// An actor that acts by a program in K groups of N environments; it draws like [`Play`](super::Play) with the same
/// keys.
pub struct PolicyActor {
    device: Device,
    act: Program,
    /// Updates the memory after a step, if the policy remembers.
    observe: Option<Program>,
    /// Makes the memory of a policy that has seen nothing.
    empty: Program,
    /// K, N, O and A, as in [`ActorSpec::sizes`].
    sizes: [usize; 4],
    info: Vec<String>,
    /// The values by which the policy acts, by the names of the program's inputs.
    acting: Vec<(String, Array)>,
    /// Names and widths of the policy's memory.
    remembered: Vec<(&'static str, usize)>,
    memory: Vec<(String, Array)>,
    /// The keys of actions and of lasting noise; none before the first play.
    keys: Option<[Array; 2]>,
    /// The number of the last step that was acted in.
    step: u32,
    /// The number of steps for which lasting noise lasts; 0 for all steps of a play.
    pub lasts: usize,
    /// The number of a play's first step, which names noise that lasts for all steps.
    pub first: u32,
}

/// The specification of a [`PolicyActor`].
#[derive(Clone, Copy, Debug)]
pub struct ActorSpec<'a> {
    /// The policy.
    pub policy: &'a dyn Policy,
    /// K, N, O and A: groups, environments per group, and numbers in an observation and in an action.
    pub sizes: [usize; 4],
    /// The way in which the policy chooses actions.
    pub how: How,
    /// True if the policy's lasting noise is used, if it has any.
    pub lasting: bool,
    /// The [extras](crate::policy::Act::extras) to report with each action, among those that the policy gives.
    pub info: &'a [&'static str],
}

fn input(name: &str) -> String {
    format!("memory {name}")
}

fn words(cx: &mut Context, name: &str, groups: usize) -> [Tensor; 2] {
    let key = cx.input(name, &[groups, 2], DType::U32);
    [key.slice(1, 0, 1), key.slice(1, 1, 2)]
}

impl fmt::Debug for PolicyActor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicyActor").field("sizes", &self.sizes).finish_non_exhaustive()
    }
}

impl PolicyActor {
    /// Makes an actor whose values are the inputs that `declare` declares. They must be set before it acts.
    ///
    /// # Errors
    /// If the device fails.
    pub fn new(device: &Device, seat: ActorSpec<'_>, declare: &dyn Fn(&mut Context) -> Acting) -> Result<PolicyActor> {
        let ActorSpec { policy, sizes, how, lasting, info } = seat;
        let [k, n, o, a] = sizes;
        let rows = [k, n];
        let mut remembered = Vec::new();
        let empty = Program::new(device, |cx| {
            let acting = declare(cx);
            // This key names the memory's noise at the step before the first one, as in `Play`.
            let key = fold_in(words(cx, "action_key", k), Tensor::constant_u32(0));
            let memory = policy.begin(&acting, rows, None, &RowNoise::new(key, n));
            remembered = memory.iter().map(|(name, x)| (name, x.shape().last().copied().unwrap_or(1))).collect();
            memory.iter().for_each(|(name, x)| cx.output(&input(name), x));
            cx.output("nothing", Tensor::zeros(&[1]));
        })?;
        let declared = |cx: &mut Context| -> Named {
            let one =
                |(name, width): &(&'static str, usize)| (*name, cx.input(&input(name), &[k, n, *width], DType::F32));
            remembered.iter().map(one).collect()
        };
        let mut reported = Vec::new();
        let act = Program::new(device, |cx| {
            let acting = declare(cx);
            let memory = declared(cx);
            let observation = cx.input("obs", &[k, n, o], DType::F32);
            let key = words(cx, "action_key", k);
            let noise = RowNoise::new(fold_in(key, cx.scalar_u32("step")), n);
            let lasting = lasting.then(|| {
                let key = words(cx, "lasting_key", k);
                policy.lasting(&acting, &RowNoise::new(fold_in(key, cx.scalar_u32("renewed")), n))
            });
            let act = policy.act(&acting, observation, &memory, lasting.flatten(), &noise, how);
            let broken = |x: Tensor| x.non_finite().to_f32().max_keep(2);
            let policy_broken = act.extras.find("broken").unwrap_or_else(|| broken(act.action));
            let mut columns = vec![act.action, act.played, policy_broken];
            for (name, extra) in info.iter().filter_map(|name| Some((*name, act.extras.find(name)?))) {
                reported.push(name.to_owned());
                columns.push(extra);
            }
            cx.output("acted", Tensor::concat(&columns, 2));
            act.memory.iter().for_each(|(name, x)| cx.output(&input(name), x));
        })?;
        let observe = match remembered.is_empty() {
            true => None,
            false => Some(Program::new(device, |cx| {
                let (acting, memory) = (declare(cx), declared(cx));
                let played = cx.input("played", &[k, n, a], DType::F32);
                let reward = cx.input("reward", &[k, n, 1], DType::F32);
                let terminated = cx.input("terminated", &[k, n, 1], DType::U32);
                let truncated = cx.input("truncated", &[k, n, 1], DType::U32);
                let next_obs = cx.input("next_obs", &[k, n, o], DType::F32);
                let outcome = Feedback { played, next_obs, reward, terminated, truncated };
                let memory = policy.observe(&acting, &memory, &outcome);
                let key = fold_in(words(cx, "action_key", k), cx.scalar_u32("step"));
                let begun = policy.begin(&acting, rows, Some(&memory), &RowNoise::new(key, n));
                let ended = terminated.bit_or(truncated);
                memory.iter().for_each(|(name, x)| cx.output(&input(name), ended.select(begun.get(name), x)));
            })?),
        };
        Ok(PolicyActor {
            device: device.clone(),
            act,
            observe,
            empty,
            sizes,
            info: reported,
            acting: Vec::new(),
            remembered,
            memory: Vec::new(),
            keys: None,
            step: 0,
            lasts: 0,
            first: 0,
        })
    }

    /// Sets the values by which the policy acts from now on.
    pub fn set_acting(&mut self, acting: Vec<(String, Array)>) {
        self.acting = acting;
    }

    /// Sets the keys of actions and of lasting noise, one of each per group.
    ///
    /// # Errors
    /// If the device fails.
    pub fn set_keys(&mut self, action: &[Key], lasting: &[Key]) -> Result<()> {
        let array = |keys: &[Key]| self.device.array_u32(&[keys.len(), 2], keys.as_flattened());
        self.keys = Some([array(action)?, array(lasting)?]);
        Ok(())
    }

    /// Sets the keys of actions and of lasting noise, arrays of the device, u32 `[K, 2]` each.
    pub fn set_key_arrays(&mut self, action: Array, lasting: Array) {
        self.keys = Some([action, lasting]);
    }

    /// Forgets everything: the memory becomes that of a policy that has seen nothing.
    ///
    /// # Errors
    /// If the device fails.
    pub fn forget(&mut self) -> Result<()> {
        if !self.remembered.is_empty() {
            let mut inputs: Vec<(&str, &Array)> =
                self.acting.iter().map(|(name, array)| (name.as_str(), array)).collect();
            inputs.extend(self.keys.iter().map(|[action, _]| ("action_key", action)));
            let out = self.empty.run(&State::new(), &inputs, &[])?;
            self.memory = self.taken(&out)?;
        }
        Ok(())
    }

    /// The memory, in the order of its names.
    pub(super) fn memory_arrays(&self) -> Vec<Array> {
        self.memory.iter().map(|(_, array)| array.clone()).collect()
    }

    /// Replaces the memory, in the order of its names.
    pub(super) fn set_memory_arrays(&mut self, arrays: &[Array]) {
        let names = self.remembered.iter().map(|(name, _)| input(name));
        self.memory = names.zip(arrays.iter().cloned()).collect();
    }

    fn taken(&self, out: &crate::program::Outputs) -> Result<Vec<(String, Array)>> {
        self.remembered
            .iter()
            .map(|(name, _)| {
                let name = input(name);
                let array = out.get(&name)?.clone();
                Ok((name, array))
            })
            .collect()
    }

    /// True if the policy remembers.
    #[must_use]
    pub fn remembers(&self) -> bool {
        !self.remembered.is_empty()
    }

    /// The memory of each environment, as rows of numbers.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn memory(&self) -> Result<Vec<Vec<f64>>> {
        let mut rows = vec![Vec::new(); self.sizes[0] * self.sizes[1]];
        for ((_, array), (_, width)) in self.memory.iter().zip(&self.remembered) {
            let numbers = self.device.read(array).await?;
            rows.iter_mut().zip(numbers.chunks(*width)).for_each(|(row, part)| row.extend(part));
        }
        Ok(rows)
    }

    /// Replaces the memory of each environment by these [rows](PolicyActor::memory).
    ///
    /// # Errors
    /// If the device fails.
    pub fn set_memory(&mut self, rows: &[Vec<f64>]) -> Result<()> {
        let [k, n, ..] = self.sizes;
        let mut first = 0;
        self.memory.clear();
        for (name, width) in &self.remembered {
            let part: Vec<f64> = rows.iter().flat_map(|row| &row[first..first + width]).copied().collect();
            self.memory.push((input(name), self.device.array(&[k, n, *width], &part)?));
            first += width;
        }
        Ok(())
    }
}

impl Actor for PolicyActor {
    fn info(&self) -> &[String] {
        &self.info
    }

    fn begin(&mut self, keys: &[Key]) -> Result<()> {
        // If there are fewer groups than keys, all environments are rows of one batch.
        let stream =
            |name: u32| -> Vec<Key> { keys.iter().take(self.sizes[0]).map(|key| rng::fold_in(*key, name)).collect() };
        let (action, lasting) = (stream(streams::ACTION), stream(streams::EXPLORATION));
        self.set_keys(&action, &lasting)?;
        self.forget()
    }

    fn observe<'a>(&'a mut self, acted: &'a Acted, stepped: &'a Stepped) -> LocalFuture<'a, Result<()>> {
        Box::pin(async move {
            let Some(observe) = &mut self.observe else { return Ok(()) };
            let [k, n, o, a] = self.sizes;
            let flags = |flags: &[bool]| {
                let numbers: Vec<u32> = flags.iter().map(|flag| u32::from(*flag)).collect();
                self.device.array_u32(&[k, n, 1], &numbers)
            };
            let arrays = [
                ("played", self.device.array(&[k, n, a], &acted.played)?),
                ("reward", self.device.array(&[k, n, 1], &stepped.rewards)?),
                ("next_obs", self.device.array(&[k, n, o], &stepped.last_observations)?),
                ("terminated", flags(&stepped.terminated)?),
                ("truncated", flags(&stepped.truncated)?),
            ];
            let mut inputs: Vec<(&str, &Array)> = arrays.iter().map(|(name, array)| (*name, array)).collect();
            inputs.extend(self.acting.iter().chain(&self.memory).map(|(name, array)| (name.as_str(), array)));
            inputs.extend(self.keys.iter().map(|[action, _]| ("action_key", action)));
            let out = observe.run(&State::new(), &inputs, &[("step", self.step.into())])?;
            self.memory = self.taken(&out)?;
            Ok(())
        })
    }

    fn act<'a>(&'a mut self, observations: &'a [f64], step: u32) -> LocalFuture<'a, Result<Acted>> {
        Box::pin(async move {
            let [k, n, o, a] = self.sizes;
            let obs = self.device.array(&[k, n, o], observations)?;
            let mut inputs: Vec<(&str, &Array)> = vec![("obs", &obs)];
            inputs.extend(self.acting.iter().chain(&self.memory).map(|(name, array)| (name.as_str(), array)));
            if let Some([action, lasting]) = &self.keys {
                inputs.extend([("action_key", action), ("lasting_key", lasting)]);
            }
            self.step = step;
            let renewed = step.checked_div(self.lasts as u32).unwrap_or(self.first);
            let scalars = [("step", step.into()), ("renewed", renewed.into())];
            let out = self.act.run(&State::new(), &inputs, &scalars)?;
            let rows = self.device.read(out.get("acted")?).await?;
            self.memory = self.taken(&out)?;
            let mut acted = Acted::default();
            for (number, row) in rows.chunks(rows.len() / (k * n)).enumerate() {
                let (drawn, rest) = row.split_at(a);
                let (played, rest) = rest.split_at(a);
                if rest[0] != 0.0 {
                    return Err(Error::NonFinite(format!("environment {number}: {BROKEN}")));
                }
                acted.drawn.extend(drawn);
                acted.played.extend(played);
                acted.info.extend(&rest[1..]);
            }
            Ok(acted)
        })
    }
}

/// The message about a policy whose outputs are not finite.
pub const BROKEN: &str =
    "the policy acts with NaN or infinite numbers; its parameters, or those that it adapted, are too large";
