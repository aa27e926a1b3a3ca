//! Masses and moments of inertia of shapes.

use super::body::Capsule;

/// The mass of a shape or of several, their centre, and their moments of inertia about it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Solid {
    pub mass: f64,
    pub center: [f64; 2],
    /// About the normal of the plane.
    pub normal: f64,
    /// In the plane: about X, about Z, and their product of inertia, which a box of fluid needs.
    pub plane: [f64; 3],
}

impl Solid {
    /// A capsule (MuJoCo's `mjCGeom`): two half spheres and a cylinder between them.
    pub fn of(capsule: &Capsule) -> Self {
        let Capsule { ends: [[ax, az], [bx, bz]], radius: r, density, .. } = *capsule;
        let (dx, dz) = (bx - ax, bz - az);
        let length = dx.hypot(dz);
        let mass = density * std::f64::consts::PI * r * r * (length + 4.0 / 3.0 * r);
        let sphere = mass * 4.0 * r / (4.0 * r + 3.0 * length);
        let cylinder = mass - sphere;
        let across = cylinder * (3.0 * r * r + length * length) / 12.0
            + 0.4 * sphere * r * r
            + sphere * length * (3.0 * r + 2.0 * length) / 8.0;
        let along = cylinder * r * r / 2.0 + 0.4 * sphere * r * r;
        // The axis lies in the plane.
        let [x, z] = if length > 0.0 { [dx / length, dz / length] } else { [0.0, 1.0] };
        Self {
            mass,
            center: [0.5 * (ax + bx), 0.5 * (az + bz)],
            normal: across,
            plane: [along * x * x + across * z * z, along * z * z + across * x * x, (along - across) * x * z],
        }
    }

    /// Several as one.
    pub fn sum(all: &[Self]) -> Self {
        let mass: f64 = all.iter().map(|s| s.mass).sum();
        let mean = |axis: usize| all.iter().map(|s| s.mass * s.center[axis]).sum::<f64>() / mass;
        let center = [mean(0), mean(1)];
        let mut sum = Self { mass, center, ..Self::default() };
        for solid in all {
            let (dx, dz, m) = (solid.center[0] - center[0], solid.center[1] - center[1], solid.mass);
            sum.normal += solid.normal + m * (dx * dx + dz * dz);
            sum.plane[0] += solid.plane[0] + m * dz * dz;
            sum.plane[1] += solid.plane[1] + m * dx * dx;
            sum.plane[2] += solid.plane[2] - m * dx * dz;
        }
        sum
    }

    /// Multiplies its density.
    pub fn scaled(mut self, by: f64) -> Self {
        self.mass *= by;
        self.normal *= by;
        self.plane = self.plane.map(|x| x * by);
        self
    }
}
