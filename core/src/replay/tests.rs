//! Batches of memories whose content is known.

use super::*;
use crate::backend::cpu::{Cpu, CpuOptions};
use crate::env::Goal;
use crate::program::State;
use crate::tensor::Tree as _;
use crate::{Context, Device, Program, Tensor};

mod whole_episodes;

/// A transition in a test: observation and next observation of two numbers each, reward, end, and number in its
/// episode.
#[derive(Clone, Copy, Debug)]
struct Row {
    obs: [f64; 2],
    next: [f64; 2],
    reward: f64,
    terminated: f64,
    step: u32,
}

/// A memory without transitions.
fn empty(memory: &ReplayMemory) -> Stored {
    Stored {
        rows: Tensor::zeros(&[&[1], &memory.shape()[..]].concat()),
        next: Tensor::zeros(&[1, 1]).to_u32(),
        filled: Tensor::zeros(&[1, 1]).to_u32(),
        priorities: memory.tree().map(|tree| Priorities {
            levels: (0..SumTree::LEVELS).map(|level| Tensor::zeros(&[1, tree.nodes(level), 1])).collect(),
            largest: Tensor::zeros(&[1, 1]) + 1.0,
        }),
    }
}

/// Makes transitions of rows, and their numbers in their episodes.
fn transitions(rows: &[Row]) -> (Transitions, Tensor) {
    let of = |f: &dyn Fn(&Row) -> Vec<f64>| {
        let all: Vec<f64> = rows.iter().flat_map(f).collect();
        Tensor::literal_f32(&all).reshape(&[1, rows.len(), all.len() / rows.len()])
    };
    let new = Transitions {
        obs: of(&|row| row.obs.to_vec()),
        action: of(&|row| vec![row.obs[0] * 10.0]),
        next_obs: of(&|row| row.next.to_vec()),
        reward: of(&|row| vec![row.reward]),
        terminated: of(&|row| vec![row.terminated]),
    };
    (new, of(&|row| vec![f64::from(row.step)]).to_u32())
}

/// Adds rows in order to a memory, `each` at a time, and reads what `look` computes from it.
fn after(memory: &ReplayMemory, rows: &[Row], each: usize, look: impl FnOnce(&Stored) -> Vec<Tensor>) -> Vec<Vec<f64>> {
    let device = Device::cpu(1);
    let mut count = 0;
    let mut program = Program::new(&device, |cx| {
        let mut stored = empty(memory);
        for rows in rows.chunks(each) {
            let (new, step) = transitions(rows);
            stored = memory.push(stored, &new, step);
        }
        let all = look(&stored);
        count = all.len();
        all.iter().enumerate().for_each(|(i, x)| cx.output(&format!("{i}"), *x));
    })
    .unwrap();
    let out = program.run(&State::new(), &[], &[]).unwrap();
    let read = |i: usize| pollster::block_on(device.read(out.get(&i.to_string()).unwrap())).unwrap();
    (0..count).map(read).collect()
}

fn key(word: u32) -> [Tensor; 2] {
    [word, 7].map(|word| Tensor::constant_u32(word).broadcast_to(&[1, 1]))
}

/// Two environments by turns: one has episodes of 3 steps that end in a final state, the other of 4 that a time limit
/// cuts off. Observations are numbered, environment · 1000 + step.
fn two_environments(steps: u32) -> Vec<Row> {
    let row = |t: u32, env: u32| {
        let length = 3 + env;
        let step = t % length;
        let last = step + 1 == length;
        let at = f64::from(env * 1000 + t);
        Row {
            obs: [at, f64::from(t / length)],
            next: [if last { -at } else { at + 1.0 }, f64::from(t / length)],
            reward: at + 1.0,
            terminated: f64::from(u8::from(last && env == 0)),
            step,
        }
    };
    (0..steps).flat_map(|t| [row(t, 0), row(t, 1)]).collect()
}

#[test]
fn several_steps_end_with_their_episode_and_with_the_memory() {
    // 9 rows of 2 environments: the ring ends in the middle of a pair.
    let memory = ReplayMemory { envs: 2, n_step: 3, ..ReplayMemory::uniform(9, 2, 1, 0.5) };
    let rows = two_environments(11);
    let [first, next, reward, end, discount] = &after(&memory, &rows, 2, |stored| {
        let Drawn { batch, .. } = memory.sample(stored, key(3), 400, None);
        let Transitions { obs, next_obs, reward, terminated, .. } = batch.transitions;
        vec![obs.slice(2, 0, 1), next_obs.slice(2, 0, 1), reward, terminated, batch.discount]
    })[..] else {
        panic!("five outputs")
    };
    let held = &rows[rows.len() - 9..];
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..first.len() {
        let at = rows.iter().position(|row| row.obs[0] == first[i]).unwrap();
        assert!(held.iter().any(|row| row.obs[0] == first[i]), "{}", first[i]);
        seen.insert(at);
        // The sum by hand: every second row is of the same environment.
        let mut want = (rows[at].reward, rows[at].next[0], rows[at].terminated, 0.5);
        for k in 1..3 {
            let Some(row) = rows.get(at + 2 * k).filter(|row| row.step == rows[at].step + k as u32) else { break };
            let factor = 0.5f64.powi(k as i32);
            want = (want.0 + factor * row.reward, row.next[0], row.terminated, 0.5 * factor);
        }
        assert_eq!((reward[i], next[i], end[i], discount[i]), want, "from {}", first[i]);
    }
    assert_eq!(seen.len(), 9, "all rows are drawn");
}

#[test]
fn hindsight_replaces_goals_by_what_the_episode_reached() {
    let goal = Goal { achieved: 0..1, desired: 1..2, tolerance: 0.25 };
    let hindsight = |share: f64| ReplayMemory {
        envs: 2,
        hindsight: Some(Hindsight { share, goal: goal.clone(), horizon: 4 }),
        ..ReplayMemory::uniform(14, 2, 1, 0.9)
    };
    let rows = two_environments(9);
    let drawn = |share: f64| {
        let memory = hindsight(share);
        after(&memory, &rows, 2, |stored| {
            let Drawn { batch, index } = memory.sample(stored, key(5), 600, None);
            let Transitions { obs, next_obs, reward, terminated, .. } = batch.transitions;
            vec![obs, next_obs, reward, terminated, index.to_f32()]
        })
    };
    let all = drawn(1.0);
    let held: Vec<usize> = (rows.len() - 14..rows.len()).collect();
    let mut reached = std::collections::BTreeMap::<usize, std::collections::BTreeSet<i64>>::new();
    for i in 0..600 {
        let at = rows.iter().position(|row| row.obs[0] == all[0][2 * i]).unwrap();
        let (sought, ahead) = (all[0][2 * i + 1], &all[1][2 * i..2 * i + 2]);
        assert_eq!((ahead[0], ahead[1]), (rows[at].next[0], sought), "both observations have the goal");
        // A later step of the same episode, or this one, led there.
        let later: Vec<f64> = (0..4)
            .map_while(|k| rows.get(at + 2 * k).filter(|row| row.step == rows[at].step + k as u32))
            .map(|row| row.next[0])
            .collect();
        assert!(later.contains(&sought), "{sought} is not in {later:?}");
        let is_there = sought == rows[at].next[0];
        assert_eq!([all[2][i], all[3][i]], if is_there { [0.0, 1.0] } else { [-1.0, 0.0] });
        reached.entry(at).or_default().insert(sought as i64);
        assert!(held.contains(&at));
    }
    assert_eq!(reached.len(), 14);
    assert!(reached.values().any(|goals| goals.len() == 4), "all steps that come after: {reached:?}");
    // None is replaced, and some are.
    let same =
        |all: &[Vec<f64>]| (0..600).filter(|i| rows.iter().any(|row| row.obs[..] == all[0][2 * i..2 * i + 2])).count();
    assert_eq!(same(&drawn(0.0)), 600);
    let some = same(&drawn(0.75)) as f64;
    assert!((some - 150.0).abs() < 45.0, "{some} of 600 kept their goals");
}

#[test]
fn hindsight_finds_goals_wherever_they_stand_in_observations() {
    // Of five numbers, two are the goal that was reached and two the goal that is sought; an order places them.
    let mine = [0, 1, 2, 3, 4];
    let drawn = |order: [usize; 5], achieved: usize, desired: usize| {
        let goal = Goal { achieved: achieved..achieved + 2, desired: desired..desired + 2, tolerance: 0.25 };
        let memory = ReplayMemory {
            hindsight: Some(Hindsight { share: 0.75, goal, horizon: 4 }),
            ..ReplayMemory::uniform(12, 5, 1, 0.9)
        };
        let row = |t: usize, k: usize| order[k] as f64 * 100.0 + t as f64;
        let program = |cx: &mut Context| {
            let mut stored = Stored {
                rows: Tensor::zeros(&[&[1], &memory.shape()[..]].concat()),
                next: Tensor::zeros(&[1, 1]).to_u32(),
                filled: Tensor::zeros(&[1, 1]).to_u32(),
                priorities: None,
            };
            for t in 0..12 {
                let of = |t: usize| Tensor::literal_f32(&[0, 1, 2, 3, 4].map(|k| row(t, k))).reshape(&[1, 1, 5]);
                let one = Tensor::zeros(&[1, 1, 1]);
                let (obs, next_obs) = (of(t), of(t + 1));
                let new = Transitions { obs, action: one, next_obs, reward: one - 1.0, terminated: one };
                stored = memory.push(stored, &new, (one + (t % 4) as f64).to_u32());
            }
            let all = memory.sample(&stored, key(5), 200, None).batch.transitions;
            let columns = [all.obs, all.next_obs, all.reward, all.terminated];
            cx.output("all", Tensor::concat(&columns, 2));
        };
        let device = Device::cpu(1);
        let out = Program::new(&device, program).unwrap().run(&State::new(), &[], &[]).unwrap();
        let all = pollster::block_on(device.read(out.get("all").unwrap())).unwrap();
        // Back in the first order.
        let sorted = |row: &[f64]| {
            let mut sorted = row.to_vec();
            for (k, number) in order.iter().enumerate() {
                sorted[*number] = row[k];
                sorted[5 + number] = row[5 + k];
            }
            sorted
        };
        all.chunks(12).map(sorted).collect::<Vec<_>>()
    };
    let at_the_end = drawn(mine, 1, 3);
    let mut replaced = 0;
    for row in &at_the_end {
        // The number of its step is in all that is its own.
        let t = row[0];
        assert_eq!((row[1], row[2], &row[5..8]), (100.0 + t, 200.0 + t, &[t + 1.0, 101.0 + t, 201.0 + t][..]));
        let own = [[300.0 + t, 400.0 + t], [301.0 + t, 401.0 + t]];
        if [&row[3..5], &row[8..10]] != own {
            let later = row[3] - 100.0;
            assert_eq!([&row[3..5], &row[8..10]], [[row[3], 200.0 + later]; 2], "both observations have the goal");
            assert!(later > t && later <= 4.0 * (t / 4.0).floor() + 4.0, "{row:?}");
            let is_there = later == t + 1.0;
            assert_eq!(row[10..], if is_there { [0.0, 1.0] } else { [-1.0, 0.0] });
            replaced += 1;
        }
    }
    assert!((100..190).contains(&replaced), "{replaced} of 200");
    assert_eq!(drawn([3, 4, 0, 1, 2], 3, 0), at_the_end, "at the start");
    assert_eq!(drawn([1, 2, 3, 4, 0], 0, 2), at_the_end, "in the middle");
    assert_eq!(drawn([3, 4, 1, 2, 0], 2, 0), at_the_end, "at the start, and what was reached after it");
}

#[test]
fn rows_are_drawn_by_their_priorities_and_weighted_by_the_inverse() {
    let memory = ReplayMemory { prioritised: Some(0.5), ..ReplayMemory::uniform(40, 2, 1, 0.9) };
    // 33 rows of 40 are filled; two get errors.
    let rows: Vec<Row> = (0..33)
        .map(|i| Row { obs: [f64::from(i), 0.0], next: [0.0; 2], reward: 0.0, terminated: 0.0, step: 0 })
        .collect();
    let batch = 20_000;
    let all = after(&memory, &rows, 11, |stored| {
        let index = Tensor::literal_f32(&[3.0, 32.0]).to_u32().unsqueeze(0);
        let some = memory.sample(stored, key(1), 2, Some(Tensor::constant_f32(0.5)));
        let errors = Tensor::literal_f32(&[9.0, 0.25]).reshape(&[1, 2, 1]);
        let stored = memory.learned(stored.clone(), &Drawn { index, ..some }, errors);
        let drawn = memory.sample(&stored, key(2), batch, Some(Tensor::constant_f32(0.5)));
        let new = memory.push(stored.clone(), &some.batch.transitions, Tensor::zeros(&[1, 2, 1]).to_u32());
        let mut all = vec![drawn.index.to_f32(), drawn.batch.weight.unwrap()];
        all.extend([&stored, &new].map(|stored| stored.priorities.clone().unwrap().levels[0]));
        all.extend(stored.priorities.unwrap().flat());
        all
    });
    // p = |δ|^½, and 1 for rows that no update has learned from.
    let priority = |row: usize| match row {
        3 => 3.0,
        32 => 0.5,
        0..33 => 1.0,
        _ => 0.0,
    };
    let total: f64 = (0..40).map(priority).sum();
    let close = |a: f64, b: f64| (a - b).abs() < 1e-4 * b.abs().max(1.0);
    assert!((0..40).all(|row| close(all[2][row], priority(row))), "{:?}", &all[2][..40]);
    // New rows have the largest priority so far.
    assert!([33, 34].iter().all(|row| close(all[3][*row], 3.0)) && all[3][35] == 0.0);
    // Nodes are sums.
    let levels = &all[4..];
    assert_eq!(levels.len(), SumTree::LEVELS + 1);
    for level in 1..SumTree::LEVELS {
        for (node, sum) in levels[level].iter().enumerate() {
            let want: f64 = levels[level - 1].iter().skip(32 * node).take(32).sum();
            assert!(close(*sum, want), "level {level}, node {node}: {sum} for {want}");
        }
    }
    assert!(close(levels[SumTree::LEVELS - 1][0], total));
    for row in 0..40 {
        let times = all[0].iter().filter(|drawn| **drawn == row as f64).count() as f64;
        let expected = batch as f64 * priority(row) / total;
        // Draws are stratified, so they vary less than independent ones.
        assert!((times - expected).abs() <= 4.0 * expected.sqrt(), "{row}: {times} for {expected}");
    }
    // (33 P)^−½ over the largest, which is that of the least priority.
    for (row, weight) in all[0].iter().zip(&all[1]) {
        let want = (0.5 / priority(*row as usize)).sqrt();
        assert!(close(*weight, want), "{row}: {weight} for {want}");
    }
}

/// A loop whose body adds transitions and learns from batches several times in turn, on entries of a state; the
/// batches' rows and the parameter are planned and run.
fn learned_by_turns(memory: &ReplayMemory, device: &Device, turns: usize) -> crate::Result<Vec<f64>> {
    let tree = memory.tree();
    let (shape, levels) = (memory.shape(), tree.map_or(0, |_| SumTree::LEVELS));
    let nodes = |level: usize| [1, tree.map_or(0, |tree| tree.nodes(level)), 1];
    let name = |level: usize| format!("level {level}");
    let all = [1, shape[0], shape[1]];
    let mut program = Program::new(device, |cx| {
        let init = (
            Stored {
                rows: cx.bulk("rows", &all, crate::DType::F32),
                next: cx.state("next", &[1, 1], crate::DType::U32),
                filled: cx.state("filled", &[1, 1], crate::DType::U32),
                priorities: tree.map(|_| Priorities {
                    levels: (0..levels).map(|level| cx.bulk(&name(level), &nodes(level), crate::DType::F32)).collect(),
                    largest: cx.state("largest", &[1, 1], crate::DType::F32),
                }),
            },
            cx.state("theta", &[1, 1], crate::DType::F32),
        );
        let (last, _) = crate::tensor::scan_tree(6, &init, &(), |t, (mut stored, mut theta): (Stored, Tensor), ()| {
            for turn in 0..turns {
                let number = t * Tensor::constant_u32(turns as u32) + Tensor::constant_u32(turn as u32);
                let at = theta.unsqueeze(2) + number.to_f32();
                let obs = Tensor::concat(&[at, at * 0.5], 2);
                let new = Transitions { obs, action: at, next_obs: obs + 1.0, reward: at.sin(), terminated: at * 0.0 };
                let step = number.bit_and(Tensor::constant_u32(7)).broadcast_to(&[1, 1, 1]);
                stored = memory.push(stored, &new, step);
                for update in 0..2 {
                    let drawn = memory.sample(&stored, key(update), 16, Some(Tensor::constant_f32(0.5)));
                    let Batch { transitions, discount, weight } = drawn.batch;
                    let value = (transitions.obs.sum_keep(2) * theta.unsqueeze(2)).tanh();
                    let errors = transitions.reward + discount * transitions.next_obs.sum_keep(2).tanh() - value;
                    theta = theta + mean(weight.map_or(errors, |weight| weight * errors)) * 0.125;
                    stored = memory.learned(stored, &drawn, errors);
                }
            }
            ((stored, theta), ())
        });
        let (stored, theta) = last;
        for (name, value) in [("rows", stored.rows), ("next", stored.next), ("filled", stored.filled), ("theta", theta)]
        {
            cx.update(name, value);
        }
        if let Some(priorities) = stored.priorities {
            priorities.levels.iter().enumerate().for_each(|(level, x)| cx.update(&name(level), *x));
            cx.update("largest", priorities.largest);
        }
    })?;
    let mut state = State::new();
    state.insert("rows", device.zeros(&all, crate::DType::F32)?);
    for (name, dtype) in [("next", crate::DType::U32), ("filled", crate::DType::U32), ("theta", crate::DType::F32)] {
        state.insert(name, device.zeros(&[1, 1], dtype)?);
    }
    for level in 0..levels {
        state.insert(name(level), device.zeros(&nodes(level), crate::DType::F32)?);
    }
    state.insert("largest", device.array(&[1, 1], &[1.0])?);
    program.run(&state, &[], &[])?;
    let read = |name: &str| pollster::block_on(device.read(state.get(name)?));
    Ok([read("theta")?, read("rows")?].concat())
}

#[test]
fn what_is_learned_by_turns_is_planned_however_batches_are_made() {
    let goal = Goal { achieved: 0..1, desired: 1..2, tolerance: 0.25 };
    for n_step in [1, 2, 3, 4, 5, 9, 20] {
        for prioritised in [None, Some(0.5)] {
            for hindsight in [None, Some(Hindsight { share: 0.5, goal: goal.clone(), horizon: 8 })] {
                let n_step = if hindsight.is_some() { 1 } else { n_step };
                let memory = ReplayMemory { n_step, prioritised, hindsight, ..ReplayMemory::uniform(24, 2, 1, 0.9) };
                for turns in 1..4 {
                    let plain = Device::new(Cpu::new(CpuOptions { tiles: false, threads: 1, ..Default::default() }));
                    let found = [Device::cpu(1), plain].map(|on| learned_by_turns(&memory, &on, turns));
                    let [found, plain] =
                        found.map(|found| found.unwrap_or_else(|e| panic!("{memory:?}, {turns}: {e}")));
                    assert!(found == plain && found[0] != 0.0, "{memory:?}, {turns} turns");
                }
            }
        }
    }
}
