//! The Rust names of the page, each in code that is compiled: the compiler checks that it is there, and its path.

use super::markdown::{names, sections};
use quickstudy_core::*;
use std::collections::BTreeSet;

/// Items by their paths.
macro_rules! items {
    ($($($part:ident)::+),+ $(,)?) => {
        mod imported {
            #![allow(unused_imports, reason = "the import is what is tried")]
            $(use quickstudy_core::$($part)::+ as _;)+
        }

        fn items() -> Vec<String> {
            vec![$([$(stringify!($part)),+].join("::")),+]
        }
    };
}

/// Fields, variants and methods of types, and methods of traits. `calls` has an expression for each method that has
/// types of its own.
macro_rules! members {
    ($(
        $kind:ident $($part:ident)::+ {
            $(fields $($field:ident)+;)?
            $(variants $($variant:ident)+;)?
            $(methods $($method:ident)+;)?
            $(calls $($call:ident = $value:expr),+;)?
        }
    )+) => {
        #[allow(unused, clippy::no_effect_underscore_binding, reason = "compiled, and never run")]
        fn compiled() {
            $({
                members!(@fields [$($part)::+] $($($field)+)?);
                members!(@variants [$($part)::+] $($($variant)+)?);
                members!(@methods $kind [$($part)::+] $($($method)+)?);
                $($(let _ = $value;)+)?
            })+
        }

        fn members() -> Vec<String> {
            let mut all = Vec::new();
            $({
                let owner = [$(stringify!($part)),+].join("::");
                let own: &[&str] = &[
                    $($(stringify!($field),)+)?
                    $($(stringify!($variant),)+)?
                    $($(stringify!($method),)+)?
                    $($(stringify!($call),)+)?
                ];
                all.extend(own.iter().map(|name| format!("{owner}::{name}")));
            })+
            all
        }
    };
    (@fields $path:tt $($field:ident)*) => { $(members!(@field $path $field);)* };
    (@field [$($part:ident)::+] $field:ident) => { let _ = |of: &$($part)::+| { let _ = &of.$field; }; };
    (@variants $path:tt $($variant:ident)*) => { $(members!(@variant $path $variant);)* };
    (@variant [$($part:ident)::+] $variant:ident) => {
        let _ = |of: &$($part)::+| matches!(of, $($part)::+::$variant { .. });
    };
    (@methods type $path:tt $($method:ident)*) => { $(members!(@method $path $method);)* };
    (@method [$($part:ident)::+] $method:ident) => { let _ = $($part)::+::$method; };
    (@methods trait [$($part:ident)::+] $($method:ident)*) => {
        fn of_trait<T: $($part)::+>() {
            $(let _ = T::$method;)*
        }
    };
}

items! {
    Device,
    algo::Algorithm,
    algo::CandidateSearch,
    algo::Learned,
    algo::Networks,
    algo::OffPolicy,
    algo::OffPolicyLearner,
    algo::Rollout,
    algo::svpg::bandwidth,
    algo::svpg::kernel,
    algo::svpg::repulsion,
    credit::Baseline,
    credit::Paths,
    credit::Processed,
    credit::Processor,
    credit::adjusted_rewards,
    credit::least_squares,
    credit::multi_feature,
    env::ActionSpace,
    env::Env,
    env::EnvSpec,
    host::BlockShape,
    host::Executor,
    host::Fleet,
    host::FleetSize,
    host::HostEnv,
    host::HostPath,
    host::IterativeExecutor,
    host::MetaSampler,
    host::OneOf,
    host::ParallelExecutor,
    host::Player,
    host::SUCCESS,
    host::Stepped,
    host::TaskPerEpisode,
    learn::Metrics,
    learn::PolyakConfig,
    learn::Turn,
    meta::Adaptive,
    meta::MetaAlgorithm,
    meta::MetaEvaluator,
    meta::Objective,
    meta::Performance,
    meta::Phase,
    meta::TestSizes,
    meta::TestTask,
    meta::pearl::ContextEncoder,
    meta::pearl::ContextPolicy,
    meta::pearl::PearlNets,
    meta::pearl::TaskMemory,
    meta::pearl::augmented,
    meta::rl2::TrialPolicy,
    meta::rl2::Trials,
    meta::rl2::augmented,
    optim::RmsPropConfig,
    optim::TrustRegion,
    optim::clip_by_norm,
    play::Iteration,
    play::Keys,
    play::Play,
    policy::Acting,
    policy::Disturbed,
    policy::EpsilonGreedy,
    policy::How,
    policy::Squashed,
    policy::Uniform,
    replay::Batch,
    replay::ReplayMemory,
    task::TaskSource,
    train::Adaptation,
    train::AdaptationStage,
    train::MetaTest,
    train::Row,
    train::Session,
}

/// Methods of environments are generic in their numbers.
#[allow(unused, clippy::no_effect_underscore_binding, reason = "compiled, and never run")]
fn of_env<E: env::Env, R: env::Real>() {
    let _ = (E::reset::<R>, E::sample_task::<R>, E::step::<R>, E::success::<R>);
}

members! {
    trait algo::Algorithm { methods entries iteration; }
    trait algo::CandidateSearch { methods ask tell; }
    trait algo::Learned { methods adapt course start; }
    trait algo::OffPolicy { methods update; }
    trait algo::OnPolicy { methods iteration; }
    type algo::Training { methods step; }
    type credit::Baseline { variants LinearFeature LinearTime MultiFeature Zero; methods asked fit_predict; }
    type credit::Paths { fields action agent_infos env_infos obs reward valid; }
    type credit::Processed { fields advantages paths returns; }
    type credit::Processor {
        fields baseline gae_lambda gamma normalise_advantages positive_advantages;
        methods advantages default dice process process_dice;
    }
    trait env::Env { calls reset = (), sample_task = (), step = (), success = (); }
    type env::EnvDef { methods with_time_limit; }
    type env::EnvSpec { fields horizon; methods with_time_limit; }
    trait host::Actor { methods act info; }
    type host::BlockShape { fields steps; }
    type host::EnvPlace { calls host = |spec| host::EnvPlace::host(spec, |_| Err(Error::Program(String::new()))); }
    trait host::Executor { methods reset set_tasks step; }
    type host::Fleet { fields envs_per_task horizon tasks; methods num_envs; }
    trait host::HostEnv { methods info reset sample_task set_task step; }
    type host::HostPath { fields agent_infos env_infos last_observation; }
    type host::MetaSampler { methods env_steps new obtain sample_tasks set_tasks; }
    type host::Padded { methods new; }
    type host::Player {
        calls begin = host::Player::<dyn host::Executor>::begin, play = host::Player::<dyn host::Executor>::play;
    }
    type host::Sampler { methods new; }
    type host::Stepped { fields last_observations terminated truncated; }
    type learn::Descent {
        calls run = |of: &learn::Descent<'_>, cx: &mut Context, trained, xs: &Tensor| {
            of.run(cx, trained, 1, xs, |_, x| learn::Look { loss: x, seen: tensor::Named::new() })
        };
    }
    trait learn::Turn { methods turn; }
    type meta::EpisodeOutcome { methods of; }
    type meta::InnerSteps { methods adapt; }
    trait meta::MetaAlgorithm { methods exploration_policy; }
    type meta::MetaEvaluator {
        fields n_exploration_eps n_test_episodes prefix test_task_names;
        methods evaluate;
    }
    trait meta::MetaPolicy { methods adapt; }
    type meta::Objective { variants LogLikelihoodExploring; }
    type meta::Performance { fields discounted_return episodes max mean min std; }
    type meta::Phase { fields adj_reward old; }
    type meta::TestSizes { fields n_exploration_eps n_test_episodes n_test_tasks; }
    type meta::pearl::Belief { methods draw; }
    type meta::pearl::ContextEncoder { methods after belief inputs nothing transitions; }
    type meta::pearl::PearlNets { methods layout; }
    type play::Iteration {
        methods tasks;
        calls episodes = |of: &mut play::Iteration<'_>, cast, tasks: &play::Tasks, key, amount| {
            of.episodes(cast, tasks, key, amount, 1_usize)
        };
    }
    type play::Play { methods begin go_on step; }
    type play::Steps { methods paths; }
    type policy::Acting { fields parts; }
    type policy::How { variants Exploit; }
    trait policy::Policy { methods act begin; }
    type replay::ReplayMemory { methods push sample; }
    type task::TaskSource { variants Fresh Pool; methods pick; }
    type train::Adaptation { fields tasks; }
    type train::AdaptationStage { fields paths; }
    type train::Evaluator { methods choose_particle load meta_algorithm; }
    type train::MetaTest { fields tasks; }
    type train::Session {
        methods done iteration iterations new parameters policy_snapshot restore snapshot step steps_made;
        calls run_to_end = |of: &mut train::Session| of.run_to_end(|_| ()),
            start_from = |of: &mut train::Session| of.start_from(train::Own::default(), &[]);
    }
    type train::Setup {
        calls resolve = |place: host::EnvPlace| train::Setup::resolve("ppo", place, &[0], None, &[]);
    }
}

#[test]
fn rust_names_of_the_page_are_those_that_are_compiled_here() {
    let page = super::page();
    let of_text = |text: &str| names(text).into_iter().filter_map(|name| name.path).collect::<Vec<_>>();
    let on_page: BTreeSet<String> =
        sections(&page).iter().flat_map(|section| section.ours().flat_map(|text| of_text(&text.text))).collect();
    let here: BTreeSet<String> = items().into_iter().chain(members()).collect();
    let unknown: Vec<_> = on_page.difference(&here).collect();
    assert!(unknown.is_empty(), "add these names of the page to the lists here, if they are right: {unknown:#?}");
    let gone: Vec<_> = here.difference(&on_page).collect();
    assert!(gone.is_empty(), "the page does not have these names of the lists here: {gone:#?}");
}
