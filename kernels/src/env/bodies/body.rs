//! Descriptions of bodies.

/// The description of a body. Lengths are in m, masses in kg, angles in rad, times in s.
#[derive(Clone, Debug, PartialEq)]
pub struct BodySpec {
    /// The time of an integration step.
    pub timestep: f64,
    /// How velocities become positions.
    pub integrator: Integrator,
    /// The acceleration of gravity along X and Z, in m/s².
    pub gravity: [f64; 2],
    /// How the first link can move.
    pub root: Root,
    /// The links; parents stand before their children.
    pub links: Vec<Link>,
    /// The motors, in the order of the controls.
    pub motors: Vec<Motor>,
    /// The floor, if the body has one.
    pub floor: Option<Floor>,
    /// Links that touch each other: the first of each pair is an ancestor of the second.
    pub pairs: Vec<Pair>,
    /// The fluid around, if there is one.
    pub fluid: Option<Fluid>,
    /// The mass of all links together, to which they are scaled; none to keep what their shapes have.
    pub total_mass: Option<f64>,
    /// Steps of Newton's method per evaluation of forces: the fewest that reach the solution. Where the set of rows
    /// that push settles before, as it nearly always does, processors take fewer.
    pub newton_steps: usize,
}

impl BodySpec {
    /// A body without links under the gravity of the earth, in steps of so many seconds.
    #[must_use]
    pub const fn new(timestep: f64) -> Self {
        Self {
            timestep,
            integrator: Integrator::Euler,
            gravity: [0.0, -9.81],
            root: Root { at: [0.0; 2], joints: Vec::new() },
            links: Vec::new(),
            motors: Vec::new(),
            floor: None,
            pairs: Vec::new(),
            fluid: None,
            total_mass: None,
            newton_steps: 8,
        }
    }
}

/// Integrators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrator {
    /// Semi-implicit Euler, with implicit damping of joints.
    Euler,
    /// Runge–Kutta of order 4.
    RungeKutta,
}

/// The joints of the first link, in the order of the state.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Root {
    /// Its place where all joints are at rest.
    pub at: [f64; 2],
    /// Slides, and a hinge at its place, each at most once.
    pub joints: Vec<RootJoint>,
}

impl Root {
    /// A link that slides along both axes and turns, as all may in a plane.
    #[must_use]
    pub fn free(at: [f64; 2]) -> Self {
        let joint = Joint::default;
        Self { at, joints: vec![RootJoint::SlideX(joint()), RootJoint::SlideZ(joint()), RootJoint::Hinge(joint())] }
    }

    /// A link that moves so and begins at a height, which the state counts from the floor.
    #[must_use]
    pub fn free_at_height(height: f64) -> Self {
        let mut root = Self::free([0.0, height]);
        root.joints[1] = RootJoint::SlideZ(Joint { rest: height, ..Joint::default() });
        root
    }
}

/// A joint of the first link.
#[derive(Clone, Debug, PartialEq)]
pub enum RootJoint {
    /// It slides along X.
    SlideX(Joint),
    /// It slides along Z.
    SlideZ(Joint),
    /// It turns.
    Hinge(Joint),
}

/// A link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Link {
    /// Its name, for messages.
    pub name: &'static str,
    /// The number of its parent; of the first link it means nothing.
    pub parent: usize,
    /// Its place in the frame of its parent.
    pub at: [f64; 2],
    /// Where its hinge is, in its own frame.
    pub anchor: [f64; 2],
    /// Its hinge; of the first link [`Root`] says it.
    pub hinge: Joint,
    /// Its shapes.
    pub capsules: Vec<Capsule>,
}

/// The properties of a joint. Positions are the state's, which an [`axis`](Joint::axis) of −1 turns around.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint {
    /// 1, or −1 where the state counts the other way.
    pub axis: f64,
    /// The state's number where the description shows the joint (MuJoCo's `ref`).
    pub rest: f64,
    /// Inertia of the drive, in kg m² or kg.
    pub armature: f64,
    /// Force per speed.
    pub damping: f64,
    /// Force per distance from the state's number 0.
    pub stiffness: f64,
    /// Its lowest and its highest position, if it has a range.
    pub range: Option<[f64; 2]>,
    /// How far before its ends the range pushes back.
    pub margin: f64,
    /// How the range pushes back.
    pub softness: Softness,
}

impl Default for Joint {
    fn default() -> Self {
        Self {
            axis: 1.0,
            rest: 0.0,
            armature: 0.0,
            damping: 0.0,
            stiffness: 0.0,
            range: None,
            margin: 0.0,
            softness: Softness::default(),
        }
    }
}

/// How a contact or a limit gives way: MuJoCo's `solref` and `solimp`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softness {
    /// The time constant, in s.
    pub time: f64,
    /// The damping ratio.
    pub ratio: f64,
    /// The impedance at the surface.
    pub low: f64,
    /// The impedance from [`width`](Softness::width) on.
    pub high: f64,
    /// The depth over which it rises, in m or rad.
    pub width: f64,
}

impl Default for Softness {
    fn default() -> Self {
        Self { time: 0.02, ratio: 1.0, low: 0.9, high: 0.95, width: 0.001 }
    }
}

/// A capsule: a line with a radius. A sphere is one whose ends are the same.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capsule {
    /// Its ends, in the frame of the link.
    pub ends: [[f64; 2]; 2],
    /// Its radius.
    pub radius: f64,
    /// Its density, in kg/m³.
    pub density: f64,
    /// Its friction with the floor, of which the larger counts; none where it does not touch it.
    pub friction: Option<f64>,
}

impl Capsule {
    /// A capsule between two places.
    #[must_use]
    pub const fn between(from: [f64; 2], to: [f64; 2], radius: f64) -> Self {
        Self { ends: [from, to], radius, density: 1000.0, friction: None }
    }

    /// A capsule around a place. Its axis is the Z-axis turned by an angle, and its line `2 half` long.
    #[must_use]
    pub fn around(center: [f64; 2], angle: f64, half: f64, radius: f64) -> Self {
        let (sin, cos) = angle.sin_cos();
        let [x, z] = [half * sin, half * cos];
        // MuJoCo's order: first the end that the axis points to.
        Self::between([center[0] + x, center[1] + z], [center[0] - x, center[1] - z], radius)
    }

    /// Lets it touch the floor, with this friction.
    #[must_use]
    pub const fn touching(mut self, friction: f64) -> Self {
        self.friction = Some(friction);
        self
    }
}

/// A motor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motor {
    /// The number of the joint, in the order of the state.
    pub joint: usize,
    /// Force per control.
    pub gear: f64,
    /// Controls are limited to −range to range.
    pub range: f64,
}

impl Motor {
    /// Motors with these gears on one joint after the other, from joint `first` on, with controls from −1 to 1.
    #[must_use]
    pub fn on(first: usize, gears: &[f64]) -> Vec<Self> {
        gears.iter().enumerate().map(|(i, gear)| Self { joint: first + i, gear: *gear, range: 1.0 }).collect()
    }
}

/// A level floor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Floor {
    /// Its height.
    pub height: f64,
    /// Its friction; of a contact the larger one counts.
    pub friction: f64,
    /// The sum of its margin and that of the capsules: from this distance on they push.
    pub margin: f64,
    /// How contacts give way.
    pub softness: Softness,
}

impl Default for Floor {
    fn default() -> Self {
        Self { height: 0.0, friction: 1.0, margin: 0.0, softness: Softness::default() }
    }
}

/// Two capsules that touch each other without friction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The number of a link, and of its capsule.
    pub first: (usize, usize),
    /// The numbers of a link that descends from it, but is not its child, and of its capsule.
    pub second: (usize, usize),
    /// The sum of their margins.
    pub margin: f64,
    /// How the contact gives way.
    pub softness: Softness,
}

/// A fluid at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fluid {
    /// Its density, in kg/m³.
    pub density: f64,
    /// Its viscosity, in Pa s.
    pub viscosity: f64,
}
