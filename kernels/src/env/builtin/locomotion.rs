//! Bodies that are paid for getting ahead: the cheetah, the hopper, the walker, the swimmer, and bodies of one's own.
//!
//! Source of the rules: Gymnasium 1.4, `mujoco/half_cheetah_v5.py` and its like. [`families`] has those of the task
//! families of meta-learning.

pub mod families;
mod half_cheetah;
mod hopper;
mod rand_params;
mod running_task;
mod swimmer;
mod walker2d;

pub use half_cheetah::half_cheetah;
pub use hopper::hopper;
pub use rand_params::RandParams;
pub use running_task::RunningTask;
pub use swimmer::swimmer;
pub use walker2d::walker2d;

use crate::Result;
use crate::env::bodies::{BodySpec, Joints, Model, Motion};
use crate::env::{ActionSpace, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Step};

/// A body that is paid for its speed along X, with `N` joints.
///
/// The reward of a step is what the mean speed of the first link along the axis of its first slide is worth by the
/// [`course`](Locomotion::course), times [`forward_reward_weight`](Locomotion::forward_reward_weight), plus
/// [`healthy_reward`](Locomotion::healthy_reward) where it is healthy, less the cost of its controls. An agent sees
/// positions and speeds of the joints, and nothing of the task.
#[derive(Clone, Debug)]
pub struct Locomotion<const N: usize> {
    model: Model,
    names: Vec<String>,
    timestep: f64,
    /// The name of the environment.
    pub name: String,
    /// The mean return at which its authors call it solved, if they do.
    pub solved_at: Option<f64>,
    /// The time limit, in steps.
    pub horizon: usize,
    /// Integration steps per step.
    pub frame_skip: usize,
    /// How fast it should run.
    pub course: RunningTask,
    /// Reward per speed.
    pub forward_reward_weight: f64,
    /// Cost per squared control, before controls are limited.
    pub ctrl_cost_weight: f64,
    /// Reward of a step that ends healthy.
    pub healthy_reward: f64,
    /// Where the body is healthy; everywhere if there is none.
    pub health: Option<Health>,
    /// Ends episodes where the body is not healthy.
    pub terminate_when_unhealthy: bool,
    /// The positions that an episode begins near to.
    pub first: [f64; N],
    /// How far first states are from there: positions are uniform to both sides.
    pub reset_noise_scale: f64,
    /// First speeds are normal with that deviation, instead of uniform.
    pub normal_speeds: bool,
    /// Speeds are shown limited to ± this.
    pub shown_speed: f64,
    /// Leaves the places along the root's slides that nothing depends on out of observations: so many numbers.
    pub hidden_positions: usize,
    /// Shows also the place of the first link, as three numbers x, y and z: its height where its joint along Z is at 0.
    pub observe_torso: Option<f64>,
    /// Numbers of the body that each task draws; none where there is one task.
    pub rand_params: Option<RandParams>,
}

/// Where a body is healthy: all strictly within.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Health {
    /// Bounds of the second joint, its height.
    pub height: [f64; 2],
    /// Bounds of the third joint, its angle.
    pub angle: [f64; 2],
    /// Bounds of all numbers from the third joint's position on.
    pub state: [f64; 2],
}

impl<const N: usize> Locomotion<N> {
    /// A body that is paid for its speed and nothing else.
    ///
    /// # Errors
    /// [`Error::Config`](crate::Error::Config) if the description cannot be, or has another number of joints.
    pub fn new(name: &str, body: &BodySpec) -> Result<Self> {
        let model = Model::new(body)?;
        if model.joints() != N {
            let problem = format!("`{name}` has {} joints, and its type says {N}", model.joints());
            return Err(crate::Error::config("body", problem));
        }
        Ok(Self {
            names: model.names().to_vec(),
            model,
            timestep: body.timestep,
            name: name.to_owned(),
            solved_at: None,
            horizon: 1000,
            frame_skip: 1,
            course: RunningTask::Ahead,
            forward_reward_weight: 1.0,
            ctrl_cost_weight: 0.0,
            healthy_reward: 0.0,
            health: None,
            terminate_when_unhealthy: false,
            first: [0.0; N],
            reset_noise_scale: 0.0,
            normal_speeds: false,
            shown_speed: f64::INFINITY,
            hidden_positions: 1,
            observe_torso: None,
            rand_params: None,
        })
    }

    /// The time of a step.
    #[inline(always)]
    #[must_use]
    pub fn dt(&self) -> f64 {
        self.timestep * self.frame_skip as f64
    }

    #[inline(always)]
    fn healthy<R: Real>(&self, s: &Joints<R, N>) -> R::Mask {
        let Some(health) = &self.health else { return R::Mask::splat(true) };
        let mut healthy = R::Mask::splat(true);
        for (x, bounds) in s.qpos.iter().skip(1).zip([health.height, health.angle]) {
            healthy = healthy.and(within(*x, bounds));
        }
        if health.state != [f64::NEG_INFINITY, f64::INFINITY] {
            for x in s.qpos.iter().skip(2).chain(&s.qvel) {
                healthy = healthy.and(within(*x, health.state));
            }
        }
        healthy
    }
}

/// Tells whether a number is strictly between two others.
#[inline(always)]
fn within<R: Real>(x: R, [low, high]: [f64; 2]) -> R::Mask {
    let above = if low == f64::NEG_INFINITY { R::Mask::splat(true) } else { x.gt(R::lit(low)) };
    if high == f64::INFINITY { above } else { above.and(x.lt(R::lit(high))) }
}

impl<const N: usize> Env for Locomotion<N> {
    type State<R: Real> = Joints<R, N>;

    fn spec(&self) -> EnvSpec {
        let shown = self.shown_speed;
        let positions = self.names[self.hidden_positions.min(N)..].iter().map(Dim::unbounded);
        let speeds = self.names.iter().map(|name| Dim::new(format!("{name}_dot"), -shown, shown));
        let controls = self.model.motor_names().into_iter().zip(self.model.control_ranges());
        let action = controls.map(|(name, range)| Dim::new(name, -range, range)).collect();
        let torso = self.observe_torso.map(|_| ["torso_x", "torso_y", "torso_z"]).into_iter().flatten();
        let observation = positions.chain(speeds).chain(torso.map(Dim::unbounded)).collect();
        let spec = EnvSpec::new(&self.name, observation, ActionSpace::continuous(action), self.horizon).dt(self.dt());
        let course = (self.course != RunningTask::Ahead).then_some(0);
        let factors = self.rand_params.as_ref().map(RandParams::dims).unwrap_or_default();
        let task = [self.course.task(), factors].concat();
        EnvSpec { solved_at: self.solved_at, task, course, legend: self.course.legend().to_owned(), ..spec }
    }

    #[inline(always)]
    fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        let (asked, factors) = task.split_at_mut(self.course.numbers());
        self.course.sample(rng, asked);
        if let Some(rand) = &self.rand_params {
            rand.sample(rng, factors);
        }
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Joints<R, N> {
        let mut s = Joints::still();
        for (q, first) in s.qpos.iter_mut().zip(self.first) {
            *q = R::lit(first);
        }
        s.scatter_positions(self.reset_noise_scale, rng);
        for v in &mut s.qvel {
            let noise = self.reset_noise_scale;
            *v = if self.normal_speeds { rng.normal() * noise } else { rng.range(-noise, noise) };
        }
        s
    }

    #[inline(always)]
    fn step<R: Real>(&self, mut s: Joints<R, N>, action: &[R], task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let (asked, factors) = task.split_at(self.course.numbers());
        let mut motion = match &self.rand_params {
            Some(rand) => rand.motion(&self.model, action, factors),
            None => Motion::new(&self.model, action),
        };
        let moved = s.advance(&mut motion, self.frame_skip);
        let mut cost = R::lit(0.0);
        for a in action {
            cost = cost + a.square();
        }
        let way = self.course.worth(moved[0], self.dt(), asked);
        let mut reward = way * (self.forward_reward_weight / self.dt()) - cost * self.ctrl_cost_weight;
        let healthy = self.healthy(&s);
        if self.healthy_reward != 0.0 {
            reward = reward + R::from_mask(healthy) * self.healthy_reward;
        }
        let terminated = if self.terminate_when_unhealthy { healthy.not() } else { R::Mask::splat(false) };
        Step { next: s, reward, terminated }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Joints<R, N>, _task: &[R], out: &mut [R]) {
        let from = self.hidden_positions.min(N);
        let (positions, rest) = out.split_at_mut(N - from);
        let (speeds, torso) = rest.split_at_mut(N);
        positions.copy_from_slice(&s.qpos[from..]);
        for (out, v) in speeds.iter_mut().zip(&s.qvel) {
            *out = if self.shown_speed.is_finite() { v.clamp(-self.shown_speed, self.shown_speed) } else { *v };
        }
        if let ([x, y, z], Some(height)) = (torso, self.observe_torso) {
            (*x, *y, *z) = (s.qpos[0], R::lit(0.0), s.qpos[1] + R::lit(height));
        }
    }

    fn draw(&self, state: &[f32], task: &[f32]) -> Scene {
        let scene = self.model.scene(&state[..N], state[N]);
        match task {
            [asked, ..] => self.course.shown(scene, *asked, state[N]),
            [] => scene,
        }
    }
}
