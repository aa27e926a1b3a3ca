//! Ranks that train together, as threads of one process.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::rc::Rc;

use quickstudy_core::algo::{AlgorithmDef, Together};
use quickstudy_core::backend::Ranks;
use quickstudy_core::train::{ALGORITHMS, Row, Session, Setup, small};
use quickstudy_core::{Device, Result};
use quickstudy_tests::ranks::each;
use quickstudy_tests::trainings::{snapshot, training_on, wait};
use toml::Table;

fn setup(def: &'static AlgorithmDef, steps: u64, more: &str) -> Setup {
    let (env, mut settings) = small(def).unwrap();
    settings.extend(toml::from_str::<Table>(more).unwrap());
    training_on(def, env).steps(steps).with(settings).setup()
}

fn together(def: &'static AlgorithmDef) -> Together {
    setup(def, 100_000, "").fitted().together()
}

fn find(name: &str) -> &'static AlgorithmDef {
    ALGORITHMS.iter().find(|def| def.name == name).unwrap()
}

/// Trains so many iterations on each rank: rows, θ and the snapshot.
fn trained(setup: &(dyn Fn() -> Setup + Sync), ranks: usize, iterations: usize) -> Vec<(Vec<Row>, Vec<u32>, Vec<u8>)> {
    each(ranks, |device| {
        let mut session = Session::new(device, &setup()).unwrap();
        let rows = (0..iterations).map(|_| session.step_blocking().unwrap().swap_remove(0)).collect();
        let theta = wait(session.parameters(0));
        (rows, theta.iter().map(|x| x.to_bits()).collect(), snapshot(&session, 0))
    })
}

#[test]
fn candidates_on_several_ranks_are_those_of_one_bit_for_bit() {
    let all: Vec<_> = ALGORITHMS.iter().filter(|def| together(def) == Together::Candidates).collect();
    let names: Vec<&str> = all.iter().map(|def| def.name).collect();
    assert!(["cem", "cma-es", "openai-es", "ars"].iter().all(|name| names.contains(name)), "{names:?}");
    for def in all {
        // Three and four ranks do not divide ten candidates, and play some twice.
        for more in ["n_samples = 8", "n_samples = 10"] {
            let setup = || setup(def, 100_000, if def.name == "nop" { "" } else { more });
            let [alone] = &trained(&setup, 1, 3)[..] else { panic!("one rank") };
            for ranks in [2, 3, 4] {
                for (rank, of_rank) in trained(&setup, ranks, 3).iter().enumerate() {
                    let same = of_rank.1 == alone.1 && of_rank.2 == alone.2;
                    assert!(same, "{} with {more}: rank {rank} of {ranks}", def.name);
                    assert_eq!(format!("{:?}", of_rank.0), format!("{:?}", alone.0), "{}", def.name);
                }
            }
        }
    }
}

#[test]
fn ranks_that_descend_together_have_one_policy_and_go_on_from_a_snapshot() {
    let all: Vec<_> = ALGORITHMS.iter().filter(|def| together(def) == Together::Gradients).collect();
    let names: Vec<&str> = all.iter().map(|def| def.name).collect();
    assert!(["ppo", "sac", "dqn", "promp", "rl2-ppo"].iter().all(|name| names.contains(name)), "{names:?}");
    assert!(names.len() >= 14, "{names:?}");
    for def in all {
        let setup = || setup(def, 100_000, "");
        let [first, second] = &trained(&setup, 2, 4)[..] else { panic!("two ranks") };
        assert_eq!(first.1, second.1, "{}: parameters", def.name);
        assert_eq!(first.2, second.2, "{}: snapshots", def.name);
        assert_eq!(format!("{:?}", first.0), format!("{:?}", second.0), "{}: metrics", def.name);
        assert_ne!(first.1, trained(&setup, 1, 4)[0].1, "{}: the second rank teaches nothing", def.name);
        let steps = |rows: &[Row]| rows.last().unwrap().iter().find(|(name, _)| name == "time/env_steps").unwrap().1;
        assert!(steps(&first.0) > 1.2 * steps(&trained(&setup, 1, 4)[0].0), "{}: steps of both count", def.name);

        // From the snapshot after two iterations, the same follows.
        let half = &trained(&setup, 2, 2)[0].2;
        let resumed = each(2, |device| {
            let mut session = Session::restore(device, &[half]).unwrap();
            session.step_blocking().unwrap();
            session.step_blocking().unwrap();
            snapshot(&session, 0)
        });
        assert!(resumed.iter().all(|file| *file == first.2), "{}: resumed", def.name);
        let refused = Session::restore(&Device::cpu(1), &[half]).unwrap_err().to_string();
        assert!(refused.contains("it is of 2 ranks together, and here is one rank"), "{refused}");
        let three = each(3, |device| Session::restore(device, &[half]).unwrap_err().to_string());
        assert!(three[0].contains("`mpirun -n 2`"), "{three:?}");
    }
}

/// A rank of two, the other of which holds equal values.
#[derive(Debug)]
struct Mirror(usize);

impl Ranks for Mirror {
    fn rank(&self) -> usize {
        self.0
    }

    fn count(&self) -> usize {
        2
    }

    fn gather(&self, words: &[u32], all: &mut [u32]) -> Result<()> {
        all.chunks_mut(words.len().max(1)).for_each(|of_rank| of_rank.copy_from_slice(words));
        Ok(())
    }

    fn exchange(&self, words: &[u32], got: &mut [u32]) -> Result<()> {
        self.gather(&words[self.0 * words.len() / 2..][..words.len() / 2], got)
    }
}

/// θ after so many iterations of a rank beside its mirror image.
fn beside_its_image(setup: &Setup, rank: usize, iterations: usize) -> Vec<f32> {
    let device = Device::cpu(1).among(Rc::new(Mirror(rank)));
    let name = setup.algorithm.name;
    let mut session = Session::new(&device, setup).unwrap_or_else(|error| panic!("{name}: {error}"));
    (0..iterations).for_each(|_| drop(session.step_blocking().unwrap_or_else(|error| panic!("{name}: {error}"))));
    wait(session.parameters(0))
}

/// The mean of two equal gradients is the gradient: a rank that meets its image learns what one alone learns.
#[test]
fn a_rank_beside_its_image_learns_as_if_alone() {
    for def in ALGORITHMS.iter().filter(|def| together(def) == Together::Gradients) {
        let setup = setup(def, 100_000, "");
        let mut alone = Session::new(&Device::cpu(1), &setup).unwrap();
        (0..3).for_each(|_| drop(alone.step_blocking().unwrap()));
        let alone = wait(alone.parameters(0));
        let beside = beside_its_image(&setup, 0, 3);
        // Minibatches are standardised in another order of sums.
        let far = |(a, b): (&f32, &f32)| (a - b).abs() > 2e-3 * (1.0 + a.abs());
        let wrong = alone.iter().zip(&beside).filter(|pair| far(*pair)).count();
        assert_eq!(wrong, 0, "{}: {wrong} of {}", def.name, alone.len());
    }
}

/// By plain steps, two ranks move their parameters by the mean of what each would move them.
#[test]
fn the_gradient_of_ranks_is_the_mean_of_their_gradients() {
    let settings =
        "optimiser = \"sgd\"\nnormalise_advantages = false\nmax_grad_norm = 0.0\nlearning_rate = 0.1\nminibatches = 1";
    for name in ["a2c", "vpg"] {
        let setup = || setup(find(name), 100_000, settings);
        let session = Session::new(&Device::cpu(1), &setup()).unwrap();
        let start = wait(session.parameters(0));
        let [both, _] = &trained(&setup, 2, 1)[..] else { panic!("two ranks") };
        let [first, second] = [0, 1].map(|rank| beside_its_image(&setup(), rank, 1));
        assert_ne!(first, second);
        let moved = |theta: &[f32], i: usize| f64::from(theta[i]) - f64::from(start[i]);
        let longest = (0..start.len()).map(|i| moved(&first, i).abs()).fold(0.0, f64::max);
        for (i, from) in start.iter().enumerate() {
            let mean = (moved(&first, i) + moved(&second, i)) / 2.0;
            let got = f64::from(f32::from_bits(both.1[i])) - f64::from(*from);
            assert!((got - mean).abs() < 1e-4 * longest, "{name}: {got} is not {mean}");
        }
    }
}

#[test]
fn algorithms_that_cannot_be_joined_are_refused_with_a_reason() {
    for (name, reason) in [("trpo", "a trust region's step is not joined"), ("pearl", "2 ranks cannot train one run")] {
        let refused = each(2, |device| Session::new(device, &setup(find(name), 100_000, "")).unwrap_err().to_string());
        assert!(refused[0].contains(reason), "{refused:?}");
    }
    let tolerance = each(2, |device| {
        let setup = setup(find("rl2-ppo"), 100_000, "tolerance = 0.1");
        Session::new(device, &setup).unwrap_err().to_string()
    });
    assert!(tolerance[0].contains("set tolerance to 0"), "{tolerance:?}");
}

#[test]
fn statistics_are_those_of_all_ranks() {
    let settings = "normalise_observations = true\nnormalise_rewards = true";
    let [first, second] = &trained(&|| setup(find("ppo"), 100_000, settings), 2, 3)[..] else { panic!("two ranks") };
    assert_eq!((&first.1, &first.2), (&second.1, &second.2));
}
