//! Models of described bodies.

use super::body::{BodySpec, Capsule, Floor, Joint, RootJoint, Softness};
use super::check::check;
use super::inverse_weights::InverseWeights;
use super::kinematics::{Pose, poses};
use super::model::{Dof, FluidBox, Give, LimitModel, LinkModel, Model, MotorModel, PairModel, PointModel, RestPose};
use super::properties::{counting, inverse_of_point};
use super::solid::Solid;
use crate::Result;
use crate::env::Constant;
use crate::math::order::by_key;

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
    /// [`Error::Config`](crate::Error::Config) for a description that cannot be: links without mass, parents behind
    /// their children, joints that are named twice, ranges from high to low, numbers that are not finite or out of
    /// range.
    pub fn new(body: &BodySpec) -> Result<Self> {
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
            rest: Vec::new(),
            gravity: body.gravity.map(Constant::new),
            height: (body.root.at[1] - body.floor.map_or(0.0, |floor| floor.height)).into(),
            fluid: body.fluid.map(|fluid| [fluid.density.into(), fluid.viscosity.into()]),
            timestep: body.timestep,
            integrator: body.integrator,
            ways: ways(body.newton_steps),
            names: names(body),
            capsules: capsules(body),
            floor: body.floor.map(|floor| floor.height),
            at: body.root.at,
        };
        let joints = model.tree(body, &solids);
        model.rest = model.at_rest();
        let links: Vec<[f64; 2]> = model.links.iter().map(|link| [link.mass.get(), link.inertia.get()]).collect();
        let weights = InverseWeights::new(&model, &links);
        model.rows(body, &joints, &weights);
        Ok(model)
    }

    /// Adds links and joints. Gives the joints in the order of the computation.
    fn tree(&mut self, body: &BodySpec, solids: &[Solid]) -> Vec<Joint> {
        let mut joints = Vec::new();
        let rank = |joint: &RootJoint| match joint {
            RootJoint::SlideX(_) => 0,
            RootJoint::SlideZ(_) => 1,
            RootJoint::Hinge(_) => 2,
        };
        let sorted = by_key(body.root.joints.iter().collect(), &|joint| rank(joint) as u64);
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

    /// Where links are with all joints at rest, and what forces on their centres are along the joints there.
    fn at_rest(&self) -> Vec<RestPose> {
        let (n, links) = (self.dofs.len(), self.links.len());
        let mut posed = vec![Pose::<f64>::still(); links];
        poses(self, &vec![0.0; n], &vec![0.0; n], &mut vec![0.0; links], &mut posed);
        // The root's joints, the nearest first, with their places in a force on it.
        let of_root: Vec<(usize, usize)> =
            self.root.iter().zip([1, 2, 0]).filter_map(|(dof, place)| Some(((*dof)?, place))).rev().collect();
        let rest = |i: usize| {
            let [x, z] = posed[i].com;
            let rows = [[z, 1.0, 0.0], [-x, 0.0, 1.0]].map(|force| {
                let (mut row, mut link) = (Vec::new(), i);
                while link != 0 {
                    row.push(posed[link].along(&force).into());
                    link = self.links[link].parent;
                }
                row.extend(of_root.iter().map(|(_, place)| Constant::new(force[*place])));
                row
            });
            let (mut path, mut link) = (Vec::new(), i);
            while link != 0 {
                path.push(self.links[link].dof);
                link = self.links[link].parent;
            }
            path.extend(of_root.iter().map(|(dof, _)| *dof));
            RestPose { origin: posed[i].origin.map(Constant::new), com: [x.into(), z.into()], path, rows }
        };
        (0..links).map(rest).collect()
    }

    /// Adds what pushes back: contacts and limits.
    fn rows(&mut self, body: &BodySpec, joints: &[Joint], weights: &InverseWeights<f64>) {
        let give = |softness: &Softness, margin, weight| Give::new(softness, margin, body.timestep, weight);
        let anchor = |link: usize| if link == 0 { [0.0; 2] } else { body.links[link].anchor };
        let place = |link: usize, at: [f64; 2]| {
            let [x, z] = anchor(link);
            [Constant::new(at[0] - x), Constant::new(at[1] - z)]
        };
        for (number, joint) in joints.iter().enumerate() {
            let Some(range) = joint.range else { continue };
            let [a, b] = range.map(|x| joint.axis * (x - joint.rest));
            let give = give(&joint.softness, joint.margin, weights.joints[number]);
            self.limits.push(LimitModel { dof: number, low: a.min(b).into(), high: a.max(b).into(), give });
        }
        let mut capsule = 0;
        if let Some(Floor { friction: of_floor, margin, softness, .. }) = body.floor {
            for (link, described) in body.links.iter().enumerate() {
                for (Capsule { ends, radius, .. }, own) in
                    described.capsules.iter().filter_map(|c| Some((c, c.friction?)))
                {
                    let friction = counting(own, of_floor);
                    let weight = inverse_of_point(friction, weights.links[link]);
                    let give = give(&softness, margin, weight);
                    // The two ends of a sphere are one.
                    let count = if ends[0] == ends[1] { 1 } else { 2 };
                    self.points.extend(ends[..count].iter().map(|end| PointModel {
                        link,
                        at: place(link, *end),
                        radius: (*radius).into(),
                        capsule,
                        frictions: [own.into(), of_floor.into()],
                        friction: friction.into(),
                        give,
                    }));
                    capsule += 1;
                }
            }
        }
        for pair in &body.pairs {
            let links = [pair.first.0, pair.second.0];
            let capsules = [pair.first, pair.second].map(|(link, capsule)| body.links[link].capsules[capsule]);
            let middle = |Capsule { ends: [a, b], .. }: Capsule| [0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1])];
            let half = |Capsule { ends: [a, b], .. }: Capsule| [0.5 * (a[0] - b[0]), 0.5 * (a[1] - b[1])];
            let weight = weights.links[links[0]] + weights.links[links[1]];
            self.pairs.push(PairModel {
                links,
                centers: [place(links[0], middle(capsules[0])), place(links[1], middle(capsules[1]))],
                halves: capsules.map(|capsule| half(capsule).map(Constant::new)),
                radii: capsules.map(|capsule| capsule.radius.into()),
                give: give(&pair.softness, pair.margin, weight),
            });
        }
    }
}

/// The steps of Newton's method: each is a whole one at first, then every other one goes half the way, so that they do
/// not go in circles. Beside each stands the way of the one before. The last is always whole.
fn ways(count: usize) -> Vec<[f64; 2]> {
    let half = |i: usize| i >= 4 && (i - 4).is_multiple_of(2) && i + 1 < count;
    let way = |i: usize| if half(i) { 0.5 } else { 1.0 };
    (0..count).map(|i| [way(i), if i == 0 { 1.0 } else { way(i - 1) }]).collect()
}

/// The names of the joints, in the order of the state.
fn names(body: &BodySpec) -> Vec<String> {
    let of_root = body.root.joints.iter().map(|joint| match joint {
        RootJoint::SlideX(_) => "rootx".to_owned(),
        RootJoint::SlideZ(_) => "rootz".to_owned(),
        RootJoint::Hinge(_) => "rooty".to_owned(),
    });
    of_root.chain(body.links.iter().skip(1).map(|link| link.name.to_owned())).collect()
}

/// The shapes of all links, in the frames of their hinges.
fn capsules(body: &BodySpec) -> Vec<(usize, Capsule)> {
    let mut all = Vec::new();
    for (i, link) in body.links.iter().enumerate() {
        let [x, z] = if i == 0 { [0.0; 2] } else { link.anchor };
        let moved = |capsule: &Capsule| Capsule { ends: capsule.ends.map(|[a, b]| [a - x, b - z]), ..*capsule };
        all.extend(link.capsules.iter().map(|capsule| (i, moved(capsule))));
    }
    all
}

/// The shapes of each link as one solid.
fn solids(body: &BodySpec) -> Vec<Solid> {
    let of = |link: &super::body::Link| Solid::sum(&link.capsules.iter().map(Solid::of).collect::<Vec<_>>());
    let solids: Vec<Solid> = body.links.iter().map(of).collect();
    let sum: f64 = solids.iter().map(|solid| solid.mass).sum();
    let by = body.total_mass.map_or(1.0, |mass| mass / sum);
    solids.into_iter().map(|solid| solid.scaled(by)).collect()
}
