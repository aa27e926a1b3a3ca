//! The iteration of algorithms that search by populations.

use std::fmt::Debug;

use super::Population;
use crate::algo::{Algorithm, Course, First, Held, Learned, Metrics, StateEntry, Statistics, Together};
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::host::FleetSize;
use crate::nn::Layout;
use crate::optim::Progress;
use crate::play::{Cast, Iteration, Steps, Totals, row_keys};
use crate::policy::{Acting, How, NetConfig, Normalised, Policy, PolicyNet};
use crate::rng::streams;
use crate::tensor::{Named, Tree as _};
use crate::{DType, Result, Tensor};

/// An algorithm that searches for parameters by playing candidates: its settings, the candidates that it asks for, and
/// how it learns from their returns.
///
/// The P parameters that are searched for are the first ones of θ: all of them, except for the deviation of actions if
/// candidates do not draw actions.
pub trait CandidateSearch: Debug {
    /// Checks every setting, alone and in combination, for P parameters.
    ///
    /// # Errors
    /// [`crate::Error::Config`] with the first setting that cannot work and what to do about it.
    fn validate(&self, parameters: usize) -> Result<()>;

    /// The settings of how candidates are played.
    fn population(&self) -> &Population;

    /// The settings of the policy's network.
    fn net(&self) -> &NetConfig;

    /// n, the number of candidates.
    fn candidates(&self) -> usize {
        self.population().n_samples
    }

    /// The entries that the search keeps from one iteration to the next besides θ, where P of `all` parameters in θ are
    /// searched for.
    fn entries(&self, parameters: usize, all: usize) -> Vec<StateEntry>;

    /// True if policies see observations standardised by running statistics of all earlier ones.
    fn normalises(&self) -> bool {
        false
    }

    /// Asks for candidates around `theta: [S, P]`, `[S, n, P]`; `key`, words `[S, 1]`, names the random numbers of this
    /// iteration's candidates.
    fn ask(&self, it: &mut Iteration<'_>, held: &Held, theta: Tensor, key: [Tensor; 2]) -> Tensor;

    /// Learns from the returns of the candidates, and updates the search's own entries.
    fn tell(&self, it: &mut Iteration<'_>, held: &Held, asked: &Asked) -> Told;

    /// Values that follow a schedule in the next iteration, by the names of their metrics.
    fn schedules(&self, _at: Progress) -> Vec<(&'static str, f64)> {
        Vec::new()
    }
}

/// Candidates that were played.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// The parameters around which they were asked for, `[S, P]`.
    pub theta: Tensor,
    /// The candidates, `[S, n, P]`.
    pub candidates: Tensor,
    /// Their mean returns, `[S, n]`; a return that is not finite counts as the lowest number.
    pub returns: Tensor,
    /// The key of their random numbers, words `[S, 1]`.
    pub key: [Tensor; 2],
}

/// The result of a search's step.
#[derive(Clone, Debug)]
pub struct Told {
    /// The parameters by which the policy acts from now on, `[S, P]`.
    pub theta: Tensor,
    /// Metrics of the step.
    pub metrics: Metrics,
}

/// An algorithm that searches by `C` for the parameters of a policy.
#[derive(Clone, Debug)]
pub struct PopulationLearner<C> {
    search: C,
    searched: SearchedPolicy,
}

/// The policy for whose parameters a search looks, without the search: compiled once for all.
#[derive(Clone, Debug)]
struct SearchedPolicy {
    policy: PolicyNet,
    layout: Layout,
    /// P, the number of parameters that are searched for.
    parameters: usize,
    /// The most steps of an episode.
    horizon: usize,
}

/// Sums over the episode of each row, `[K, N, …]`.
#[derive(Clone, Copy, Debug)]
struct Played {
    totals: Totals,
    /// Sums of observations less the running mean, and of the squares of these, if statistics are kept.
    seen: Option<[Tensor; 2]>,
}

crate::tree!(Played: totals, seen);

impl<C: CandidateSearch + Clone> PopulationLearner<C> {
    /// Makes the algorithm for an environment. If that has many tasks, each episode draws a new one.
    ///
    /// # Errors
    /// If a setting is invalid, or does not fit the environment.
    pub fn new(search: &C, spec: &EnvSpec) -> Result<Self> {
        Ok(PopulationLearner { search: search.clone(), searched: SearchedPolicy::new(search, spec)? })
    }
}

impl SearchedPolicy {
    fn new(search: &dyn CandidateSearch, spec: &EnvSpec) -> Result<SearchedPolicy> {
        search.net().validate()?;
        search.population().validate(search.candidates(), spec.horizon)?;
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, spec, search.net());
        let deviation = layout.slices().find(|(name, _, _)| *name == "policy.log_std").map(|(_, _, at)| at);
        let parameters = deviation.filter(|_| search.population().deterministic).unwrap_or(layout.len());
        search.validate(parameters)?;
        Ok(SearchedPolicy { policy, layout, parameters, horizon: spec.horizon })
    }

    /// The values by which policies act. `theta: [S, M, P']` has all of θ for M policies per seed, and `values` are per
    /// seed.
    fn acting(&self, theta: Tensor, values: &Named) -> Acting {
        let shape = theta.shape();
        let [s, m, p] = shape[..] else { return Acting::of(&self.layout.split(theta)) };
        let rows = |x: Tensor| {
            let width = x.size(1);
            x.unsqueeze(1).broadcast_to(&[s, m, width]).reshape(&[s * m, width])
        };
        Acting {
            parts: self.layout.split(theta.reshape(&[s * m, p])),
            values: values.iter().map(|(name, value)| (name, rows(value))).collect(),
        }
    }

    /// Plays the episodes of the candidates `[S, n, P]`, and sums over each: `[S · n, E, …]`.
    fn play(
        &self,
        population: &Population,
        it: &mut Iteration<'_>,
        held: &Held,
        candidates: Tensor,
        key: [Tensor; 2],
    ) -> Played {
        let (seeds, all_candidates) = (candidates.size(0), candidates.size(1));
        let keys = row_keys(key, all_candidates);
        // Each rank plays its part of the candidates; where they do not divide, the last ones play some twice.
        let part = RankPart::new(it.rank(), all_candidates);
        let (candidates, keys, n) = match it.ranks() {
            1 => (candidates, keys, all_candidates),
            _ => (part.of(candidates), keys.map(|words| part.of_rows(words, seeds)), part.each),
        };
        let Population { episodes, deterministic, .. } = *population;
        let rows = [seeds * n, episodes];
        let (p, all) = (self.parameters, self.layout.len());
        let rest = || held.theta().slice(1, p, all).unsqueeze(1).broadcast_to(&[seeds, n, all - p]);
        let theta = if p == all { candidates } else { Tensor::concat(&[candidates, rest()], 2) };
        let acting = self.acting(theta, &Statistics::acting(held));
        let mean = acting.values.find(Normalised::MEAN).map(|mean| mean.unsqueeze(1));
        let policy = Normalised(&self.policy);
        let none_seen = Tensor::zeros(&[rows[0], rows[1], self.policy.observations()]);
        let first = Played { totals: Totals::none(&rows), seen: mean.map(|_| [none_seen; 2]) };
        let how = if deterministic { How::Exploit } else { How::Explore };
        let cast = Cast { policy: &policy, acting: &acting, rows };
        let played = it.fold((cast, how), keys, self.horizon, &first, |played: &Played, step: &Steps| Played {
            totals: played.totals.add(step),
            seen: played.seen.zip(mean).map(|([sum, squares], mean)| {
                let d = step.obs - mean;
                [sum + d, squares + d.square()]
            }),
        });
        if it.ranks() == 1 {
            return played;
        }
        let of_all = it.of_ranks(&played.flat());
        played.with(&of_all.into_iter().map(|x| part.joined(x, seeds)).collect::<Vec<_>>())
    }

    /// Merges the observations of all candidates into the statistics.
    fn keep_statistics(&self, it: &mut Iteration<'_>, held: &Held, played: &Played, steps: Tensor) {
        let (Some(moments), Some(seen)) = (Statistics::OBSERVATIONS.find(held), played.seen) else { return };
        let (seeds, o) = (it.seeds(), self.policy.observations());
        let [d, squares] = seen.map(|x| x.reshape(&[seeds, x.len() / (seeds * o), o]).sum_keep(1).reshape(&[seeds, o]));
        let d = d / steps;
        let var = (squares / steps - d.square()).max(Tensor::constant_f32(0.0));
        let next = moments.merge_moments(moments.mean + d, var, steps);
        Statistics::OBSERVATIONS.keep(it, &next);
    }

    /// Entries of the state: a key, θ, those of the search, and statistics of observations.
    fn entries(&self, search: &dyn CandidateSearch) -> Vec<StateEntry> {
        let all = self.layout.len();
        let mut entries = vec![
            StateEntry::new("key", &[2], DType::U32).from(First::Key),
            StateEntry::new("theta", &[all], DType::F32).from(First::Parameters(0)),
        ];
        entries.extend(search.entries(self.parameters, all));
        if search.normalises() {
            entries.extend(Statistics::OBSERVATIONS.entries(self.policy.observations()));
        }
        entries
    }

    /// One iteration: the search asks for candidates, they play, and it is told their returns.
    fn iteration(&self, search: &dyn CandidateSearch, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let key = fold_in(fold_in(it.key(), Tensor::constant_u32(streams::EXPLORATION)), it.number());
        let stream = |number: u32| fold_in(key, Tensor::constant_u32(number));
        let (p, all) = (self.parameters, self.layout.len());
        let (all_parameters, key) = (held.theta(), stream(0));
        let theta = all_parameters.slice(1, 0, p);
        let candidates = search.ask(it, held, theta, key);
        let played = self.play(search.population(), it, held, candidates, stream(1));

        let (seeds, n, each) = (it.seeds(), candidates.size(1), search.population().episodes);
        let by_seed = |x: Tensor| x.reshape(&[seeds, n * each]);
        let of_episodes = played.totals.returns;
        let mean = of_episodes.sum.sum_keep(1).reshape(&[seeds, n]) * (1.0 / each as f64);
        // As if it were the worst of all: a search ranks it last, and metrics leave it out.
        let (broken_return, none) = (mean.non_finite(), Tensor::constant_f32(Metrics::NONE));
        let returns = broken_return.select(none, mean);
        let Told { theta: new, metrics } = search.tell(it, held, &Asked { theta, candidates, returns, key });
        // Parameters that are not finite are dropped.
        let broken = new.non_finite().to_f32().max_keep(1);
        let kept = broken.gt(Tensor::constant_f32(0.0)).select(theta, new);
        let kept = if p == all { kept } else { Tensor::concat(&[kept, all_parameters.slice(1, p, all)], 1) };
        it.update("theta", kept);

        let lengths = by_seed(played.totals.lengths.to_f32());
        let (episodes, steps) = (of_episodes.map(by_seed), lengths.sum_keep(1));
        self.keep_statistics(it, held, &played, steps);
        let count = Tensor::full(&[seeds, 1], (n * each) as f64);
        let zero = Tensor::constant_f32(0.0);
        let sound = broken_return.not();
        let weight = sound.to_f32().sum_keep(1);
        let share = weight.max(Tensor::constant_f32(1.0)).recip();
        let mean = sound.select(returns, zero).sum_keep(1) * share;
        let deviation = (sound.select(returns - mean, zero).square().sum_keep(1) * share).sqrt();
        let measured = |x: Tensor| weight.gt(zero).select(x, none);
        Metrics::of_episodes(count, episodes.sum.sum_keep(1), steps)
            .returns(episodes, n * each)
            .sum(Metrics::STEPS, steps)
            .last("population/return_best", returns.max_keep(1))
            .last("population/return_mean", measured(mean))
            .last("population/return_std", measured(deviation))
            .with(metrics)
            .sum(Metrics::NON_FINITE, broken)
            .sum(Metrics::UPDATES, 1.0 - broken)
    }
}

/// The candidates that a rank plays.
#[derive(Clone, Copy, Debug)]
struct RankPart {
    /// The number of the rank, and R, the number of ranks.
    rank: [usize; 2],
    /// n, the number of all candidates of a seed.
    all: usize,
    /// m, the number of candidates of a seed that each rank plays: n / R, rounded up.
    each: usize,
}

impl RankPart {
    fn new(rank: [usize; 2], all: usize) -> RankPart {
        RankPart { rank, all, each: all.div_ceil(rank[1]) }
    }

    /// The rank's part of what is of all candidates: `[S, n, …]` → `[S, m, …]`.
    #[track_caller]
    fn of(&self, x: Tensor) -> Tensor {
        let [rank, _] = self.rank;
        let place = |i: usize| (rank * self.each + i).min(self.all - 1);
        let parts: Vec<Tensor> = match rank * self.each + self.each <= self.all {
            true => vec![x.slice(1, place(0), place(0) + self.each)],
            false => (0..self.each).map(|i| x.slice(1, place(i), place(i) + 1)).collect(),
        };
        Tensor::concat(&parts, 1)
    }

    /// As [`of`](RankPart::of), of rows: `[S · n, 1]` → `[S · m, 1]`.
    #[track_caller]
    fn of_rows(&self, x: Tensor, seeds: usize) -> Tensor {
        self.of(x.reshape(&[seeds, self.all])).reshape(&[seeds * self.each, 1])
    }

    /// Puts the parts of all ranks in order: `[R, S · m, …]` → `[S · n, …]`.
    #[track_caller]
    fn joined(&self, x: Tensor, seeds: usize) -> Tensor {
        let (RankPart { rank: [_, ranks], all, each }, shape) = (*self, x.shape());
        let rest = shape.get(2..).unwrap_or_default();
        let width = rest.iter().product();
        let by_seed = x.reshape(&[ranks, seeds, each, width]).permute(&[1, 0, 2, 3]);
        let by_seed = by_seed.reshape(&[seeds, ranks * each, width]).slice(1, 0, all);
        by_seed.reshape(&[&[seeds * all], rest].concat())
    }
}

/// The settings that the memory of a run grows with, by their keys.
fn sizes(population: &Population, net: &NetConfig) -> Vec<(&'static str, usize)> {
    let Population { n_samples, episodes, .. } = *population;
    let hidden = net.layers.hidden.iter().copied().max().unwrap_or(0);
    vec![("n_samples", n_samples), ("episodes", episodes), ("hidden", hidden)]
}

impl<C: CandidateSearch> Learned for PopulationLearner<C> {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(Normalised(&self.searched.policy))
    }

    fn course(&self) -> Course {
        Course::fixed(self.searched.horizon, 1.0)
    }

    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        self.searched.acting(held.theta().unsqueeze(1), &Statistics::acting(held))
    }
}

impl<C: CandidateSearch> Algorithm for PopulationLearner<C> {
    fn layout(&self) -> &Layout {
        &self.searched.layout
    }

    fn entries(&self, _: Option<usize>) -> Vec<StateEntry> {
        self.searched.entries(&self.search)
    }

    fn fleet(&self, seeds: usize) -> FleetSize {
        let (tasks, envs_per_task) = (seeds * self.search.candidates(), self.search.population().episodes);
        FleetSize { tasks, envs_per_task, horizon: self.searched.horizon }
    }

    fn batch(&self) -> u64 {
        (self.search.candidates() * self.search.population().episodes * self.searched.horizon) as u64
    }

    fn counts_steps(&self) -> bool {
        true
    }

    fn together(&self) -> Together {
        Together::Candidates
    }

    fn policy_entries(&self) -> Vec<&'static str> {
        Statistics::policy_entries(self.search.normalises())
    }

    fn sizes(&self) -> Vec<(&'static str, usize)> {
        sizes(self.search.population(), self.search.net())
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        self.searched.iteration(&self.search, it, held)
    }

    fn schedules(&self, at: Progress) -> Vec<(&'static str, f64)> {
        self.search.schedules(at)
    }
}

impl<C: CandidateSearch> PopulationLearner<C> {
    /// The search with its settings.
    pub fn search(&self) -> &C {
        &self.search
    }
}
