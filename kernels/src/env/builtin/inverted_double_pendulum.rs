//! Two poles, one on the other, on a cart that a motor pushes (InvertedDoublePendulum-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/inverted_double_pendulum_v5.py` and `inverted_double_pendulum.xml`, moved by
//! [`bodies`](crate::env::bodies): five integration steps of 0.01 s each. With the tip at (x, y), reward
//! 10 − 0.01 x² − (y − 2)² − 0.001 θ̇₁² − 0.005 θ̇₂², the 10 only while y is above 1 m, where the episode ends. The tip
//! and the force of the cart's limits, which is observed, are those of the solver's last evaluation, as MuJoCo shows
//! them; the gravity has a part of 10⁻⁵ along X. Time limit 1000; the authors name 9100 as solved.

use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Integrator, Joint, Joints, Link, Model, Motion, Motor, Root, RootJoint};
use crate::env::{ActionSpace, Dim, Draws, Env, EnvSpec, Real, Scene, Step};

/// Two poles on a cart.
#[derive(Clone, Debug)]
pub struct InvertedDoublePendulum {
    model: Model,
    /// The name of the environment.
    pub name: String,
    /// The reward of standing.
    pub healthy_reward: f64,
    /// How far first states are from rest: positions uniformly to both sides, speeds normally.
    pub reset_noise_scale: f64,
}

crate::fields! {
    /// The poles, and what of them is seen a step later.
    pub struct PolesState {
        /// Positions and speeds.
        joints: Joints<R, 3>,
        /// The force of the cart's limits, in N.
        force,
    }
}

impl InvertedDoublePendulum {
    /// The poles of the source.
    ///
    /// # Errors
    /// None: the description is a constant.
    pub fn new() -> Result<Self> {
        Ok(Self {
            model: Model::new(&body())?,
            name: "inverted-double-pendulum".to_owned(),
            healthy_reward: 10.0,
            reset_noise_scale: 0.1,
        })
    }
}

fn body() -> BodySpec {
    let joint = Joint { damping: 0.05, ..Joint::default() };
    let slider = Joint { range: Some([-1.0, 1.0]), margin: 0.01, ..joint.clone() };
    let pole = |name, parent, height| Link {
        name,
        parent,
        at: [0.0, height],
        hinge: joint.clone(),
        capsules: vec![Capsule::between([0.0, 0.0], [0.0, 0.6], 0.045)],
        ..Link::default()
    };
    let cart = Capsule::between([0.1, 0.0], [-0.1, 0.0], 0.1);
    BodySpec {
        integrator: Integrator::RungeKutta,
        gravity: [1e-5, -9.81],
        root: Root { at: [0.0; 2], joints: vec![RootJoint::SlideX(slider)] },
        links: vec![
            Link { name: "cart", capsules: vec![cart], ..Link::default() },
            pole("pole", 0, 0.0),
            pole("pole2", 1, 0.6),
        ],
        motors: vec![Motor { joint: 0, gear: 500.0, range: 1.0 }],
        newton_steps: 2,
        ..BodySpec::new(0.01)
    }
}

impl Env for InvertedDoublePendulum {
    type State<R: Real> = PolesState<R>;

    fn spec(&self) -> EnvSpec {
        let mut observation = vec![Dim::unbounded("x")];
        let within = |name: &str, most: f64| Dim::new(name, -most, most);
        observation.extend(["sin_1", "sin_2", "cos_1", "cos_2"].map(|name| within(name, 1.0)));
        observation.extend(["x_dot", "angle_1_dot", "angle_2_dot", "force"].map(|name| within(name, 10.0)));
        let action = ActionSpace::continuous(vec![Dim::new("slider", -1.0, 1.0)]);
        EnvSpec::new(&self.name, observation, action, 1000).dt(0.05).solved_at(9100.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> PolesState<R> {
        let mut joints = Joints::still();
        joints.scatter_positions(self.reset_noise_scale, rng);
        for v in &mut joints.qvel {
            *v = rng.normal() * self.reset_noise_scale;
        }
        // So near to rest no limit pushes.
        PolesState { joints, force: R::lit(0.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, mut s: PolesState<R>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        let mut motion = Motion::new(&self.model, action);
        s.joints.advance(&mut motion, 5);
        s.force = motion.limit_force(0);
        let [x, y] = motion.seen(2, [0.0, 0.6]);
        // Places are relative to the root, and the cart was seen where the last evaluation had it.
        let x = x + motion.seen_position(0);
        let standing = y.gt(R::lit(1.0));
        let [_, first, second] = s.joints.qvel;
        let far = x.square() * 0.01 + (y - 2.0).square();
        let fast = first.square() * 1e-3 + second.square() * 5e-3;
        let reward = R::from_mask(standing) * self.healthy_reward - far - fast;
        Step { next: s, reward, terminated: y.le(R::lit(1.0)) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &PolesState<R>, _task: &[R], out: &mut [R]) {
        let Joints { qpos: [x, first, second], qvel, .. } = s.joints;
        let ((sin1, cos1), (sin2, cos2)) = (first.sin_cos(), second.sin_cos());
        out[..5].copy_from_slice(&[x, sin1, sin2, cos1, cos2]);
        for (out, x) in out[5..].iter_mut().zip([qvel[0], qvel[1], qvel[2], s.force]) {
            *out = x.clamp(-10.0, 10.0);
        }
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        self.model.scene(&state[..3], state[3])
    }
}
