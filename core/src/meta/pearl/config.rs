//! PEARL's settings.

use super::memory::TaskMemory;
use crate::learn::PolyakConfig;
use crate::nn::Activation;
use crate::policy::{LayersConfig, validate_widths};
use crate::settings::{Range, Settings};
use crate::{Error, Result};

/// The kinds of encoders of contexts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EncoderKind {
    /// Each transition has a vote of its own; their order does not matter.
    #[default]
    Mlp,
    /// Recurrent units read one transition after the other.
    Gru,
}

crate::words!(EncoderKind { Mlp = "mlp", Gru = "gru" });

/// Small values of the settings that only PEARL has.
pub(super) const SMALL: &str = "encoder_hidden_sizes = [8]\ntrain_tasks = 4\nnum_tasks_sample = 2\n\
num_initial_steps = 100\n\
    num_steps_prior = 100\nnum_extra_rl_steps_posterior = 0\nnum_steps_per_epoch = 2\nembedding_batch_size = 8\n\
    embedding_mini_batch_size = 8";

crate::settings! {
    /// Hyper-parameters of PEARL. Defaults are those of garage's and the authors' example of a cheetah's velocities,
    /// but with fewer initial steps and updates.
    pub struct PearlConfig {
        /// numbers of a belief's draw z
        latent_dim: usize = 5, Range::Count(1, 1024);
        /// widths of the encoder's hidden layers
        encoder_hidden_sizes: Vec<usize> = vec![200, 200, 200], Range::Widths;
        /// mlp: transitions in any order; gru: one after the other, by as many units as its last hidden layer has
        encoder: EncoderKind = EncoderKind::Mlp;
        /// the belief is a distribution that is held to the prior; otherwise one point
        use_information_bottleneck: bool = true;
        /// show the encoder what a step led to, as well
        use_next_obs_in_context: bool = false;
        /// weight of the belief's divergence from the prior
        kl_lambda: f64 = 0.1, Range::NotNegative;
        /// Adam's step size of the policy
        policy_lr: f64 = 3e-4, Range::Positive;
        /// Adam's step size of both critics
        qf_lr: f64 = 3e-4, Range::Positive;
        /// Adam's step size of the value function
        vf_lr: f64 = 3e-4, Range::Positive;
        /// Adam's step size of the encoder
        context_lr: f64 = 3e-4, Range::Positive;
        /// Adam's ε
        adam_eps: f64 = 1e-8, Range::Positive;
        /// weight of the square of the policy's means, before they are squashed
        policy_mean_reg_coeff: f64 = 1e-3, Range::NotNegative;
        /// weight of the square of the logarithms of its deviations
        policy_std_reg_coeff: f64 = 1e-3, Range::NotNegative;
        /// weight of the square of its draws, before they are squashed
        policy_pre_activation_coeff: f64 = 0.0, Range::NotNegative;
        /// The value function's target, which makes a step at each update.
        ..polyak: PolyakConfig;
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// factor of the rewards that are learned from: the inverse of a temperature
        reward_scale: f64 = 5.0, Range::Positive;
        /// learn from the environment's dense reward; the encoder sees the one that is paid
        ///
        /// `sparse_rewards` of the authors' code.
        dense_rewards: bool = false;
        /// training tasks, each with a memory of its own
        train_tasks: usize = 100, Range::Count(1, 1 << 16);
        /// tasks of an update, drawn anew each time
        meta_batch: usize = 16, Range::Count(1, 1 << 14);
        /// updates of an iteration
        num_steps_per_epoch: usize = 1000, Range::Count(1, 1 << 20);
        /// steps on each task before the first update, in whole episodes
        num_initial_steps: usize = 200, Range::Count(1, 1 << 20);
        /// tasks that an iteration collects on
        num_tasks_sample: usize = 5, Range::Count(1, 1 << 14);
        /// steps on each by draws from the prior, in whole episodes; 0: none
        num_steps_prior: usize = 400, Range::Count(0, 1 << 20);
        /// steps on each by draws from the belief, which go into the context; 0: none
        num_steps_posterior: usize = 0, Range::Count(0, 1 << 20);
        /// steps on each by draws from the belief, which do not go into the context; 0: none
        num_extra_rl_steps_posterior: usize = 600, Range::Count(0, 1 << 20);
        /// episodes by the belief after which it is inferred again
        update_post_train: usize = 1, Range::Count(1, 1 << 20);
        /// transitions of an update, of each task
        batch_size: usize = 256, Range::Count(1, 1 << 20);
        /// transitions of the context in an update, of each task, drawn with replacement
        embedding_batch_size: usize = 100, Range::Count(1, 1 << 20);
        /// transitions of the context that are read at once; each such part makes an update of its own
        embedding_mini_batch_size: usize = 100,
            Range::Shown(&Range::Count(1, 1 << 20), "it divides embedding_batch_size");
        /// transitions that are remembered of each task; never more than a run makes
        memory_size: usize = 1_000_000, Range::Count(1, TaskMemory::MOST as u64);
        /// episodes on a held-out task before the one that evaluations measure
        exploration_episodes: usize = 1, Range::Count(0, 99);
        /// The networks of policy, critics and value.
        ..net: LayersConfig = LayersConfig {
            hidden: vec![300, 300, 300],
            activation: Activation::Relu,
            orthogonal_init: false,
        };
    }
}

impl PearlConfig {
    /// Checks every value on its own and in combination.
    ///
    /// # Errors
    /// [`Error::Config`] that names the first setting that cannot work, and the remedy.
    pub fn validate(&self) -> Result<()> {
        self.check()?;
        self.net.validate()?;
        validate_widths("encoder_hidden_sizes", &self.encoder_hidden_sizes)?;
        if self.encoder == EncoderKind::Gru && self.encoder_hidden_sizes.is_empty() {
            return Err(Error::config("encoder_hidden_sizes", "a gru needs the width of one layer at least"));
        }
        let (whole, part) = (self.embedding_batch_size, self.embedding_mini_batch_size);
        if !whole.is_multiple_of(part) {
            let problem = format!("{part} does not divide embedding_batch_size = {whole}; try {whole}");
            return Err(Error::config("embedding_mini_batch_size", problem));
        }
        if self.num_steps_prior + self.num_steps_posterior == 0 {
            let problem = "0 steps, with num_steps_posterior = 0, leave nothing to infer from; give one of them steps";
            return Err(Error::config("num_steps_prior", problem));
        }
        Ok(())
    }
}
