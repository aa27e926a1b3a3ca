//! Bodies whose masses, moments of inertia, frictions and dampings each task multiplies.
//!
//! Source: dennisl88/rand_param_envs, `base.py`, `hopper_rand_params.py` and `walker_rand_params.py`, the families
//! `hopper-rand-params` and `walker-rand-params` of PEARL. A task multiplies the mass and the moments of inertia of each
//! link and each friction by 1.5ˣ, and each damping by 1.3ˣ, with an x for each number that is uniform from −3 to 3
//! (`log_scale_limit`). Agents do not see the task. Episodes have 200 steps (`max_path_length` in katerakelly/oyster,
//! `configs/default.py`).
//!
//! Departures: bodies, rewards and ends are those of Gymnasium's version 5. Numbers that nothing in the plane depends
//! on are no part of a task: of three moments of inertia that about the normal is, and of a shape's three frictions the
//! sliding one. The inverse weights by which MuJoCo scales contacts and limits follow from the task's masses, as by
//! `mj_setConst`; the source, which writes into the model and leaves it at that, keeps those of the first body.

use super::{Locomotion, hopper, walker2d};
use crate::env::bodies::{BodySpec, Factors, Link, Model, Motion, RootJoint};
use crate::env::{Dim, Draws, Real};
use crate::{Error, Result};

/// The time limit of these families.
const HORIZON: usize = 200;
/// The logarithm of 1.5, of which factors of masses, moments of inertia and frictions are powers.
const LOG_BASE: f64 = 0.405_465_108_108_164_4;
/// The logarithm of 1.3, of which factors of dampings are powers.
const LOG_BASE_OF_DAMPINGS: f64 = 0.262_364_264_467_491_06;

/// Hoppers of the source, each task with one of its own.
///
/// # Errors
/// None: the description is a constant.
pub fn hopper_rand_params() -> Result<Locomotion<6>> {
    Locomotion { name: "hopper-rand-params".to_owned(), ..hopper()? }.with_rand_params(&hopper::body(), 7)
}

/// Walkers of the source, each task with one of its own.
///
/// # Errors
/// None: the description is a constant.
pub fn walker2d_rand_params() -> Result<Locomotion<9>> {
    Locomotion { name: "walker2d-rand-params".to_owned(), ..walker2d()? }.with_rand_params(&walker2d::body(), 11)
}

/// Factors of a body's numbers, which each task draws.
#[derive(Clone, Debug)]
pub struct RandParams {
    /// Exponents are uniform from −this to this.
    pub log_scale_limit: f64,
    names: Vec<String>,
    /// How many factors there are of masses, and as many of moments of inertia, of frictions, and of dampings.
    counts: [usize; 3],
}

impl RandParams {
    /// Factors of all numbers of a body.
    ///
    /// # Errors
    /// [`Error::Config`] for a body in a fluid, which would go on pushing the body that is described.
    pub fn new(body: &BodySpec) -> Result<Self> {
        if body.fluid.is_some() {
            return Err(Error::config("body", "tasks cannot change the masses of a body in a fluid"));
        }
        let links = |what: &str| body.links.iter().map(|link| format!("{what}_{}", link.name)).collect::<Vec<_>>();
        let (masses, inertias) = (links("mass"), links("inertia"));
        let floor = body.floor.map(|_| "friction_floor".to_owned());
        let frictions: Vec<String> = match floor {
            Some(floor) => [floor].into_iter().chain(body.links.iter().flat_map(frictions)).collect(),
            None => Vec::new(),
        };
        let of_root = body.root.joints.iter().map(|joint| match joint {
            RootJoint::SlideX(joint) => ("rootx", joint),
            RootJoint::SlideZ(joint) => ("rootz", joint),
            RootJoint::Hinge(joint) => ("rooty", joint),
        });
        let hinges = body.links.iter().skip(1).map(|link| (link.name, &link.hinge));
        let damped = of_root.chain(hinges).filter(|(_, joint)| joint.damping != 0.0);
        let dampings: Vec<String> = damped.map(|(name, _)| format!("damping_{name}_joint")).collect();
        let counts = [masses.len(), frictions.len(), dampings.len()];
        Ok(Self { log_scale_limit: 3.0, names: [masses, inertias, frictions, dampings].concat(), counts })
    }

    /// The factors with their ranges.
    pub(super) fn dims(&self) -> Vec<Dim> {
        let dim = |(i, name): (usize, &String)| {
            // Rounded, as exponentials differ in their last digits from one platform to another.
            let bound = |x: f64| ((x * self.log_base(i)).exp() * 1e9).round() / 1e9;
            Dim::new(name, bound(-self.log_scale_limit), bound(self.log_scale_limit))
        };
        self.names.iter().enumerate().map(dim).collect()
    }

    /// The logarithm of the base of a factor.
    #[inline(always)]
    fn log_base(&self, factor: usize) -> f64 {
        let [links, frictions, _] = self.counts;
        if factor < 2 * links + frictions { LOG_BASE } else { LOG_BASE_OF_DAMPINGS }
    }

    /// Draws a task.
    #[inline(always)]
    pub(super) fn sample<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        let limit = self.log_scale_limit;
        for (i, factor) in task.iter_mut().enumerate() {
            *factor = (rng.range(-limit, limit) * self.log_base(i)).exp();
        }
    }

    /// Room for the body of a task.
    #[inline(always)]
    pub(super) fn motion<'m, R: Real>(&self, model: &'m Model, controls: &[R], task: &[R]) -> Motion<'m, R> {
        let [links, frictions, _] = self.counts;
        let (masses, task) = task.split_at(links);
        let (inertias, task) = task.split_at(links);
        let (frictions, dampings) = task.split_at(frictions);
        Motion::with_factors(model, controls, Factors { masses, inertias, frictions, dampings })
    }
}

/// The names of the frictions of a link's shapes that touch the floor.
fn frictions(link: &Link) -> Vec<String> {
    let count = link.capsules.iter().filter(|capsule| capsule.friction.is_some()).count();
    let name = |i| if count == 1 { format!("friction_{}", link.name) } else { format!("friction_{}_{i}", link.name) };
    (0..count).map(name).collect()
}

impl<const N: usize> Locomotion<N> {
    /// The environment with a body of its own for each task, and steps of Newton's method that suffice for most of
    /// them.
    fn with_rand_params(self, body: &BodySpec, newton_steps: usize) -> Result<Self> {
        let model = Model::new(&BodySpec { newton_steps, ..body.clone() })?;
        Ok(Self { model, rand_params: Some(RandParams::new(body)?), horizon: HORIZON, solved_at: None, ..self })
    }
}
