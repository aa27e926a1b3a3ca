//! Parameters, methods and attributes of the originals: the page has each, in a column that is not ours.

use super::markdown::{names, sections};

/// Classes with their constructors' parameters, their methods, and results by name.
const ORIGINALS: &[(&str, &str)] = &[
    (
        "garage PEARL",
        "env inner_policy qf vf num_train_tasks num_test_tasks latent_dim encoder_hidden_sizes test_env_sampler \
         policy_class encoder_class policy_lr qf_lr vf_lr context_lr policy_mean_reg_coeff policy_std_reg_coeff \
         policy_pre_activation_coeff soft_target_tau kl_lambda optimizer_class use_information_bottleneck \
         use_next_obs_in_context meta_batch_size num_steps_per_epoch num_initial_steps num_tasks_sample \
         num_steps_prior num_steps_posterior num_extra_rl_steps_posterior batch_size embedding_batch_size \
         embedding_mini_batch_size max_path_length discount replay_buffer_size reward_scale update_post_train \
         sampler train adapt_policy get_exploration_policy to policy networks augment_env_spec get_env_spec \
         reset_belief sample_from_belief infer_posterior detach_z",
    ),
    ("garage PEARLWorker", "seed worker_number deterministic accum_context rollout start_rollout step_rollout"),
    ("oyster", "sparse_rewards num_exp_traj_eval num_steps_per_eval dump_eval_paths"),
    (
        "metarl np.algos",
        "RLAlgorithm MetaRLAlgorithm NOP CEM CMAES OffPolicyRLAlgorithm init_opt optimize_policy train_once \
         log_diagnostics sampler_cls env_spec policy baseline n_samples discount init_std best_frac extra_std \
         extra_decay_time sigma0 qf replay_buffer use_target steps_per_epoch max_eval_path_length n_train_steps \
         buffer_batch_size min_buffer_size rollout_batch_size reward_scale smooth_return exploration_policy \
         process_samples undiscounted_returns success_history complete",
    ),
    (
        "Pyrado Algorithm",
        "snapshot_mode latest best no seed meta_info save_dir logger save_snapshot load_snapshot init_modules \
         warmstart prefix suffix policy_param_init clip_grad max_iter curr_iter reset step update max_grad_norm lr \
         lr_scheduler lr_scheduler_hparam num_workers min_rollouts min_steps ParallelRolloutSampler expl_strat",
    ),
    (
        "Pyrado actors and critics",
        "ActorCritic A2C PPO PPO2 GAE vfcn gamma lamda num_epoch batch_size standardize_adv standardizer \
         RunningStandardizer tdlamda_returns use_empirical_returns eps_clip vfcn_coeff entropy_coeff std_init std_min",
    ),
    (
        "Pyrado value-based",
        "ValueBased DQL SAC ReplayMemory memory_size eps_init eps_schedule_gamma num_updates_per_step \
         target_update_intvl num_init_memory_steps use_trained_policy_for_refill eval_intvl tau ent_coeff_init \
         learn_ent_coeff standardize_rew rew_scale ActNormWrapper ent_coeff sample_w_next push soft_update",
    ),
    (
        "Pyrado SVPG",
        "SVPG particle num_particles temperature horizon iter_particles load_particle kernel OptimizerHook \
         iter_steps empty zero_grad real_step",
    ),
    (
        "garage RL2",
        "RL2Env RL2Worker RL2PPO RL2TRPO n_episodes_per_trial max_episode_length task_sampler meta_batch_size \
         episodes_per_trial gae_lambda center_adv positive_adv fixed_horizon lr_clip_range max_kl_step \
         optimizer_args policy_ent_coeff use_softplus_entropy use_neg_logli_entropy stop_entropy_gradient \
         entropy_method meta_evaluator n_epochs_per_eval kl_constraint batch_idx max_optimization_epochs tolerance \
         NoResetPolicy RL2AdaptedPolicy",
    ),
    (
        "garage GaussianGRUPolicy and optimisers",
        "GaussianGRUPolicy hidden_dim hidden_state_init_trainable learn_std std_share_network init_std \
         layer_normalization state_include_action ConjugateGradientOptimizer cg_iters reg_coeff subsample_factor \
         backtrack_ratio max_backtracks accept_violation hvp_approach num_slices FiniteDifferenceHVP base_eps \
         symmetric PearlmutterHVP PenaltyLbfgsOptimizer FirstOrderOptimizer",
    ),
    (
        "garage MetaEvaluator and task samplers",
        "MetaEvaluator test_task_sampler n_exploration_eps n_test_tasks n_test_episodes prefix test_task_names \
         worker_class worker_args evaluate SetTaskSampler env_constructor wrapper ConstructEnvsSampler \
         EnvPoolSampler grow_pool MetaWorldTaskSampler add_env_onehot n_workers normalize DefaultWorker",
    ),
    (
        "ProMP samplers",
        "Sampler MetaSampler rollouts_per_meta_task meta_batch_size max_path_length envs_per_task parallel \
         update_tasks obtain_samples log_prefix total_timesteps_sampled PolicyExecTime EnvExecTime \
         MetaIterativeEnvExecutor MetaParallelEnvExecutor num_envs set_tasks reset step sample_tasks set_task \
         get_task switch_to_pre_update update_task_parameters get_actions normalization_scale scale_reward",
    ),
    (
        "ProMP processors",
        "SampleProcessor MetaSampleProcessor DiceSampleProcessor DiceMetaSampleProcessor baseline discount \
         gae_lambda normalize_adv positive_adv return_baseline process_samples observations actions rewards returns \
         advantages env_infos agent_infos mask adjusted_rewards adj_avg_rewards AverageDiscountedReturn \
         AverageReturn NumTrajs StdReturn MaxReturn MinReturn ZeroBaseline LinearTimeBaseline LinearFeatureBaseline \
         LinearMultiFeatureBaseline fit predict",
    ),
    (
        "ProMP and garage meta-algorithms",
        "ProMP TRPOMAML VPGMAML DICEMAML VPG_DICEMAML MAMLPPO MAMLVPG MAMLTRPO inner_lr outer_lr num_grad_updates \
         num_inner_grad_steps num_ppo_steps clip_eps init_inner_kl_penalty target_inner_step \
         adaptive_inner_kl_penalty anneal_factor trainable_inner_step_size step_size exploration num_minibatches \
         DifferentiableSGD",
    ),
];

#[test]
fn the_page_has_each_parameter_of_the_originals() {
    let page = super::page();
    let sections = sections(&page);
    let cells = sections.iter().flat_map(|section| &section.rows).flat_map(|row| &row.theirs);
    let spans: Vec<String> = cells.flat_map(|cell| names(cell)).map(|name| name.code).collect();
    let has = |word: &str| {
        let is_word = |span: &String| span.split(|c: char| !c.is_alphanumeric() && c != '_').any(|part| part == word);
        spans.iter().any(is_word)
    };
    let missing: Vec<String> = ORIGINALS
        .iter()
        .flat_map(|(of, words)| words.split(' ').filter(|word| !has(word)).map(move |word| format!("{of}: {word}")))
        .collect();
    assert!(missing.is_empty(), "docs/names.md has no row of these: {missing:#?}");
}
