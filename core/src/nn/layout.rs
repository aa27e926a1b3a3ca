//! Named slices of a flat parameter vector.

use super::init::Init;
use crate::backend::room;
use crate::rng::{Key, Threefry, fold_in, key_from_seed, streams};
use crate::{Array, Device, Result, Tensor};

/// Number of a slice within its [`Layout`].
pub type SliceId = usize;

/// A part of θ with a name and a shape.
#[derive(Clone, Debug, PartialEq)]
struct Slice {
    name: String,
    shape: Vec<usize>,
    offset: usize,
    init: Init,
    /// Names of equal parts of the last axis that stand for themselves, such as gates; usually none.
    blocks: &'static [&'static str],
}

/// A tensor that stands for a slice of θ, or for a block of one, outside of programs.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its shape: a matrix is `[outputs, inputs]`, the transpose of what programs use.
    pub shape: Vec<usize>,
    /// Place in θ of its first element.
    offset: usize,
    /// Length of the slice's rows, if it is a matrix.
    row: Option<usize>,
}

impl Part {
    /// A part that is a whole array of this shape.
    pub fn of_array(name: &str, shape: &[usize]) -> Part {
        Part { name: name.to_owned(), shape: shape.to_vec(), offset: 0, row: None }
    }

    /// Places in θ of its elements, in their order.
    pub fn places(&self) -> impl Iterator<Item = usize> {
        let offset = self.offset;
        // A matrix goes down the columns of its slice, everything else along it.
        let (outer, inner, step) = match (&self.shape[..], self.row) {
            ([outputs, inputs], Some(row)) => (*outputs, *inputs, row),
            _ => (1, self.shape.iter().product(), 1),
        };
        (0..outer).flat_map(move |o| (0..inner).map(move |i| offset + o + i * step))
    }
}

/// The slices of θ, with their names, shapes and starts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    entries: Vec<Slice>,
    len: usize,
}

impl Layout {
    /// No parameters.
    pub fn new() -> Layout {
        Layout::default()
    }

    /// Append a slice; a matrix is `[inputs, outputs]`.
    pub fn add(&mut self, name: impl Into<String>, shape: &[usize], init: Init) -> SliceId {
        self.add_blocks(name, &[], shape, init)
    }

    /// Append a slice whose last axis is made of equal blocks side by side; in `name`, `*` stands for theirs.
    pub fn add_blocks(
        &mut self,
        name: impl Into<String>,
        blocks: &'static [&'static str],
        shape: &[usize],
        init: Init,
    ) -> SliceId {
        self.entries.push(Slice { name: name.into(), shape: shape.to_vec(), offset: self.len, init, blocks });
        self.len += shape.iter().product::<usize>();
        self.entries.len() - 1
    }

    /// Appends all slices of another layout.
    pub fn append(&mut self, other: &Layout) {
        let moved = |slice: &Slice| Slice { offset: slice.offset + self.len, ..slice.clone() };
        let all: Vec<Slice> = other.entries.iter().map(moved).collect();
        self.entries.extend(all);
        self.len += other.len;
    }

    /// Appends all slices of another layout, each under `prefix` and its name.
    pub fn append_as(&mut self, prefix: &str, other: &Layout) {
        let from = self.entries.len();
        self.append(other);
        self.entries[from..].iter_mut().for_each(|slice| slice.name.insert_str(0, prefix));
    }

    /// The slices that lie between two elements, as a layout of their own.
    #[must_use]
    pub fn between(&self, from: usize, to: usize) -> Layout {
        let inside = |slice: &&Slice| (from..to).contains(&slice.offset);
        let moved = |slice: &Slice| Slice { offset: slice.offset - from, ..slice.clone() };
        Layout { entries: self.entries.iter().filter(inside).map(moved).collect(), len: to - from }
    }

    /// P, the number of parameters.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Tells whether there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Name, shape and first element of each slice, in order.
    pub fn slices(&self) -> impl Iterator<Item = (&str, &[usize], usize)> {
        self.entries.iter().map(|e| (e.name.as_str(), e.shape.as_slice(), e.offset))
    }

    /// The tensors that θ consists of outside of programs, such as in snapshots. Together they hold each element once.
    pub fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.entries.len());
        for Slice { name, shape, offset, blocks, .. } in &self.entries {
            let blocks = if blocks.is_empty() { &[""] } else { *blocks };
            for (i, block) in blocks.iter().enumerate() {
                let (shape, row, width) = match shape[..] {
                    [inputs, outputs] => {
                        let width = outputs / blocks.len();
                        (vec![width, inputs], Some(outputs), width)
                    }
                    _ => {
                        let width = shape.iter().product::<usize>() / blocks.len();
                        (vec![width], None, width)
                    }
                };
                parts.push(Part { name: name.replace('*', block), shape, offset: offset + i * width, row });
            }
        }
        parts
    }

    /// Initial θ `[P]` of one seed. Each slice draws from a stream of its own.
    pub fn init(&self, seed: Key) -> Vec<f64> {
        let key = fold_in(seed, streams::INIT);
        let mut theta = Vec::with_capacity(self.len);
        for (i, e) in self.entries.iter().enumerate() {
            theta.extend(e.init.values(&e.shape, &mut Threefry::new(fold_in(key, i as u32))));
        }
        theta
    }

    /// Initial θ `[S, P]` of several seeds on a device.
    ///
    /// # Errors
    /// [`Error::Memory`](crate::Error::Memory) if the device or the host lacks memory.
    pub fn first(&self, device: &Device, seeds: &[u64]) -> Result<Array> {
        let shape = [seeds.len(), self.len];
        let total = seeds.len().saturating_mul(self.len);
        let drawn = seeds.iter().map(|seed| self.init(key_from_seed(*seed)));
        // The f64 reference keeps all bits; others have f32, and half as much to hold.
        if device.caps().element_bytes == 8 {
            let mut all = room(total)?;
            drawn.for_each(|theta| all.extend(theta));
            return device.array(&shape, &all);
        }
        let mut all: Vec<f32> = room(total)?;
        drawn.for_each(|theta| all.extend(theta.into_iter().map(|x| x as f32)));
        device.array_f32(&shape, &all)
    }

    /// The slices of `theta: [S, P]`, each `[S, shape..]`.
    #[track_caller]
    pub fn split(&self, theta: Tensor) -> Vec<Tensor> {
        let seeds = theta.size(0);
        let part = |e: &Slice| {
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
    fn parts_are_transposed_matrices_and_blocks_by_name_and_hold_each_element_once() {
        let mut layout = layout();
        layout.add_blocks("gates.*.w", &["z", "r"], &[3, 4], Init::Constant(0.0));
        layout.add_blocks("gates.*.b", &["z", "r"], &[4], Init::Constant(0.0));
        let parts = layout.parts();
        let named: Vec<(&str, &[usize])> = parts.iter().map(|p| (p.name.as_str(), p.shape.as_slice())).collect();
        let vectors = [("gates.z.b", &[2][..]), ("gates.r.b", &[2])];
        let matrices = [("w", &[3, 2][..]), ("b", &[3]), ("gates.z.w", &[2, 3]), ("gates.r.w", &[2, 3])];
        assert_eq!(named, [&matrices[..], &vectors].concat());
        let places = |i: usize| parts[i].places().collect::<Vec<_>>();
        // w is [2, 3] from 0 on; the gates' weights are [3, 4] from 9 on.
        assert_eq!(places(0), [0, 3, 1, 4, 2, 5]);
        assert_eq!(places(1), [6, 7, 8]);
        assert_eq!(places(3), [11, 15, 19, 12, 16, 20]);
        let mut all: Vec<usize> = parts.iter().flat_map(Part::places).collect();
        all.sort_unstable();
        assert_eq!(all, (0..layout.len()).collect::<Vec<_>>());
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
