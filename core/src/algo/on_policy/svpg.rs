//! Stein Variational Policy Gradient.
//!
//! Liu et al. 2017, arXiv:1704.02399, eq. 10: each of n policies, the particles, follows the gradients of all
//! particles, more those of nearer ones, and is driven away from the others. With gradients of losses L, which are
//! minimised,
//!
//! φ_i = 1/n Σ_j [k(x_j, x_i) ∇L_j / τ − k(x_j, x_i) (x_i − x_j) / h²],  k(x, y) = exp(−‖x − y‖² / 2h²)
//!
//! A particle is the learner of an on-policy algorithm, with its own environments, value function and optimiser. All
//! particles of all seeds are rows of one program; φ replaces the gradient before the optimiser's step.
//!
//! Particles of TRPO make a step of a trust region by φ. The paper's φ is a direction by gradients, from which any rule
//! may make steps, and Pyrado's `SVPG` replaces the gradient and leaves the rule as it is: conjugate gradients get φ
//! instead of the surrogate's gradient, and the KL limits a particle's step at any temperature. The surrogate alone
//! would refuse steps that lead away from others at the cost of return, so the line search lowers the function whose
//! gradient is φ: the surrogate plus, linear in the step, all other terms of n τ φ, in which the own gradient has the
//! weight 1.
//! Departures from the paper, each with its reason:
//!  1. only the policy's parameters are turned: value functions are no samples of a distribution
//!  2. k and φ change with every step of an optimiser, as in Pyrado's `SVPG`, also within the passes over one rollout
//!  3. h² is half of the median of all n² squared distances over ln(n + 1), zeros included, as in Pyrado; there is no
//!     annealing
//!  4. Pyrado's gradient of the kernel sums over all particles with the wrong sign, so that they
//!     attract each other; this one is the paper's
//!  5. the policy that is played and kept is the best particle: the one with the highest mean return of about its last
//!     hundred episodes
//!
//! A single particle is its underlying algorithm, bit for bit. A gradient that is not finite drops the step of all
//! particles of its seed.

mod config;
mod stein;

pub use config::{ParticleUpdate, SvpgConfig};
pub use stein::{Stein, bandwidth, direction, kernel, repulsion, squared_distances};

use std::rc::Rc;

use super::{OnPolicy, OnPolicyLearner};
use crate::algo::search::order;
use crate::algo::{Algorithm, AlgorithmDef, Course, Family, First, Held, Learned, Metrics, Numbers, StateEntry};
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::learn::Turn;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::Iteration;
use crate::policy::{Acting, Policy};
use crate::settings::Settings as _;
use crate::{DType, Result, Tensor};

/// The number of episodes over which a particle's return is averaged.
const EPISODES: f64 = 100.0;

/// SVPG in the register.
pub static SVPG: AlgorithmDef = AlgorithmDef {
    presets: crate::algo::presets!("svpg/presets.toml"),
    small: "num_particles = 2",
    ..AlgorithmDef::new::<SvpgConfig>(
        "svpg",
        "Stein Variational Policy Gradient: particles that stay apart (arXiv:1704.02399)",
        Family::SingleTask,
        |settings, spec| Ok(Box::new(Svpg::of_settings(&SvpgConfig::default().with(settings)?, spec)?)),
    )
};

/// SVPG on an environment.
pub type Svpg = Particles<SvpgConfig>;

/// Particles of the on-policy algorithm `C`, as rows of one program.
#[derive(Clone, Debug)]
pub struct Particles<C> {
    learner: OnPolicyLearner<C>,
    /// n, the number of particles.
    count: usize,
    /// The slices of all particles' parameters, one particle behind the other.
    layout: Layout,
    stein: Stein,
    turn: Rc<dyn Turn>,
    /// The particle that acts when policies are played; none for the best one.
    chosen: Option<usize>,
}

impl Svpg {
    /// Makes SVPG for an environment. If that has many tasks, each episode draws a new one.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn of_settings(config: &SvpgConfig, spec: &EnvSpec) -> Result<Svpg> {
        Particles::new(config, config.num_particles, config.temperature, spec)
    }
}

impl<C: OnPolicy> Particles<C> {
    /// Makes `count` particles that share a temperature, each an algorithm with these settings.
    ///
    /// # Errors
    /// If a setting is invalid or does not fit the environment.
    pub fn new(config: &C, count: usize, temperature: f64, spec: &EnvSpec) -> Result<Particles<C>> {
        let learner = OnPolicyLearner::new(config, spec)?;
        let mut layout = Layout::new();
        (0..count).for_each(|i| layout.append_as(&format!("particle.{i}."), &learner.net().layout));
        let stein = Stein { particles: count, temperature, values: learner.net().value_places() };
        Ok(Particles { learner, count, layout, turn: Rc::new(stein.clone()), stein, chosen: None })
    }

    /// Moves the particles by another direction than Stein's.
    #[must_use]
    pub fn turned_by(self, turn: Rc<dyn Turn>) -> Particles<C> {
        Particles { turn, ..self }
    }

    /// The direction of the particles' steps.
    pub fn stein(&self) -> &Stein {
        &self.stein
    }

    /// The state with each particle as a seed of its own: `[S, n · A, …]` → `[S · n, A, …]`.
    fn by_particle(&self, held: &Held) -> Held {
        held.map(|name, x| match (self.of_particles(name), &x.shape()[..]) {
            (true, [seeds, all, rest @ ..]) => x.reshape(&[&[seeds * self.count, all / self.count], rest].concat()),
            _ => x,
        })
    }

    /// Tells whether an entry has a part for each particle's learner.
    fn of_particles(&self, name: &str) -> bool {
        !["key", RETURNS, ENDED].contains(&name)
    }

    /// The mean returns of the particles, `[S, n]`; the lowest number before a particle's first episode has ended.
    fn scores(&self, held: &Held) -> Tensor {
        let none = Tensor::constant_f32(f64::from(f32::MIN));
        held.get(ENDED).gt(Tensor::constant_f32(0.0)).select(held.get(RETURNS), none)
    }

    /// The state of each seed's acting particle, `[S, A, …]`: the chosen one, or else the best, and the first of equal
    /// ones.
    fn acting(&self, held: &Held) -> Held {
        if self.count == 1 {
            return held.clone();
        }
        if let Some(chosen) = self.chosen {
            return held.map(|name, x| match (self.of_particles(name), &x.shape()[..]) {
                (true, [_, all, ..]) => x.slice(1, chosen * (all / self.count), (chosen + 1) * (all / self.count)),
                _ => x,
            });
        }
        let best = order(self.scores(held)).eq(Tensor::constant_f32(0.0)).unsqueeze(2);
        held.map(|name, x| match (self.of_particles(name), &x.shape()[..]) {
            (true, [seeds, all, rest @ ..]) => {
                let (n, width) = (self.count, x.len() / (seeds * self.count).max(1));
                let own = best.select(x.reshape(&[*seeds, n, width]), Tensor::constant_f32(0.0)).sum_keep(1);
                own.reshape(&[&[*seeds, all / n], rest].concat())
            }
            _ => x,
        })
    }

    /// Counts the episodes of an iteration from the particles' metrics, and gives further metrics of these.
    fn count_returns(&self, it: &mut Iteration<'_>, held: &Held, metrics: &Metrics) -> Metrics {
        let (seeds, n) = (it.seeds(), self.count);
        let of = |name| metrics.find(name).unwrap_or(Tensor::poison()).reshape(&[seeds, n]);
        let (count, sum) = (of(Metrics::EPISODES), of(Metrics::RETURN_SUM));
        let one = Tensor::constant_f32(1.0);
        let ended = (held.get(ENDED) + count).min(Tensor::constant_f32(EPISODES));
        let share = count / ended.max(count).max(one);
        let before = held.get(RETURNS);
        let returns = before + (sum / count.max(one) - before) * share;
        it.update(RETURNS, returns);
        it.update(ENDED, ended);
        let none = Tensor::constant_f32(Metrics::NONE);
        let best = ended.gt(Tensor::constant_f32(0.0)).select(returns, none).max_keep(1);
        let distance = self.stein.mean_distance(held.theta().reshape(&[seeds * n, self.layout.len() / n]));
        Metrics::default().last("particles/return_best", best).last("particles/distance", distance)
    }
}

/// The entry of the particles' mean returns.
const RETURNS: &str = "particle_returns";

/// The entry of the numbers of episodes in the particles' mean returns.
const ENDED: &str = "particle_episodes";

impl<C: OnPolicy + 'static> Learned for Particles<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        self.learner.policy()
    }

    fn course(&self) -> Course {
        self.learner.course()
    }

    fn start(&self, held: &Held, tasks: usize) -> Acting {
        self.learner.start(&self.acting(held), tasks)
    }

    fn particles(&self) -> Vec<Rc<dyn Algorithm>> {
        (0..self.count).map(|i| Rc::new(Particles { chosen: Some(i), ..self.clone() }) as Rc<dyn Algorithm>).collect()
    }
}

impl<C: OnPolicy + 'static> Algorithm for Particles<C> {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    fn entries(&self, environment: Option<usize>) -> Vec<StateEntry> {
        let mut entries = self.learner.entries(environment);
        for entry in entries.iter_mut().filter(|entry| entry.first != First::Key) {
            entry.shape[0] *= self.count;
        }
        let of = |name| StateEntry::new(name, &[self.count], DType::F32).statistics();
        entries.extend([of(RETURNS), of(ENDED).holding(Numbers::up_to(EPISODES as u64))]);
        entries
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        self.learner.fleet(seeds * self.count)
    }

    fn batch(&self) -> u64 {
        self.learner.batch() * self.count as u64
    }

    fn most(&self, iterations: u64) -> u64 {
        self.learner.most(iterations).saturating_mul(self.count as u64)
    }

    fn counts_steps(&self) -> bool {
        self.learner.counts_steps()
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        let mut entries = self.learner.policy_entries();
        entries.extend([RETURNS, ENDED]);
        entries
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        let mut sizes = self.learner.sizes();
        sizes.insert(0, ("num_particles", self.count));
        sizes
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let turn = (self.count > 1).then_some(&*self.turn);
        let particles = self.by_particle(held);
        let metrics = it.by_groups(self.count, |it| self.learner.iterate(it, &particles, turn));
        let more = self.count_returns(it, held, &metrics);
        metrics.of_groups(self.count).with(more)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.learner.schedules(at)
    }
}
