//! The loops that play: memories, lasting noise, and the same steps in programs and on the host.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::RowNoise;
use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Real, Scene, Step, builtin};
use quickstudy_core::host::{EnvPlace, Executor, HostEnv, IterativeExecutor, MetaSampler, Wrapped};
use quickstudy_core::meta::PearlConfig;
use quickstudy_core::meta::pearl::{EncoderKind, PearlNets};
use quickstudy_core::play::{
    ActorSpec, Amount, Cast, Experience, Iteration, Keys, Play, PolicyActor, Stage, Until, row_keys,
};
use quickstudy_core::policy::{Act, Acting, Feedback, How, LayersConfig, Policy, Uniform};
use quickstudy_core::program::Segments;
use quickstudy_core::rng::key_from_seed;
use quickstudy_core::task::TaskSource;
use quickstudy_core::tensor::Named;
use quickstudy_core::{Device, Program, State, Tensor};
use quickstudy_tests::trainings::wait;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pushes at random, and counts the steps and rewards of the running episode.
#[derive(Debug)]
struct Counts;

impl Policy for Counts {
    fn begin(&self, _: &Acting, [k, n]: [usize; 2], _: Option<&Named>, _: &RowNoise) -> Named {
        Named::from([("steps", Tensor::zeros(&[k, n, 1])), ("rewards", Tensor::zeros(&[k, n, 1]))])
    }

    fn act(&self, _: &Acting, _: Tensor, memory: &Named, lasting: Option<Tensor>, noise: &RowNoise, how: How) -> Act {
        let action = match how {
            How::Recorded(action) => action,
            _ => (noise.uniform() * 2.0).floor(),
        };
        let extras = Named::from([
            ("steps", memory.get("steps")),
            ("rewards", memory.get("rewards")),
            ("lasting", lasting.unwrap_or(Tensor::zeros(&action.shape()))),
        ]);
        // The other order than that of `begin`: what is remembered goes by its name.
        let memory = Named::from([("rewards", memory.get("rewards")), ("steps", memory.get("steps") + 1.0)]);
        Act { action, played: action, memory, extras }
    }

    fn observe(&self, _: &Acting, memory: &Named, outcome: &Feedback) -> Named {
        memory.clone().and("rewards", memory.get("rewards") + outcome.reward)
    }

    fn lasting(&self, _: &Acting, noise: &RowNoise) -> Option<Tensor> {
        Some(noise.normal(1))
    }
}

const ROWS: [usize; 2] = [2, 5];

/// Outputs of a program that plays, by name.
fn run(env: &EnvDef, trace: impl FnOnce(&Play<'_>) -> Experience) -> Vec<(String, Vec<f64>)> {
    let device = Device::cpu(1);
    let mut program = Program::new(&device, |cx| {
        let keys = Keys::of([3, 4].map(Tensor::constant_u32).map(|word| word + Tensor::iota(&[ROWS[0], 1], 0)));
        let acting = Acting::default();
        let play = Play { env, policy: &Counts, acting: &acting, how: How::Explore, rows: ROWS, tasks: None, keys };
        let played = trace(&play);
        let steps = played.steps;
        let ended = steps.terminated.bit_or(steps.truncated);
        for (name, x) in [("action", steps.action), ("obs", steps.obs), ("reward", steps.reward)] {
            cx.output(name, x);
        }
        cx.output("ended", ended.to_f32());
        cx.output("valid", steps.valid.to_f32());
        for name in ["steps", "rewards", "lasting"] {
            cx.output(name, steps.extras.get(name));
        }
        cx.output("memory", played.next.memory.get("steps"));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    out.iter().map(|(name, array)| (name.to_owned(), wait(device.read(array)))).collect()
}

fn get<'a>(all: &'a [(String, Vec<f64>)], name: &str) -> &'a [f64] {
    &all.iter().find(|(known, _)| known == name).unwrap().1
}

#[test]
fn memories_begin_anew_with_each_episode_and_lasting_noise_lasts() {
    let env = builtin("cartpole").unwrap();
    let count = ROWS[0] * ROWS[1];
    let mut actions = Vec::new();
    for (span, lasting) in [(60, None), (60, Some(0)), (20, Some(0)), (20, Some(20)), (10, Some(30))] {
        let all = run(&env, |play| play.go_on(play.begin(), Until { steps: 60, span, lasting }));
        let (ended, noise) = (get(&all, "ended"), get(&all, "lasting"));
        let mut expected = vec![0.0; count];
        let mut ends = 0;
        for t in 0..60 {
            for row in 0..count {
                let at = t * count + row;
                assert_eq!(get(&all, "steps")[at], expected[row]);
                assert_eq!(get(&all, "rewards")[at], expected[row], "cartpole pays 1 each step");
                expected[row] = if ended[at] == 1.0 { 0.0 } else { expected[row] + 1.0 };
                ends += usize::from(ended[at] == 1.0);
                let first = match lasting {
                    None => 0.0,
                    Some(0) => noise[row],
                    Some(lasts) => noise[t / lasts * lasts * count + row],
                };
                assert_eq!(noise[at], first);
            }
        }
        assert!(ends > count, "random pushes let it fall again and again");
        assert_eq!(get(&all, "memory"), expected);
        let drawn = noise.windows(1).map(|x| x[0].to_bits()).collect::<std::collections::HashSet<_>>().len();
        let expected = match lasting {
            None => 1,
            Some(0) => count,
            Some(lasts) => count * 60 / lasts,
        };
        assert_eq!(drawn, expected, "{span} {lasting:?}");
        actions.push(get(&all, "action").to_vec());
    }
    // What is drawn does not depend on how time is divided.
    assert!(actions.windows(2).all(|pair| pair[0] == pair[1]));
}

#[test]
fn a_policy_with_a_memory_plays_the_same_episodes_on_the_host_bit_for_bit() {
    let env = builtin("cartpole").unwrap();
    let device = Device::cpu(1);
    let count = ROWS[0] * ROWS[1];
    for episodes in [1, 3] {
        let horizon = 120;
        let all = run(&env, |play| play.episodes(Amount::Episodes(episodes), episodes * horizon));
        let make = |_| -> quickstudy_core::Result<Box<dyn quickstudy_core::host::HostEnv>> {
            Ok(Box::new(Wrapped::new(&env)))
        };
        let executor = IterativeExecutor::new(ROWS[0], ROWS[1], 0, make).unwrap();
        let sizes = [ROWS[0], ROWS[1], 4, 1];
        let spec = ActorSpec { policy: &Counts, sizes, how: How::Explore, lasting: false, info: &["steps", "rewards"] };
        let mut actor = PolicyActor::new(&device, spec, &|_: &mut quickstudy_core::Context| Acting::default()).unwrap();
        let mut sampler = MetaSampler::episodes(Box::new(executor), episodes);
        let keys: Vec<[u32; 2]> = (0..ROWS[0] as u32).map(|k| [3 + k, 4 + k]).collect();
        let samples = wait(sampler.obtain(&mut actor, &keys));
        let mut played = 0;
        for row in 0..count {
            let paths = samples.tasks[row / ROWS[1]].iter().filter(|path| path.copy == row % ROWS[1]);
            let mut t = 0;
            for path in paths {
                for step in 0..path.len() {
                    let at = t * count + row;
                    assert_eq!(get(&all, "valid")[at], 1.0);
                    assert_eq!(get(&all, "action")[at], path.actions[step]);
                    assert_eq!(get(&all, "obs")[at * 4..][..4], path.observations[step * 4..][..4]);
                    assert_eq!(get(&all, "steps")[at], path.agent_infos[2 * step]);
                    assert_eq!(get(&all, "rewards")[at], path.agent_infos[2 * step + 1]);
                    t += 1;
                }
                played += 1;
            }
            assert_eq!(get(&all, "valid")[t * count + row], 0.0, "the rest is padding");
            assert_eq!(get(&all, "reward")[t * count + row], 0.0, "the rest is padding");
        }
        assert_eq!(played, episodes * count);
    }
}

/// Whole episodes by an iteration of two seeds with so many tasks each, whose environments are in the
/// program or on the host: outputs by name.
fn iterated(
    env: &EnvDef,
    (policy, acting): (&dyn Policy, &dyn Fn() -> Acting),
    (tasks, amount): (usize, Amount),
    on_host: bool,
) -> Vec<(String, Vec<f64>)> {
    let device = Device::cpu(1);
    let make = |_| -> quickstudy_core::Result<Box<dyn HostEnv>> { Ok(Box::new(Wrapped::new(env))) };
    // Each task of a seed is a group of its own; where there is one only, several environments play it.
    let rows = if tasks == 1 { ROWS } else { [2 * tasks, 1] };
    let executor = IterativeExecutor::new(rows[0], rows[1], 0, make).unwrap();
    let spec = executor.fleet().spec.clone();
    // Who plays is the stage's business.
    let nobody = |_| Err(quickstudy_core::Error::Program("there is an executor".to_owned()));
    let place = if on_host { EnvPlace::host(spec, nobody) } else { EnvPlace::from(env) };
    let mut acts = Vec::new();
    let mut segments = Segments::new(&device, |cx| {
        let words: Vec<u32> = [0, 1].map(|word| [0, 1].map(|seed| key_from_seed(seed)[word])).concat();
        let words = Tensor::literal_u32(&words).reshape(&[2, 2, 1]);
        let key = [0, 1].map(|word| words.slice(0, word, word + 1).reshape(&[2, 1]));
        let mut it = Iteration::new(cx, &place, key, Tensor::constant_u32(1)).acting_on(&device);
        let drawn = it.tasks(TaskSource::Fresh, tasks);
        let cast = Cast { policy, acting: &acting(), rows };
        let steps = it.episodes(cast, &drawn, row_keys(key, tasks), amount, amount.most(env.spec().horizon)).steps;
        acts = it.into_acts();
        for (name, x) in [("action", steps.action), ("obs", steps.obs), ("next_obs", steps.next_obs)] {
            cx.output(name, x);
        }
        cx.output("reward", steps.reward);
        cx.output("ended", steps.terminated.bit_or(steps.truncated).to_f32());
        cx.output("valid", steps.valid.to_f32());
        cx.output("episode", steps.episode.to_f32());
        steps.extras.iter().filter(|(name, _)| *name == "steps").for_each(|(name, x)| cx.output(name, x));
    })
    .unwrap();
    assert_eq!(acts.len(), usize::from(on_host), "the host plays once, if it does");
    let mut stage = Stage::new(&device, Some(Box::new(executor)), [0, 1].map(key_from_seed).to_vec(), vec![acts]);
    stage.iteration = 1;
    let out = wait(segments.run(&State::new(), &[], &mut stage));
    out.iter().map(|(name, array)| (name.to_owned(), wait(device.read(array)))).collect()
}

#[test]
fn a_policy_that_infers_its_task_plays_the_same_episodes_on_the_host_bit_for_bit() {
    let env = builtin("point-robot").unwrap();
    for encoder in [EncoderKind::Mlp, EncoderKind::Gru] {
        let config = PearlConfig { encoder, encoder_hidden_sizes: vec![8], ..PearlConfig::default() };
        let nets =
            PearlNets::new(&PearlConfig { net: LayersConfig { hidden: vec![8], ..config.net }, ..config }, env.spec());
        let nets = nets.unwrap();
        let theta: Vec<f64> = (0..6).flat_map(|row| nets.layout().init([row, 1])).collect();
        let acting = || Acting {
            parts: nets.acting_parts(Tensor::literal_f32(&theta).reshape(&[6, nets.layout().len()])),
            values: nets.encoder.nothing([6, 1]),
        };
        // Three episodes of 20 steps of each of three tasks.
        let run = |infers, on_host| iterated(&env, (&nets.policy(infers), &acting), (3, Amount::Steps(41)), on_host);
        for infers in [None, Some(1), Some(2)] {
            let [here, there] = [false, true].map(|on_host| run(infers, on_host));
            for name in ["valid", "episode", "obs", "action", "reward", "next_obs"] {
                let of = |all| get(all, name).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(of(&here), of(&there), "{name}, {encoder:?}, {infers:?}");
            }
            assert_eq!(get(&here, "valid").iter().sum::<f64>(), 6.0 * 60.0);
            if infers == Some(1) {
                assert_ne!(get(&here, "action"), get(&run(None, false), "action"), "it matters what is inferred");
            }
        }
    }
}

#[test]
fn whole_episodes_are_played_until_there_are_so_many_steps_here_and_on_the_host_alike() {
    let (env, count) = (builtin("cartpole").unwrap(), ROWS[0] * ROWS[1]);
    for (enough, episodes) in [(1, 0), (25, 0), (60, 0), (60, 2), (25, 1)] {
        let amount = match episodes {
            0 => Amount::Steps(enough),
            episodes => Amount::AtLeast { episodes, steps: enough },
        };
        let run = |on_host| iterated(&env, (&Counts, &Acting::default), (1, amount), on_host);
        let [here, there] = [false, true].map(run);
        // A time limit of 500 steps may begin one step before there is enough.
        assert_eq!(get(&here, "valid").len(), amount.most(500) * count);
        assert_eq!(get(&here, "valid"), get(&there, "valid"));
        let mut numbers = Vec::new();
        for row in 0..count {
            // Lengths of the episodes that count.
            let (mut lengths, mut running) = (Vec::new(), 0);
            for (t, valid) in get(&here, "valid").iter().skip(row).step_by(count).enumerate() {
                let at = t * count + row;
                if *valid == 0.0 {
                    assert_eq!([get(&here, "reward")[at], get(&there, "reward")[at]], [0.0; 2]);
                    continue;
                }
                assert_eq!(lengths.iter().sum::<usize>() + running, t, "what counts comes first");
                assert_eq!(get(&here, "episode")[at], lengths.len() as f64);
                assert_eq!(get(&here, "steps")[at], running as f64, "memories begin anew with each episode");
                for (name, width) in [
                    ("action", 1),
                    ("obs", 4),
                    ("next_obs", 4),
                    ("reward", 1),
                    ("ended", 1),
                    ("episode", 1),
                    ("steps", 1),
                ] {
                    let of =
                        |all| get(all, name)[at * width..][..width].iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                    assert_eq!(of(&here), of(&there), "{name} of step {t}");
                }
                running += 1;
                if get(&here, "ended")[at] == 1.0 {
                    lengths.push(std::mem::take(&mut running));
                }
            }
            assert_eq!(running, 0, "episodes are whole");
            let total: usize = lengths.iter().sum();
            let last = lengths.last().unwrap();
            assert!(
                total >= enough && lengths.len() >= episodes,
                "{lengths:?} for {enough} steps and {episodes} episodes"
            );
            assert!(total - last < enough || lengths.len() <= episodes, "{lengths:?} for {enough} steps");
            numbers.push(lengths.len());
        }
        match enough {
            1 => assert!(numbers.iter().all(|episodes| *episodes == 1)),
            _ => assert!(numbers.iter().any(|episodes| *episodes > 1), "{numbers:?}"),
        }
        if enough == 60 {
            assert!(numbers.iter().any(|episodes| *episodes != numbers[0]), "{numbers:?}");
        }
    }
}

#[test]
fn an_amount_of_steps_is_whole_episodes() {
    // Most, where the last episode begins one step before there is enough; and as planned where all are as long as they
    // may be.
    let of = |amount: Amount| [amount.most(20), amount.planned(20)];
    assert_eq!(of(Amount::Steps(0)), [0, 0]);
    assert_eq!(of(Amount::Steps(1)), [20, 20]);
    assert_eq!(of(Amount::Steps(20)), [39, 20]);
    assert_eq!(of(Amount::Steps(21)), [40, 40]);
    assert_eq!(of(Amount::Episodes(3)), [60, 60]);
    assert_eq!(of(Amount::AtLeast { episodes: 3, steps: 21 }), [60, 60]);
    assert_eq!(of(Amount::AtLeast { episodes: 1, steps: 21 }), [40, 40]);
    assert_eq!(of(Amount::AtLeast { episodes: 0, steps: 20 }), [39, 20]);
}

/// Calls of [`Short`]'s step, each for one or several rows.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// Falls over after as many steps as it was given at first, 3 to 6, although it could take 10,000.
struct Short;

quickstudy_core::fields! {
    struct Left {
        /// Steps that are left.
        left
    }
}

impl Env for Short {
    type State<R: Real> = Left<R>;

    fn spec(&self) -> EnvSpec {
        EnvSpec::new("short", vec![Dim::unbounded("left")], ActionSpace::discrete(&["wait", "see"]), 10_000)
    }

    #[inline(always)]
    fn reset<R: Real>(&self, _task: &[R], rng: &mut Draws<R>) -> Left<R> {
        Left { left: rng.range(3.0, 6.0) }
    }

    #[inline(always)]
    fn step<R: Real>(&self, s: Left<R>, _action: &[R], _task: &[R], _rng: &mut Draws<R>) -> Step<R, Self> {
        CALLS.fetch_add(1, Ordering::Relaxed);
        let left = s.left - R::lit(1.0);
        Step { next: Left { left }, reward: left, terminated: left.lt(R::lit(0.0)) }
    }

    #[inline(always)]
    fn observe<R: Real>(&self, s: &Left<R>, _task: &[R], out: &mut [R]) {
        out[0] = s.left;
    }

    fn draw(&self, _state: &[f32], _task: &[f32]) -> Scene {
        Scene::new([0.0, 1.0, 0.0, 1.0])
    }
}

#[test]
fn playing_one_episode_each_stops_when_all_have_ended() {
    let env = EnvDef::new(Short).unwrap();
    let rows = [2, 300];
    let play = |device: &Device| {
        let mut program = Program::new(device, |cx| {
            let keys = Keys::of([3, 4].map(Tensor::constant_u32).map(|word| word + Tensor::iota(&[2, 1], 0)));
            let (policy, acting) = (Uniform::new(&env.spec().action), Acting::default());
            let play = Play { env: &env, policy: &policy, acting: &acting, how: How::Explore, rows, tasks: None, keys };
            let totals = play.totals(10_000);
            cx.output("returns", totals.returns.sum);
            cx.output("lengths", totals.lengths.to_f32());
            cx.output("terminated", totals.terminated.to_f32());
            let steps = play.episodes(Amount::Episodes(1), 10).steps;
            cx.output("returns again", steps.paths().path_returns());
            cx.output("lengths again", steps.paths().path_lengths());
        })
        .unwrap();
        let before = CALLS.load(Ordering::Relaxed);
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let calls = CALLS.load(Ordering::Relaxed) - before;
        let read = |name: &str| wait(device.read(out.get(name).unwrap()));
        for (name, again) in [("returns", "returns again"), ("lengths", "lengths again")] {
            let near = |pair: (&f64, &f64)| (pair.0 - pair.1).abs() < 1e-4;
            assert!(read(name).iter().zip(&read(again)).all(near), "{name}");
        }
        let lengths = read("lengths");
        assert!(lengths.iter().all(|length| (4.0..=6.0).contains(length)), "{lengths:?}");
        assert!(lengths.contains(&4.0) && lengths.contains(&6.0));
        assert_eq!(read("terminated"), vec![1.0; 600]);
        calls
    };
    // Ten steps of the second play and six of the first, of 600 rows one by one at most; to the end they would be six
    // million.
    let calls = play(&Device::cpu(1));
    assert!((32..=16 * 600).contains(&calls), "{calls}");
}
