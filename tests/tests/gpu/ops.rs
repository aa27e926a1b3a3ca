//! Every primitive on the GPU: the op table against the f64 reference, special values, random integers. Skipped without
//! a GPU.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use quickstudy_core::dist::fold_in;
use quickstudy_core::rng::{self, Threefry};
use quickstudy_core::tensor::{Binary, Unary};
use quickstudy_core::{DType, Device, Program, State, Tensor};
use quickstudy_tests::gpu;
use quickstudy_tests::random_graph::{Report, Subject, Way, check_program};
use quickstudy_tests::table::{Primitive, rows, specials};

/// Results of integers only: nothing may be off.
fn is_exact(primitive: Primitive) -> bool {
    use Primitive::{Permutation, Threefry};
    let bits = [Binary::And, Binary::Or, Binary::Xor, Binary::Shl, Binary::Shr, Binary::Lt, Binary::Eq];
    matches!(primitive, Threefry | Permutation) || bits.map(Primitive::Binary).contains(&primitive)
}

/// How many times the error of correct rounding WGSL allows: 2.5 units in the last place for a quotient, which
/// tanh ends with, instead of half a unit; for a square root those of a reciprocal and 2 of an inverse square
/// root. Compilers may change the order of sums.
fn slack(primitive: Primitive) -> f64 {
    match primitive {
        Primitive::Unary(Unary::Recip | Unary::Tanh) => 5.0,
        Primitive::Unary(Unary::Sqrt) => 9.0,
        // Twins and bodies of loops have such functions in them.
        Primitive::Call | Primitive::Scan | Primitive::Param | Primitive::Out => 5.0,
        // Number by number: Mesa starts a product of few terms with a constant that is added to it.
        Primitive::MatMul => 4.0,
        _ => 2.0,
    }
}

/// Every fourth primitive, so that all four parts together are all of them, new ones included.
fn part(first: usize) {
    let device = gpu::device();
    let (mut all, mut count) = (Report::default(), 0);
    for primitive in Primitive::all().into_iter().skip(first).step_by(4) {
        let slack = slack(primitive);
        let ways = [Way { name: "gpu".to_owned(), device: device.clone(), slack }];
        let mut report = Report::default();
        for row in rows(primitive) {
            let subject = Subject { args: &row.args, trace: &|cx| row.trace(cx) };
            let r = check_program(subject, &ways).unwrap_or_else(|f| panic!("{primitive:?}, {}: {f}", row.name));
            assert!(r.elements > 0 && r.unbounded == 0, "{primitive:?}, {}: {r:?}", row.name);
            report.add(r);
            count += 1;
        }
        assert!(!is_exact(primitive) || report.inexact == 0, "{primitive:?}: {report:?}");
        println!("{primitive:?}: the largest error is {:.2} of its bound", report.worst);
        all.add(report);
    }
    println!("{count} rows, {all:?}");
    assert!(count > 150, "{count}");
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn primitives_agree_with_the_reference_0() {
    part(0);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn primitives_agree_with_the_reference_1() {
    part(1);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn primitives_agree_with_the_reference_2() {
    part(2);
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn primitives_agree_with_the_reference_3() {
    part(3);
}

/// WGSL leaves to the implementation whether comparisons and arithmetic see NaN, infinities, the sign of zero and
/// subnormal numbers. What the library itself relies on it computes from bits.
fn is_promised(op: &str) -> bool {
    ["non_finite", "bitcast", "bitcast twice", "shl by 33", "exp", "log", "tanh"].contains(&op)
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn special_values() {
    let device = gpu::device();
    // Mesa's software adapter gives all of them as IEEE 754 says.
    let exact = device.caps().name.contains("llvmpipe");
    let mut other = 0;
    for special in specials() {
        let got = special.on(&device).unwrap();
        if !special.is(got) {
            let message = format!("{special} is {}", special.show(got));
            assert!(!exact && !is_promised(special.op), "{message}");
            println!("{message}, which WGSL allows");
            other += 1;
        }
    }
    println!("{other} of {} special values differ", specials().len());
}

/// Results of a program of u32 inputs.
fn words(device: &Device, inputs: &[(&str, Vec<u32>)], f: impl Fn(&[Tensor]) -> Vec<Tensor>) -> Vec<Vec<u32>> {
    let mut program = Program::new(device, |cx| {
        let x: Vec<Tensor> = inputs.iter().map(|(name, v)| cx.input(name, &[v.len()], DType::U32)).collect();
        f(&x).into_iter().enumerate().for_each(|(i, y)| cx.output(&i.to_string(), y));
    })
    .unwrap();
    let arrays: Vec<_> = inputs.iter().map(|(n, v)| (*n, device.array_u32(&[v.len()], v).unwrap())).collect();
    let named: Vec<_> = arrays.iter().map(|(n, a)| (*n, a)).collect();
    let out = program.run(&State::new(), &named, &[]).unwrap();
    out.iter().map(|(_, array)| pollster::block_on(device.read_u32(array)).unwrap()).collect()
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn random_words_and_folded_keys_are_those_of_the_host() {
    let device = gpu::device();
    let mut random = Threefry::new([5, 6]);
    let mut column = || -> Vec<u32> {
        let edges = [0, 1, u32::MAX, 1 << 31, 0x7fff_ffff];
        edges.into_iter().chain((0..5000).map(|_| random.word())).collect()
    };
    let inputs = ["k0", "k1", "c0", "c1"].map(|name| (name, column()));
    let found = words(&device, &inputs, |x| {
        let draw = |word| Tensor::threefry([x[0], x[1]], [x[2], x[3]], word);
        let folded = fold_in([x[0], x[1]], x[2]);
        let twice = fold_in(folded, x[3]);
        vec![draw(0), draw(1), folded[0], folded[1], twice[0], twice[1]]
    });
    for i in 0..inputs[0].1.len() {
        let [k0, k1, c0, c1] = [0, 1, 2, 3].map(|k| inputs[k].1[i]);
        let folded = rng::fold_in([k0, k1], c0);
        let want = [rng::threefry2x32([k0, k1], [c0, c1]), folded, rng::fold_in(folded, c1)];
        let got: Vec<u32> = found.iter().map(|f| f[i]).collect();
        assert_eq!(got, want.as_flattened(), "key {k0:#x} {k1:#x}, counter {c0:#x} {c1:#x}");
    }
}

#[test]
#[cfg_attr(without_gpu, ignore = "needs a GPU, if only a software one")]
fn permutations_are_those_of_the_host() {
    let device = gpu::device();
    for n in [1, 2, 3, 4, 5, 7, 16, 17, 100, 255, 256, 1000, 1025, 4096, 65_537, 100_000] {
        for key in [[0, 0], [1, 2], [u32::MAX, 0xdead_beef]] {
            let inputs = [("k0", vec![key[0]]), ("k1", vec![key[1]])];
            let found = words(&device, &inputs, |x| vec![Tensor::iota(&[n], 0).permutation([x[0], x[1]], n)]);
            let permutation = rng::Permutation::new(key, n as u32);
            let want: Vec<u32> = (0..n as u32).map(|i| permutation.apply(i)).collect();
            assert!(found[0] == want, "permutation of {n} under {key:?}");
        }
    }
}
