//! Values in f64, and how far f32 may be from them.

/// The elements of a tensor, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Elements of an f32 tensor.
    F64(Vec<f64>),
    /// Elements of a u32 tensor.
    U32(Vec<u32>),
}

impl Data {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Data::F64(x) => x.len(),
            Data::U32(x) => x.len(),
        }
    }

    /// Tells whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A tensor's value.
#[derive(Clone, Debug, PartialEq)]
pub struct Value {
    /// Size of each axis.
    pub shape: Vec<usize>,
    /// Its elements.
    pub data: Data,
}

impl Value {
    /// Value of an f32 tensor. `data` has as many elements as `shape` says.
    pub fn f64(shape: &[usize], data: Vec<f64>) -> Value {
        Value { shape: shape.to_vec(), data: Data::F64(data) }
    }

    /// Value of a u32 tensor. `data` has as many elements as `shape` says.
    pub fn u32(shape: &[usize], data: Vec<u32>) -> Value {
        Value { shape: shape.to_vec(), data: Data::U32(data) }
    }

    /// The elements as numbers, whichever the data type.
    pub fn to_f64(&self) -> Vec<f64> {
        match &self.data {
            Data::F64(x) => x.clone(),
            Data::U32(x) => x.iter().map(|v| f64::from(*v)).collect(),
        }
    }
}

/// A value and, per element, how far an f32 execution may be from it.
#[derive(Clone, Debug, PartialEq)]
pub struct Bounded {
    /// The value in f64.
    pub value: Value,
    /// Absolute error bounds: 0 where f32 is exact, infinite where nothing can be said.
    pub bound: Vec<f64>,
}

/// A node's value. `bound` has an element per element where bounds are computed and none otherwise.
#[derive(Clone)]
pub(super) struct Cell {
    pub data: Data,
    pub bound: Vec<f64>,
}
