//! Programs of one product or reduction: sizes at and off the edges of tiles and slices, with work before and after.
#![allow(dead_code, reason = "tests without a GPU do not run them")]

use quickstudy_core::program::Context;
use quickstudy_core::{DType, Tensor};

/// A program, its f32 inputs' names and shapes, and whether it updates the state `theta` of that shape.
pub struct Case {
    pub name: String,
    pub inputs: Vec<(&'static str, Vec<usize>)>,
    pub state: Option<Vec<usize>>,
    body: Box<dyn Fn(&mut Context)>,
}

impl Case {
    pub fn trace(&self, cx: &mut Context) {
        (self.body)(cx);
    }
}

/// Shapes of a product's operands.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    batch: [usize; 2],
    m: usize,
    n: usize,
    k: usize,
    ta: bool,
    tb: bool,
}

impl Sizes {
    fn shapes(&self) -> [Vec<usize>; 2] {
        let Sizes { batch, m, n, k, ta, tb } = *self;
        let a = if ta { [k, m] } else { [m, k] };
        let b = if tb { [n, k] } else { [k, n] };
        [vec![batch[0], a[0], a[1]], vec![batch[1], b[0], b[1]]]
    }

    fn case(self, what: &str, f: fn(Tensor, Tensor, Tensor, Sizes) -> Tensor) -> Case {
        let [a, b] = self.shapes();
        let bias = vec![1, self.n];
        let inputs = vec![("a", a.clone()), ("b", b.clone()), ("bias", bias.clone())];
        let body = move |cx: &mut Context| {
            let (a, b) = (cx.input("a", &a, DType::F32), cx.input("b", &b, DType::F32));
            let bias = cx.input("bias", &bias, DType::F32);
            cx.output("c", f(a, b, bias, self));
        };
        Case { name: format!("{what} {self:?}"), inputs, state: None, body: Box::new(body) }
    }
}

fn plain(a: Tensor, b: Tensor, bias: Tensor, of: Sizes) -> Tensor {
    a.matmul_with(b, of.ta, of.tb) + bias
}

/// Masked operand, activation afterwards, and a view of the result.
fn dressed(a: Tensor, b: Tensor, bias: Tensor, of: Sizes) -> Tensor {
    let a = a.gt(Tensor::constant_f32(-0.4)).select(a * 2.0, a.square());
    let c = (a.matmul_with(b, of.ta, of.tb) + bias).tanh();
    c.reshape(&[of.batch[0], of.m * of.n]) * 0.5
}

/// A weight gradient that changes parameters.
fn gradient(name: &str, of: Sizes) -> Case {
    let [a, b] = of.shapes();
    let theta = vec![of.batch[0], of.m * of.n];
    let (inputs, state) = (vec![("a", a.clone()), ("b", b.clone())], Some(theta.clone()));
    let body = move |cx: &mut Context| {
        let (a, b) = (cx.input("a", &a, DType::F32), cx.input("b", &b, DType::F32));
        let old = cx.state("theta", &theta, DType::F32);
        let gradient = a.matmul_with(b, of.ta, of.tb).reshape(&theta);
        cx.update("theta", old - gradient * 0.01);
    };
    Case { name: format!("{name} {of:?}"), inputs, state, body: Box::new(body) }
}

fn reduction(name: &str, shape: &[usize], f: fn(&mut Context, Tensor)) -> Case {
    let shape = shape.to_vec();
    let inputs = vec![("x", shape.clone())];
    let body = move |cx: &mut Context| {
        let x = cx.input("x", &shape, DType::F32);
        f(cx, x);
    };
    Case { name: name.to_owned(), inputs, state: None, body: Box::new(body) }
}

/// All cases.
pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for size in [1, 63, 64, 65, 130] {
        for (ta, tb) in [(false, false), (true, false), (false, true), (true, true)] {
            let of = Sizes { batch: [1, 1], m: size, n: size, k: size, ta, tb };
            cases.push(of.case("square", plain));
        }
    }
    for (m, n, k) in [(64, 32, 16), (129, 33, 17), (200, 31, 40), (65, 130, 63), (256, 64, 64), (63, 130, 1)] {
        for (batch, ta, tb) in [([2, 2], false, false), ([3, 1], true, false), ([2, 2], false, true)] {
            let of = Sizes { batch, m, n, k, ta, tb };
            cases.push(of.case("plain", plain));
            cases.push(of.case("dressed", dressed));
        }
    }
    for (m, n, k) in [(4, 64, 128), (3, 2, 33), (1, 7, 129), (65, 9, 100), (17, 5, 300), (6, 6, 2047)] {
        for (batch, ta, tb) in [([1, 1], false, false), ([2, 2], true, false), ([3, 1], false, true)] {
            let of = Sizes { batch, m, n, k, ta, tb };
            cases.push(of.case("narrow", plain));
            cases.push(of.case("narrow and dressed", dressed));
        }
    }
    for (m, n, k) in [(64, 64, 2048), (65, 33, 2100), (5, 64, 4100), (64, 1, 5000), (1, 1, 2047), (130, 32, 3001)] {
        for batch in [1, 2] {
            let of = Sizes { batch: [batch, batch], m, n, k, ta: true, tb: false };
            cases.push(of.case("long", plain));
            cases.push(of.case("long and dressed", dressed));
            cases.push(gradient("gradient", of));
        }
    }
    cases.push(reduction("bias gradient", &[2, 5003, 65], |cx, x| cx.output("y", x.sum(&[1]))));
    cases.push(reduction("long bias gradient", &[2, 20_007, 5], |cx, x| cx.output("y", (x.sum(&[1]) * 0.1).tanh())));
    cases.push(reduction("moments", &[20_001, 3], |cx, x| {
        cx.output("mean", x.mean(&[0]));
        cx.output("square", x.square().mean(&[0]));
        cx.output("max", x.max_over(&[0]));
    }));
    cases.push(reduction("everything", &[301, 101], |cx, x| cx.output("y", x.sum_all() + 1.0)));
    cases.push(reduction("siblings", &[3, 20_001], |cx, x| {
        cx.output("n", x.gt(Tensor::constant_f32(0.1)).select(x.square(), x).sum(&[1]));
        cx.output("sum", x.exp().sum(&[1]));
    }));
    cases.push(reduction("rows", &[1001, 65], |cx, x| {
        let total = x.sum_keep(1);
        cx.output("y", total.square() + 1.0);
        cx.output("max", x.max_keep(1));
    }));
    cases.push(reduction("columns", &[70, 130], |cx, x| cx.output("y", x.sum(&[0]))));
    cases.push(reduction("a column", &[70, 1], |cx, x| cx.output("y", x.max_over(&[0]))));
    cases.push(reduction("two axes apart", &[40, 3, 400], |cx, x| cx.output("y", x.sum(&[0, 2]))));
    cases
}
