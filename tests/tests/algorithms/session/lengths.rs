//! Runs that are as long as iterations say: each seed makes exactly so many, however many steps these make.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use pollster::block_on;
use quickstudy_core::Device;
use quickstudy_core::train::{Length, Row, Session, Setup, snapshot_progress};
use quickstudy_tests::every::is_first;
use quickstudy_tests::trainings::{restored, snapshots, training};

use super::budgets::{APART, Run, SEEDS, TOGETHER};

fn setup((algorithm, env, settings, _): Run<'_>, length: Length) -> quickstudy_core::Result<Setup> {
    training(algorithm, env).seeds(&SEEDS).length(length).set(&settings.concat()).resolve()
}

fn session(run: Run<'_>, iterations: u64) -> Session {
    let setup = setup(run, Length::Iterations(iterations)).unwrap();
    assert_eq!((setup.length(), setup.iterations), (Length::Iterations(iterations), Some(iterations)));
    Session::new(&Device::cpu(1), &setup).unwrap()
}

/// Trains to the end; gives the rows of the first seed.
fn finish(session: &mut Session) -> Vec<Row> {
    let mut rows = Vec::new();
    while !session.done() {
        let of_seeds = block_on(session.step()).unwrap();
        assert_eq!(of_seeds.len(), SEEDS.len(), "all seeds end together");
        rows.extend(of_seeds.into_iter().next());
    }
    rows
}

fn value(row: &Row, name: &str) -> Option<f64> {
    row.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

fn as_many_iterations_as_asked_for(first: bool, least: usize) {
    let mut fewer = 0;
    for run in APART.iter().chain(TOGETHER).filter(|run| is_first(run.0) == first) {
        let mut whole = session(*run, 5);
        let planned = whole.setup().steps;
        assert_eq!(planned, whole.setup().fitted().planned(5), "{run:?}");
        let rows = finish(&mut whole);
        assert_eq!(rows.len(), 5, "{run:?}");
        assert_eq!((0..SEEDS.len()).map(|index| whole.iterations_made(index)).collect::<Vec<_>>(), [5; 3], "{run:?}");
        fewer += usize::from(whole.env_steps() < planned);
        // Rates fall by iterations: on a line, a fifth is left in the last. A warm-up has none.
        if run.2.concat().contains("learning_rate_schedule = \"linear\"") {
            let rate = |row: &Row| value(row, "train/learning_rate").filter(|rate| !rate.is_nan());
            let rates: Vec<f64> = rows.iter().filter_map(rate).collect();
            let (count, last) = (rates.len(), rates[rates.len() - 1]);
            assert!(count > 1 && (last * count as f64 - rates[0]).abs() < 1e-9, "{run:?}: {rates:?}");
        }
        // Resumed in between, and begun with fewer and extended: the same bytes, as no schedule follows the length.
        let mut killed = session(*run, 5);
        (0..3).for_each(|_| drop(block_on(killed.step()).unwrap()));
        let half = snapshots(&killed);
        let progress = snapshot_progress(quickstudy_core::train::Own::default(), &half[0]).unwrap();
        assert_eq!((progress.iterations, progress.length), (3, Length::Iterations(5)), "{run:?}");
        assert_eq!(progress.has_made(Length::Iterations(3)), Some(true));
        assert_eq!(progress.has_made(Length::Iterations(4)), Some(false));
        let mut resumed = restored(None, &half);
        assert_eq!(resumed.setup().length(), Length::Iterations(5), "{run:?}");
        finish(&mut resumed);
        let ended = snapshots(&whole);
        assert!(snapshots(&resumed) == ended, "{run:?}: resumed");
        let mut further = restored(None, &ended);
        assert!(further.done(), "{run:?}");
        further.set_length(Length::Iterations(7)).unwrap();
        assert_eq!(finish(&mut further).len(), 2, "{run:?}: extended by two");
    }
    assert!(fewer >= least, "episodes end early in {fewer} runs, which make fewer steps than planned");
}

#[test]
fn each_seed_makes_as_many_iterations_as_were_asked_for() {
    as_many_iterations_as_asked_for(true, 6);
}

#[test]
#[ignore = "a quarter of a minute: scripts/second-tier.sh"]
fn each_seed_of_all_others_makes_as_many_iterations_as_were_asked_for() {
    as_many_iterations_as_asked_for(false, 8);
}

#[test]
fn lengths_that_cannot_be_are_refused_and_one_can_follow_the_other() {
    let run = TOGETHER[0];
    let problem = |length| setup(run, length).unwrap_err().to_string();
    assert_eq!(problem(Length::Iterations(0)), "iterations: 0 iterations train nothing; give at least 1");
    let many = problem(Length::Iterations(u64::MAX / 2));
    assert!(many.starts_with("iterations: ") && many.contains("64 environment steps"), "{many}");
    let most: u64 = many.split("at most ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    setup(run, Length::Iterations(most)).unwrap();
    problem(Length::Iterations(most + 1));
    // A warm-up of all iterations learns nothing.
    let dqn = TOGETHER[1];
    let short = problem_of(dqn, 1);
    assert!(short.starts_with("learning_starts: ") && short.contains("(1 iterations are planned to make"), "{short}");

    let mut session = session(run, 4);
    finish(&mut session);
    let refused = session.set_length(Length::Iterations(3)).unwrap_err().to_string();
    assert_eq!(refused, "iterations: 4 are made already, so 3 in all cannot be");
    // Four iterations make 256 steps.
    session.set_steps(300).unwrap();
    assert_eq!((session.setup().length(), session.total_steps()), (Length::Steps(300), 320));
    finish(&mut session);
    assert_eq!(session.iteration(), 5);
    session.set_length(Length::Iterations(6)).unwrap();
    finish(&mut session);
    assert_eq!((session.iteration(), session.env_steps()), (6, 384));
}

fn problem_of(run: Run<'_>, iterations: u64) -> String {
    setup(run, Length::Iterations(iterations)).unwrap_err().to_string()
}
