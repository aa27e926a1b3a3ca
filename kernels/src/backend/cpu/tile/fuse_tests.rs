//! Activations inside of products: the same bits as one operation after the other, and really inside.

use crate::backend::cpu::lower::lower;
use crate::backend::cpu::simd::isa::Isa;
use crate::backend::cpu::steps::LoweredStep;
use crate::backend::cpu::tile::{Instr, Own, Tile};
use crate::backend::cpu::{Cpu, CpuOptions};
use crate::grad::grad;
use crate::tensor::{Loop, scan};
use crate::{Context, DType, Device, Program, State, Tensor};

type Activation = fn(Tensor) -> Tensor;

const ACTIVATIONS: [(&str, Activation); 4] = [
    ("tanh", Tensor::tanh),
    ("relu", |x| x.max(Tensor::constant_f32(0.0))),
    ("sigmoid", Tensor::sigmoid),
    ("softplus", Tensor::softplus),
];

/// Two hidden layers, inputs, first and second layer of the given widths, and what is differentiated.
#[derive(Clone, Copy, Debug)]
struct Net {
    rows: usize,
    sizes: [usize; 3],
    bias: bool,
    back: bool,
}

impl Net {
    fn shapes(self) -> [(&'static str, Vec<usize>); 6] {
        let [k, n, m] = self.sizes;
        let shapes = [[2, self.rows, k], [2, k, n], [2, 1, n], [2, n, m], [2, 1, m], [2, m, 1]];
        let mut names = ["x", "w1", "b1", "w2", "b2", "w3"].into_iter();
        shapes.map(|shape| (names.next().unwrap(), shape.to_vec()))
    }

    fn trace(self, cx: &mut Context, activation: Activation) {
        let [x, w1, b1, w2, b2, w3] = self.shapes().map(|(name, shape)| cx.input(name, &shape, DType::F32));
        let layer = |x: Tensor, w: Tensor, b: Tensor| {
            let y = x.matmul(w);
            activation(if self.bias { y + b } else { y })
        };
        let hidden = layer(layer(x, w1, b1), w2, b2);
        let y = hidden.matmul(w3);
        if self.back {
            let gradients = grad(y.square().sum(&[0, 1, 2]), &[w1, b1, w2, b2, w3]);
            gradients.into_iter().enumerate().for_each(|(i, g)| cx.output(&format!("g{i}"), g));
        } else {
            cx.output("y", y);
        }
    }

    fn run(self, activation: Activation, options: CpuOptions) -> Vec<Vec<u32>> {
        run(&|cx| self.trace(cx, activation), &self.shapes(), options)
    }

    /// Elementwise instructions inside of each wide product, and how many wide ones are left
    /// outside, of the tile with the most products.
    fn moved(self, activation: Activation) -> (Vec<usize>, usize) {
        let trace = Program::trace_of(|cx| self.trace(cx, activation)).unwrap();
        let lowered = lower(&trace, true, 1).unwrap();
        let wide = |i: &Instr| match i {
            Instr::Own(Own::Dense(product)) if product.strides[3] > 1 => Some(product.after.len()),
            _ => None,
        };
        let inside = |tile: &Tile| tile.code.iter().filter_map(wide).collect::<Vec<_>>();
        let tiles = lowered.steps.iter().filter_map(|s| if let LoweredStep::Tile(t) = s { Some(t) } else { None });
        let tile = tiles.max_by_key(|tile| inside(tile).len()).unwrap();
        let outside = |i: &&Instr| i.elementwise().is_some_and(|(_, dst, _)| tile.registers[dst].1 > 1);
        (inside(tile), tile.code.iter().filter(outside).count())
    }
}

/// The bits of all outputs.
fn run(f: &dyn Fn(&mut Context), inputs: &[(&'static str, Vec<usize>)], options: CpuOptions) -> Vec<Vec<u32>> {
    let device = Device::new(Cpu::new(options));
    let mut program = Program::new(&device, f).unwrap();
    let array = |(name, shape): &(&'static str, Vec<usize>)| {
        let len: usize = shape.iter().product();
        let scale = if *name == "x" { 1.0 } else { 4.0 };
        // Zeros among them, of either sign: where ReLU bends.
        let value = |i: usize| match i % 11 {
            0 => 0.0,
            5 => -0.0,
            _ => (((i * 7919 + 13) % 1009) as f64 / 504.5 - 1.0) / scale,
        };
        (*name, device.array(shape, &(0..len).map(value).collect::<Vec<_>>()).unwrap())
    };
    let arrays: Vec<_> = inputs.iter().map(array).collect();
    let inputs: Vec<_> = arrays.iter().map(|(name, array)| (*name, array)).collect();
    let out = program.run(&State::new(), &inputs, &[]).unwrap();
    let read = |a| pollster::block_on(device.read_f32(a)).unwrap().iter().map(|v| v.to_bits()).collect();
    out.iter().map(|(_, a)| read(a)).collect()
}

#[test]
fn activations_are_the_same_bits_on_every_instruction_set() {
    let shapes = [(1, [1, 16, 17]), (3, [5, 64, 16]), (8, [16, 112, 208]), (33, [3, 31, 20]), (150, [7, 65, 49])];
    for (rows, sizes) in shapes.into_iter().take(if cfg!(miri) { 1 } else { 5 }) {
        for (name, activation) in ACTIVATIONS {
            for (bias, back) in [(true, false), (false, false), (true, true), (false, true)] {
                let net = Net { rows, sizes, bias, back };
                for isa in Isa::available() {
                    let plain = net.run(activation, CpuOptions { threads: 1, isa, tiles: false });
                    for threads in [1, 3] {
                        let tiles = net.run(activation, CpuOptions { threads, isa, tiles: true });
                        assert_eq!(plain, tiles, "{name} {isa} {net:?}, {threads} threads");
                    }
                }
            }
        }
    }
}

#[test]
fn activations_in_loops_are_the_same_bits() {
    for rows in if cfg!(miri) { &[2][..] } else { &[2, 7, 40, 150] } {
        let inputs = [("x", vec![1, *rows, 48]), ("w", vec![1, 48, 48]), ("b", vec![1, 1, 48])];
        for (name, activation) in ACTIVATIONS {
            let f = |cx: &mut Context| {
                let [x, w, b] = inputs.clone().map(|(name, shape)| cx.input(name, &shape, DType::F32));
                let (last, ys) = scan(3, false, &[x], &[], |_, carry, _| {
                    let h = activation(carry[0].matmul(w) + b);
                    // A residual reads what is there before the product, and the old state once more.
                    Loop { carry: vec![activation(h.matmul(w)) + carry[0]], ys: vec![h, h.sum_keep(2)] }
                });
                [last[0], ys[0], ys[1]].into_iter().enumerate().for_each(|(i, y)| cx.output(&i.to_string(), y));
            };
            for isa in Isa::available() {
                let plain = run(&f, &inputs, CpuOptions { threads: 1, isa, tiles: false });
                let tiles = run(&f, &inputs, CpuOptions { threads: 1, isa, tiles: true });
                assert_eq!(plain, tiles, "{name} {isa} {rows}");
            }
        }
    }
}

#[test]
fn activations_and_their_derivatives_are_inside_of_products() {
    for (bias, rows) in [(true, 100), (false, 100), (true, 4)] {
        let net = Net { rows, sizes: [5, 64, 64], bias, back: false };
        // Operations forward, and backward with those that only the derivative needs; 1 − y² of tanh is one with its
        // product.
        for ((name, activation), (ahead, back)) in ACTIVATIONS.into_iter().zip([(1, 1), (1, 2), (4, 3), (8, 12)]) {
            assert_eq!(net.moved(activation), (vec![ahead; 2], 0), "{name} {net:?}");
            let net = Net { back: true, ..net };
            assert_eq!(net.moved(activation), (vec![ahead, ahead, back, back], 0), "{name} {net:?}");
        }
    }
}

#[test]
fn a_bias_of_some_outputs_is_added_to_those() {
    let inputs = [("x", vec![1, 5, 3]), ("w", vec![1, 3, 20]), ("b", vec![1, 1, 17])];
    let f = |cx: &mut Context| {
        let [x, w, b] = inputs.clone().map(|(name, shape)| cx.input(name, &shape, DType::F32));
        cx.output("y", (x.matmul(w).slice(2, 0, 17) + b).tanh());
    };
    let plain = run(&f, &inputs, CpuOptions { threads: 1, tiles: false, ..CpuOptions::default() });
    assert_eq!(plain, run(&f, &inputs, CpuOptions { threads: 1, ..CpuOptions::default() }));
}

#[test]
fn a_product_with_two_biases_has_both() {
    for tanh in [false, true] {
        let run = |tiles| {
            let device = Device::new(Cpu::new(CpuOptions { tiles, threads: 1, ..CpuOptions::default() }));
            let mut program = Program::new(&device, |cx| {
                let (x, w) = (cx.input("x", &[2, 40, 3], DType::F32), cx.input("w", &[2, 3, 4], DType::F32));
                let y = x.matmul(w) + cx.scalar_f32("shift") + Tensor::literal_f32(&[0.25, -0.5, 1.0, 2.0]);
                cx.output("y", if tanh { y.tanh() } else { y });
            })
            .unwrap();
            let array = |shape: &[usize]| {
                let values: Vec<f64> = (0..shape.iter().product()).map(|i| f64::from(i as u32 % 7) * 0.125).collect();
                device.array(shape, &values).unwrap()
            };
            let (x, w) = (array(&[2, 40, 3]), array(&[2, 3, 4]));
            let out = program.run(&State::new(), &[("x", &x), ("w", &w)], &[("shift", 0.5.into())]).unwrap();
            pollster::block_on(device.read(out.get("y").unwrap())).unwrap()
        };
        assert_eq!(run(true), run(false), "tanh {tanh}");
    }
}
