use super::join;
use crate::program::{Context, Outputs, Program, State};
use crate::tensor::{Loop, scan};
use crate::{Array, DType, Device, Error, Result, Tensor};

const ROWS: usize = 4;
/// The variant of each row.
const OF_ROWS: [usize; ROWS] = [1, 0, 2, 1];

fn read(device: &Device, array: &Array) -> Vec<f64> {
    pollster::block_on(device.read(array)).unwrap()
}

/// A state with `x`, `[4, 3]`.
fn state(device: &Device) -> State {
    let mut state = State::new();
    let numbers: Vec<f64> = (0..12).map(|i| f64::from(i) * 0.37 - 1.5).collect();
    state.insert("x", device.array(&[ROWS, 3], &numbers).unwrap());
    state
}

/// Runs variants joined, and each alone: every row of `y` has the bits of its variant. Returns the number of columns.
fn same_bits(numbers: [f64; 3], trace: impl Fn(&mut Context, f64)) -> Result<usize> {
    let device = Device::cpu(1);
    let scalar = |row: usize| vec![("rate", (0.1 * (row + 1) as f64).into())];
    let (mut joined, own) = Program::joined(&device, [ROWS, 3], &mut |variant, cx| trace(cx, numbers[variant]))?;
    let mut all = state(&device);
    let scalars: Vec<_> = (0..ROWS).map(scalar).collect();
    let tables = own.arrays(&device, &OF_ROWS, &scalars)?;
    let columns = tables.iter().map(|(_, table)| table.shape[1]).sum();
    tables.into_iter().for_each(|(name, array)| all.insert(name, array));
    let given = [("rate", 0.0.into()), ("iteration", 7u32.into())];
    let values = |outputs: &Outputs| read(&device, outputs.get("y").unwrap());
    let together = values(&joined.run(&all, &[], &given)?);
    let width = together.len() / ROWS;
    for (row, variant) in OF_ROWS.iter().enumerate() {
        let mut alone = Program::new(&device, |cx| trace(cx, numbers[*variant]))?;
        let given = [scalar(row)[0], ("iteration", 7u32.into())];
        let alone = values(&alone.run(&state(&device), &[], &given)?);
        let own = row * width..(row + 1) * width;
        assert_eq!(together[own.clone()], alone[own], "row {row}");
    }
    Ok(columns)
}

fn x(cx: &mut Context) -> Tensor {
    cx.state("x", &[ROWS, 3], DType::F32)
}

#[test]
fn constants_become_numbers_of_rows() {
    let columns = same_bits([0.9, 0.7, 0.3], |cx, number| {
        let x = x(cx);
        cx.output("y", (x * number).tanh() + x.sum_keep(1) * (2.0 * number) + number);
    });
    assert_eq!(columns.unwrap(), 2, "a number that is used twice is one column");
}

/// As γ and λ, which may have the same value in one variant.
#[test]
fn equal_constants_of_one_variant_may_be_several_of_another() {
    let columns = same_bits([0.5, 0.25, 1.0], |cx, number| {
        let x = x(cx);
        cx.output("y", x * 0.5 + (x + 1.0).exp() * number);
    });
    assert_eq!(columns.unwrap(), 1);
}

#[test]
fn loops_carry_numbers_along_the_axis_of_rows() {
    same_bits([0.9, 0.99, 1.0], |cx, gamma| {
        // `[T, S, 1]`, as a rollout has it.
        let rewards = x(cx).permute(&[1, 0]).reshape(&[3, ROWS, 1]);
        let zero = Tensor::zeros(&[ROWS, 1]);
        let (_, returns) = scan(3, true, &[zero], &[rewards], |_, later, reward| {
            let sum = reward[0] + later[0] * gamma;
            Loop { carry: vec![sum], ys: vec![sum] }
        });
        cx.output("y", returns[0].permute(&[1, 0, 2]));
    })
    .unwrap();
}

#[test]
fn rows_are_found_in_axes_that_were_joined() {
    same_bits([0.5, 0.7, 2.0], |cx, number| {
        // Four rows of three, repeated: element i of the axis is of row (i / 2) mod 4.
        let x = x(cx).permute(&[1, 0]).reshape(&[3, ROWS, 1]).broadcast_to(&[3, ROWS, 2]).reshape(&[3 * ROWS * 2]);
        let y = (x + number).reshape(&[3, ROWS, 2]).permute(&[1, 0, 2]);
        cx.output("y", y.reshape(&[ROWS, 6]));
    })
    .unwrap();
}

#[test]
fn numbers_fill_parts_of_concatenations_of_any_length() {
    same_bits([0.5, 0.7, 2.0], |cx, number| {
        let x = x(cx);
        let parts = [Tensor::full(&[ROWS, 1], number), x, Tensor::full(&[ROWS, 2], 3.0 * number)];
        cx.output("y", Tensor::concat(&parts, 1));
    })
    .unwrap();
}

/// A tensor without rows of its own that is used along two axes: which number is whose would not be known.
#[test]
fn a_number_that_meets_two_axes_of_rows_is_refused() {
    let device = Device::cpu(1);
    let joined = Program::joined(&device, [ROWS, 2], &mut |variant, cx| {
        let x = cx.state("x", &[ROWS, ROWS], DType::F32);
        let steps = Tensor::iota(&[ROWS, ROWS], 1).to_f32() * (0.5 + variant as f64);
        cx.output("y", x + steps + (x.permute(&[1, 0]) + steps).permute(&[1, 0]));
    });
    let problem = joined.unwrap_err().to_string();
    assert!(problem.contains("meets other rows"), "{problem}");
}

#[test]
fn scalars_are_numbers_of_rows_but_for_that_of_the_iteration() {
    let columns = same_bits([0.5, 0.7, 2.0], |cx, number| {
        let (rate, iteration) = (cx.scalar_f32("rate"), cx.scalar_u32("iteration").to_f32());
        let x = x(cx);
        cx.output("y", x * (rate * number) + iteration * number);
    });
    assert_eq!(columns.unwrap(), 2);
}

#[test]
fn what_differs_in_more_than_numbers_is_refused() {
    let problem = |trace: &dyn Fn(&mut Context, f64)| match same_bits([0.0, 1.0, 2.0], trace) {
        Err(Error::Program(problem)) => problem,
        other => panic!("{other:?}"),
    };
    let shapes = problem(&|cx, number| {
        let x = x(cx);
        cx.output("y", Tensor::concat(&vec![x; 1 + number as usize], 1));
    });
    assert!(shapes.contains("arrays of other names or shapes"), "{shapes}");
    let operations = problem(&|cx, number| {
        let x = x(cx);
        cx.output("y", if number > 1.0 { x.exp() } else { x.tanh() });
    });
    assert!(operations.contains("`tanh` where another computes `exp`"), "{operations}");
    assert!(operations.contains("tests.rs"), "{operations}");
    let branches = problem(&|cx, number| {
        let stop = Tensor::iota(&[3 + number as usize], 0).max_over(&[0]).eq(Tensor::constant_u32(3));
        let x = x(cx);
        cx.output("y", x + stop.to_f32());
    });
    assert!(!branches.is_empty());
    let asks = problem(&|cx, number| {
        let x = x(cx);
        let answer = cx.ask(&[x * number], &[(vec![ROWS, 3], DType::F32)])[0];
        cx.output("y", answer);
    });
    assert!(asks.contains("ask the host"), "{asks}");
    assert!(join(&[], 1).is_err());
}
