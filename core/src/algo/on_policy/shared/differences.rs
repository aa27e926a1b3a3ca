//! Checks of on-policy losses against finite differences, for each kind of policy.

use super::{Minibatch, Sampling};
use crate::Tensor;
use crate::algo::ActorCritic;
use crate::env::{ActionSpace, Choice, Dim, EnvSpec};
use crate::grad::check::check;
use crate::policy::{GaussianConfig, NetConfig};
use crate::rng::Threefry;

/// The seed of the parameters around which losses are checked.
pub const INIT: [u32; 2] = [3, 4];

/// Makes a small policy and value function, for observations of two numbers.
pub fn net(space: ActionSpace, hidden: Vec<usize>, sde: bool) -> ActorCritic {
    let spec = EnvSpec::new("e", vec![Dim::unbounded("x"); 2], space, 9);
    let config = NetConfig {
        gaussian: GaussianConfig { log_std_init: -0.5, ..GaussianConfig::default() },
        ..NetConfig::hidden(hidden)
    };
    ActorCritic::new(&spec, &config, &Sampling { sde, ..Sampling::default() })
}

/// The kinds of policies: of three choices, of vectors of two numbers, of these with state-dependent exploration, and
/// of two choices at once.
fn kinds() -> [(ActionSpace, bool); 4] {
    let vector = || ActionSpace::continuous(vec![Dim::new("a", -1.0, 1.0); 2]);
    let several =
        ActionSpace::multi_discrete(vec![Choice::new("c", &["l", "m", "r"]), Choice::new("d", &["off", "on"])]);
    [(ActionSpace::discrete(&["l", "m", "r"]), false), (vector(), false), (vector(), true), (several, false)]
}

/// Makes a tensor `[1, B, width]` of numbers.
pub fn rows(values: &[f64], width: usize) -> Tensor {
    Tensor::literal_f32(values).reshape(&[1, values.len() / width, width])
}

/// The number of rows of a batch.
const ROWS: usize = 5;

/// A batch of five observations as numbers, which a device passes to functions of the batch and of θ.
pub struct DrawnBatch {
    obs: Vec<f64>,
    action: Vec<f64>,
    logp_old: Vec<f64>,
    value_old: Vec<f64>,
    /// The advantages.
    pub advantage: Vec<f64>,
    returns: Vec<f64>,
}

impl DrawnBatch {
    /// Draws a batch from a normal distribution; choices have all three values.
    pub fn draw(space: &ActionSpace, random: &mut Threefry) -> DrawnBatch {
        let mut numbers = |n: usize| (0..n).map(|_| 0.7 * random.normal()).collect::<Vec<f64>>();
        let (obs, logp_old) = (numbers(ROWS * 2), numbers(ROWS));
        let [value_old, advantage, returns] = [(); 3].map(|()| numbers(ROWS));
        let action = match space {
            ActionSpace::Discrete { .. } => vec![0.0, 1.0, 2.0, 2.0, 0.0],
            ActionSpace::Box { .. } => numbers(ROWS * 2),
            ActionSpace::MultiDiscrete { .. } => vec![0.0, 1.0, 2.0, 0.0, 1.0, 1.0, 2.0, 1.0, 0.0, 0.0],
        };
        // These are near the log-probabilities of the policies here, so that some ratios are clipped.
        let logp_old = logp_old.iter().map(|x| x - 1.3).collect();
        DrawnBatch { obs, action, logp_old, value_old, advantage, returns }
    }

    /// Gives the batch as constants of a trace.
    pub fn trace(&self) -> Minibatch {
        Minibatch {
            obs: rows(&self.obs, 2),
            action: rows(&self.action, self.action.len() / ROWS),
            logp_old: rows(&self.logp_old, 1),
            value_old: rows(&self.value_old, 1),
            advantage: rows(&self.advantage, 1),
            returns: rows(&self.returns, 1),
            sequences: None,
            valid: None,
        }
    }
}

/// Checks derivatives of a loss by θ, of first order within `[relative, absolute]` and of second order, for each kind
/// of policy.
#[track_caller]
pub fn check_derivatives([relative, absolute]: [f64; 2], loss: impl Fn(&ActorCritic, &[Tensor], &Minibatch) -> Tensor) {
    for (space, sde) in kinds() {
        let net = net(space.clone(), vec![3], sde);
        let mut random = Threefry::new([1, u32::from(sde)]);
        let mut theta = net.layout.init(INIT);
        theta.iter_mut().for_each(|x| *x += 0.21 * random.normal());
        let batch = DrawnBatch::draw(&space, &mut random);
        // State-dependent noise stops the gradient at the features on purpose: only the slice of the noise is checked
        // there.
        let (fixed, free) = theta.split_at(if sde { theta.len() - 6 } else { 1 });
        let of_theta = |x: &[Tensor]| {
            let theta = Tensor::concat(&[Tensor::literal_f32(fixed).unsqueeze(0), x[0]], 1);
            loss(&net, &net.layout.split(theta), &batch.trace()).sum_all()
        };
        let point = [(vec![1, free.len()], free.to_vec())];
        check(of_theta, &point, 1, relative, absolute).unwrap();
        check(of_theta, &point, 2, 1e-4, 1e-6).unwrap();
    }
}
