//! Bodies made ready to move: their tree, and their constants as data.

use super::body::{Body, Capsule, Floor, Integrator, Joint, RootJoint, Softness};
use super::factor::{factor, solve};
use super::inertia::{Solid, inertias, joint_matrix};
use super::kinematics::{Pose, poses};
use crate::env::Constant;
use crate::{Error, Result};

/// A body made ready to move.
#[derive(Clone, Debug)]
pub struct Model {
    pub(super) links: Vec<LinkModel>,
    /// The joints in the order of the computation: along X, along Z, turning, then those of the links.
    pub(super) dofs: Vec<Dof>,
    /// Those of the root, as far as there are: along X, along Z, turning.
    pub(super) root: [Option<usize>; 3],
    /// For each joint in the order of the state its number in that of the computation.
    pub(super) order: Vec<usize>,
    pub(super) motors: Vec<MotorModel>,
    pub(super) points: Vec<PointModel>,
    pub(super) limits: Vec<LimitModel>,
    pub(super) pairs: Vec<PairModel>,
    pub(super) gravity: [Constant; 2],
    /// The height of the root's origin above the floor where its joint along Z is at 0.
    pub(super) height: Constant,
    pub(super) fluid: Option<[Constant; 2]>,
    pub(super) timestep: f64,
    pub(super) integrator: Integrator,
    pub(super) newton_steps: usize,
    names: Vec<String>,
    /// The links' shapes, for pictures.
    pub(super) capsules: Vec<(usize, Capsule)>,
    pub(super) floor: Option<f64>,
    pub(super) at: [f64; 2],
}

/// A link. Places are in the frame of its hinge.
#[derive(Clone, Debug)]
pub(super) struct LinkModel {
    pub parent: usize,
    /// Of its hinge; of the first link that of its hinge, if it has one.
    pub dof: usize,
    /// Its hinge in the frame of its parent.
    pub offset: [Constant; 2],
    pub com: [Constant; 2],
    pub mass: Constant,
    pub inertia: Constant,
    pub fluid: FluidBox,
}

/// The box of fluid that moves with a link.
#[derive(Clone, Copy, Debug)]
pub(super) struct FluidBox {
    /// The direction of its first side, in the frame of the link.
    pub first: [Constant; 2],
    /// The drag of slow motion per speed and viscosity: of all directions, and of turning.
    pub slow: [Constant; 2],
    /// The drag per squared speed and density: along the first side, along the second, and of turning.
    pub fast: [Constant; 3],
}

/// A joint.
#[derive(Clone, Debug)]
pub(super) struct Dof {
    /// The joints between it and the root, the nearest first.
    pub ancestors: Vec<usize>,
    /// 1, or −1 where the state counts the other way.
    pub axis: f64,
    /// The state's number where the computation has 0.
    pub rest: Constant,
    /// True where nothing depends on the position: it may be counted from the beginning of a step.
    pub relative: bool,
    pub armature: Constant,
    pub damping: Constant,
    pub stiffness: Constant,
    /// Where its spring rests.
    pub spring: Constant,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct MotorModel {
    pub dof: usize,
    pub gear: Constant,
    pub range: f64,
}

/// How a row gives way (`solref`, `solimp`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Give {
    /// The reference acceleration per depth and impedance.
    pub stiffness: Constant,
    /// The reference acceleration per speed.
    pub damping: Constant,
    pub low: Constant,
    pub rise: Constant,
    /// 1 / width.
    pub slope: Constant,
    pub constant: bool,
    pub margin: Constant,
    /// The inverse of the mass that it moves, times what the shape of its friction asks for.
    pub weight: Constant,
}

/// The end of a capsule above the floor.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointModel {
    pub link: usize,
    pub at: [Constant; 2],
    pub radius: Constant,
    pub friction: Constant,
    pub give: Give,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LimitModel {
    pub dof: usize,
    pub low: Constant,
    pub high: Constant,
    pub give: Give,
}

/// Two capsules: their links, centres, half axes and radii.
#[derive(Clone, Copy, Debug)]
pub(super) struct PairModel {
    pub links: [usize; 2],
    pub centers: [[Constant; 2]; 2],
    pub halves: [[Constant; 2]; 2],
    pub radii: [Constant; 2],
    pub give: Give,
}

impl Give {
    fn new(softness: &Softness, margin: f64, timestep: f64, weight: f64) -> Self {
        let [low, high] = [softness.low, softness.high].map(|x| x.clamp(1e-4, 0.9999));
        let time = softness.time.max(2.0 * timestep);
        Self {
            stiffness: (1.0 / (high * time * softness.ratio).powi(2)).into(),
            damping: (2.0 / (high * time)).into(),
            low: low.into(),
            rise: (high - low).into(),
            slope: (1.0 / softness.width).into(),
            constant: low == high,
            margin: margin.into(),
            weight: weight.into(),
        }
    }
}

impl FluidBox {
    fn new(solid: &Solid) -> Self {
        let Solid { mass, normal, plane: [xx, zz, xz], .. } = *solid;
        // Principal axes of the plane.
        let angle = 0.5 * (2.0 * xz).atan2(xx - zz);
        let (sin, cos) = angle.sin_cos();
        let first = xx * cos * cos + zz * sin * sin + 2.0 * xz * sin * cos;
        let second = xx + zz - first;
        let side = |own: f64, a: f64, b: f64| (6.0 * (a + b - own).max(1e-15) / mass).sqrt();
        let [a, b, n] = [side(first, second, normal), side(second, first, normal), side(normal, first, second)];
        let pi = std::f64::consts::PI;
        let mean = (a + b + n) / 3.0;
        Self {
            first: [cos.into(), sin.into()],
            slow: [(3.0 * pi * mean).into(), (pi * mean.powi(3)).into()],
            fast: [(0.5 * b * n).into(), (0.5 * a * n).into(), (n * (a.powi(4) + b.powi(4)) / 64.0).into()],
        }
    }
}

/// The properties of a joint in the order of the computation.
fn dof(joint: &Joint, ancestors: Vec<usize>, relative: bool) -> Dof {
    Dof {
        ancestors,
        axis: joint.axis,
        rest: joint.rest.into(),
        relative: relative && joint.range.is_none() && joint.stiffness == 0.0,
        armature: joint.armature.into(),
        damping: joint.damping.into(),
        stiffness: joint.stiffness.into(),
        spring: (-joint.axis * joint.rest).into(),
    }
}

impl Model {
    /// Makes a body ready to move.
    ///
    /// # Errors
    /// [`Error::Config`] for a description that cannot be: links without mass, parents behind their children, joints
    /// that are named twice, ranges from high to low, numbers that are not finite or out of range.
    pub fn new(body: &Body) -> Result<Self> {
        check(body)?;
        let solids = solids(body);
        let mut model = Self {
            links: Vec::new(),
            dofs: Vec::new(),
            root: [None; 3],
            order: Vec::new(),
            motors: Vec::new(),
            points: Vec::new(),
            limits: Vec::new(),
            pairs: Vec::new(),
            gravity: body.gravity.map(Constant::new),
            height: (body.root.at[1] - body.floor.map_or(0.0, |floor| floor.height)).into(),
            fluid: body.fluid.map(|fluid| [fluid.density.into(), fluid.viscosity.into()]),
            timestep: body.timestep,
            integrator: body.integrator,
            newton_steps: body.newton_steps,
            names: names(body),
            capsules: capsules(body),
            floor: body.floor.map(|floor| floor.height),
            at: body.root.at,
        };
        let joints = model.tree(body, &solids);
        let weights = model.inverse_weights();
        model.rows(body, &joints, &weights);
        Ok(model)
    }

    /// The number of joints: of positions in a state, and of speeds.
    #[must_use]
    pub fn joints(&self) -> usize {
        self.dofs.len()
    }

    /// The names of the joints, in the order of the state.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The names of the joints that the motors drive.
    #[must_use]
    pub fn motor_names(&self) -> Vec<String> {
        let driven = |motor: &MotorModel| self.order.iter().position(|dof| *dof == motor.dof);
        self.motors.iter().filter_map(|motor| Some(self.names[driven(motor)?].clone())).collect()
    }

    /// The limits of the controls.
    #[must_use]
    pub fn control_ranges(&self) -> Vec<f64> {
        self.motors.iter().map(|motor| motor.range).collect()
    }

    /// Adds links and joints. Gives the joints in the order of the computation.
    fn tree(&mut self, body: &Body, solids: &[Solid]) -> Vec<Joint> {
        let mut joints = Vec::new();
        let rank = |joint: &RootJoint| match joint {
            RootJoint::SlideX(_) => 0,
            RootJoint::SlideZ(_) => 1,
            RootJoint::Hinge(_) => 2,
        };
        let mut sorted: Vec<&RootJoint> = body.root.joints.iter().collect();
        sorted.sort_by_key(|joint| rank(joint));
        for joint in &sorted {
            let number = joints.len();
            self.root[rank(joint)] = Some(number);
            let (RootJoint::SlideX(of) | RootJoint::SlideZ(of) | RootJoint::Hinge(of)) = joint;
            let relative = rank(joint) == 0 || rank(joint) == 1 && body.floor.is_none();
            self.dofs.push(dof(of, (0..number).rev().collect(), relative));
            joints.push(of.clone());
        }
        let first = |joint: &RootJoint| sorted.iter().position(|other| rank(other) == rank(joint)).unwrap_or(0);
        self.order = body.root.joints.iter().map(first).collect();
        for (i, (link, solid)) in body.links.iter().zip(solids).enumerate() {
            let anchor = if i == 0 { [0.0; 2] } else { link.anchor };
            let parent = &body.links[link.parent];
            let from = if link.parent == 0 { [0.0; 2] } else { parent.anchor };
            let number = if i == 0 { self.root[2].unwrap_or(0) } else { self.dofs.len() };
            if i > 0 {
                let before = match link.parent {
                    0 => (0..sorted.len()).rev().collect(),
                    parent => {
                        let of = self.links[parent].dof;
                        [&[of], &self.dofs[of].ancestors[..]].concat()
                    }
                };
                self.dofs.push(dof(&link.hinge, before, false));
                self.order.push(number);
                joints.push(link.hinge.clone());
            }
            let place = |at: [f64; 2]| [Constant::new(at[0] - anchor[0]), Constant::new(at[1] - anchor[1])];
            let to = [link.at[0] + anchor[0] - from[0], link.at[1] + anchor[1] - from[1]];
            self.links.push(LinkModel {
                parent: if i == 0 { 0 } else { link.parent },
                dof: number,
                offset: if i == 0 { [Constant::new(0.0); 2] } else { to.map(Constant::new) },
                com: place(solid.center),
                mass: solid.mass.into(),
                inertia: solid.normal.into(),
                fluid: FluidBox::new(solid),
            });
        }
        for motor in &body.motors {
            let dof = self.order[motor.joint];
            let gear = motor.gear * self.dofs[dof].axis;
            self.motors.push(MotorModel { dof, gear: gear.into(), range: motor.range });
        }
        joints
    }

    /// The inverse of the mass that a force moves where all is at rest: of each joint, and of each link at its centre.
    fn inverse_weights(&self) -> (Vec<f64>, Vec<f64>) {
        let (n, links) = (self.dofs.len(), self.links.len());
        let mut posed = vec![Pose::<f64>::still(); links];
        poses(self, &vec![0.0; n], &vec![0.0; n], &mut vec![0.0; links], &mut posed);
        let mut composite = vec![[0.0; 6]; links];
        inertias(self, &posed, &mut composite);
        let mut h = vec![0.0; n * n];
        joint_matrix(self, &posed, &mut composite, &mut h);
        for (i, dof) in self.dofs.iter().enumerate() {
            h[i * n + i] += dof.armature.get();
        }
        factor(self, &mut h);
        // A row of forces times the inverse, times the row.
        let weight = |row: Vec<f64>| {
            let mut solution = row.clone();
            solve(self, &h, &mut solution);
            row.iter().zip(&solution).map(|(a, b)| a * b).sum::<f64>()
        };
        let unit = |i: usize| (0..n).map(|j| f64::from(u8::from(i == j))).collect();
        let of_joints = (0..n).map(|i| weight(unit(i))).collect();
        let of_link = |i: usize| {
            let [x, z] = posed[i].com;
            let sum: f64 = [[z, 1.0, 0.0], [-x, 0.0, 1.0]]
                .into_iter()
                .map(|force| {
                    let mut row = vec![0.0; n];
                    let mut forces = vec![[0.0; 3]; links];
                    forces[i] = force;
                    super::inertia::joint_forces(self, &posed, &mut forces, &mut row);
                    weight(row)
                })
                .sum();
            sum / 3.0
        };
        (of_joints, (0..links).map(of_link).collect())
    }

    /// Adds what pushes back: contacts and limits.
    fn rows(&mut self, body: &Body, joints: &[Joint], (of_joints, of_links): &(Vec<f64>, Vec<f64>)) {
        let give = |softness: &Softness, margin, weight| Give::new(softness, margin, body.timestep, weight);
        let anchor = |link: usize| if link == 0 { [0.0; 2] } else { body.links[link].anchor };
        let place = |link: usize, at: [f64; 2]| {
            let [x, z] = anchor(link);
            [Constant::new(at[0] - x), Constant::new(at[1] - z)]
        };
        for (number, joint) in joints.iter().enumerate() {
            let Some(range) = joint.range else { continue };
            let [a, b] = range.map(|x| joint.axis * (x - joint.rest));
            let give = give(&joint.softness, joint.margin, of_joints[number]);
            self.limits.push(LimitModel { dof: number, low: a.min(b).into(), high: a.max(b).into(), give });
        }
        if let Some(Floor { friction, margin, softness, .. }) = body.floor {
            for (link, described) in body.links.iter().enumerate() {
                for (Capsule { ends, radius, .. }, own) in
                    described.capsules.iter().filter_map(|c| Some((c, c.friction?)))
                {
                    let friction = own.max(friction).max(1e-5);
                    let weight = 2.0 * friction * friction * (1.0 + friction * friction) * of_links[link];
                    let give = give(&softness, margin, weight);
                    // The two ends of a sphere are one.
                    let count = if ends[0] == ends[1] { 1 } else { 2 };
                    self.points.extend(ends[..count].iter().map(|end| PointModel {
                        link,
                        at: place(link, *end),
                        radius: (*radius).into(),
                        friction: friction.into(),
                        give,
                    }));
                }
            }
        }
        for pair in &body.pairs {
            let links = [pair.first.0, pair.second.0];
            let capsules = [pair.first, pair.second].map(|(link, capsule)| body.links[link].capsules[capsule]);
            let middle = |Capsule { ends: [a, b], .. }: Capsule| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
            let half = |Capsule { ends: [a, b], .. }: Capsule| [0.5 * (a[0] - b[0]), 0.5 * (a[1] - b[1])];
            self.pairs.push(PairModel {
                links,
                centers: [place(links[0], middle(capsules[0])), place(links[1], middle(capsules[1]))],
                halves: capsules.map(|capsule| half(capsule).map(Constant::new)),
                radii: capsules.map(|capsule| capsule.radius.into()),
                give: give(&pair.softness, pair.margin, of_links[links[0]] + of_links[links[1]]),
            });
        }
    }
}

/// The names of the joints, in the order of the state.
fn names(body: &Body) -> Vec<String> {
    let of_root = body.root.joints.iter().map(|joint| match joint {
        RootJoint::SlideX(_) => "rootx".to_owned(),
        RootJoint::SlideZ(_) => "rootz".to_owned(),
        RootJoint::Hinge(_) => "rooty".to_owned(),
    });
    of_root.chain(body.links.iter().skip(1).map(|link| link.name.to_owned())).collect()
}

/// The shapes of all links, in the frames of their hinges.
fn capsules(body: &Body) -> Vec<(usize, Capsule)> {
    let mut all = Vec::new();
    for (i, link) in body.links.iter().enumerate() {
        let [x, z] = if i == 0 { [0.0; 2] } else { link.anchor };
        let moved = |capsule: &Capsule| Capsule { ends: capsule.ends.map(|[a, b]| [a - x, b - z]), ..*capsule };
        all.extend(link.capsules.iter().map(|capsule| (i, moved(capsule))));
    }
    all
}

/// What each link's shapes are together.
fn solids(body: &Body) -> Vec<Solid> {
    let of = |link: &super::body::Link| Solid::sum(&link.capsules.iter().map(Solid::of).collect::<Vec<_>>());
    let solids: Vec<Solid> = body.links.iter().map(of).collect();
    let sum: f64 = solids.iter().map(|solid| solid.mass).sum();
    let by = body.total_mass.map_or(1.0, |mass| mass / sum);
    solids.into_iter().map(|solid| solid.scaled(by)).collect()
}

/// Refuses what cannot be.
fn check(body: &Body) -> Result<()> {
    let fault = |problem: String| Err(Error::config("body", problem));
    let positive = |x: f64| x > 0.0 && x.is_finite();
    if !positive(body.timestep) {
        return fault(format!("a step of {} s; expected a time above 0", body.timestep));
    }
    if body.newton_steps == 0 {
        return fault("newton_steps is 0; expected at least 1".to_owned());
    }
    if body.links.is_empty() {
        return fault("it has no links".to_owned());
    }
    if body.root.joints.is_empty() && body.links.len() == 1 {
        return fault("it has no joints".to_owned());
    }
    for (i, joint) in body.root.joints.iter().enumerate() {
        let same = |other: &RootJoint| std::mem::discriminant(other) == std::mem::discriminant(joint);
        if body.root.joints[..i].iter().any(same) {
            return fault("the first link has a joint twice".to_owned());
        }
    }
    for (i, link) in body.links.iter().enumerate() {
        let name = link.name;
        if i > 0 && link.parent >= i {
            return fault(format!("the parent of link {i}, `{name}`, is link {}; parents come first", link.parent));
        }
        if link.capsules.is_empty() {
            return fault(format!("the link `{name}` has no shape, so it has no mass"));
        }
        for capsule in &link.capsules {
            if !positive(capsule.radius) || !positive(capsule.density) {
                return fault(format!("a capsule of `{name}` needs a radius and a density above 0"));
            }
            if capsule.ends.as_flattened().iter().any(|x| !x.is_finite()) {
                return fault(format!("a capsule of `{name}` has ends that are not finite"));
            }
        }
    }
    let of_root = body.root.joints.iter().map(|joint| match joint {
        RootJoint::SlideX(joint) | RootJoint::SlideZ(joint) | RootJoint::Hinge(joint) => ("the first link", joint),
    });
    for (name, joint) in of_root.chain(body.links.iter().skip(1).map(|link| (link.name, &link.hinge))) {
        if joint.axis.abs() != 1.0 {
            return fault(format!("the axis of a joint of {name} is {}; expected 1 or −1", joint.axis));
        }
        let numbers = [joint.armature, joint.damping, joint.stiffness, joint.margin];
        if numbers.iter().any(|x| !(*x >= 0.0 && x.is_finite())) {
            return fault(format!("armature, damping, stiffness and margin of a joint of {name} must be at least 0"));
        }
        if joint.range.is_some_and(|[low, high]| low.partial_cmp(&high) != Some(std::cmp::Ordering::Less)) {
            return fault(format!("a joint of {name} has a range from high to low"));
        }
        soft(&joint.softness, name)?;
    }
    let joints = body.root.joints.len() + body.links.len() - 1;
    if let Some(motor) = body.motors.iter().find(|motor| motor.joint >= joints) {
        return fault(format!("a motor drives joint {}, and there are {joints}", motor.joint));
    }
    if let Some(floor) = &body.floor {
        soft(&floor.softness, "the floor")?;
    }
    for pair in &body.pairs {
        let [(a, i), (b, j)] = [pair.first, pair.second];
        let known = |link: usize, capsule: usize| body.links.get(link).is_some_and(|of| capsule < of.capsules.len());
        if !known(a, i) || !known(b, j) {
            return fault(format!("a pair names capsules ({a}, {i}) and ({b}, {j}), which are not there"));
        }
        let mut above = b;
        while above != 0 && above != a {
            above = body.links[above].parent;
        }
        if above != a || a == b || body.links[b].parent == a {
            return fault(format!("link {b} of a pair must descend from link {a} and not be its child"));
        }
        soft(&pair.softness, "a pair")?;
    }
    Ok(())
}

fn soft(softness: &Softness, of: &str) -> Result<()> {
    let Softness { time, ratio, low, high, width } = *softness;
    let positive = [time, ratio, width].iter().all(|x| *x > 0.0 && x.is_finite());
    if positive && (0.0..=1.0).contains(&low) && (low..=1.0).contains(&high) {
        return Ok(());
    }
    let problem = "softness needs time, ratio and width above 0, and impedances 0 ≤ low ≤ high ≤ 1";
    Err(Error::config("body", format!("{of}: {problem}")))
}
