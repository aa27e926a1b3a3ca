//! Pictures of bodies: their shapes on a floor that moves below them.

use super::kinematics::{Pose, poses};
use super::model::Model;
use crate::env::{Color, Scene, Shape};

/// Half of the width that is seen, in lengths of the body.
const WIDE: f32 = 1.3;

impl Model {
    /// The body with its joints at these positions, which its first link has at a speed along the first joint. The
    /// picture follows the first link; marks on the floor stand a metre apart.
    pub(in crate::env) fn scene(&self, qpos: &[f32], speed: f32) -> Scene {
        let (n, links) = (self.dofs.len(), self.links.len());
        let mut q = vec![0.0; n];
        for (position, &dof) in qpos.iter().zip(&self.order) {
            q[dof] = self.dofs[dof].axis * (f64::from(*position) - self.dofs[dof].rest.get());
        }
        let mut posed = vec![Pose::<f64>::still(); links];
        poses(self, &q, &vec![0.0; n], &mut vec![0.0; links], &mut posed);
        let slid = |axis: usize| self.at[axis] + self.root[axis].map_or(0.0, |dof| q[dof]);
        let root = [slid(0), slid(1)];
        // Upright planes show X to the right; level ones, whose X is y and whose Z is x, show Z there.
        let level = self.gravity.iter().all(|g| g.get() == 0.0);
        let shown = |[x, z]: [f64; 2]| if level { [z as f32, x as f32] } else { [x as f32, z as f32] };
        let [x, y] = shown(root);
        let half = WIDE * self.length() as f32;
        let low = match self.floor {
            Some(height) => height as f32 - 0.15 * half,
            None => y - 0.6 * half,
        };
        let mut scene = Scene::new([x - half, x + half, low, low + 1.2 * half]);
        if let Some(height) = self.floor {
            let floor = height as f32;
            scene = scene.with(Shape::rect([x - half, x + half, low, floor], Color::PALE));
            scene = scene.with(Shape::line([x - half, floor], [x + half, floor], 0.01 * half, Color::GREY));
        }
        let mark = self.floor.map_or(low, |height| height as f32);
        let moves = self.order.first().is_some_and(|dof| self.dofs[*dof].relative);
        if moves && x.is_finite() {
            let first = (x - half).ceil() as i64;
            for metre in first..=first + (2.0 * half) as i64 {
                let at = metre as f32;
                if at < x + half {
                    scene = scene.with(Shape::line([at, mark], [at, mark + 0.04 * half], 0.008 * half, Color::GREY));
                    let label = [at, mark - 0.1 * half + if self.floor.is_some() { 0.0 } else { 0.16 * half }];
                    scene = scene.with(Shape::text(label, 0.07 * half, metre.to_string(), Color::GREY));
                }
            }
        }
        for (link, capsule) in &self.capsules {
            let end = |[ex, ez]: [f64; 2]| {
                let [px, pz] = posed[*link].place([ex, ez]);
                shown([root[0] + px, root[1] + pz])
            };
            let color = if *link == 0 { Color::INK } else { Color::ORANGE };
            let [a, b] = capsule.ends.map(end);
            scene = scene.with(Shape::line(a, b, 2.0 * capsule.radius as f32, color));
        }
        for pose in posed.iter().skip(1) {
            let at = shown([root[0] + pose.origin[0], root[1] + pose.origin[1]]);
            scene = scene.with(Shape::circle(at, 0.015 * half, Color::BLUE));
        }
        if moves {
            let tenths = |x: f32| (10.0 * x).round() / 10.0 + 0.0; // no −0
            let words = format!("{:.1} m   {:.1} m/s", tenths(qpos[0]), tenths(speed));
            let place = [x, low + 1.1 * half];
            scene = scene.with(Shape::text(place, 0.08 * half, words, Color::INK));
        }
        scene
    }

    /// A length of the body at rest: from one side of its shapes to the other.
    fn length(&self) -> f64 {
        let (n, links) = (self.dofs.len(), self.links.len());
        let mut posed = vec![Pose::<f64>::still(); links];
        poses(self, &vec![0.0; n], &vec![0.0; n], &mut vec![0.0; links], &mut posed);
        let far = |(link, capsule): &(usize, super::body::Capsule)| {
            let reach = capsule.ends.map(|end| {
                let [x, z] = posed[*link].place(end);
                x.hypot(z) + capsule.radius
            });
            reach[0].max(reach[1])
        };
        self.capsules.iter().map(far).fold(0.1, f64::max)
    }
}
