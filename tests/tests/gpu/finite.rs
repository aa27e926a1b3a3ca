//! NaN and infinities on the GPU: each one is found, and nothing else.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::rng::Threefry;
use quickstudy_core::{DType, Program, State};
use quickstudy_tests::gpu;

const ROWS: usize = 1000;
const WIDTH: usize = 67;

/// Any finite number: bit patterns, and what is easily mistaken.
fn finite(random: &mut Threefry) -> f32 {
    let edges = [0.0, -0.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE, f32::from_bits(1), -f32::from_bits(0x7f_ffff)];
    match random.word() % 4 {
        0 => edges[random.word() as usize % edges.len()],
        _ => {
            let x = f32::from_bits(random.word());
            if x.is_finite() { x } else { 1.0 }
        }
    }
}

/// A number that is not finite: either infinity, or a NaN of either sign, quiet or signalling, with any payload.
fn broken(random: &mut Threefry) -> f32 {
    let sign = random.word() & 0x8000_0000;
    let payload = if random.word().is_multiple_of(3) { 0 } else { 1 << (random.word() % 23) };
    f32::from_bits(sign | 0x7f80_0000 | payload)
}

/// 1,000 rows with one planted number each, then 1,000 clean ones; and where in the first ones.
fn rows(random: &mut Threefry, mut clean: impl FnMut(&mut Threefry) -> f32) -> (Vec<f32>, Vec<usize>) {
    let mut values: Vec<f32> = (0..2 * ROWS * WIDTH).map(|_| clean(random)).collect();
    let places: Vec<usize> = (0..ROWS).map(|i| i * WIDTH + random.word() as usize % WIDTH).collect();
    places.iter().for_each(|at| values[*at] = broken(random));
    (values, places)
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn every_planted_number_is_found_and_no_other() {
    let device = gpu::device();
    let (values, places) = rows(&mut Threefry::new([1, 2]), finite);
    let shape = [2 * ROWS, WIDTH];
    let mut program = Program::new(&device, |cx| {
        let x = cx.input("x", &shape, DType::F32);
        cx.output("each", x.non_finite());
        cx.output("rows", x.non_finite().max_keep(1));
        cx.output("count", x.non_finite().to_f32().sum_all());
    })
    .unwrap();
    let x = device.array_f32(&shape, &values).unwrap();
    let out = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
    let read = |name| pollster::block_on(device.read_u32(out.get(name).unwrap())).unwrap();
    let mut planted = vec![0; values.len()];
    places.iter().for_each(|at| planted[*at] = 1);
    assert!(read("each") == planted, "each number by itself");
    let expected: Vec<u32> = (0..2 * ROWS).map(|i| u32::from(i < ROWS)).collect();
    assert_eq!(read("rows"), expected);
    let count = pollster::block_on(device.read(out.get("count").unwrap())).unwrap();
    assert_eq!(count, [ROWS as f64]);
}

/// As an update finds it: by the norm of all gradients, after sums and products.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn every_planted_number_reaches_the_norm() {
    let device = gpu::device();
    let ordinary = |random: &mut Threefry| (random.uniform() * 2.0 - 1.0) as f32 * 1e3;
    let (values, _) = rows(&mut Threefry::new([3, 4]), ordinary);
    let shape = [2 * ROWS, WIDTH];
    let mut program = Program::new(&device, |cx| {
        let x = cx.input("x", &shape, DType::F32);
        let norm = x.square().sum_keep(1).sqrt();
        cx.output("norm", norm.non_finite());
        cx.output("scaled", (x * norm.recip().min(norm)).non_finite().max_keep(1));
    })
    .unwrap();
    let x = device.array_f32(&shape, &values).unwrap();
    let out = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
    let expected: Vec<u32> = (0..2 * ROWS).map(|i| u32::from(i < ROWS)).collect();
    for name in ["norm", "scaled"] {
        let found = pollster::block_on(device.read_u32(out.get(name).unwrap())).unwrap();
        assert_eq!(found, expected, "{name}");
    }
}

/// Operations that give a number that is not finite.
#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn what_operations_break_is_found() {
    let device = gpu::device();
    let n = 2 * ROWS;
    let mut random = Threefry::new([5, 6]);
    // Large in the first half, so that squares overflow, logarithms of the negative are NaN, and so on.
    let values: Vec<f32> =
        (0..n).map(|i| (1.0 + random.uniform() as f32) * if i < ROWS { 1e30 } else { 1.0 }).collect();
    let mut program = Program::new(&device, |cx| {
        let x = cx.input("x", &[n], DType::F32);
        let results = [
            x.square(),
            x.exp(),
            (3.0 - x).log(),
            (3.0 - x).sqrt(),
            x.square() - x.square() * 2.0,
            (x.square().recip() * 1e-10).recip(),
        ];
        for (i, y) in results.into_iter().enumerate() {
            cx.output(&i.to_string(), y.non_finite());
        }
    })
    .unwrap();
    let x = device.array_f32(&[n], &values).unwrap();
    let out = program.run(&State::new(), &[("x", &x)], &[]).unwrap();
    let expected: Vec<u32> = (0..n).map(|i| u32::from(i < ROWS)).collect();
    for (name, array) in out.iter() {
        assert_eq!(pollster::block_on(device.read_u32(array)).unwrap(), expected, "operation {name}");
    }
}
