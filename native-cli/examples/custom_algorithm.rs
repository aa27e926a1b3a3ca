//! An algorithm of one's own: REINFORCE with a learned baseline, trained on CartPole in a program and in environments
//! of the host.
//!
//! With arguments it is the whole command line, which knows the algorithm:
//! `custom_algorithm train reinforce --env acrobot`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use quickstudy_core::algo::{
    Algorithm, AlgorithmDef, Course, Family, Held, Learned, Metrics, StateEntry, update_parameters,
};
use quickstudy_core::dist::fold_in;
use quickstudy_core::env::{EnvSpec, builtin};
use quickstudy_core::host::{EnvPlace, FleetSize, HostEnv, ParallelExecutor, Wrapped};
use quickstudy_core::learn::{Descent, Look};
use quickstudy_core::nn::{Layout, Mlp};
use quickstudy_core::optim::Adam;
use quickstudy_core::play::{Amount, Cast, Iteration};
use quickstudy_core::policy::{Acting, NetConfig, Policy, PolicyNet};
use quickstudy_core::settings::{Range, Settings as _};
use quickstudy_core::task::TaskSource;
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::train::{Evaluator, Layer, Own, Session, Setup};
use quickstudy_core::{Device, Result, Tensor, settings};

settings! {
    /// Settings of REINFORCE.
    struct ReinforceConfig {
        /// Adam's step size
        learning_rate: f64 = 0.02, Range::Positive;
        /// whole episodes in each iteration
        episodes: usize = 16, Range::Count(1, 1 << 16);
        /// discount of later rewards
        gamma: f64 = 0.99, Range::Unit;
        /// The networks of policy and baseline.
        ..net: NetConfig = NetConfig::hidden(vec![32]);
    }
}

/// The algorithm as lists, help and sessions know it.
static REINFORCE: AlgorithmDef = AlgorithmDef::new::<ReinforceConfig>(
    "reinforce",
    "REINFORCE with a learned baseline (doi:10.1007/BF00992696)",
    Family::SingleTask,
    |settings, spec| Ok(Box::new(Reinforce::new(ReinforceConfig::default().with(settings)?, spec)?)),
);

/// Williams 1992, with a value network as baseline: one gradient step on the episodes of an iteration.
#[derive(Debug)]
struct Reinforce {
    config: ReinforceConfig,
    layout: Layout,
    policy: PolicyNet,
    value: Mlp,
    horizon: usize,
}

impl Reinforce {
    fn new(config: ReinforceConfig, spec: &EnvSpec) -> Result<Reinforce> {
        config.net.validate()?;
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, spec, &config.net);
        let net = &config.net.layers;
        let sizes = [&[spec.observation.len()], &net.hidden[..], &[1]].concat();
        let value = Mlp::new(&mut layout, "value", 0, &sizes, net.activation, net.orthogonal_init.then_some(1.0));
        Ok(Reinforce { config, layout, policy, value, horizon: spec.horizon })
    }
}

impl Learned for Reinforce {
    fn policy(&self) -> Box<dyn Policy + '_> {
        Box::new(self.policy.clone())
    }
    fn course(&self) -> Course {
        Course::fixed(self.horizon, self.config.gamma)
    }
    fn start(&self, held: &Held, _tasks: usize) -> Acting {
        Acting::of(&self.layout.split(held.theta()))
    }
}

impl Algorithm for Reinforce {
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn entries(&self, _environment: Option<usize>) -> Vec<StateEntry> {
        StateEntry::learner(self.layout.len())
    }
    fn fleet(&self, seeds: usize) -> FleetSize {
        FleetSize { tasks: seeds, envs_per_task: self.config.episodes, horizon: self.horizon }
    }
    fn batch(&self) -> u64 {
        (self.config.episodes * self.horizon) as u64
    }
    fn counts_steps(&self) -> bool {
        true
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let (seeds, n) = (it.seeds(), self.config.episodes);
        let cast = Cast { policy: &self.policy, acting: &self.start(held, 1), rows: [seeds, n] };
        let (tasks, key) = (it.tasks(TaskSource::Fresh, 1), fold_in(it.key(), it.number()));
        let steps = it.episodes(cast, &tasks, key, Amount::Episodes(1), self.horizon).steps;
        // G_t = r_t + γ G_t+1, from the last step to the first.
        let none = Tensor::zeros(&[seeds, n, 1]);
        let (_, returns) = scan(self.horizon, true, &[none], &[steps.reward], |_, later, reward| {
            let sum = reward[0] + later[0] * self.config.gamma;
            Loop { carry: vec![sum], ys: vec![sum] }
        });
        // [T, S, N, ·] → [S, T · N, ·]
        let rows = |x: Tensor| x.permute(&[1, 0, 2, 3]).reshape(&[seeds, self.horizon * n, x.size(3)]);
        let (obs, action, returns, valid) =
            (rows(steps.obs), rows(steps.action), rows(returns[0]) * 0.01, rows(steps.valid.to_f32()));
        let count = valid.sum_keep(1);
        let mean = |x: Tensor| ((x * valid).sum_keep(1) / count).reshape(&[seeds, 1]);

        let descent = Descent {
            layout: &self.layout,
            optimiser: Adam::default().into(),
            learning_rate: Tensor::constant_f32(self.config.learning_rate),
            max_grad_norm: 0.5,
            sums: &["value_loss", "entropy"],
            stop: None,
        };
        let end = descent.run(it.context(), held.trained(), 1, &(), |parts, ()| {
            let (policy, value) = (self.policy.distribution(parts, obs), self.value.forward(parts, obs));
            let advantage = (returns - value).stop_gradient();
            let scale = (mean(advantage.square()) + 1e-8).sqrt().unsqueeze(2);
            let value_loss = mean((returns - value).square());
            let loss = value_loss - mean(policy.log_prob(action) * advantage / scale);
            Look { loss, seen: [("value_loss", value_loss), ("entropy", mean(policy.entropy()))].into() }
        });
        update_parameters(it, end.trained);
        let per_seed = |x: Tensor| x.reshape(&[seeds, n]).sum_keep(1);
        let (paths, episodes) = (steps.paths(), Tensor::constant_f32(n as f64).broadcast_to(&[seeds, 1]));
        let made = per_seed(paths.path_lengths());
        Metrics::of_episodes(episodes, per_seed(paths.path_returns()), made)
            .sum(Metrics::STEPS, made)
            .with(descent.means(&end))
            .with(end.counts())
    }
}

fn main() -> ExitCode {
    if std::env::args().len() > 1 {
        return quickstudy::cli::main_with(Vec::new(), vec![&REINFORCE]);
    }
    match demonstrate() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Trains to the end: the metric of that name, by iteration and seed; seeds that have made their steps have none.
fn train(session: &mut Session, metric: &str) -> Result<Vec<Vec<f64>>> {
    let mut all = Vec::new();
    let of = |row: &Vec<(String, f64)>| row.iter().find(|(name, _)| name == metric).map_or(f64::NAN, |(_, x)| *x);
    session.run_to_end(|rows| all.push(rows.iter().map(of).collect()))?;
    Ok(all)
}

fn demonstrate() -> Result<()> {
    let (device, env, seeds) = (Device::cpu(0), builtin("cartpole")?, [0, 1, 2]);
    // Settings are checked, each on its own.
    let wrong = Layer { origin: "example".to_owned(), settings: toml::from_str("gamma = 2").unwrap_or_default() };
    let refused = Setup::resolve(&REINFORCE, env.clone(), &seeds, None, &[wrong]).err().map(|error| error.to_string());
    assert_eq!(refused.as_deref(), Some("gamma: 2 is not in 0 to 1"));

    // Three seeds, stacked in one program.
    let setup = Setup::resolve(&REINFORCE, env.clone(), &seeds, Some(480_000), &[])?;
    let mut session = Session::new(&device, &setup)?;
    let returns = train(&mut session, "rollout/ep_return_mean")?;
    println!("mean returns of the last hundred episodes, by seed: {:.1?}", returns[returns.len() - 1]);
    assert!(returns[returns.len() - 1].iter().all(|mean| *mean > 300.0), "it learns");

    // Half of it, a snapshot, and the other half: the same bits.
    let mut half = Session::new(&device, &setup)?;
    while half.iteration() < returns.len() as u64 / 2 {
        half.step_blocking()?;
    }
    let algorithms = [&REINFORCE];
    let own = || Own { algorithms: &algorithms, ..Own::default() };
    let snapshots = seeds.iter().enumerate().map(|(i, _)| pollster::block_on(half.snapshot(i)));
    let snapshots = snapshots.collect::<Result<Vec<_>>>()?;
    let snapshots: Vec<&[u8]> = snapshots.iter().map(Vec::as_slice).collect();
    let mut resumed = Session::restore_with(&device, own(), &snapshots)?;
    assert_eq!(train(&mut resumed, "rollout/ep_return_mean")?[..], returns[returns.len() / 2..]);
    let last = pollster::block_on(resumed.snapshot(0))?;
    assert!(last == pollster::block_on(session.snapshot(0))?, "a resumed run ends with the same bytes");

    // A policy that is evaluated without the session.
    let mut policy = Evaluator::load_with(&device, own(), &last)?;
    let episodes = pollster::block_on(policy.evaluate(100, 7, true))?;
    let mean = episodes.iter().map(|episode| episode.ret).sum::<f64>() / 100.0;
    println!("mean return of 100 episodes of the first seed's deterministic actions: {mean:.1}");

    // The same algorithm with environments of the host.
    let place = EnvPlace::host(env.spec().clone(), move |FleetSize { tasks, envs_per_task, horizon }| {
        let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
        Ok(Box::new(ParallelExecutor::new(tasks, envs_per_task, horizon, 0, make)?))
    });
    let setup = Setup::resolve(&REINFORCE, place, &seeds, Some(48_000), &[])?;
    let on_host = train(&mut Session::new(&device, &setup)?, "rollout/ep_return_mean")?;
    // The shorter run is the beginning of the longer one, until its first seed has made its steps.
    let together = on_host.iter().take_while(|of_seeds| of_seeds.len() == seeds.len()).count();
    assert!(together > 1, "seeds make as many steps at first");
    assert_eq!(on_host[..together], returns[..together], "environments of the host train the same parameters");
    println!("the same returns with environments of the host");
    Ok(())
}
