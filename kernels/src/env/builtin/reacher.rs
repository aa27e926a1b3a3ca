//! An arm of two links reaches for a target (Reacher-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/reacher_v5.py` and `reacher.xml`, moved by [`bodies`](crate::env::bodies): two
//! integration steps of 0.01 s each. Reward: less the distance of the fingertip to the target, less |a|². The fingertip
//! is seen where the solver's last evaluation had it, as MuJoCo shows it. It never terminates; time limit 50; the
//! authors name −3.75 as solved.

use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Integrator, Joint, Joints, Link, Model, Motion, Motor, Root, RootJoint};
use crate::env::{ActionSpace, Color, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Shape, Step};

/// An arm.
#[derive(Clone, Debug)]
pub struct Reacher {
    model: Model,
    /// The name of the environment.
    pub name: String,
    /// Cost per distance.
    pub reward_dist_weight: f64,
    /// Cost per squared control.
    pub reward_control_weight: f64,
}

/// The fingertip in the frame of the second link.
const FINGERTIP: [f64; 2] = [0.0, 0.11];
/// Targets are nearer than this.
const FAR: f64 = 0.2;

crate::fields! {
    /// The arm, its target, and where its fingertip was seen.
    pub struct ReacherState {
        /// Positions and speeds.
        joints: Joints<R, 2>,
        /// The target's x and y, in m.
        target: [R; 2],
        /// The fingertip's x and y, in m.
        fingertip: [R; 2],
    }
}

impl Reacher {
    /// The arm of the source.
    ///
    /// # Errors
    /// None: the description is a constant.
    pub fn new() -> Result<Self> {
        Ok(Self {
            model: Model::new(&body())?,
            name: "reacher".to_owned(),
            reward_dist_weight: 1.0,
            reward_control_weight: 1.0,
        })
    }
}

fn body() -> BodySpec {
    let joint = Joint { armature: 1.0, damping: 1.0, ..Joint::default() };
    // The plane's X is y, and its Z is x.
    let rod = Capsule::between([0.0, 0.0], [0.0, 0.1], 0.01);
    let tip = Capsule::between(FINGERTIP, FINGERTIP, 0.01);
    BodySpec {
        integrator: Integrator::RungeKutta,
        gravity: [0.0; 2],
        root: Root { at: [0.0; 2], joints: vec![RootJoint::Hinge(joint.clone())] },
        links: vec![
            Link { name: "body0", capsules: vec![rod], ..Link::default() },
            Link {
                name: "body1",
                at: [0.0, 0.1],
                hinge: Joint { range: Some([-3.0, 3.0]), ..joint },
                capsules: vec![rod, tip],
                ..Link::default()
            },
        ],
        motors: Motor::on(0, &[200.0; 2]),
        newton_steps: 2,
        ..BodySpec::new(0.01)
    }
}

impl Env for Reacher {
    type State<R: Real> = ReacherState<R>;

    fn spec(&self) -> EnvSpec {
        let within = |name: &str| Dim::new(name, -1.0, 1.0);
        let mut observation: Vec<Dim> = ["cos_1", "cos_2", "sin_1", "sin_2"].map(within).to_vec();
        observation.extend(["target_x", "target_y"].map(|name| Dim::new(name, -FAR, FAR)));
        observation.extend(["angle_1_dot", "angle_2_dot", "from_target_x", "from_target_y"].map(Dim::unbounded));
        let action = ActionSpace::continuous(["joint_1", "joint_2"].map(within).to_vec());
        EnvSpec::new(&self.name, observation, action, 50).dt(0.02).solved_at(-3.75)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> ReacherState<R> {
        let mut joints = Joints::still();
        joints.scatter_positions(0.1, rng);
        // Uniform in a disc: the source draws from a square until it is inside.
        let (radius, angle) = (rng.uniform().sqrt() * FAR, rng.range(0.0, std::f64::consts::TAU));
        let (sin, cos) = angle.sin_cos();
        for v in &mut joints.qvel {
            *v = rng.range(-0.005, 0.005);
        }
        let [y, x] = Motion::new(&self.model, &[]).place(&joints.qpos, 1, FINGERTIP);
        ReacherState { joints, target: [radius * cos, radius * sin], fingertip: [x, y] }
    }

    #[inline(always)]
    fn step<R: Real>(&self, mut s: ReacherState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let mut motion = Motion::new(&self.model, action);
        s.joints.advance(&mut motion, 2);
        let [y, x] = motion.seen(1, FINGERTIP);
        s.fingertip = [x, y];
        let distance = ((x - s.target[0]).square() + (y - s.target[1]).square()).sqrt();
        let cost = action[0].square() + action[1].square();
        let reward = -(distance * self.reward_dist_weight + cost * self.reward_control_weight);
        Step { next: s, reward, terminated: R::Mask::splat(false) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &ReacherState<R>, _task: &[R], out: &mut [R]) {
        let Joints { qpos: [first, second], qvel: [v1, v2], .. } = s.joints;
        let ((sin1, cos1), (sin2, cos2)) = (first.sin_cos(), second.sin_cos());
        let [x, y] = s.target;
        let [dx, dy] = [s.fingertip[0] - x, s.fingertip[1] - y];
        out.copy_from_slice(&[cos1, cos2, sin1, sin2, x, y, v1, v2, dx, dy]);
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        let scene = self.model.scene(&state[..2], state[2]);
        let target = Shape::circle([state[6], state[7]], 0.009, Color::GREEN);
        Scene { view: [-0.3, 0.3, -0.3, 0.3], ..scene }.with(target)
    }
}
