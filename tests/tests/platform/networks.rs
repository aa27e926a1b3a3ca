//! Networks of all sizes, their gradients and those of a step of gradient descent: tiles give the bits of the plain
//! way, on one thread and several, and all are near the f64 reference.

use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::backend::reference::Reference;
use quickstudy_core::grad::value_and_grad;
use quickstudy_core::nn::{Activation, Layout, Mlp};
use quickstudy_core::program::State;
use quickstudy_core::rng::{threefry2x32, uniform};
use quickstudy_core::{Context, DType, Device, Program, Tensor};

/// Multiply-adds of a forward pass up to which the reference, which is slow, is asked too.
const REFERENCE: usize = 8_000_000;

/// A network and what is computed of it.
#[derive(Clone, Debug)]
struct Network {
    groups: usize,
    rows: usize,
    /// Inputs, each hidden layer, outputs.
    sizes: Vec<usize>,
    activation: Activation,
    /// 1: the gradient of a loss; 2: that of the loss after a step of gradient descent, by all that it depends on.
    order: usize,
}

impl Network {
    /// The network of this width, one of 1 to 300, which decides about all else. All widths have all numbers of rows.
    fn of_width(width: usize) -> Network {
        let order = 1 + width / 2 % 2;
        let (depth, groups) = (width % 5, 1 + width / 5 % 5);
        let mut sizes = vec![1 + width * 7 % 20];
        sizes.extend((0..depth).map(|_| width));
        // Without hidden layers it is the output that has the width.
        sizes.push(if depth == 0 { width } else { 1 + width * 5 % 18 });
        let activation = if width.is_multiple_of(3) { Activation::Relu } else { Activation::Tanh };
        Network { groups, rows: width * 7 % 300 + 1, sizes, activation, order }
    }

    fn layout(&self) -> (Layout, Mlp) {
        let mut layout = Layout::new();
        let net = Mlp::new(&mut layout, "net", 0, &self.sizes, self.activation, None);
        (layout, net)
    }

    fn cost(&self) -> usize {
        self.groups * self.rows * self.sizes.windows(2).map(|pair| pair[0] * pair[1]).sum::<usize>()
    }

    fn shapes(&self) -> [(&'static str, [usize; 3]); 3] {
        let (inputs, outputs) = (self.sizes[0], self.sizes[self.sizes.len() - 1]);
        let (s, b) = (self.groups, self.rows);
        [("x", [s, b, inputs]), ("wanted", [s, b, outputs]), ("theta", [s, 1, self.layout().0.len()])]
    }

    /// Outputs `loss` `[S]` and `gradient` `[S, P]`, and a step of at most length 0.1 on the state `theta`.
    fn trace(&self, cx: &mut Context) {
        let [(_, x), (_, wanted), (_, [s, _, p])] = self.shapes();
        let (layout, net) = self.layout();
        let x = cx.input("x", &x, DType::F32);
        let wanted = cx.input("wanted", &wanted, DType::F32);
        let theta = cx.state("theta", &[s, p], DType::F32);
        let each = |theta: Tensor| (net.forward(&layout.split(theta), x) - wanted).square().mean(&[1, 2]);
        let (loss, gradient) = value_and_grad(&[theta], |at| {
            let mut theta = at[0];
            for _ in 1..self.order {
                let (_, gradient) = value_and_grad(&[theta], |at| each(at[0]).sum_all());
                theta = theta - gradient[0] * 0.5;
            }
            each(theta).sum_all()
        });
        let norm = gradient[0].square().sum_keep(1).sqrt();
        cx.output("loss", loss);
        cx.output("gradient", gradient[0]);
        cx.update("theta", theta - gradient[0] * (0.1 / (norm + 1.0)));
    }

    /// Loss, gradient and parameters after the step.
    fn run(&self, device: &Device) -> Vec<Vec<f64>> {
        let mut program = Program::new(device, |cx| self.trace(cx)).expect("a program");
        let arrays: Vec<_> = self
            .shapes()
            .into_iter()
            .zip(0..)
            .map(|((name, shape), which)| {
                // Weights as large as those of a fresh layer.
                let scale = if name == "theta" { 1.0 / (self.sizes[self.sizes.len() / 2] as f64).sqrt() } else { 1.0 };
                let draw = |i: u32| uniform(threefry2x32([which, self.rows as u32], [i, 0])[0]);
                let len: usize = shape.iter().product();
                // The reference is given the same f32 numbers.
                let number = |i| f64::from((f64::from(draw(i) * 2.0 - 1.0) * scale) as f32);
                let values: Vec<f64> = (0..len as u32).map(number).collect();
                let shape: Vec<usize> = if name == "theta" { vec![shape[0], shape[2]] } else { shape.to_vec() };
                (name, device.array(&shape, &values).expect("an array"))
            })
            .collect();
        let mut state = State::new();
        state.insert("theta", arrays[2].1.clone());
        let inputs: Vec<_> = arrays[..2].iter().map(|(name, array)| (*name, array)).collect();
        let out = program.run(&state, &inputs, &[]).expect("a run");
        let read = |array| pollster::block_on(device.read(array)).expect("numbers");
        out.iter().chain(state.iter()).map(|(_, array)| read(array)).collect()
    }
}

fn cpu(tiles: bool, threads: usize) -> Device {
    Device::new(Cpu::new(CpuOptions { tiles, threads, ..CpuOptions::default() }))
}

/// ‖a − b‖ ⁄ ‖b‖.
fn apart(a: &[f64], b: &[f64]) -> f64 {
    let length = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    length(&mut a.iter().zip(b).map(|(a, b)| a - b)) / length(&mut b.iter().copied()).max(1e-9)
}

/// Checks the networks of these widths, and tells how many were compared with the reference.
fn check(widths: impl Iterator<Item = usize>) -> usize {
    let (plain, one, three) = (cpu(false, 1), cpu(true, 1), cpu(true, 3));
    let reference = Device::new(Reference);
    let mut compared = 0;
    for network in widths.map(Network::of_width) {
        let want = network.run(&plain);
        for device in [&one, &three] {
            let got = network.run(device);
            for (result, (got, want)) in got.iter().zip(&want).enumerate() {
                let other = got.iter().zip(want).position(|(x, y)| x.to_bits() != y.to_bits());
                assert_eq!(other, None, "result {result} of {network:?}");
            }
        }
        if network.cost() * network.order.pow(2) > REFERENCE {
            continue;
        }
        compared += 1;
        for (result, (got, exact)) in want.iter().zip(&network.run(&reference)).enumerate() {
            let apart = apart(got, exact);
            assert!(apart < 1e-4, "result {result} is {apart:.1e} from the reference: {network:?}");
        }
    }
    compared
}

macro_rules! quarters {
    ($($name:ident: $first:expr;)*) => {
        $(#[test] fn $name() {
            let compared = check(($first..=300).step_by(4));
            assert!(compared >= 25, "only {compared} of 75 were compared with the reference");
        })*
    };
}

quarters! {
    networks_of_widths_from_1: 1;
    networks_of_widths_from_2: 2;
    networks_of_widths_from_3: 3;
    networks_of_widths_from_4: 4;
}
