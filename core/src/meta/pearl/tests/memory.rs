//! Memories of tasks against a model of them, row by row.

use super::*;

/// Seeds.
const S: usize = 2;
/// Tasks that have a memory.
const P: usize = 4;
/// Rows of each memory.
const R: usize = 7;
/// Tasks of a visit.
const M: usize = 3;

fn memory(two_rewards: bool) -> TaskMemory {
    TaskMemory { tasks: P, rows: R, observations: 1, actions: 1, two_rewards }
}

/// One collection of a visit: T rows of each task of each seed, of which the first ones count.
struct Part {
    counts: [[usize; M]; S],
    most: usize,
    context: bool,
}

/// A visit of these tasks.
struct Visit {
    tasks: [[u32; M]; S],
    parts: Vec<Part>,
}

/// The memory of a task as a list: the numbers of its rows, 0 where a row holds nothing.
#[derive(Clone, Debug, PartialEq)]
struct Ring {
    rows: [f64; R],
    next: usize,
    filled: usize,
    context: usize,
    context_filled: usize,
}

/// A number for each row that no other row has, also for rows that do not count.
fn row_number(visit: usize, part: usize, [seed, place]: [usize; 2], t: usize) -> f64 {
    (1 + t + 10 * (place + M * (seed + S * (part + 3 * visit)))) as f64
}

/// The memories after some visits, by seed and task, computed with lists.
fn expected(visits: &[Visit]) -> Vec<Ring> {
    let empty = Ring { rows: [0.0; R], next: 0, filled: 0, context: 0, context_filled: 0 };
    let mut rings = vec![empty; S * P];
    for (number, visit) in visits.iter().enumerate() {
        for seed in 0..S {
            for (place, task) in visit.tasks[seed].iter().enumerate() {
                let ring = &mut rings[seed * P + *task as usize];
                (ring.context, ring.context_filled) = (ring.next % R, 0);
                for (i, part) in visit.parts.iter().enumerate() {
                    for t in 0..part.counts[seed][place] {
                        ring.rows[ring.next % R] = row_number(number, i, [seed, place], t);
                        // R stands for the first row.
                        ring.next = ring.next % R + 1;
                        ring.filled = (ring.filled + 1).min(R);
                        ring.context_filled += usize::from(part.context);
                    }
                }
            }
        }
    }
    rings
}

/// Reads what `look` computes from the memories after some visits.
fn after(memory: &TaskMemory, visits: &[Visit], look: impl FnOnce(&Remembered) -> Vec<Tensor>) -> Vec<Vec<f64>> {
    compute(|_| {
        let none = Tensor::zeros(&[S, P]).to_u32();
        let rows = Tensor::zeros(&[S, P * R, memory.width()]);
        let mut held = Remembered { rows, next: none, filled: none, context: none, context_filled: none };
        for (number, visit) in visits.iter().enumerate() {
            let collected = visit.parts.iter().enumerate().map(|(i, part)| {
                let (mut numbers, mut valid) = (Vec::new(), Vec::new());
                for (seed, place) in (0..S).flat_map(|seed| (0..M).map(move |place| (seed, place))) {
                    for t in 0..part.most {
                        numbers.push(row_number(number, i, [seed, place], t));
                        valid.push(u32::from(t < part.counts[seed][place]));
                    }
                }
                let shape = [S, M, part.most];
                let obs = Tensor::literal_f32(&numbers).reshape(&shape).unsqueeze(3);
                let mut row = vec![obs, -obs, obs + 0.5, obs * 10.0, obs * 0.0];
                row.extend(memory.two_rewards.then(|| obs * 20.0));
                let valid = Tensor::literal_u32(&valid).reshape(&shape);
                Collected { rows: Tensor::concat(&row, 3), valid, context: part.context }
            });
            let collected: Vec<Collected> = collected.collect();
            let tasks = Tensor::literal_u32(visit.tasks.as_flattened()).reshape(&[S, M]);
            held = memory.add(held, tasks, &collected);
        }
        look(&held)
    })
}

/// The memories after some visits, by seed and task.
fn rings(visits: &[Visit]) -> Vec<Ring> {
    let got = after(&memory(false), visits, |held| {
        let words = [held.next, held.filled, held.context, held.context_filled].map(Tensor::to_f32);
        [&[held.rows.slice(2, 0, 1)], &words[..]].concat()
    });
    let one = |i: usize| Ring {
        // The first rows of all tasks, then their second ones.
        rows: std::array::from_fn(|row| got[0][i / P * R * P + row * P + i % P]),
        next: got[1][i] as usize,
        filled: got[2][i] as usize,
        context: got[3][i] as usize,
        context_filled: got[4][i] as usize,
    };
    (0..S * P).map(one).collect()
}

/// Visits that fill rings beyond their ends; some tasks come twice in a visit, and one in the first seed never.
fn visits() -> Vec<Visit> {
    let first = Part { counts: [[1, 2, 2], [1, 2, 2]], most: 5, context: true };
    let second = Part { counts: [[1, 1, 1], [1, 0, 3]], most: 4, context: true };
    let third = Part { counts: [[1, 1, 0], [1, 1, 2]], most: 3, context: false };
    let alone = |counts| vec![Part { counts, most: 7, context: true }];
    vec![
        Visit { tasks: [[0, 1, 2], [3, 2, 1]], parts: alone([[4, 7, 1], [5, 6, 2]]) },
        Visit { tasks: [[1, 1, 0], [2, 0, 2]], parts: alone([[2, 3, 6], [1, 7, 4]]) },
        Visit { tasks: [[2, 0, 2], [1, 1, 3]], parts: vec![first, second, third] },
        Visit { tasks: [[0, 2, 1], [0, 2, 3]], parts: alone([[7, 5, 6], [3, 7, 1]]) },
    ]
}

#[test]
fn rings_hold_the_latest_rows_of_their_own_tasks_and_wrap() {
    let visits = visits();
    for count in 1..=visits.len() {
        let (got, want) = (rings(&visits[..count]), expected(&visits[..count]));
        assert_eq!(got, want, "after {count} visits");
    }
    // The model itself: seed 0 adds 4, 6 and 4 rows to its task 0, and nothing to its task 3.
    let three = rings(&visits[..3]);
    assert_eq!((three[0].next, three[0].filled), (7, 7));
    assert_eq!(three[3], Ring { rows: [0.0; R], next: 0, filled: 0, context: 0, context_filled: 0 });
}

#[test]
fn a_task_that_is_visited_twice_has_the_rows_of_both_visits_and_the_context_of_the_last() {
    let counts = [[2, 3, 1], [3, 1, 2]];
    let visit = Visit { tasks: [[1, 1, 0], [2, 3, 2]], parts: vec![Part { counts, most: 4, context: true }] };
    let rings = rings(&[visit]);
    let of = |places: &[(usize, usize, usize)]| {
        let mut rows = [0.0; R];
        let numbers = places.iter().flat_map(|(seed, place, count)| {
            (0..*count).map(|t| row_number(0, 0, [*seed, *place], t)).collect::<Vec<_>>()
        });
        rows.iter_mut().zip(numbers).for_each(|(row, number)| *row = number);
        rows
    };
    let both = Ring { rows: of(&[(0, 0, 2), (0, 1, 3)]), next: 5, filled: 5, context: 2, context_filled: 3 };
    assert_eq!(rings[1], both);
    // Of seed 1: there another task lies between the two visits.
    let both = Ring { rows: of(&[(1, 0, 3), (1, 2, 2)]), next: 5, filled: 5, context: 3, context_filled: 2 };
    assert_eq!(rings[P + 2], both);
    assert_eq!((rings[0].filled, rings[P + 3].filled), (1, 1));
}

#[test]
fn rows_that_are_not_of_the_context_are_remembered_behind_it() {
    let part = |count: usize, context: bool| Part { counts: [[count; M]; S], most: 5, context };
    let visit = Visit { tasks: [[0, 1, 2]; S], parts: vec![part(2, true), part(1, true), part(4, false)] };
    let rings = rings(&[visit]);
    assert_eq!((rings[0].filled, rings[0].context, rings[0].context_filled), (7, 0, 3));
    assert_eq!(rings[0].rows[3], row_number(0, 2, [0, 0], 0));
}

#[test]
fn a_memory_that_is_full_to_the_last_row_goes_on_behind_it_when_it_grows() {
    let all = |first: f64, count: usize| {
        let obs = (Tensor::iota(&[1, 1, count, 1], 2).to_f32() + first).broadcast_to(&[S, P, count, 1]);
        let valid = Tensor::constant_u32(1).broadcast_to(&[S, P, count]);
        [Collected { rows: Tensor::concat(&[obs; 5], 3), valid, context: true }]
    };
    let got = compute(|_| {
        let (small, none, tasks) = (memory(false), Tensor::zeros(&[S, P]).to_u32(), Tensor::iota(&[S, P], 1));
        let rows = Tensor::zeros(&[S, P * R, 5]);
        let held = Remembered { rows, next: none, filled: none, context: none, context_filled: none };
        let held = small.add(held, tasks, &all(1.0, R));
        // Three more rows of each task, at the end.
        let large = TaskMemory { rows: R + 3, ..small };
        let rows = Tensor::concat(&[held.rows, Tensor::zeros(&[S, 3 * P, 5])], 1);
        let held = large.add(Remembered { rows, ..held }, tasks, &all(101.0, 2));
        let words = [held.filled, held.context, held.context_filled].map(Tensor::to_f32);
        [&[held.rows.slice(2, 0, 1)], &words[..]].concat()
    });
    let ring: Vec<f64> = got[0][..(R + 3) * P].iter().step_by(P).copied().collect();
    assert_eq!(ring, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 101.0, 102.0, 0.0]);
    assert_eq!(got[1..], [vec![9.0; S * P], vec![7.0; S * P], vec![2.0; S * P]]);
}

fn key(word: u32) -> [Tensor; 2] {
    [word, 7].map(|word| Tensor::constant_u32(word) + Tensor::iota(&[S, 1], 0))
}

/// The rows of a ring in order of time, from one of them on.
fn in_order(ring: &Ring, first: usize, count: usize) -> Vec<f64> {
    (0..count).map(|i| ring.rows[(first + i) % R]).collect()
}

/// Checks that all of `among` are drawn equally often, and nothing else is.
fn drawn_evenly(drawn: &[f64], among: &[f64]) {
    assert!(!among.is_empty() && drawn.iter().all(|number| among.contains(number)), "{drawn:?} among {among:?}");
    let expected = drawn.len() as f64 / among.len() as f64;
    for number in among {
        let times = drawn.iter().filter(|other| *other == number).count() as f64;
        assert!((times - expected).abs() < 5.0 * expected.sqrt(), "{number}: {times}, expected {expected}");
    }
}

/// Tasks to draw for, by seed: tasks whose memory is not empty after [`visits`], out of order and one of them twice.
const DRAWN: [[u32; 4]; S] = [[2, 0, 1, 0], [1, 3, 0, 2]];

#[test]
fn batches_are_drawn_evenly_among_all_rows_of_their_task_and_no_others() {
    const COUNT: usize = 2000;
    // After one visit most rings are not full, after four they are.
    for count in [1, 4] {
        let visits = &visits()[..count];
        let want = expected(visits);
        let tasks = if count == 1 { [[2, 0, 1, 0], [1, 3, 2, 2]] } else { DRAWN };
        let drawn = &after(&memory(false), visits, |held| {
            let tasks = Tensor::literal_u32(tasks.as_flattened()).reshape(&[S, 4]);
            vec![memory(false).batch(held, tasks, &RowNoise::new(key(3), 4 * COUNT), COUNT)]
        })[0];
        for (rows, (i, task)) in drawn.chunks(5 * COUNT).zip(tasks.as_flattened().iter().enumerate()) {
            let ring = &want[i / 4 * P + *task as usize];
            let obs: Vec<f64> = rows.chunks(5).map(|row| row[0]).collect();
            drawn_evenly(&obs, &in_order(ring, 0, ring.filled));
            assert!(rows.chunks(5).all(|row| row[1..4] == [-row[0], row[0] + 0.5, 10.0 * row[0]]));
        }
    }
}

#[test]
fn contexts_are_drawn_evenly_among_the_rows_of_the_context_alone() {
    const COUNT: usize = 2000;
    let visits = &visits()[..3];
    let want = expected(visits);
    let drawn = &after(&memory(false), visits, |held| {
        let tasks = Tensor::literal_u32(DRAWN.as_flattened()).reshape(&[S, 4]);
        let noise = RowNoise::new(key(4), 4 * COUNT);
        vec![memory(false).contexts(held, tasks, &noise, COUNT, false).slice(2, 0, 1)]
    })[0];
    let (mut wrapped, mut fewer) = (0, 0);
    for (rows, (i, task)) in drawn.chunks(COUNT).zip(DRAWN.as_flattened().iter().enumerate()) {
        let ring = &want[i / 4 * P + *task as usize];
        drawn_evenly(rows, &in_order(ring, ring.context, ring.context_filled));
        fewer += usize::from(ring.context_filled < ring.filled);
        wrapped += usize::from(ring.context + ring.context_filled > R);
    }
    assert!(fewer > 5, "memories hold more than their contexts");
    assert!(wrapped > 0, "a context goes on at the beginning of its ring");
}

#[test]
fn sequences_are_in_order_of_time_and_wrap_inside_the_context() {
    const TIMES: usize = 120;
    let visits = &visits()[..3];
    let want = expected(visits);
    // Each seed draws for one task many times: all of its context, less, or more, round and round.
    for (tasks, count) in [([0, 3], 3), ([2, 2], 2), ([1, 0], 3), ([0, 3], 11)] {
        let drawn = &after(&memory(false), visits, |held| {
            let tasks = Tensor::literal_u32(&tasks).unsqueeze(1).broadcast_to(&[S, TIMES]);
            let noise = RowNoise::new(key(5), TIMES * count);
            vec![memory(false).contexts(held, tasks, &noise, count, true).slice(2, 0, 1)]
        })[0];
        for (seed, (rows, task)) in drawn.chunks(count * TIMES).zip(tasks).enumerate() {
            let ring = &want[seed * P + task as usize];
            let context = in_order(ring, ring.context, ring.context_filled);
            for sequence in rows.chunks(count) {
                let first = context.iter().position(|number| *number == sequence[0]).unwrap();
                let want: Vec<f64> = (0..count).map(|i| context[(first + i) % context.len()]).collect();
                assert_eq!(sequence, want);
            }
            drawn_evenly(&rows.chunks(count).map(|sequence| sequence[0]).collect::<Vec<_>>(), &context);
        }
    }
}

#[test]
fn the_encoder_sees_the_last_number_of_a_row_where_there_are_two_rewards() {
    for two_rewards in [false, true] {
        let memory = memory(two_rewards);
        assert_eq!(memory.width(), if two_rewards { 6 } else { 5 });
        let [obs, learned, shown] = &after(&memory, &visits()[..1], |held| {
            let (transitions, shown) = memory.transitions(held.rows);
            vec![transitions.obs, transitions.reward, shown]
        })[..] else {
            panic!("three outputs")
        };
        let times = |factor: f64| obs.iter().map(|obs| factor * obs).collect::<Vec<f64>>();
        assert_eq!(*learned, times(10.0));
        assert_eq!(*shown, times(if two_rewards { 20.0 } else { 10.0 }));
    }
}
