//! Algorithms that learn from rollouts of their own policy.

mod baselines;
mod policy_gradient;
mod ppo;
mod recurrent;
mod svpg;
mod trpo;
mod whole_episodes;
