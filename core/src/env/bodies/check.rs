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
