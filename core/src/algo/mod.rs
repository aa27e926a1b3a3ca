//! Algorithms by family, one per file, named as their papers, and the contract that all keep.

mod contract;
pub mod off_policy;
pub mod on_policy;
pub mod search;

pub use crate::learn::Metrics;
pub use crate::optim::Trained;
pub use a2c::{A2C, A2c, A2cConfig};
pub use ars::{ARS, Ars, ArsConfig};
pub use cem::{CEM, Cem, CemConfig};
pub use cma_es::{CMA_ES, CmaEs, CmaEsConfig};
pub use contract::{
    Algorithm, AlgorithmDef, Configure, Course, Family, First, Held, IntoAlgorithm, Learned, Numbers, ParameterGroups,
    Relation, StateEntry, Statistics, Training, update_parameters,
};
use contract::{Count, RunningEpisodes};
pub(crate) use contract::{MOMENTS, resized};
pub use ddpg::{DDPG, DdpgConfig};
pub use dql::{DQL, DqlConfig};
pub use dqn::{DQN, DqnConfig};
pub use nop::{NOP, Nop, NopConfig};
pub use off_policy::{ddpg, deterministic, dql, dqn, q_learning, sac, td3};
pub use on_policy::{ActorCritic, OnPolicy, OnPolicyLearner, Sampling, a2c, ppo, svpg, trpo, vpg};
pub use openai_es::{OPENAI_ES, OpenAiEs, OpenAiEsConfig};
pub use ppo::{PPO, PPO2, Ppo, PpoConfig};
pub use sac::{SAC, Sac, SacConfig};
pub use search::{ars, cem, cma_es, nop, openai_es};
pub use svpg::{SVPG, Svpg, SvpgConfig};
pub use td3::{TD3, Td3Config};
pub use trpo::{TRPO, Trpo, TrpoConfig};
pub use vpg::{VPG, Vpg, VpgBaseline, VpgConfig};
