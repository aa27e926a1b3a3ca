//! A pole on a cart that a motor pushes (InvertedPendulum-v5).
//!
//! Source: Gymnasium 1.4 `mujoco/inverted_pendulum_v5.py` and `inverted_pendulum.xml`, moved by
//! [`bodies`](crate::env::bodies): two integration steps of 0.02 s each. Reward 1 for each step that leaves the pole
//! within 0.2 rad; the one that does not ends the episode and pays nothing. Time limit 1000; the authors name 950 as
//! solved.

use crate::Result;
use crate::env::bodies::{BodySpec, Capsule, Integrator, Joint, Joints, Link, Model, Motion, Motor, Root, RootJoint};
use crate::env::{ActionSpace, Dim, Draws, Env, EnvSpec, Mask, Real, Scene, Step};

/// A pole on a cart.
#[derive(Clone, Debug)]
pub struct InvertedPendulum {
    model: Model,
    /// The name of the environment.
    pub name: String,
    /// How far first states are from rest: positions and speeds are uniform to both sides.
    pub reset_noise_scale: f64,
}

impl InvertedPendulum {
    /// The pole of the source.
    ///
    /// # Errors
    /// None: the description is a constant.
    pub fn new() -> Result<Self> {
        Ok(Self { model: Model::new(&body())?, name: "inverted-pendulum".to_owned(), reset_noise_scale: 0.01 })
    }
}

fn body() -> BodySpec {
    let slider = Joint { damping: 1.0, range: Some([-1.0, 1.0]), ..Joint::default() };
    let hinge = Joint { range: Some([-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_2]), ..slider.clone() };
    let cart = Capsule::between([0.1, 0.0], [-0.1, 0.0], 0.1);
    BodySpec {
        integrator: Integrator::RungeKutta,
        root: Root { at: [0.0; 2], joints: vec![RootJoint::SlideX(slider)] },
        links: vec![
            Link { name: "cart", capsules: vec![cart], ..Link::default() },
            Link {
                name: "pole",
                hinge,
                capsules: vec![Capsule::between([0.0, 0.0], [0.001, 0.6], 0.049)],
                ..Link::default()
            },
        ],
        motors: vec![Motor { joint: 0, gear: 100.0, range: 3.0 }],
        newton_steps: 2,
        ..BodySpec::new(0.02)
    }
}

impl Env for InvertedPendulum {
    type State<R: Real> = Joints<R, 2>;

    fn spec(&self) -> EnvSpec {
        let observation = ["x", "angle", "x_dot", "angle_dot"].map(Dim::unbounded).to_vec();
        let action = ActionSpace::continuous(vec![Dim::new("slider", -3.0, 3.0)]);
        EnvSpec::new(&self.name, observation, action, 1000).dt(0.04).solved_at(950.0)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Joints<R, 2> {
        let mut s = Joints::still();
        s.scatter_positions(self.reset_noise_scale, rng);
        for v in &mut s.qvel {
            *v = rng.range(-self.reset_noise_scale, self.reset_noise_scale);
        }
        s
    }

    #[inline(always)]
    fn step<R: Real>(&self, mut s: Joints<R, 2>, action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        s.advance(&mut Motion::new(&self.model, action), 2);
        // Also true of a state that is not finite.
        let fallen = s.qpos[1].abs().le(R::lit(0.2)).not();
        Step { next: s, reward: R::from_mask(fallen.not()), terminated: fallen }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Joints<R, 2>, _task: &[R], out: &mut [R]) {
        out[..2].copy_from_slice(&s.qpos);
        out[2..].copy_from_slice(&s.qvel);
    }

    fn draw(&self, state: &[f32], _task: &[f32]) -> Scene {
        self.model.scene(&state[..2], state[2])
    }
}
