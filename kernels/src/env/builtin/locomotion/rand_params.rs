//! Bodies whose masses, moments of inertia, frictions and dampings each task multiplies.
//!
//! Source: dennisl88/rand_param_envs, `base.py`, `hopper_rand_params.py` and `walker_rand_params.py`, the families
//! `hopper-rand-params` and `walker-rand-params` of PEARL. A task multiplies the mass and the moments of inertia of
//! each link and each friction by 1.5ˣ, and each damping by 1.3ˣ, with an x for each number that is uniform from −3 to
//! 3 (`log_scale_limit`). Agents do not see the task. Episodes have 200 steps (`max_path_length` in katerakelly/oyster,
//! `configs/default.py`).
//!
//! Departures: bodies, rewards and ends are those of Gymnasium's version 5. Numbers that nothing in the plane depends
//! on are no part of a task: of three moments of inertia that about the normal is, and of a shape's three frictions the
//! sliding one. The inverse weights by which MuJoCo scales contacts and limits follow from the task's masses, as by
//! `mj_setConst`; the source, which writes into the model and leaves it at that, keeps those of the first body.

use crate::env::bodies::{BodySpec, Factors, Link, Model, Motion, RootJoint};
use crate::env::{Dim, Draws, Real};
use crate::{Error, Result};

/// The logarithm of 1.5, of which factors of masses, moments of inertia and frictions are powers.
const LOG_BASE: f64 = 0.405_465_108_108_164_4;
/// The logarithm of 1.3, of which factors of dampings are powers.
const LOG_BASE_OF_DAMPINGS: f64 = 0.262_364_264_467_491_06;

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

#[cfg(test)]
mod tests {
    use super::super::{Locomotion, hopper};
    use super::*;
    use crate::env::bodies::{Capsule, Floor, Fluid};
    use crate::env::{EnvDef, builtin};
    use crate::rng::Threefry;

    /// States along random actions that are held for some steps, each with the action and the next state, in f64.
    fn walk(env: &EnvDef, task: &[f64], steps: u32) -> Vec<[Vec<f64>; 3]> {
        let (mut random, actions) = (Threefry::new([5, 6]), env.spec().action.dim());
        let (mut state, mut action) = (env.reset(task, [1, 2], 0).unwrap(), Vec::new());
        let mut all = Vec::new();
        for step in 0..steps {
            if step % 5 == 0 {
                action = (0..actions).map(|_| 2.0 * random.uniform() - 1.0).collect();
            }
            let next = env.step(&state, &action, task, [0, 0], 0).unwrap().state;
            all.push([state, action.clone(), next.clone()]);
            state = next;
        }
        all
    }

    /// Tells whether two environments make the same steps to the bit.
    fn same_steps(env: &EnvDef, task: &[f64], other: &EnvDef) -> bool {
        let of_other =
            |[state, action, next]: [Vec<f64>; 3]| other.step(&state, &action, &[], [0, 0], 0).unwrap().state == next;
        walk(env, task, 200).into_iter().all(of_other)
    }

    /// A task of ones but for some numbers.
    fn task(env: &EnvDef, others: &[(&str, f64)]) -> Vec<f64> {
        let known = |name: &str| env.spec().task.iter().any(|dim| dim.name == name);
        assert!(others.iter().all(|(name, _)| known(name)), "{others:?}");
        let factor = |name: &str| others.iter().find(|(other, _)| *other == name).map_or(1.0, |(_, factor)| *factor);
        env.spec().task.iter().map(|dim| factor(&dim.name)).collect()
    }

    #[test]
    fn a_task_of_ones_is_the_base_environment_to_the_bit() {
        for name in ["hopper", "walker2d"] {
            let (env, base) = (builtin(&format!("{name}-rand-params")).unwrap(), builtin(name).unwrap());
            assert!(same_steps(&env, &task(&env, &[]), &base), "{name}");
            assert!(!same_steps(&env, &task(&env, &[("mass_torso", 1.1)]), &base), "{name}");
            assert_eq!(env.spec().horizon, 200);
            assert_eq!(env.spec().observation, base.spec().observation);
        }
    }

    /// A hopper of a description that something is changed in.
    fn changed(change: impl FnOnce(&mut BodySpec)) -> EnvDef {
        let mut body = hopper::body();
        change(&mut body);
        let model = Model::new(&body).unwrap();
        EnvDef::new(Locomotion { model, ..hopper().unwrap() }).unwrap()
    }

    #[test]
    fn a_task_moves_a_body_as_a_description_with_its_numbers_would() {
        let env = builtin("hopper-rand-params").unwrap();
        let check = |others: &[(&str, f64)], change: fn(&mut BodySpec)| {
            assert!(same_steps(&env, &task(&env, others), &changed(change)), "{others:?}");
        };
        // Powers of two, by which products are exact. A density multiplies masses and moments of inertia.
        check(&[("mass_leg", 2.0), ("inertia_leg", 2.0), ("mass_torso", 0.5), ("inertia_torso", 0.5)], |body| {
            body.links[2].capsules[0].density *= 2.0;
            body.links[0].capsules[0].density *= 0.5;
        });
        check(&[("damping_thigh_joint", 2.0), ("damping_foot_joint", 0.5)], |body| {
            body.links[1].hinge.damping *= 2.0;
            body.links[3].hinge.damping *= 0.5;
        });
        // The larger friction counts: that of the foot, and then that of the floor.
        check(&[("friction_foot", 1.5), ("friction_floor", 0.5)], |body| {
            body.links[3].capsules[0].friction = Some(2.0 * 1.5);
            body.floor = body.floor.map(|floor| Floor { friction: 0.5, ..floor });
        });
        check(&[("friction_foot", 0.5), ("friction_floor", 3.0), ("friction_torso", 2.0)], |body| {
            body.links[3].capsules[0].friction = Some(1.0);
            body.links[0].capsules[0].friction = Some(1.8);
            body.floor = body.floor.map(|floor| Floor { friction: 3.0, ..floor });
        });
        let other = |name: &str| !same_steps(&env, &task(&env, &[(name, 2.0)]), &builtin("hopper").unwrap());
        assert!(other("inertia_thigh") && other("friction_foot") && other("damping_leg_joint"));
    }

    #[test]
    fn factors_are_log_uniform_and_named_after_what_they_change() {
        let env = builtin("hopper-rand-params").unwrap();
        let names: Vec<&str> = env.spec().task.iter().map(|dim| dim.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "mass_torso",
                "mass_thigh",
                "mass_leg",
                "mass_foot",
                "inertia_torso",
                "inertia_thigh",
                "inertia_leg",
                "inertia_foot",
                "friction_floor",
                "friction_torso",
                "friction_thigh",
                "friction_leg",
                "friction_foot",
                "damping_thigh_joint",
                "damping_leg_joint",
                "damping_foot_joint"
            ]
        );
        let (first, last) = (&env.spec().task[0], &env.spec().task[15]);
        // 1.5³ and 1.3³, and their inverses.
        assert_eq!([first.low, first.high, last.low, last.high], [0.296_296_296, 3.375, 0.455_166_136, 2.197]);
        assert_eq!(builtin("walker2d-rand-params").unwrap().spec().task.len(), 7 + 7 + 8 + 6);
        let count = 2000;
        let tasks: Vec<Vec<f64>> = (0..count).map(|element| env.sample_task([3, 4], element)).collect();
        for (i, base) in [(0, 1.5_f64), (7, 1.5), (8, 1.5), (15, 1.3)] {
            let exponents: Vec<f64> = tasks.iter().map(|task| task[i].ln() / base.ln()).collect();
            let mean = |power| exponents.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(count);
            // A uniform number from −3 to 3 has a variance of 3; four standard errors: 4 √(3 / n), and 4 √(7.2 / n).
            assert!(mean(1).abs() < 0.155 && (mean(2) - 3.0).abs() < 0.24, "{i}: {} {}", mean(1), mean(2));
            assert!(exponents.iter().all(|x| x.abs() < 3.0 + 1e-9));
        }
        let narrow = builtin("walker2d-rand-params:log_scale_limit=1").unwrap();
        assert_eq!(narrow.spec().name, "walker2d-rand-params:log_scale_limit=1");
        assert_eq!(narrow.spec().task[0].high, 1.5);
        assert!(narrow.sample_task::<f64>([3, 4], 1).iter().all(|x| (1.0 / 1.5..1.5).contains(x)));
        assert!(builtin("hopper-rand-params:log_scale_limit=0").is_err());
    }

    #[test]
    fn all_bodies_but_those_in_a_fluid_have_factors() {
        let mut body = hopper::body();
        body.links[0].capsules.push(Capsule::between([0.0; 2], [0.1, 0.0], 0.01).touching(1.0));
        body.root.joints[0] = RootJoint::SlideX(crate::env::bodies::Joint { damping: 1.0, ..Default::default() });
        let names = RandParams::new(&body).unwrap().names;
        assert!(names.iter().any(|name| name == "friction_torso_1") && names.len() == 18, "{names:?}");
        assert_eq!(names[14], "damping_rootx_joint");
        body.fluid = Some(Fluid { density: 1.0, viscosity: 1.0 });
        assert!(RandParams::new(&body).unwrap_err().to_string().contains("in a fluid"));
    }
}
