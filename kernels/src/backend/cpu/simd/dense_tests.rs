//! Matrix kernels against plain loops, bit for bit, on every instruction set that the processor has.

use super::super::gemm::{GemmDims, gemm};
use super::*;
use crate::{math, rng};

fn values(len: usize, seed: u32) -> Vec<f32> {
    (0..len as u32).map(|i| rng::uniform(rng::threefry2x32([seed, 2], [i, 3])[0]) * 2.0 - 1.0).collect()
}

/// acc + a · b as the instruction set computes it.
fn mul_add(isa: Isa, a: f32, b: f32, acc: f32) -> f32 {
    if isa.fuses() { a.mul_add(b, acc) } else { a * b + acc }
}

/// Σ over t < k of a(t) · b(t) in the order that the module states.
fn chain(isa: Isa, k: usize, at: impl Fn(usize) -> (f32, f32)) -> f32 {
    let slice = |start: usize| {
        (start..k.min(start + slice_len(k))).fold(0.0, |acc, t| {
            let (a, b) = at(t);
            mul_add(isa, a, b, acc)
        })
    };
    (0..k).step_by(slice_len(k)).map(slice).reduce(|x, y| x + y).unwrap_or(0.0)
}

/// Few for Miri, which takes ten thousand times as long.
const SIZES: &[usize] = if cfg!(miri) { &[1, 17] } else { &[1, 2, 3, 5, 17, 31, 63, 64, 65] };

fn check_dense(isa: Isa, k: usize, n: usize, r: usize) {
    let (a, w, bias) = (values(k * r, 1), values(k * n, 2), values(n, 3));
    let forward = Strided { values: &w, row: n, col: 1 };
    let backward = Strided { values: &w, row: 1, col: k }; // the same sizes, stored [N][K]
    let mut y = values(n * r, 4);
    y.iter_mut().step_by(5).for_each(|y| *y = -0.0);
    let cases = [
        (forward, true, "tanh"),
        (forward, false, "linear"),
        (forward, true, "relu"),
        (forward, false, "relu beside"),
        (backward, true, "linear"),
        (backward, false, "slope"),
        (backward, false, "gate"),
    ];
    for (w, with_bias, name) in cases {
        let (mut out, mut beside) = (vec![f32::NAN; n * r], vec![f32::NAN; n * r]);
        let after = match name {
            "tanh" => Epilogue::Tanh,
            "slope" => Epilogue::Slope(&y),
            "relu" => Epilogue::Relu(None),
            "relu beside" => Epilogue::Relu(Some(&mut beside)),
            "gate" => Epilogue::Gate(&y),
            _ => Epilogue::Linear,
        };
        let strided = Strided { values: &bias, row: 1, col: 0 };
        dense(isa, &mut out, &a, w, with_bias.then_some(strided), DenseDims { k, n, r }, after);
        for (i, bias) in bias.iter().enumerate() {
            for l in 0..r {
                let sum = chain(isa, k, |t| (a[t * r + l], w.values[t * w.row + i * w.col]));
                let sum = if with_bias { sum + bias } else { sum };
                let at = i * r + l;
                let want = match name {
                    "tanh" => math::tanh(sum),
                    "slope" => sum * (1.0 - y[at] * y[at]),
                    "relu" if sum < 0.0 => 0.0,
                    "gate" if y[at] < 0.0 => 0.0,
                    _ => sum,
                };
                assert_eq!(out[at].to_bits(), want.to_bits(), "{isa} {name} k {k} n {n} r {r} at {i}, {l}");
                if name == "relu beside" {
                    let want = if sum < 0.0 { 0.0 } else { sum };
                    assert_eq!(beside[at].to_bits(), want.to_bits(), "{isa} {name} k {k} n {n} r {r} at {i}, {l}");
                }
            }
        }
    }
}

#[test]
fn dense_equals_a_scalar_loop() {
    for isa in Isa::available() {
        for &k in SIZES {
            for &n in SIZES {
                for &r in if cfg!(miri) { &[16][..] } else { &[16, 32, 48, 64, 80] } {
                    check_dense(isa, k, n, r);
                }
            }
        }
        if !cfg!(miri) {
            check_dense(isa, 1025, 3, 16); // two slices
            check_dense(isa, 2500, 7, 32); // three
        }
    }
}

#[test]
fn dense_with_nothing_to_sum_is_the_bias() {
    for isa in Isa::available() {
        let (mut out, bias) = (vec![f32::NAN; 32], [0.5, -2.0]);
        let bias = Strided { values: &bias, row: 1, col: 0 };
        let none = Strided { values: &[], row: 2, col: 1 };
        dense(isa, &mut out, &[], none, Some(bias), DenseDims { k: 0, n: 2, r: 16 }, Epilogue::Linear);
        assert_eq!(out, [[0.5; 16], [-2.0; 16]].concat());
    }
}

#[test]
fn outer_accumulation_equals_a_scalar_loop() {
    let mut scratch = Vec::new();
    for isa in Isa::available() {
        for &k in SIZES {
            for &n in SIZES {
                for (stride, rows) in [(16, 16), (32, 17), (64, 64), (64, 1), (64, 63)] {
                    if cfg!(miri) && stride == 64 {
                        continue;
                    }
                    let dw_row = n + 3;
                    let (a, g, dw) = (values(k * stride, 1), values(n * stride, 2), values(k * dw_row, 3));
                    let mut got = dw.clone();
                    let outer = Outer { a: &a, g: &g, k, n, stride, rows };
                    dense_accumulate_outer(isa, &mut got, dw_row, outer, &mut scratch);
                    for i in 0..k {
                        for j in 0..dw_row {
                            let start = dw[i * dw_row + j];
                            let rows = if j < n { rows } else { 0 }; // the gap stays as it was
                            let want =
                                (0..rows).fold(start, |acc, r| mul_add(isa, a[i * stride + r], g[j * stride + r], acc));
                            let at = i * dw_row + j;
                            assert_eq!(got[at].to_bits(), want.to_bits(), "{isa} {k} {n} {stride} {rows} at {i}, {j}");
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn gemm_equals_a_scalar_loop() {
    let mut scratch = Vec::new();
    let shapes = SIZES.iter().flat_map(|&m| SIZES.iter().flat_map(move |&k| SIZES.iter().map(move |&n| (m, k, n))));
    let large: &[_] = if cfg!(miri) { &[(1, 1030, 2)] } else { &[(7, 300, 70), (3, 1030, 65), (70, 2500, 64)] };
    let shapes: Vec<_> = shapes.chain(large.iter().copied()).collect();
    for isa in Isa::available() {
        for &(m, k, n) in &shapes {
            let (a, b, c_row) = (values(m * k, 1), values(k * n, 2), n + 1);
            // Plain A with transposed B, then the reverse.
            let plain = (Strided { values: &a, row: k, col: 1 }, Strided { values: &b, row: 1, col: k });
            let turned = (Strided { values: &a, row: 1, col: m }, Strided { values: &b, row: n, col: 1 });
            for (a, b) in [plain, turned] {
                let mut got = vec![7.0; m * c_row];
                gemm(isa, &mut got, c_row, a, b, GemmDims { m, k, n, over_rows: true }, &mut scratch);
                for i in 0..m {
                    for j in 0..n {
                        let term = |t: usize| (a.values[i * a.row + t * a.col], b.values[t * b.row + j * b.col]);
                        let want = chain(isa, k, term);
                        assert_eq!(got[i * c_row + j].to_bits(), want.to_bits(), "{isa} {m} {k} {n} at {i}, {j}");
                    }
                    assert_eq!(got[i * c_row + n], 7.0);
                }
            }
        }
    }
}

#[test]
#[should_panic(expected = "dense weights")]
fn weights_that_are_too_short_are_refused() {
    let w = Strided { values: &[0.0; 5], row: 3, col: 1 };
    dense(Isa::Baseline, &mut [0.0; 48], &[0.0; 32], w, None, DenseDims { k: 2, n: 3, r: 16 }, Epilogue::Linear);
}
