//! The program between two cuts of a trace.

use super::arg::{Arg, Role};
use super::context::Context;
use super::division::Division;
use super::program::{Outputs, Program};
use super::state::State;
use crate::backend::Array;
use crate::backend::ScalarValue;
use crate::tensor::{Graph, NodeId, Op};
use crate::{Device, Error, Result, Tensor};

/// A trace that has been divided.
pub(super) struct Divided<'a> {
    pub cx: &'a Context,
    pub graph: &'a Graph,
    pub division: &'a Division<'a>,
}

/// The work of a part for the loop that it is in or that it begins.
#[derive(Default)]
pub(super) struct LoopWork {
    /// Carries that it writes in place, and their new values.
    pub carries: Vec<(NodeId, NodeId)>,
    /// First values of carries that it copies: the number of the carry, and the value.
    pub firsts: Vec<(usize, NodeId)>,
    /// Results of the program: values and arguments.
    pub results: Vec<(NodeId, usize)>,
    /// Values that earlier parts left in a large entry of the state, and its argument.
    pub entries: Vec<(NodeId, usize)>,
}

impl LoopWork {
    fn is_empty(&self) -> bool {
        self.carries.is_empty() && self.firsts.is_empty() && self.results.is_empty()
    }
}

/// The program between two cuts.
#[derive(Debug)]
pub(super) struct ProgramPart {
    pub program: Program,
    /// Names of the inputs that hold values from outside.
    pub reads: Vec<(NodeId, String)>,
    /// Names of the outputs that others need.
    gives: Vec<(NodeId, String)>,
    /// Carries that it writes in place.
    writes: Vec<(NodeId, String)>,
    /// The inputs of the last run.
    pub inputs: Vec<(String, Array)>,
    /// The carries that the last run wrote, as they are now.
    written: Vec<(String, Array)>,
}

fn name(id: NodeId) -> String {
    format!("value {id}")
}

/// The name of the output that holds the first value of a carry.
pub(super) fn first(carry: usize) -> String {
    format!("first {carry}")
}

/// Values of nodes: a handful.
#[derive(Default)]
pub(super) struct NodeValues(Vec<(NodeId, Array)>);

impl NodeValues {
    /// The value of a node.
    pub fn get(&self, id: NodeId) -> Result<Array> {
        let found = self.0.iter().find(|(known, _)| *known == id).map(|(_, array)| array.clone());
        found.ok_or_else(|| Error::Program(format!("value {id} has not been computed")))
    }

    /// Takes the value of a node out, if there is one.
    pub fn take(&mut self, id: NodeId) -> Option<Array> {
        let place = self.0.iter().position(|(known, _)| *known == id)?;
        Some(self.0.swap_remove(place).1)
    }

    /// The new value of a node.
    pub fn insert(&mut self, id: NodeId, array: Array) {
        match self.0.iter_mut().find(|(known, _)| *known == id) {
            Some((_, old)) => *old = array,
            None => self.0.push((id, array)),
        }
    }
}

impl ProgramPart {
    /// All of a trace that is not cut.
    pub fn whole(program: Program) -> ProgramPart {
        ProgramPart {
            program,
            reads: Vec::new(),
            gives: Vec::new(),
            writes: Vec::new(),
            inputs: Vec::new(),
            written: Vec::new(),
        }
    }

    /// A part; none if it has nothing to compute.
    pub fn new(device: &Device, of: &Divided<'_>, number: usize, work: &LoopWork) -> Result<Option<ProgramPart>> {
        let Divided { cx, graph, division } = *of;
        let (mut reads, gives) = (division.reads[number].nodes(), division.gives[number].nodes());
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
        reads.retain(|id| work.carries.iter().all(|carry| carry.0 != *id));
        let mut given: Vec<Option<u32>> = vec![None; graph.nodes.len()];
        for id in &reads {
            given[*id as usize] = Some(declare(name(*id), &arg(*id), Role::Input) as u32);
        }
        let mut outputs: Vec<(NodeId, usize)> = Vec::new();
        for (carry, value) in &work.carries {
            let state = declare(name(*carry), &arg(*carry), Role::State);
            given[*carry as usize] = Some(state as u32);
            outputs.push((*value, state));
        }
        // States and outputs keep their names.
        let made: Vec<&(NodeId, usize)> = work.results.iter().filter(|result| !work.entries.contains(result)).collect();
        let mut states: Vec<Option<usize>> = vec![None; cx.args.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            let Op::Input(i) = node.op else { continue };
            let old = &cx.args[i as usize];
            if old.role == Role::State
                && (division.seen[number].contains(id as NodeId) || made.iter().any(|made| made.1 == i as usize))
            {
                let new = declare(old.name.clone(), old, Role::State);
                given[id] = Some(new as u32);
                states[i as usize] = Some(new);
            }
        }
        for (value, i) in &work.entries {
            let old = &cx.args[*i];
            let new = *states[*i].get_or_insert_with(|| declare(old.name.clone(), old, Role::State));
            given[*value as usize] = Some(new as u32);
        }
        for (value, i) in made {
            let old = &cx.args[*i];
            let to = states[*i];
            outputs.push((*value, to.unwrap_or_else(|| declare(old.name.clone(), old, Role::Output))));
        }
        for id in &gives {
            outputs.push((*id, declare(name(*id), &arg(*id), Role::Output)));
        }
        for (carry, id) in &work.firsts {
            outputs.push((*id, declare(first(*carry), &arg(*id), Role::Output)));
        }
        let extract = graph.extract(&outputs.iter().map(|(id, _)| *id).collect::<Vec<_>>(), &given);
        let here = |id: NodeId| extract.numbers[id as usize].map_or(Tensor::poison(), Tensor::untraced);
        own.results = outputs.iter().map(|(id, arg)| (here(*id), *arg)).collect();
        let program = Program::of(device, own, extract.graph)?;
        let named = |ids: Vec<NodeId>| ids.into_iter().map(|id| (id, name(id))).collect();
        let writes = named(work.carries.iter().map(|carry| carry.0).collect());
        let (reads, gives) = (named(reads), named(gives));
        Ok(Some(ProgramPart { program, reads, gives, writes, inputs: Vec::new(), written: Vec::new() }))
    }

    /// Runs with the values that are there so far, and adds its own.
    /// In a loop, its values of the pass before are written again.
    pub fn run(&mut self, state: &State, scalars: &[(&str, ScalarValue)], values: &mut NodeValues) -> Result<Outputs> {
        let read = |(id, name): &(NodeId, String)| Ok((name.clone(), values.get(*id)?));
        self.inputs = self.reads.iter().map(read).collect::<Result<_>>()?;
        let inputs: Vec<(&str, &Array)> = self.inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
        let mut spare = Vec::with_capacity(self.gives.len());
        for (id, name) in &self.gives {
            spare.extend(values.take(*id).map(|old| (name.as_str(), old)));
        }
        let carry = |(id, name): &(NodeId, String)| Ok((name.clone(), values.get(*id)?));
        self.written = self.writes.iter().map(carry).collect::<Result<_>>()?;
        let outputs = match self.written.is_empty() {
            true => self.program.run_with(state, &inputs, scalars, spare)?,
            false => self.program.run_with(&self.with_carries(state), &inputs, scalars, spare)?,
        };
        for (id, name) in &self.gives {
            values.insert(*id, outputs.get(name)?.clone());
        }
        Ok(outputs)
    }

    /// The state, and beside it the carries that the part writes.
    pub fn with_carries(&self, state: &State) -> State {
        let mut all = state.clone();
        self.written.iter().for_each(|(name, array)| all.insert(name.as_str(), array.clone()));
        all
    }
}
