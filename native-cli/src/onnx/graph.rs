//! Graphs of ONNX under construction: constants, nodes, inputs and outputs.
//!
//! Numbers of fields are those of `onnx.proto3`. Operators are those of version 15, each the plainest one that says
//! what is meant: engines of games know no layers such as `GRU`.

use super::wire::Wire;

/// A tensor of a graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wired(usize);

/// The type of a tensor's elements, by its number in ONNX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    /// 32-bit floats.
    Float = 1,
    /// 64-bit integers.
    Int = 7,
}

/// An attribute of a node: an integer.
pub(crate) type Attribute = (&'static str, i64);

struct Node {
    operator: &'static str,
    inputs: Vec<Wired>,
    outputs: Vec<Wired>,
    attributes: Vec<Attribute>,
}

/// A graph whose first axis is a batch of any size.
#[derive(Default)]
pub(crate) struct Network {
    /// Names of all tensors.
    names: Vec<String>,
    nodes: Vec<Node>,
    /// Constants in the order in which they were added.
    constants: Vec<(Wired, Wire)>,
    inputs: Vec<Wire>,
    outputs: Vec<(Wired, Wire)>,
}

impl Network {
    /// An empty graph.
    pub(crate) fn new() -> Network {
        Network::default()
    }

    /// Adds an input of floats, `[batch, width]`.
    pub(crate) fn input(&mut self, name: &str, width: usize) -> Wired {
        self.inputs.push(value_info(name, Element::Float, &[width]));
        self.named(name.to_owned())
    }

    /// Makes a tensor an output of this name, `[batch, …]`. It is named once.
    pub(crate) fn output(&mut self, name: &str, tensor: Wired, element: Element, shape: &[usize]) {
        name.clone_into(&mut self.names[tensor.0]);
        self.outputs.push((tensor, value_info(name, element, shape)));
    }

    /// Adds a constant of floats.
    pub(crate) fn floats(&mut self, name: &str, shape: &[usize], numbers: &[f32]) -> Wired {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(name, shape, Element::Float, &bytes)
    }

    /// Adds a constant of integers, `[n]`: places of axes, or lengths of parts.
    pub(crate) fn ints(&mut self, name: &str, numbers: &[i64]) -> Wired {
        let bytes: Vec<u8> = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        self.constant(name, &[numbers.len()], Element::Int, &bytes)
    }

    /// Adds a constant, or gives the one of this name that is equal.
    fn constant(&mut self, name: &str, shape: &[usize], element: Element, bytes: &[u8]) -> Wired {
        let dims = shape.iter().map(|size| *size as i64);
        let tensor = Wire::new().ints(1, dims).int(2, element as i64).text(8, name).bytes(9, bytes);
        if let Some((known, _)) = self.constants.iter().find(|(_, known)| *known == tensor) {
            return *known;
        }
        let wired = self.named(name.to_owned());
        self.constants.push((wired, tensor));
        wired
    }

    /// Adds a node with one output.
    pub(crate) fn node(&mut self, operator: &'static str, inputs: &[Wired]) -> Wired {
        self.node_with(operator, inputs, &[])
    }

    /// Adds a node with one output and attributes.
    pub(crate) fn node_with(&mut self, operator: &'static str, inputs: &[Wired], attributes: &[Attribute]) -> Wired {
        self.node_of(operator, inputs, attributes, 1)[0]
    }

    /// Divides axis 1 into parts of these widths.
    pub(crate) fn split<const N: usize>(&mut self, tensor: Wired, widths: [usize; N]) -> [Wired; N] {
        let parts = self.split_all(tensor, &widths);
        std::array::from_fn(|at| parts[at])
    }

    /// Divides axis 1 into parts of these widths; a single part is the tensor.
    pub(crate) fn split_all(&mut self, tensor: Wired, widths: &[usize]) -> Vec<Wired> {
        if widths.len() == 1 {
            return vec![tensor];
        }
        let name = format!("widths.{}", widths.iter().map(usize::to_string).collect::<Vec<_>>().join("-"));
        let lengths: Vec<i64> = widths.iter().map(|width| *width as i64).collect();
        let lengths = self.ints(&name, &lengths);
        self.node_of("Split", &[tensor, lengths], &[("axis", 1)], widths.len())
    }

    /// Puts tensors side by side on axis 1; a single one stays as it is.
    pub(crate) fn beside(&mut self, tensors: &[Wired]) -> Wired {
        match tensors {
            [single] => *single,
            _ => self.node_with("Concat", tensors, &[("axis", 1)]),
        }
    }

    fn node_of(
        &mut self,
        operator: &'static str,
        inputs: &[Wired],
        attributes: &[Attribute],
        outputs: usize,
    ) -> Vec<Wired> {
        let number = self.nodes.len();
        let name = |at| match outputs {
            1 => format!("{}.{number}", operator.to_lowercase()),
            _ => format!("{}.{number}.{at}", operator.to_lowercase()),
        };
        let made: Vec<Wired> = (0..outputs).map(|at| self.named(name(at))).collect();
        let (inputs, outputs, attributes) = (inputs.to_vec(), made.clone(), attributes.to_vec());
        self.nodes.push(Node { operator, inputs, outputs, attributes });
        made
    }

    fn named(&mut self, name: String) -> Wired {
        self.names.push(name);
        Wired(self.names.len() - 1)
    }

    /// The message `GraphProto`.
    pub(crate) fn message(&self, name: &str) -> Wire {
        let nodes = self.nodes.iter().enumerate().map(|(number, node)| self.node_message(number, node));
        Wire::new()
            .messages(1, nodes)
            .text(2, name)
            .messages(5, self.constants.iter().map(|(_, tensor)| tensor.clone()))
            .messages(11, self.inputs.iter().cloned())
            .messages(12, self.outputs.iter().map(|(_, info)| info.clone()))
    }

    fn node_message(&self, number: usize, node: &Node) -> Wire {
        /// The type of an attribute that is an integer.
        const INT: i64 = 2;
        let names = |wire: Wire, field, all: &[Wired]| all.iter().fold(wire, |w, t| w.text(field, &self.names[t.0]));
        let wire = names(names(Wire::new(), 1, &node.inputs), 2, &node.outputs);
        let attributes =
            node.attributes.iter().map(|(name, value)| Wire::new().text(1, name).int(3, *value).int(20, INT));
        wire.text(3, &format!("{}_{number}", node.operator)).text(4, node.operator).messages(5, attributes)
    }
}

/// The message `ValueInfoProto` of a tensor `[batch, …]`.
fn value_info(name: &str, element: Element, shape: &[usize]) -> Wire {
    let sizes = shape.iter().map(|size| Wire::new().int(1, *size as i64));
    let dims = std::iter::once(Wire::new().text(2, "batch")).chain(sizes);
    let tensor = Wire::new().int(1, element as i64).message(2, &Wire::new().messages(1, dims));
    Wire::new().text(1, name).message(2, &Wire::new().message(1, &tensor))
}
