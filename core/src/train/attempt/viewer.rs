//! Viewers of a policy that plays in many environments side by side, one step at a time.

use super::evaluator::Evaluator;
use super::under_test::PolicyArrays;
use crate::algo::Algorithm;
use crate::env::EnvDef;
use crate::play::{Keys, Play, Running};
use crate::policy::How;
use crate::rng::{key_from_seed, streams};
use crate::tensor::Named;
use crate::{Array, Context, DType, Device, Error, Program, Result, State};

/// The most environments to watch.
const MAX_ENVS: usize = 1 << 16;

/// Environments in which a policy plays for somebody to look at. When an episode ends, a new one begins.
#[derive(Debug)]
pub struct Viewer {
    device: Device,
    env: EnvDef,
    policy: PolicyArrays,
    step: Program,
    key: Array,
    /// The running episodes of all environments.
    state: State,
    count: usize,
    steps: u32,
}

impl Viewer {
    /// Makes a viewer of `count` environments at their first states, in which `policy` plays, by the deterministic
    /// actions if `deterministic`.
    ///
    /// # Errors
    /// [`Error::Config`] for a policy that adapts to tasks, an environment of the host, no
    /// environments or too many; or if the device fails.
    pub fn new(policy: &Evaluator, count: usize, seed: u64, deterministic: bool) -> Result<Viewer> {
        if count == 0 || count > MAX_ENVS {
            return Err(Error::config("envs", format!("{count} is not in 1 to {MAX_ENVS}")));
        }
        let (env, device) = (policy.env().device()?.clone(), policy.on().clone());
        if !env.spec().task.is_empty() {
            let problem = format!("`{}` has many tasks; watch a policy adapt to them instead", env.spec().name);
            return Err(Error::config("env", problem));
        }
        if policy.adapts() {
            let problem = "a policy that adapts does not act from one observation alone; let it adapt instead";
            return Err(Error::config("algorithm", problem));
        }
        let how = if deterministic { How::Exploit } else { How::Explore };
        let rows = Rows { env: &env, algorithm: policy.fitted(), how, count };
        let mut remembered = Vec::new();
        let mut first = Program::new(&device, |cx| remembered = rows.first(cx))?;
        let step = Program::new(&device, |cx| rows.step(cx, &remembered))?;
        let key = device.array_u32(&[1, 2], &crate::rng::fold_in(key_from_seed(seed), streams::EVAL))?;
        let mut inputs = vec![("key", &key)];
        inputs.extend(policy.policy().arrays.iter().map(|(name, array)| (*name, array)));
        let out = first.run(&State::new(), &inputs, &[])?;
        let mut state = State::new();
        for name in ["env_state", "obs"].into_iter().chain(remembered.iter().map(|(name, _)| *name)) {
            state.insert(name, out.get(name)?.clone());
        }
        state.insert("env_steps", device.zeros(&[1, count], DType::U32)?);
        Ok(Viewer { device, policy: policy.policy().clone(), step, key, state, count, steps: 0, env })
    }

    /// Replaces the parameters by those of another policy of the same run.
    ///
    /// # Errors
    /// [`Error::Program`] if it is not of the same shape or on another device.
    pub fn set_policy(&mut self, policy: &Evaluator) -> Result<()> {
        let shapes = |arrays: &PolicyArrays| -> Vec<(&'static str, Vec<usize>)> {
            arrays.arrays.iter().map(|(name, array)| (*name, array.shape.clone())).collect()
        };
        if shapes(policy.policy()) != shapes(&self.policy) {
            let problem = "another policy can only take over if it has the same networks; make a new viewer";
            return Err(Error::Program(problem.to_owned()));
        }
        policy.policy().arrays.iter().try_for_each(|(_, array)| self.device.own(array))?;
        self.policy = policy.policy().clone();
        Ok(())
    }

    /// Makes one step in all environments.
    ///
    /// # Errors
    /// If the device fails.
    pub fn advance(&mut self) -> Result<()> {
        self.steps = self.steps.wrapping_add(1);
        let mut inputs = vec![("key", &self.key)];
        inputs.extend(self.policy.arrays.iter().map(|(name, array)| (*name, array)));
        self.step.run(&self.state, &inputs, &[("t", self.steps.into())])?;
        Ok(())
    }

    /// The states of all environments, `[count]` times [`EnvDef::state_len`] numbers.
    ///
    /// # Errors
    /// If the device fails.
    pub async fn states(&self) -> Result<Vec<f32>> {
        self.device.read_f32(self.state.get("env_state")?).await
    }

    /// The environment in which the policy plays.
    pub fn env(&self) -> &EnvDef {
        &self.env
    }

    /// The number of environments.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// The environments, in a trace.
struct Rows<'a> {
    env: &'a EnvDef,
    algorithm: &'a dyn Algorithm,
    how: How,
    count: usize,
}

impl Rows<'_> {
    /// Calls `trace` with a play in all environments.
    fn play(&self, cx: &mut Context, trace: impl FnOnce(&mut Context, Play<'_>)) {
        let (held, policy) = (self.algorithm.declare_policy(cx, 1), self.algorithm.policy());
        let acting = self.algorithm.start(&held, self.count);
        let key = cx.input("key", &[1, 2], DType::U32);
        let keys = Keys::of([key.slice(1, 0, 1), key.slice(1, 1, 2)]);
        let rows = [1, self.count];
        trace(cx, Play { env: self.env, policy: &*policy, acting: &acting, how: self.how, rows, tasks: None, keys });
    }

    /// Traces the beginning of episodes. Gives names and shapes of the policy's memory.
    fn first(&self, cx: &mut Context) -> Vec<(&'static str, Vec<usize>)> {
        let mut remembered = Vec::new();
        self.play(cx, |cx, play| {
            let first = play.begin();
            cx.output("env_state", first.state);
            cx.output("obs", first.obs);
            first.memory.iter().for_each(|(name, x)| cx.output(name, x));
            remembered = first.memory.iter().map(|(name, x)| (name, x.shape())).collect();
        });
        remembered
    }

    fn step(&self, cx: &mut Context, remembered: &[(&'static str, Vec<usize>)]) {
        self.play(cx, |cx, play| {
            let state = cx.state("env_state", &[1, self.count, self.env.state_len()], DType::F32);
            let steps = cx.state("env_steps", &[1, self.count], DType::U32);
            let obs = cx.state("obs", &[1, self.count, self.env.spec().observation.len()], DType::F32);
            let memory: Named =
                remembered.iter().map(|(name, shape)| (*name, cx.state(name, shape, DType::F32))).collect();
            let from = Running { state, steps, obs, memory, task: None };
            let (next, _) = play.step(cx.scalar_u32("t"), &from);
            cx.update("env_state", next.state);
            cx.update("env_steps", next.steps);
            cx.update("obs", next.obs);
            next.memory.iter().for_each(|(name, x)| cx.update(name, x));
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::train::{Layer, Session, Setup};

    fn trained(env: &str, updates: u64) -> (Device, Vec<u8>) {
        let device = Device::cpu(1);
        let settings = toml::from_str("hidden = [8]\nenvs = 4\nhorizon = 16\nminibatches = 2").unwrap();
        let small = Layer { origin: "test".into(), settings };
        let env = crate::env::builtin(env).unwrap();
        let setup = Setup::resolve("ppo", env, &[0], Some(64 * updates), &[small]).unwrap();
        let mut session = Session::new(&device, &setup).unwrap();
        while !session.done() {
            pollster::block_on(session.step()).unwrap();
        }
        let bytes = pollster::block_on(session.policy_snapshot(0)).unwrap();
        (device, bytes)
    }

    #[test]
    fn its_first_environment_plays_the_episode_of_an_evaluation_and_then_another() {
        let (device, bytes) = trained("cartpole", 2);
        let policy = Evaluator::load(&device, &bytes).unwrap();
        let path = pollster::block_on(policy.trajectory(7, true)).unwrap();
        let mut viewer = Viewer::new(&policy, 5, 7, true).unwrap();
        for (t, state) in path.states[..path.states.len() - 1].iter().enumerate() {
            let states = pollster::block_on(viewer.states()).unwrap();
            assert_eq!(states[..4], state[..], "step {t}");
            viewer.advance().unwrap();
        }
        let again = pollster::block_on(viewer.states()).unwrap();
        // The pole that fell is upright again.
        assert!(again[2].abs() <= 0.05 && again.len() == 20, "{again:?}");
    }

    #[test]
    fn a_policy_that_does_not_fit_is_refused_and_a_newer_one_takes_over() {
        let (device, bytes) = trained("cartpole", 1);
        let policy = Evaluator::load(&device, &bytes).unwrap();
        let mut viewer = Viewer::new(&policy, 2, 0, false).unwrap();
        viewer.advance().unwrap();
        let (_, newer) = trained("cartpole", 3);
        viewer.set_policy(&Evaluator::load(&device, &newer).unwrap()).unwrap();
        viewer.advance().unwrap();
        let (_, other) = trained("acrobot", 1);
        let other = Evaluator::load(&device, &other).unwrap();
        assert!(viewer.set_policy(&other).unwrap_err().to_string().contains("same networks"));
        assert!(Viewer::new(&policy, 0, 0, true).unwrap_err().to_string().starts_with("envs: 0"));
    }
}
