use super::*;
use crate::tensor::{Loop, scan};
use crate::{DType, Tensor};

/// Answers with twice what was asked, until it fails.
struct Twice {
    device: Device,
    answers: usize,
}

impl Host for Twice {
    fn answer(&mut self, _: usize, asked: Vec<Array>) -> LocalFuture<'_, Result<Vec<Array>>> {
        Box::pin(async move {
            self.answers = self.answers.checked_sub(1).ok_or_else(|| Error::Program("tired".to_owned()))?;
            let numbers: Vec<f64> = self.device.read(&asked[0]).await?.iter().map(|x| 2.0 * x).collect();
            Ok(vec![self.device.array(&asked[0].shape, &numbers)?])
        })
    }
}

#[track_caller]
fn twice(cx: &mut Context, x: Tensor) -> Tensor {
    cx.ask(&[x], &[(x.shape(), DType::F32)])[0]
}

fn parts(segments: &Segments) -> impl Iterator<Item = &ProgramPart> {
    segments.before.iter().flatten().chain([&segments.last])
}

fn products(segments: &Segments) -> Vec<usize> {
    let of = |part: &ProgramPart| {
        let nodes = &part.program.trace().graph.nodes;
        nodes.iter().filter(|node| matches!(node.op, Op::MatMul { .. })).count()
    };
    parts(segments).map(of).collect()
}

#[test]
fn values_cross_cuts_and_states_change_at_the_end() {
    let device = Device::cpu(1);
    let mut segments = Segments::new(&device, |cx| {
        let w = cx.state("w", &[3, 3], DType::F32);
        let rate = cx.scalar_f32("rate");
        // Needed before the first cut and after the last one.
        let product = w.matmul(w);
        let doubled = twice(cx, product * rate);
        // A loop of which one part wants one result, and the last part another.
        let (halved, rows) =
            scan(4, false, &[doubled], &[], |_, c, _| Loop { carry: vec![c[0] * 0.5], ys: vec![c[0]] });
        let again = twice(cx, halved[0]);
        cx.update("w", again + product + rows[0].sum_keep(0).reshape(&[3, 3]) + w);
        cx.output("old", w);
    })
    .unwrap();
    assert_eq!(products(&segments), [1, 0, 0]);
    let mut state = State::new();
    let diagonal = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0];
    state.insert("w", device.array(&[3, 3], &diagonal).unwrap());
    let read = |array: &Array| pollster::block_on(device.read(array)).unwrap();
    let mut run = |answers: usize| {
        let mut host = Twice { device: device.clone(), answers };
        pollster::block_on(segments.run(&state, &[("rate", 0.5.into())], &mut host))
    };
    for answers in [0, 1] {
        assert_eq!(run(answers).unwrap_err().to_string(), Error::Program("tired".to_owned()).to_string());
        assert_eq!(read(state.get("w").unwrap()), diagonal, "nothing has changed");
    }
    let out = run(2).unwrap();
    // w² · ½ · 2 = w²; a sixteenth of it, doubled; and 1 + ½ + ¼ + ⅛ of it.
    let want = |w: f64| w * w / 8.0 + w * w + w * w * 1.875 + w;
    let got = read(state.get("w").unwrap());
    assert_eq!([got[0], got[4], got[8]], [want(1.0), want(2.0), want(3.0)]);
    assert_eq!(read(out.get("old").unwrap()), diagonal);
}

#[test]
fn a_trace_that_asks_nothing_is_the_program_that_it_was() {
    let device = Device::cpu(1);
    let trace = |cx: &mut Context| {
        let w = cx.state("w", &[8, 8], DType::F32);
        cx.update("w", w.matmul(w).tanh());
    };
    let segments = Segments::new(&device, trace).unwrap();
    let program = Program::new(&device, trace).unwrap();
    assert_eq!(segments.last().trace().to_string(), program.trace().to_string());
}

#[test]
fn keys_are_computed_again_and_numbers_are_carried() {
    let device = Device::cpu(1);
    let segments = Segments::new(&device, |cx| {
        let x = cx.state("x", &[4], DType::F32);
        let number = cx.scalar_u32("number");
        let words = [number, number + Tensor::constant_u32(1)];
        let key = crate::tensor::fold_in(words.map(|word| word.broadcast_to(&[4])), number);
        let (drawn, wave) = (key[0].to_f32(), x.sin());
        let back = twice(cx, drawn * wave);
        cx.update("x", back + key[1].to_f32() + wave);
    })
    .unwrap();
    let carried: Vec<usize> = parts(&segments).map(|part| part.reads.len()).collect();
    // The sine and the answer.
    assert_eq!(carried, [0, 2]);
}

/// x ← ½ (2 (x + i)) + w², three times.
fn looped(cx: &mut Context) {
    let w = cx.state("w", &[64, 64], DType::F32);
    let x = cx.state("x", &[64, 64], DType::F32);
    let memory = cx.bulk("memory", &[9, 64], DType::F32);
    let inside = cx.begin_loop(3, &[x, memory]);
    let square = w.matmul(w);
    let back = twice(cx, inside[1] + inside[0].to_f32());
    let row = inside[0].reshape(&[1]) * Tensor::constant_u32(2);
    let memory = inside[2].store(row, back.slice(0, 0, 1));
    let last = cx.end_loop(&[back * 0.5 + square, memory]);
    cx.update("x", last[0]);
    cx.update("memory", last[1]);
    cx.output("sum", last[0].sum_all());
}

#[test]
fn a_loop_asks_in_every_pass_and_what_it_does_not_change_is_computed_before_it() {
    let device = Device::cpu(1);
    let mut segments = Segments::new(&device, looped).unwrap();
    assert_eq!(products(&segments), [1, 0, 0, 0]);
    let mut state = State::new();
    let eye: Vec<f64> = (0..64 * 64).map(|i| f64::from(u8::from(i % 65 == 0))).collect();
    state.insert("w", device.array(&[64, 64], &eye).unwrap());
    state.insert("x", device.zeros(&[64, 64], DType::F32).unwrap());
    state.insert("memory", device.zeros(&[9, 64], DType::F32).unwrap());
    let mut host = Twice { device: device.clone(), answers: 6 };
    let mut sum = 0.0;
    for _ in 0..2 {
        let out = pollster::block_on(segments.run(&state, &[], &mut host)).unwrap();
        sum = pollster::block_on(device.read(out.get("sum").unwrap())).unwrap()[0];
    }
    let x = pollster::block_on(device.read(state.get("x").unwrap())).unwrap();
    // Each pass adds its index everywhere, and the identity.
    assert_eq!((x[0], x[1], host.answers), (2.0 * 6.0, 2.0 * 3.0, 0));
    assert_eq!(sum, f64::from(2 * (64 * 64 * 3 + 64 * 3)));
    let memory = pollster::block_on(device.read(state.get("memory").unwrap())).unwrap();
    // Twice what each pass of the second run began with, and its index, in every second row.
    let rows: Vec<f64> = memory.chunks(64).map(|row| row[1]).collect();
    assert_eq!(rows, [6.0, 0.0, 8.0, 0.0, 12.0, 0.0, 0.0, 0.0, 0.0]);
    // It is the entry itself; the other one is as before if the host fails.
    assert_eq!(segments.steps[0].entries, [None, Some("memory".to_owned())]);
    let before = pollster::block_on(device.read(state.get("x").unwrap())).unwrap();
    host.answers = 2;
    pollster::block_on(segments.run(&state, &[], &mut host)).unwrap_err();
    assert_eq!(pollster::block_on(device.read(state.get("x").unwrap())).unwrap(), before);
}

#[test]
fn carries_may_be_exchanged_and_read_after_they_are_written() {
    let device = Device::cpu(1);
    let mut segments = Segments::new(&device, |cx| {
        let (a, b) = (cx.state("a", &[2], DType::F32), cx.state("b", &[2], DType::F32));
        let inside = cx.begin_loop(3, &[a, b, a * 0.0]);
        let (a, b) = (inside[1], inside[2]);
        // Computed before the ask and needed after it.
        let sum = inside[3] + (a + 1.0).exp();
        let back = twice(cx, a);
        let last = cx.end_loop(&[b, back + sum * 0.0, sum]);
        cx.update("a", last[0]);
        cx.update("b", last[1]);
        cx.output("sum", last[2]);
    })
    .unwrap();
    let mut state = State::new();
    state.insert("a", device.array(&[2], &[1.0, 2.0]).unwrap());
    state.insert("b", device.array(&[2], &[3.0, 5.0]).unwrap());
    let mut host = Twice { device: device.clone(), answers: 3 };
    let out = pollster::block_on(segments.run(&state, &[], &mut host)).unwrap();
    let read = |array: &Array| pollster::block_on(device.read(array)).unwrap();
    // (1, 3) → (3, 2) → (2, 6) → (6, 4), and (2, 5) → (5, 4) → (4, 10) → (10, 8).
    assert_eq!(read(state.get("a").unwrap()), [6.0, 10.0]);
    assert_eq!(read(state.get("b").unwrap()), [4.0, 8.0]);
    let want = [[1.0, 3.0, 2.0], [2.0, 5.0, 4.0]].map(|a| a.iter().map(|a: &f64| (a + 1.0).exp()).sum::<f64>());
    for (got, want) in read(out.get("sum").unwrap()).iter().zip(want) {
        assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
    }
}

#[test]
fn new_values_of_a_loop_are_computed_as_soon_as_they_can_be() {
    let device = Device::cpu(1);
    let mut segments = Segments::new(&device, |cx| {
        let (theta, m) = (cx.state("theta", &[2, 2], DType::F32), cx.state("m", &[2, 2], DType::F32));
        let inside = cx.begin_loop(2, &[theta, m]);
        let m = inside[2].matmul(twice(cx, inside[1]));
        let theta = inside[1] + m;
        // Nobody asks for the second product.
        let last = [theta + twice(cx, theta), m.matmul(m)];
        let last = cx.end_loop(&last);
        cx.update("theta", last[0]);
        cx.update("m", last[1]);
    })
    .unwrap();
    assert_eq!(products(&segments).into_iter().filter(|count| *count > 0).collect::<Vec<_>>(), [2]);
    let mut state = State::new();
    let one = || device.array(&[2, 2], &[1.0, 0.0, 0.0, 1.0]).unwrap();
    state.insert("theta", one());
    state.insert("m", one());
    pollster::block_on(segments.run(&state, &[], &mut Twice { device: device.clone(), answers: 4 })).unwrap();
    // (1, 1) → (9, 4) → (243, 5184).
    let read = |name: &str| pollster::block_on(device.read(state.get(name).unwrap())).unwrap()[0];
    assert_eq!([read("theta"), read("m")], [243.0, 5184.0]);
}

#[test]
fn the_host_is_asked_for_what_a_carry_was_beside_its_new_value() {
    let device = Device::cpu(1);
    let mut segments = Segments::new(&device, |cx| {
        let (w, sum) = (cx.state("w", &[2, 2], DType::F32), cx.state("sum", &[2, 2], DType::F32));
        let inside = cx.begin_loop(3, &[w, sum]);
        let new = inside[1] * 3.0;
        let doubled = cx.ask(&[inside[1], new], &[(w.shape(), DType::F32)])[0];
        let last = cx.end_loop(&[new, inside[2] + doubled]);
        cx.update("w", last[0]);
        cx.update("sum", last[1]);
    })
    .unwrap();
    let mut state = State::new();
    state.insert("w", device.array(&[2, 2], &[1.0; 4]).unwrap());
    state.insert("sum", device.array(&[2, 2], &[0.0; 4]).unwrap());
    pollster::block_on(segments.run(&state, &[], &mut Twice { device: device.clone(), answers: 3 })).unwrap();
    let read = |name: &str| pollster::block_on(device.read(state.get(name).unwrap())).unwrap()[0];
    assert_eq!([read("w"), read("sum")], [27.0, 2.0 * (1.0 + 3.0 + 9.0)]);
    // The parts that wrote carries are looked at, too.
    #[cfg(feature = "debug")]
    assert!(pollster::block_on(segments.first_non_finite(&state, &[])).unwrap().is_none());
}

#[test]
fn asks_that_cannot_be_are_errors() {
    let device = Device::cpu(1);
    let inside = Segments::new(&device, |cx| {
        let x = cx.state("x", &[2], DType::F32);
        let (c, _) = scan(3, false, &[x], &[], |_, c, _| Loop { carry: vec![twice(cx, c[0])], ys: vec![] });
        cx.update("x", c[0]);
    });
    let message = inside.unwrap_err().to_string();
    assert!(
        message.contains("the host cannot be asked inside of a loop (at kernels/src/program/segments/tests.rs"),
        "{message}"
    );
    let alone = Program::new(&device, |cx| {
        let x = cx.state("x", &[2], DType::F32);
        let y = twice(cx, x);
        cx.update("x", y);
    });
    assert!(alone.unwrap_err().to_string().contains("run as segments"));
    let leaks = Segments::new(&device, |cx| {
        let x = cx.state("x", &[2], DType::F32);
        let inside = cx.begin_loop(3, &[x]);
        let back = twice(cx, inside[1]);
        let last = cx.end_loop(&[back])[0];
        cx.update("x", last + back);
    });
    assert!(leaks.unwrap_err().to_string().contains("a value from inside of `repeat` is used after it"));
    let copied = Segments::new(&device, |cx| {
        let x = cx.bulk("x", &[2, 3], DType::F32);
        let inside = cx.begin_loop(3, &[x]);
        let back = twice(cx, inside[0].to_f32().broadcast_to(&[1, 3]));
        let last = cx.end_loop(&[inside[1].store(Tensor::literal_u32(&[0]), back)])[0];
        cx.output("last", last.gather(Tensor::literal_u32(&[0])));
    });
    assert!(copied.unwrap_err().to_string().contains("`x` is bulk"));
}
