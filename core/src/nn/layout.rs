//! Named slices of a flat parameter vector.

use super::init::Init;
use crate::Tensor;
use crate::rng::{Key, Threefry, fold_in, streams};

/// Number of a slice within its [`Layout`].
pub type Slot = usize;

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    name: String,
    shape: Vec<usize>,
    offset: usize,
    init: Init,
}

/// Which part of θ is what.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    entries: Vec<Entry>,
    len: usize,
}

impl Layout {
    /// No parameters.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// Append a slice; a matrix is `[inputs, outputs]`.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize], init: Init) -> Slot {
        self.entries.push(Entry { name: name.into(), shape: shape.to_vec(), offset: self.len, init });
        self.len += shape.iter().product::<usize>();
        self.entries.len() - 1
    }

    /// P, the number of parameters.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Name, shape and first element of each slice, in order.
    pub fn slices(&self) -> impl Iterator<Item = (&str, &[usize], usize)> {
        self.entries.iter().map(|e| (e.name.as_str(), e.shape.as_slice(), e.offset))
    }

    /// Initial θ `[P]` of one seed. Each slice draws from a stream of its own.
    pub fn init(&self, seed: Key) -> Vec<f64> {
        let key = fold_in(seed, streams::INIT);
        let draw = |(i, e): (usize, &Entry)| e.init.values(&e.shape, &mut Threefry::new(fold_in(key, i as u32)));
        self.entries.iter().enumerate().flat_map(draw).collect()
    }

    /// The slices of `theta: [S, P]`, each `[S, shape..]`.
    #[track_caller]
    pub fn split(&self, theta: Tensor) -> Vec<Tensor> {
        let seeds = theta.size(0);
        let part = |e: &Entry| {
            let len: usize = e.shape.iter().product();
            theta.slice(1, e.offset, e.offset + len).reshape(&[&[seeds], &e.shape[..]].concat())
        };
        self.entries.iter().map(part).collect()
    }

    /// The inverse of [`split`](Layout::split): slices in order, as gradients come, to one `[S, P]`.
    #[track_caller]
    pub fn join(&self, parts: &[Tensor]) -> Tensor {
        let flat = |t: &Tensor| t.reshape(&[t.size(0), t.len() / t.size(0).max(1)]);
        Tensor::concat(&parts.iter().map(flat).collect::<Vec<_>>(), 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{DType, Device, Program};

    fn layout() -> Layout {
        let mut layout = Layout::new();
        layout.add("w", &[2, 3], Init::Orthogonal { gain: 1.0 });
        layout.add("b", &[3], Init::Constant(0.25));
        layout
    }

    #[test]
    fn slices_do_not_depend_on_what_is_added_later() {
        let (two, mut three) = (layout(), layout());
        three.add("c", &[4], Init::Uniform { bound: 1.0 });
        assert_eq!((two.len(), three.len()), (9, 13));
        assert_eq!(two.init([5, 6]), three.init([5, 6])[..9]);
        assert_ne!(two.init([5, 6]), two.init([5, 7]));
        let slices: Vec<_> = two.slices().collect();
        assert_eq!(slices, [("w", &[2, 3][..], 0), ("b", &[3][..], 6)]);
    }

    #[test]
    fn join_undoes_split() {
        let device = Device::cpu(1);
        let layout = layout();
        let theta: Vec<f64> = (0..18).map(f64::from).collect();
        let mut program = Program::new(&device, |cx| {
            let parts = layout.split(cx.input("theta", &[2, 9], DType::F32));
            cx.output("b", parts[1]);
            cx.output("joined", layout.join(&parts));
        })
        .unwrap();
        let input = device.array(&[2, 9], &theta).unwrap();
        let out = program.run(&State::new(), &[("theta", &input)], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        assert_eq!(out.get("b").unwrap().shape, [2, 3]);
        assert_eq!(read("b"), [6.0, 7.0, 8.0, 15.0, 16.0, 17.0]);
        assert_eq!(read("joined"), theta);
    }
}
