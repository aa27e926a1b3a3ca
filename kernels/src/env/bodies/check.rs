//! Descriptions of bodies that cannot be.

use super::body::{BodySpec, RootJoint, Softness};
use crate::{Error, Result};

/// Refuses what cannot be.
pub(super) fn check(body: &BodySpec) -> Result<()> {
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
    let places = body.links.iter().flat_map(|link| [link.at, link.anchor]).chain([body.gravity, body.root.at]);
    if places.flatten().any(|x| !x.is_finite()) {
        return fault("gravity and the places of links and anchors must be finite".to_owned());
    }
    let friction = body.links.iter().flat_map(|link| &link.capsules).filter_map(|capsule| capsule.friction);
    if friction.chain(body.floor.map(|floor| floor.friction)).any(|x| !(0.0..f64::INFINITY).contains(&x)) {
        return fault("frictions must be at least 0".to_owned());
    }
    if body.total_mass.is_some_and(|mass| !positive(mass)) {
        return fault("the total mass must be above 0".to_owned());
    }
    if body.motors.iter().any(|motor| !motor.gear.is_finite() || !positive(motor.range)) {
        return fault("a motor needs a finite gear, and a range above 0".to_owned());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::bodies::{Capsule, Floor, Link, Model, Motor, Pair, Root};

    fn rod() -> Capsule {
        Capsule::between([0.0, 0.0], [0.0, -0.5], 0.05).touching(1.0)
    }

    /// Three links, one below the other.
    fn chain() -> BodySpec {
        let link = |name, parent, at| Link { name, parent, at: [0.0, at], capsules: vec![rod()], ..Link::default() };
        BodySpec {
            root: Root::free([0.0, 2.0]),
            links: vec![link("top", 0, 0.0), link("middle", 0, -0.5), link("end", 1, -0.5)],
            motors: Motor::on(3, &[1.0; 2]),
            floor: Some(Floor::default()),
            pairs: vec![Pair { first: (0, 0), second: (2, 0), margin: 0.0, softness: Softness::default() }],
            ..BodySpec::new(0.01)
        }
    }

    /// Something that is wrong, and how it is told.
    type Fault = (fn(&mut BodySpec), &'static str);

    #[test]
    fn faults_are_named() {
        assert_eq!(Model::new(&chain()).unwrap().joints(), 5);
        let cases: &[Fault] = &[
            (|b| b.timestep = 0.0, "a step of 0 s"),
            (|b| b.newton_steps = 0, "newton_steps is 0"),
            (|b| b.links.clear(), "no links"),
            (|b| b.root.joints.push(b.root.joints[1].clone()), "a joint twice"),
            (|b| b.links[1].parent = 2, "the parent of link 1, `middle`, is link 2; parents come first"),
            (|b| b.links[2].capsules.clear(), "the link `end` has no shape"),
            (|b| b.links[2].capsules[0].radius = -1.0, "a capsule of `end` needs a radius"),
            (|b| b.links[2].capsules[0].ends[1][0] = f64::NAN, "a capsule of `end` has ends that are not finite"),
            (|b| b.links[1].hinge.axis = 0.5, "the axis of a joint of middle is 0.5"),
            (|b| b.links[1].hinge.damping = -1.0, "a joint of middle must be at least 0"),
            (|b| b.links[1].hinge.range = Some([1.0, 1.0]), "a joint of middle has a range from high to low"),
            (|b| b.links[1].hinge.softness.time = 0.0, "middle: softness needs"),
            (|b| b.links[1].at[0] = f64::INFINITY, "the places of links and anchors must be finite"),
            (|b| b.links[1].capsules[0].friction = Some(f64::NAN), "frictions must be at least 0"),
            (|b| b.total_mass = Some(0.0), "the total mass must be above 0"),
            (|b| b.motors[0].range = f64::NAN, "a motor needs a finite gear"),
            (|b| b.motors[1].joint = 5, "a motor drives joint 5, and there are 5"),
            (|b| b.floor.as_mut().unwrap().softness.low = 2.0, "the floor: softness needs"),
            (|b| b.pairs[0].second = (3, 0), "capsules (0, 0) and (3, 0), which are not there"),
            (|b| b.pairs[0].second = (1, 0), "link 1 of a pair must descend from link 0 and not be its child"),
        ];
        for (spoil, problem) in cases {
            let mut body = chain();
            spoil(&mut body);
            let error = Model::new(&body).unwrap_err().to_string();
            assert!(error.contains(problem), "{error}, expected {problem}");
        }
        let fixed = BodySpec { root: Root::default(), pairs: Vec::new(), motors: Vec::new(), ..chain() };
        assert_eq!(Model::new(&fixed).unwrap().joints(), 2);
    }
}
