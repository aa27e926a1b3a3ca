//! An algorithm of one's own: REINFORCE with a learned baseline, trained on CartPole in a program and in environments of the host.
#![forbid(unsafe_code)]

use quickstudy_core::algo::{Algorithm, Arena, Held, Metrics, StateEntry, Training};
use quickstudy_core::dist::fold_in;
use quickstudy_core::env::{EnvSpec, builtin};
use quickstudy_core::host::{HostEnv, ParallelExecutor, Wrapped};
use quickstudy_core::learn::{Descent, Look};
use quickstudy_core::nn::{Activation, Layout, Mlp};
use quickstudy_core::optim::Adam;
use quickstudy_core::play::{Cast, Iteration};
use quickstudy_core::policy::{Acting, NetConfig, PolicyNet};
use quickstudy_core::task::TaskSource;
use quickstudy_core::tensor::{Loop, scan};
use quickstudy_core::{Device, Result, Tensor};

/// Whole episodes of each iteration.
const EPISODES: usize = 16;
const ITERATIONS: u64 = 60;

/// Williams 1992, doi:10.1007/BF00992696, with a value network as baseline: one gradient step on the episodes of an iteration.
#[derive(Debug)]
struct Reinforce {
    layout: Layout,
    policy: PolicyNet,
    value: Mlp,
    horizon: usize,
}

impl Reinforce {
    fn new(spec: &EnvSpec) -> Reinforce {
        let net = NetConfig {
            hidden: vec![32],
            activation: Activation::Tanh,
            orthogonal_init: true,
            log_std_init: 0.0,
            sde: false,
            normalise_observations: false,
        };
        let mut layout = Layout::new();
        let policy = PolicyNet::new(&mut layout, spec, &net);
        let value = Mlp::new(&mut layout, "value", 0, &[spec.observation.len(), 32, 1], Activation::Tanh, Some(1.0));
        Reinforce { layout, policy, value, horizon: spec.horizon }
    }
}

impl Algorithm for Reinforce {
    fn layout(&self) -> &Layout {
        &self.layout
    }
    fn entries(&self, _environment: Option<usize>) -> Vec<StateEntry> {
        StateEntry::learner(self.layout.len())
    }
    fn fleet(&self, seeds: usize) -> [usize; 3] {
        [seeds, EPISODES, self.horizon]
    }
    fn schedules(&self, _done: u64, _total: u64) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    fn iteration(&self, it: &mut Iteration<'_>, held: &Held) -> Metrics {
        let (seeds, theta) = (it.seeds(), held.get("theta"));
        let acting = Acting::of(&self.layout.split(theta));
        let cast = Cast { policy: &self.policy, acting: &acting, rows: [seeds, EPISODES] };
        let (tasks, key) = (it.tasks(TaskSource::Fresh, 1), fold_in(it.key(), it.number()));
        let steps = it.episodes(cast, &tasks, key, 1, self.horizon).steps;
        // G_t = r_t + γ G_t+1, from the last step to the first.
        let none = Tensor::zeros(&[seeds, EPISODES, 1]);
        let (_, returns) = scan(self.horizon, true, &[none], &[steps.reward], |_, later, reward| {
            let sum = reward[0] + later[0] * 0.99;
            Loop { carry: vec![sum], ys: vec![sum] }
        });
        // [T, S, N, ·] → [S, T · N, ·]
        let rows = |x: Tensor| x.permute(&[1, 0, 2, 3]).reshape(&[seeds, self.horizon * EPISODES, x.size(3)]);
        let (obs, action, returns, valid) =
            (rows(steps.obs), rows(steps.action), rows(returns[0]) * 0.01, rows(steps.valid.to_f32()));
        let count = valid.sum_keep(1);
        let mean = |x: Tensor| ((x * valid).sum_keep(1) / count).reshape(&[seeds, 1]);

        let descent = Descent {
            layout: &self.layout,
            optimiser: Adam::default(),
            learning_rate: Tensor::constant_f32(0.02),
            max_grad_norm: 0.5,
            sums: &["value_loss", "entropy"],
            stop: None,
            first_norm: false,
        };
        let end = descent.run(theta, held.adam(), 1, &(), |parts, ()| {
            let (policy, value) = (self.policy.distribution(parts, obs), self.value.forward(parts, obs));
            let advantage = (returns - value).stop_gradient();
            let scale = (mean(advantage.square()) + 1e-8).sqrt().unsqueeze(2);
            let value_loss = mean((returns - value).square());
            let loss = value_loss - mean(policy.log_prob(action) * advantage / scale);
            Look { loss, seen: [("value_loss", value_loss), ("entropy", mean(policy.entropy()))].into() }
        });
        for (name, value) in
            [("theta", end.theta), ("adam_m", end.adam.m), ("adam_v", end.adam.v), ("adam_scale", end.adam.scale)]
        {
            it.update(name, value);
        }
        let per_seed = |x: Tensor| x.reshape(&[seeds, EPISODES]).sum_keep(1);
        let paths = steps.paths();
        let episodes = Tensor::constant_f32(EPISODES as f64).broadcast_to(&[seeds, 1]);
        Metrics::of_episodes(episodes, per_seed(paths.path_returns()), per_seed(paths.path_lengths()))
            .and_all(descent.sums, end.averages())
            .and(Metrics::NON_FINITE, end.non_finite)
            .and(Metrics::UPDATES, end.updates)
    }
}

/// Mean returns of the episodes of each iteration and seed.
fn train(device: &Device, training: &mut Training) -> Result<Vec<Vec<f64>>> {
    let column = training.metric_names().iter().position(|name| name == Metrics::RETURN_SUM).unwrap_or(0);
    let width = training.metric_names().len();
    let mut returns = Vec::new();
    for done in 0..ITERATIONS {
        let metrics = pollster::block_on(training.step(done, ITERATIONS))?;
        let rows = pollster::block_on(device.read(&metrics))?;
        returns.push(rows.chunks(width).map(|row| row[column] / EPISODES as f64).collect());
    }
    Ok(returns)
}

fn main() -> Result<()> {
    let (device, env, seeds) = (Device::cpu(0), builtin("cartpole")?, [0, 1, 2]);
    let algorithm = || Box::new(Reinforce::new(env.spec()));
    let mut in_program = Training::new(&device, algorithm(), Arena::Device(&env), &seeds)?;
    let returns = train(&device, &mut in_program)?;
    for (at, name) in [(0, "first"), (returns.len() - 1, "last")] {
        println!("mean returns in the {name} iteration, by seed: {:.1?}", returns[at]);
    }
    assert!(returns[returns.len() - 1].iter().all(|mean| *mean > 300.0), "it learns");
    let make = |_| -> Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(&env))) };
    let executor = ParallelExecutor::new(seeds.len(), EPISODES, 0, 0, make)?;
    let mut on_host = Training::new(&device, algorithm(), Arena::Host(Box::new(executor)), &seeds)?;
    assert_eq!(returns, train(&device, &mut on_host)?, "environments of the host train the same parameters");
    println!("the same with environments of the host");
    Ok(())
}
