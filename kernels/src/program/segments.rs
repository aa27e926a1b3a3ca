//! A trace that asks the host, as programs between its cuts.

use std::ops::Range;

use super::context::Context;
use super::cut::{Cut, CutKind, CutStep};
use super::division::{Around, Division};
use super::part::{Divided, LoopWork, NodeValues, ProgramPart, first};
use super::places::{carried, in_place};
use super::program::{Outputs, Program};
#[cfg(not(target_arch = "wasm32"))]
use super::rank_join::{RankWords, joined};
#[cfg(not(target_arch = "wasm32"))]
use super::row_numbers::RowNumbers;
use super::state::State;
use crate::backend::Array;
use crate::backend::reference::NonFinite;
use crate::backend::{LocalFuture, ScalarValue};
use crate::tensor::{Graph, NodeId, Op};
use crate::{Device, Error, Result};

/// Answers what a trace [asks](Context::ask).
pub trait Host {
    /// The answers to the ask of that number, in the order in which they were declared.
    fn answer(&mut self, number: usize, asked: Vec<Array>) -> LocalFuture<'_, Result<Vec<Array>>>;
}

/// One traced function, as a program for each part between the places where it
/// [asks the host](Context::ask); as a single one if it asks nothing.
///
/// All parts are of one graph, in which answers are plain inputs. Each part computes what is asked at its end and
/// nobody has computed before. Only the last one changes the state: when the host fails, training is where it was.
#[derive(Debug)]
pub struct Segments {
    device: Device,
    /// Up to each cut; none where nothing has to be computed.
    before: Vec<Option<ProgramPart>>,
    /// After the last cut.
    last: ProgramPart,
    steps: Vec<CutStep>,
    #[cfg(not(target_arch = "wasm32"))]
    rank_words: RankWords,
}

impl Segments {
    /// Traces `f` and compiles what it declared.
    ///
    /// # Errors
    /// As [`Program::new`].
    pub fn new(device: &Device, f: impl FnOnce(&mut Context)) -> Result<Segments> {
        let mut f = Some(f);
        Segments::traced(device, &mut |cx| {
            if let Some(f) = f.take() {
                f(cx);
            }
        })
    }

    // `f` is no type parameter, so that this is compiled once.
    fn traced(device: &Device, f: &mut dyn FnMut(&mut Context)) -> Result<Segments> {
        let (cx, graph) = Graph::trace(|| {
            #[cfg(not(target_arch = "wasm32"))]
            let mut cx = Context { among: device.ranks().map(|_| device.rank()), ..Context::default() };
            #[cfg(target_arch = "wasm32")]
            let mut cx = Context::default();
            f(&mut cx);
            cx
        })?;
        if !cx.cuts.is_empty() {
            return Segments::divided(device, &cx, graph);
        }
        let last = ProgramPart::whole(Program::of(device, cx, graph)?);
        Ok(Segments {
            device: device.clone(),
            before: Vec::new(),
            last,
            steps: Vec::new(),
            #[cfg(not(target_arch = "wasm32"))]
            rank_words: RankWords::default(),
        })
    }

    /// As [`Program::joined`].
    ///
    /// # Errors
    /// As [`Program::joined`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn joined(
        device: &Device,
        [rows, variants]: [usize; 2],
        trace: &mut dyn FnMut(usize, &mut Context),
    ) -> Result<(Segments, RowNumbers)> {
        let (program, numbers) = Program::joined(device, [rows, variants], trace)?;
        let last = ProgramPart::whole(program);
        let (device, rank_words) = (device.clone(), RankWords::default());
        Ok((Segments { device, before: Vec::new(), last, steps: Vec::new(), rank_words }, numbers))
    }

    #[inline(never)]
    fn divided(device: &Device, cx: &Context, mut graph: Graph) -> Result<Segments> {
        let asked = cx.cuts.iter().flat_map(|cut| &cut.asks).map(|tensor| tensor.raw());
        let wanted: Vec<NodeId> = asked.chain(cx.results.iter().map(|result| result.0.raw())).collect();
        // A loop and its derivative become one before they could come into different parts.
        crate::grad::tidy_loops(&mut graph, &wanted);
        let mut arguments: Vec<Option<NodeId>> = vec![None; cx.args.len()];
        for (id, node) in graph.nodes.iter().enumerate() {
            if let Op::Input(arg) = node.op {
                arguments[arg as usize] = Some(id as NodeId);
            }
        }
        let nodes = |answers: &Range<usize>| arguments[answers.clone()].iter().flatten().copied().collect();
        let mut steps: Vec<CutStep> = Vec::with_capacity(cx.cuts.len());
        for Cut { kind, asks, answers } in &cx.cuts {
            let number = steps.iter().filter(|step| step.kind == CutKind::Ask).count();
            let (asks, answers) = (asks.iter().map(|tensor| tensor.raw()).collect(), nodes(answers));
            steps.push(CutStep { kind: *kind, number, asks, answers, entries: Vec::new(), early: Vec::new() });
        }
        let last = cx.cuts.len();
        let mut division = Division::new(&graph, &cx.args, &cx.cuts);
        for (number, step) in steps.iter().enumerate() {
            for id in &step.asks {
                division.demand(number, *id);
                if step.kind.leaves() {
                    division.gives[number].insert(*id);
                }
            }
            for id in division.ready(number, &steps) {
                division.demand(number, id);
            }
        }
        for (value, _) in &cx.results {
            division.demand(last, value.raw());
        }
        division.check()?;
        // Demands may have reached back: only now is it known what each part does.
        let mut work: Vec<LoopWork> = (0..=last).map(|_| LoopWork::default()).collect();
        work[last].results = cx.results.iter().map(|(value, arg)| (value.raw(), *arg)).collect();
        for Around { begin, end } in division.loops.clone() {
            carried(cx, &graph, &mut division, &mut steps, &mut work, [begin, end])?;
        }
        in_place(cx, &graph, &mut division, &mut work)?;
        let of = Divided { cx, graph: &graph, division: &division };
        let mut parts = Vec::with_capacity(last);
        for (number, work) in work[..last].iter().enumerate() {
            parts.push(ProgramPart::new(device, &of, number, work)?);
        }
        let nothing = || Error::Program("nothing is computed: declare an output or update a state".to_owned());
        let last = ProgramPart::new(device, &of, last, &work[last])?.ok_or_else(nothing)?;
        Ok(Segments {
            device: device.clone(),
            before: parts,
            last,
            steps,
            #[cfg(not(target_arch = "wasm32"))]
            rank_words: RankWords::default(),
        })
    }

    /// Runs once.
    ///
    /// # Errors
    /// As [`Program::run`], or of the host; then no state has changed.
    pub async fn run(
        &mut self,
        state: &State,
        scalars: &[(&str, ScalarValue)],
        host: &mut dyn Host,
    ) -> Result<Outputs> {
        let mut values = NodeValues::default();
        // The loop that runs: where it begins, and its index.
        let mut running: Option<(usize, u32)> = None;
        let mut at = 0;
        while at < self.steps.len() {
            let outputs = match &mut self.before[at] {
                Some(part) => part.run(state, scalars, &mut values)?,
                None => Outputs::default(),
            };
            if let Some((begin, _)) = running {
                // Who needs the new value later in the pass finds it where the carry is.
                for (_, carry, value) in self.steps[begin].early.iter().filter(|early| early.0 == at) {
                    values.insert(*value, values.get(*carry)?);
                }
            }
            let CutStep { kind, number, asks: asked, answers, entries, .. } = &self.steps[at];
            match kind {
                CutKind::Ask => {
                    let asked = asked.iter().map(|id| values.get(*id)).collect::<Result<_>>()?;
                    let answered = host.answer(*number, asked).await?;
                    answers.iter().zip(answered).for_each(|(id, array)| values.insert(*id, array));
                }
                #[cfg(not(target_arch = "wasm32"))]
                CutKind::Ranks(join) => {
                    let asked: Vec<Array> = asked.iter().map(|id| values.get(*id)).collect::<Result<_>>()?;
                    let room = answers.iter().map(|id| values.take(*id)).collect();
                    let answered = joined(&self.device, *join, &asked, room, &mut self.rank_words).await?;
                    answers.iter().zip(answered).for_each(|(id, array)| values.insert(*id, array));
                }
                CutKind::Repeat(_) => {
                    for (number, (carry, entry)) in answers[1..].iter().zip(entries).enumerate() {
                        let array = match entry {
                            Some(name) => state.get(name)?,
                            None => outputs.get(&first(number))?,
                        };
                        values.insert(*carry, array.clone());
                    }
                    values.insert(answers[0], self.device.array_u32(&[], &[0])?);
                    running = Some((at, 0));
                }
                CutKind::End => {
                    let (begin, index) = running.take().unwrap_or_default();
                    let CutStep { kind, answers: carries, .. } = &self.steps[begin];
                    if let CutKind::Repeat(passes) = kind
                        && (index as usize) + 1 < *passes
                    {
                        // The values of this pass may be written again.
                        self.before[begin + 1..=at].iter_mut().flatten().for_each(|part| part.inputs.clear());
                        running = Some((begin, index + 1));
                        values.insert(carries[0], self.device.array_u32(&[], &[index + 1])?);
                        at = begin + 1;
                        continue;
                    }
                    for (last, carry) in answers.iter().zip(&carries[1..]) {
                        values.insert(*last, values.get(*carry)?);
                    }
                }
            }
            at += 1;
        }
        self.last.run(state, scalars, &mut values)
    }

    /// The program of the last part, which changes the state.
    pub fn last(&self) -> &Program {
        &self.last.program
    }

    /// As [`Program::first_non_finite`], of the last run: what the host answered is not asked again. Carries of a loop
    /// have the values of its end, as each pass wrote over those of the pass before.
    ///
    /// # Errors
    /// As [`Program::first_non_finite`].
    pub async fn first_non_finite(&self, state: &State, scalars: &[(&str, ScalarValue)]) -> Result<Option<NonFinite>> {
        for part in self.before.iter().flatten().chain([&self.last]) {
            let inputs: Vec<(&str, &Array)> = part.inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
            let found = part.program.first_non_finite(&part.with_carries(state), &inputs, scalars).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests;
