//! The objective of meta-training: the loss of adapted policies on fresh data, as a function of the shared parameters.

use super::adapt::{Adapted, InnerSteps};
use super::surrogate::{Phase, Surrogate, clipped, surrogate, weighted};
use crate::Tensor;
use crate::meta::per_task;
use crate::settings::{Range, SettingValue as _};
use crate::tensor::require;

/// The outer loss of an adapted policy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Objective {
    /// −mean(ln π · A), or the DICE objective where the inner loss is DICE.
    PolicyGradient,
    /// −mean(ln π · A), for any inner loss.
    LogLikelihood,
    /// −mean(ln π · A) − mean(adjusted rewards) · mean(ln π of the data before adaptation), the second term as in
    /// [`RatioExploring`](Objective::RatioExploring).
    LogLikelihoodExploring,
    /// −mean(π/π_old · A), for trust regions.
    Ratio,
    /// −mean(π/π_old · A) − mean(adjusted rewards) · mean(ln π of the data before adaptation): E-MAML,
    /// arXiv:1803.01118, in the form of ProMP's authors.
    RatioExploring,
    /// PPO's clipped objective with this ε.
    Clipped(f64),
    /// PPO's clipped objective with an ε that changes, `[]`.
    ClippedBy(Tensor),
}

/// The value of a meta-objective, and the intermediate results that are reported.
#[derive(Clone, Debug)]
pub struct MetaLoss {
    /// The loss, `[S, 1]`: each seed's mean over its tasks.
    pub loss: Tensor,
    /// KL(old ‖ current) on the data before each inner step, `[S, 1]` each.
    pub inner_kl: Vec<Tensor>,
    /// KL(old ‖ adapted) on the data of the last phase, `[S, 1]`.
    pub outer_kl: Tensor,
    /// The parameters before each inner step and after the last one.
    pub adapted: Adapted,
}

/// The meta-objective at `parts: [S, …]` on the data of all phases, the last of which adapted policies collected.
///
/// It adapts `parts` to each task anew, by one inner step per phase but the last.
#[track_caller]
pub fn meta_loss(objective: Objective, steps: &InnerSteps<'_>, parts: &[Tensor], phases: &[Phase]) -> MetaLoss {
    let policy = steps.policy;
    let seeds = parts.first().map_or(1, |p| p.size(0));
    let Some((last, inner)) = phases.split_last() else {
        let none = Tensor::poison();
        return MetaLoss { loss: none, inner_kl: Vec::new(), outer_kl: none, adapted: Adapted { parts: Vec::new() } };
    };
    let tasks = last.obs.size(0) / seeds;
    let shared = per_task(parts, tasks);
    let adapted = steps.adapt(&shared, inner);
    let mean = |x: Tensor| x.reshape(&[seeds, tasks]).sum_keep(1) * (1.0 / tasks as f64);
    let inner_kl = inner.iter().zip(&adapted.parts);
    let inner_kl = inner_kl.map(|(phase, parts)| mean(phase.kl(&policy.distribution(parts, phase.obs)))).collect();
    let of_tasks = match objective {
        Objective::Clipped(eps) => {
            require(Range::Fraction.check("clip_eps", &eps.to_value()));
            clipped(policy, adapted.last(), last, |r| r.clamp(1.0 - eps, 1.0 + eps))
        }
        Objective::ClippedBy(eps) => clipped(policy, adapted.last(), last, |r| r.max(-eps + 1.0).min(eps + 1.0)),
        Objective::PolicyGradient if steps.loss == Surrogate::Dice => {
            surrogate(steps.loss, policy, adapted.last(), last)
        }
        Objective::PolicyGradient | Objective::LogLikelihood | Objective::LogLikelihoodExploring => {
            surrogate(Surrogate::LogLikelihood, policy, adapted.last(), last)
        }
        Objective::Ratio | Objective::RatioExploring => {
            surrogate(Surrogate::LikelihoodRatio, policy, adapted.last(), last)
        }
    };
    let of_tasks = match (objective, inner.first()) {
        (Objective::RatioExploring | Objective::LogLikelihoodExploring, Some(first)) => {
            let logp = policy.distribution(&shared, first.obs).log_prob(first.action);
            of_tasks - weighted(last.adj_reward, last.weight) * weighted(logp, first.weight)
        }
        _ => of_tasks,
    };
    let outer_kl = mean(last.kl(&policy.distribution(adapted.last(), last.obs)));
    MetaLoss { loss: mean(of_tasks), inner_kl, outer_kl, adapted }
}
