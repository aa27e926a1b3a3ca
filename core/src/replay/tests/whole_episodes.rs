//! Whole episodes in a memory: each environment's lie one behind the other, without their padding.

use super::*;

/// Whole episodes of three environments, with padding behind the last one of each, and 1 where a row is valid.
fn whole_episodes() -> Vec<(Row, u32)> {
    let lengths: [&[usize]; 3] = [&[3, 4], &[6], &[1, 2, 3]];
    let (mut rows, mut number) = (Vec::new(), 0.0);
    for (env, lengths) in lengths.into_iter().enumerate() {
        let mut padding = 8;
        for length in lengths {
            for step in 0..*length {
                let last = step + 1 == *length;
                number += 1.0;
                let next = [if last { -number } else { number + 1.0 }, env as f64];
                let terminated = f64::from(u8::from(last && env != 1));
                let row = Row { obs: [number, env as f64], next, reward: number * 0.5, terminated, step: step as u32 };
                rows.push((row, 1));
                padding -= 1;
            }
        }
        // Values that would show if padding were stored.
        let row = Row { obs: [f64::NAN; 2], next: [7e7; 2], reward: 9e9, terminated: 1.0, step: 1 };
        rows.extend((0..padding).map(|_| (row, 0)));
    }
    rows
}

/// Adds visits of whole episodes to a memory, once with padding and once by the valid rows alone; returns both
/// contents.
fn with_padding_and_without(memory: &ReplayMemory, visits: &[Vec<(Row, u32)>]) -> [Vec<Vec<f64>>; 2] {
    let all = |stored: &Stored| {
        let mut all = vec![stored.rows, stored.next.to_f32(), stored.filled.to_f32()];
        all.extend(stored.priorities.iter().flat_map(|priorities| priorities.flat()));
        all
    };
    let device = Device::cpu(1);
    let run = |padded: bool| {
        let mut count = 0;
        let mut program = Program::new(&device, |cx| {
            let mut stored = empty(memory);
            for visit in visits {
                let rows: Vec<Row> =
                    visit.iter().filter(|(_, valid)| padded || *valid == 1).map(|(row, _)| *row).collect();
                let (new, step) = transitions(&rows);
                let valid: Vec<u32> = visit.iter().map(|(_, valid)| *valid).collect();
                stored = match padded {
                    false => memory.push(stored, &new, step),
                    true => {
                        let valid = Tensor::literal_u32(&valid).reshape(&[1, valid.len(), 1]);
                        memory.push_valid(stored, &new, step, valid)
                    }
                };
            }
            let all = all(&stored);
            count = all.len();
            all.iter().enumerate().for_each(|(i, x)| cx.output(&format!("{i}"), *x));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |i: usize| pollster::block_on(device.read(out.get(&i.to_string()).unwrap())).unwrap();
        (0..count).map(read).collect::<Vec<_>>()
    };
    [run(true), run(false)]
}

#[test]
fn padding_leaves_no_row_and_no_priority() {
    let visit = whole_episodes();
    let made = visit.iter().filter(|(_, valid)| *valid == 1).count();
    assert_eq!((made, visit.len()), (19, 24));
    // The ring ends with a visit, and in the middle of one; the memory is not full, and goes round.
    for rows in [19, 23, 24, 40, 38, 100] {
        for prioritised in [None, Some(0.5)] {
            let memory = ReplayMemory { n_step: 3, prioritised, ..ReplayMemory::uniform(rows, 2, 1, 0.5) };
            for visits in 1..5 {
                let [padded, alone] = with_padding_and_without(&memory, &vec![visit.clone(); visits]);
                assert!(padded == alone, "{visits} visits, {rows} rows: {padded:?}, {alone:?}");
                assert_eq!(padded[2], [(visits * made).min(rows) as f64]);
                let last = if prioritised.is_some() { padded[3 + SumTree::LEVELS - 1][0] } else { padded[2][0] };
                assert_eq!(last, padded[2][0], "the sum of priorities, each of which is 1");
            }
        }
    }
}

#[test]
fn several_steps_and_hindsight_stay_in_whole_episodes() {
    let rows: Vec<Row> = whole_episodes().into_iter().filter(|(_, valid)| *valid == 1).map(|(row, _)| row).collect();
    // 17 of 19 rows are left: the first episode has lost two of its three.
    let held = &rows[2..];
    let later = |at: usize, most: usize| {
        (0..most).map_while(|k| rows.get(at + k).filter(|row| row.step == rows[at].step + k as u32)).collect::<Vec<_>>()
    };
    let of = |memory: &ReplayMemory| {
        after(memory, &rows, 19 - 2, |stored| {
            let Drawn { batch, .. } = memory.sample(stored, key(3), 600, None);
            let Transitions { obs, next_obs, reward, terminated, .. } = batch.transitions;
            let discount = batch.discount + Tensor::zeros(&[1, 600, 1]);
            vec![obs, next_obs, reward, terminated, discount]
        })
    };
    let all = of(&ReplayMemory { n_step: 4, ..ReplayMemory::uniform(17, 2, 1, 0.5) });
    let mut seen = std::collections::BTreeSet::new();
    for i in 0..600 {
        let at = rows.iter().position(|row| row.obs[0] == all[0][2 * i]).unwrap();
        seen.insert(at);
        let ahead = later(at, 4);
        let reward: f64 = ahead.iter().enumerate().map(|(k, row)| 0.5f64.powi(k as i32) * row.reward).sum();
        let last = ahead[ahead.len() - 1];
        let got = (all[2][i], all[1][2 * i], all[3][i], all[4][i]);
        assert_eq!(got, (reward, last.next[0], last.terminated, 0.5f64.powi(ahead.len() as i32)), "from {at}");
    }
    assert!(seen.into_iter().eq(2..19));

    let goal = Goal { achieved: 0..1, desired: 1..2, tolerance: 0.25 };
    let hindsight = Some(Hindsight { share: 1.0, goal, horizon: 8 });
    let all = of(&ReplayMemory { hindsight, ..ReplayMemory::uniform(17, 2, 1, 0.5) });
    let mut reached = std::collections::BTreeMap::<usize, std::collections::BTreeSet<i64>>::new();
    for i in 0..600 {
        let at = rows.iter().position(|row| row.obs[0] == all[0][2 * i]).unwrap();
        assert!(held.iter().any(|row| row.obs[0] == rows[at].obs[0]));
        let sought = all[0][2 * i + 1];
        assert!(later(at, 8).iter().any(|row| row.next[0] == sought), "{sought} from {at}");
        assert_eq!(all[1][2 * i..2 * i + 2], [rows[at].next[0], sought]);
        reached.entry(at).or_default().insert(sought as i64);
    }
    for (at, goals) in reached {
        assert_eq!(goals.len(), later(at, 8).len(), "all that comes after {at}: {goals:?}");
    }
}
