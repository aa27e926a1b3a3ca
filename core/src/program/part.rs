//! The program between two cuts of a trace.

use rustc_hash::{FxHashMap, FxHashSet};

use super::array::{Array, State};
use super::context::Context;
use super::division::Division;
use super::plan::{Arg, Role};
use super::program::{Outputs, Program};
use crate::backend::ScalarValue;
use crate::tensor::{Graph, NodeId, Op};
use crate::{Device, Error, Result, Tensor};

/// A trace that has been divided.
pub(super) struct Divided<'a> {
    pub cx: &'a Context,
    pub graph: &'a Graph,
    pub division: &'a Division<'a>,
}

/// What a part does for the loop that it is in or that it begins.
#[derive(Default)]
pub(super) struct Work {
    /// Carries that it writes in place, and their new values.
    pub carries: Vec<(NodeId, NodeId)>,
    /// First values of carries that it copies: the number of the carry, and the value.
    pub firsts: Vec<(usize, NodeId)>,
    /// Results of the program: values and arguments.
    pub results: Vec<(NodeId, usize)>,
    /// Values that earlier parts left in a large entry of the state, and its argument.
    pub entries: Vec<(NodeId, usize)>,
}

impl Work {
    fn is_empty(&self) -> bool {
        self.carries.is_empty() && self.firsts.is_empty() && self.results.is_empty()
    }
}

/// The program between two cuts.
#[derive(Debug)]
pub(super) struct Part {
    pub program: Program,
    /// Names of the inputs that hold values from outside.
    pub reads: Vec<(NodeId, String)>,
    /// Names of the outputs that others need.
    gives: Vec<(NodeId, String)>,
    /// Carries that it writes in place.
    writes: Vec<(NodeId, String)>,
    /// The inputs of the last run.
    pub inputs: Vec<(String, Array)>,
}

fn name(id: NodeId) -> String {
    format!("value {id}")
}

/// The name of the output that holds the first value of a carry.
pub(super) fn first(carry: usize) -> String {
    format!("first {carry}")
}

/// The value of a node.
pub(super) fn found(values: &FxHashMap<NodeId, Array>, id: NodeId) -> Result<Array> {
    values.get(&id).cloned().ok_or_else(|| Error::Program(format!("value {id} has not been computed")))
}

impl Part {
    /// All of a trace that is not cut.
    pub fn whole(program: Program) -> Part {
        Part { program, reads: Vec::new(), gives: Vec::new(), writes: Vec::new(), inputs: Vec::new() }
    }

    /// A part; none if it has nothing to compute.
    pub fn new(device: &Device, of: &Divided<'_>, number: usize, work: &Work) -> Result<Option<Part>> {
        let Divided { cx, graph, division } = *of;
        let (reads, gives) = (&division.reads[number], &division.gives[number]);
        if gives.is_empty() && work.is_empty() {
            return Ok(None);
        }
        let mut own = Context { scalars: cx.scalars.clone(), ..Context::default() };
        let mut declare = |name: String, like: &Arg, role: Role| {
            own.args.push(Arg { name, role, ..like.clone() });
            own.args.len() - 1
        };
        let arg = |id: NodeId| {
            let node = &graph.nodes[id as usize];
            Arg { name: String::new(), shape: node.shape.clone(), dtype: node.dtype, role: Role::Input, bulk: false }
        };
        let written: FxHashSet<NodeId> = work.carries.iter().map(|carry| carry.0).collect();
        let reads: Vec<NodeId> = reads.iter().copied().filter(|id| !written.contains(id)).collect();
        let mut given: FxHashMap<NodeId, u32> = FxHashMap::default();
        for id in &reads {
            given.insert(*id, declare(name(*id), &arg(*id), Role::Input) as u32);
        }
        let mut outputs: Vec<(NodeId, usize)> = Vec::new();
        for (carry, value) in &work.carries {
            let state = declare(name(*carry), &arg(*carry), Role::State);
            given.insert(*carry, state as u32);
            outputs.push((*value, state));
        }
        // States and outputs keep their names.
        let made: Vec<&(NodeId, usize)> = work.results.iter().filter(|result| !work.entries.contains(result)).collect();
        let results: FxHashSet<usize> = made.iter().map(|(_, arg)| *arg).collect();
        let mut states: FxHashMap<usize, usize> = FxHashMap::default();
        for (id, node) in graph.nodes.iter().enumerate() {
            let Op::Input(i) = node.op else { continue };
            let (old, id) = (&cx.args[i as usize], id as NodeId);
            if old.role == Role::State && (division.seen[number].contains(&id) || results.contains(&(i as usize))) {
                let new = declare(old.name.clone(), old, Role::State);
                given.insert(id, new as u32);
                states.insert(i as usize, new);
            }
        }
        for (value, i) in &work.entries {
            let old = &cx.args[*i];
            let new = *states.entry(*i).or_insert_with(|| declare(old.name.clone(), old, Role::State));
            given.insert(*value, new as u32);
        }
        for (value, i) in made {
            let old = &cx.args[*i];
            let to = states.get(i).copied();
            outputs.push((*value, to.unwrap_or_else(|| declare(old.name.clone(), old, Role::Output))));
        }
        for id in gives {
            outputs.push((*id, declare(name(*id), &arg(*id), Role::Output)));
        }
        for (carry, id) in &work.firsts {
            outputs.push((*id, declare(first(*carry), &arg(*id), Role::Output)));
        }
        let extract = graph.extract(&outputs.iter().map(|(id, _)| *id).collect::<Vec<_>>(), &given);
        let here = |id: NodeId| extract.numbers.get(&id).map_or(Tensor::poison(), |id| Tensor::untraced(*id));
        own.results = outputs.iter().map(|(id, arg)| (here(*id), *arg)).collect();
        let program = Program::of(device, own, extract.graph)?;
        let named = |ids: &mut dyn Iterator<Item = NodeId>| ids.map(|id| (id, name(id))).collect();
        let (gives, writes) = (named(&mut gives.iter().copied()), named(&mut work.carries.iter().map(|carry| carry.0)));
        Ok(Some(Part { program, reads: named(&mut reads.into_iter()), gives, writes, inputs: Vec::new() }))
    }

    /// Runs with the values that are there so far, and adds its own.
    pub fn run(
        &mut self,
        state: &State,
        scalars: &[(&str, ScalarValue)],
        values: &mut FxHashMap<NodeId, Array>,
    ) -> Result<Outputs> {
        let read = |(id, name): &(NodeId, String)| Ok((name.clone(), found(values, *id)?));
        self.inputs = self.reads.iter().map(read).collect::<Result<_>>()?;
        let inputs: Vec<(&str, &Array)> = self.inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
        let outputs = match self.writes.is_empty() {
            true => self.program.run(state, &inputs, scalars)?,
            false => {
                let mut own = state.clone();
                for (id, name) in &self.writes {
                    own.insert(name.as_str(), found(values, *id)?);
                }
                self.program.run(&own, &inputs, scalars)?
            }
        };
        for (id, name) in &self.gives {
            values.insert(*id, outputs.get(name)?.clone());
        }
        Ok(outputs)
    }
}
