//! Inverses of masses that forces move where a body is at rest: the rows that push are scaled by them.

use super::factor::factor;
use super::kinematics::Pose;
use super::model::Model;
use super::spatial::{inertia, joint_matrix};
use crate::env::Real;

/// The inverses of the masses that forces move where a body is at rest (MuJoCo's `dof_invweight0` and
/// `body_invweight0`).
pub(super) struct InverseWeights<R> {
    /// One per joint, in the order of the computation.
    pub joints: Vec<R>,
    /// One per link, at its centre.
    pub links: Vec<R>,
}

impl<R: Real> InverseWeights<R> {
    /// The inverses of a body whose links have these masses and moments of inertia.
    #[inline(always)]
    pub fn new(model: &Model, links: &[[R; 2]]) -> Self {
        let n = model.dofs.len();
        let (zero, one) = (R::lit(0.0), R::lit(1.0));
        let mut posed = vec![Pose::still(); links.len()];
        for (pose, rest) in posed.iter_mut().zip(&model.rest) {
            (pose.origin, pose.com) = (rest.origin.map(R::constant), rest.com.map(R::constant));
        }
        let mut composite = vec![[zero; 6]; links.len()];
        for ((to, link), pose) in composite.iter_mut().zip(links).zip(&posed) {
            *to = inertia(*link, pose);
        }
        let mut h = vec![zero; n * n];
        joint_matrix(model, &posed, &mut composite, &mut h);
        for (i, dof) in model.dofs.iter().enumerate() {
            h[i * n + i] = h[i * n + i] + R::constant(dof.armature);
        }
        factor(model, &mut h);
        let mut of = Self { joints: Vec::with_capacity(n), links: Vec::with_capacity(links.len()) };
        let mut moved = vec![zero; n];
        for (i, dof) in model.dofs.iter().enumerate() {
            let moved = &mut moved[..=dof.ancestors.len()];
            moved.fill(zero);
            moved[0] = one;
            solve(&h, n, i, &dof.ancestors, moved);
            of.joints.push(moved[0]);
        }
        for rest in &model.rest {
            let mut sum = zero;
            for row in &rest.rows {
                let moved = &mut moved[..row.len()];
                for (moved, force) in moved.iter_mut().zip(row) {
                    *moved = R::constant(*force);
                }
                if let [near, far @ ..] = &rest.path[..] {
                    solve(&h, n, *near, far, moved);
                }
                let mut weight = zero;
                for (moved, force) in moved.iter().zip(row).rev() {
                    weight = weight + R::constant(*force) * *moved;
                }
                sum = sum + weight;
            }
            of.links.push(sum / R::lit(3.0));
        }
        of
    }
}

/// Solves by the factors of a matrix, for forces along a joint and its ancestors, and none along others.
#[inline(always)]
fn solve<R: Real>(h: &[R], n: usize, joint: usize, ancestors: &[usize], b: &mut [R]) {
    for near in 0..b.len() {
        let row = if near == 0 { joint } else { ancestors[near - 1] } * n;
        for far in near + 1..b.len() {
            b[far] = b[far] - h[row + ancestors[far - 1]] * b[near];
        }
    }
    for near in (0..b.len()).rev() {
        let dof = if near == 0 { joint } else { ancestors[near - 1] };
        let mut x = b[near] * h[dof * n + dof];
        for far in near + 1..b.len() {
            x = x - h[dof * n + ancestors[far - 1]] * b[far];
        }
        b[near] = x;
    }
}
