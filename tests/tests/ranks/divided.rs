//! Work that divides among ranks without changing a bit.

#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use super::launcher::Place;

#[test]
fn candidates_are_those_of_one_rank() {
    let place = Place::new();
    for algorithm in ["cem", "cma-es", "openai-es", "ars"] {
        let train = |ranks: usize| {
            let out = format!("{algorithm}-{ranks}");
            place.train(ranks, &format!("train {algorithm} --env cartpole --steps 8k --out {out}"));
            ["last.safetensors", "best.safetensors"].map(|file| place.read(format!("{out}/{file}")))
        };
        let alone = train(1);
        assert!(train(4) == alone, "{algorithm} on four ranks");
        // A run goes on with any number of them.
        place.train(3, &format!("train {algorithm} --env cartpole --steps 8k --pause-at 3k --out {algorithm}-3"));
        place.train(2, &format!("train --resume {algorithm}-3"));
        assert!(place.read(format!("{algorithm}-3/last.safetensors")) == alone[0], "{algorithm}: resumed on two");
    }
}

#[test]
fn seeds_algorithms_and_environments_are_those_of_one_rank() {
    let place = Place::new();
    let study = |ranks: usize, out: &str| {
        let command = format!("train a2c,vpg --env cartpole,pendulum --seed 0..3 --steps 4k --out {out}");
        place.train(ranks, &command)
    };
    study(1, "one");
    let said = study(3, "three");
    assert!(said.text.contains("12 runs in three"), "{}", said.text);
    assert!(study(2, "three").text.contains("12 of them finished"), "nothing is made again");
    place.train(4, "train ppo --env cartpole --seed 0..4 --steps 4k --out seeds");
    place.train(1, "train ppo --env cartpole --seed 0..4 --steps 4k --out alone");
    let pairs = ["cartpole-a2c", "cartpole-vpg", "pendulum-a2c", "pendulum-vpg"];
    let runs = pairs.iter().flat_map(|pair| (0..3).map(move |seed| format!("{pair}-s{seed}")));
    let runs = runs.map(|run| (format!("one/{run}"), format!("three/{run}")));
    let seeds = (0..4).map(|seed| (format!("alone/cartpole-ppo-s{seed}"), format!("seeds/cartpole-ppo-s{seed}")));
    for (one, several) in runs.chain(seeds) {
        for file in ["last.safetensors", "best.safetensors", "config.toml"] {
            assert!(place.read(format!("{one}/{file}")) == place.read(format!("{several}/{file}")), "{several}/{file}");
        }
    }
}

#[test]
fn trials_of_a_sweep_are_those_of_one_rank() {
    let place = Place::new();
    let sweep = |ranks: usize, out: &str| {
        let values = "gamma=0.9,0.98,0.99";
        let command = format!("sweep --algorithm a2c --env cartpole --set {values} --seed 0..2 --steps 4k --out {out}");
        place.train(ranks, &command);
        place.read(format!("{out}/trials.csv"))
    };
    assert_eq!(sweep(1, "one"), sweep(3, "three"));
    for run in ["t00/cartpole-a2c-s0", "t02/cartpole-a2c-s1"] {
        let file = |out: &str| place.read(format!("{out}/{run}/last.safetensors"));
        assert!(file("one") == file("three"), "{run}");
    }
}
