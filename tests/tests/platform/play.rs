//! The loops that play: memories, lasting noise, and the same steps in programs and on the host.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::RowNoise;
use quickstudy_core::env::{ActionSpace, Dim, Draws, Env, EnvDef, EnvSpec, Real, Scene, Step, builtin};
use quickstudy_core::host::{IterativeExecutor, MetaSampler, Wrapped};
use quickstudy_core::play::{ActorSpec, Amount, Experience, Keys, Play, PolicyActor, Until};
use quickstudy_core::policy::{Act, Acting, Feedback, How, Policy, Uniform};
use quickstudy_core::tensor::Named;
use quickstudy_core::{Device, Program, State, Tensor};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Pushes at random, and counts the steps and rewards of the running episode.
#[derive(Debug)]
struct Counts;

impl Policy for Counts {
    fn begin(&self, _: &Acting, [k, n]: [usize; 2], _: Option<&Named>, _: &RowNoise) -> Named {
        Named::from([("steps", Tensor::zeros(&[k, n, 1])), ("rewards", Tensor::zeros(&[k, n, 1]))])
    }

    fn act(&self, _: &Acting, _: Tensor, memory: &Named, lasting: Option<Tensor>, noise: &RowNoise, _: How) -> Act {
        let action = (noise.uniform() * 2.0).floor();
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
    out.iter().map(|(name, array)| (name.to_owned(), pollster::block_on(device.read(array)).unwrap())).collect()
}

fn get<'a>(all: &'a [(String, Vec<f64>)], name: &str) -> &'a [f64] {
    &all.iter().find(|(n, _)| n == name).unwrap().1
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
        let samples = pollster::block_on(sampler.obtain(&mut actor, &keys)).unwrap();
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
            cx.output("returns", totals.returns);
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
        let read = |name: &str| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
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
    // Ten steps of the second play and six of the first, of 600 rows one by one at most; to the end they would be six million.
    let calls = play(&Device::cpu(1));
    assert!((32..=16 * 600).contains(&calls), "{calls}");
}
