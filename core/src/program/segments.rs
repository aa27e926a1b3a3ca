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
    pub(crate) fn joined(
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

    /// As [`Program::first_non_finite`], of the last run: what the host answered is not asked again.
    ///
    /// # Errors
    /// As [`Program::first_non_finite`].
    pub async fn first_non_finite(&self, state: &State, scalars: &[(&str, ScalarValue)]) -> Result<Option<NonFinite>> {
        for part in self.before.iter().flatten().chain([&self.last]) {
            let inputs: Vec<(&str, &Array)> = part.inputs.iter().map(|(name, array)| (name.as_str(), array)).collect();
            let found = part.program.first_non_finite(state, &inputs, scalars).await?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::Kind;
    use crate::tensor::{Loop, scan};
    use crate::{DType, Tensor};

    /// Answers with twice what was asked, until it fails.
    struct Twice {
        device: Device,
        answers: usize,
    }

    impl Host for Twice {
        fn answer(&mut self, _: usize, asked: Vec<Array>) -> LocalFuture<'_, Result<Vec<Array>>> {
            Box::pin(async move {
                self.answers = self.answers.checked_sub(1).ok_or_else(|| Error::Program("tired".to_owned()))?;
                let numbers: Vec<f64> = self.device.read(&asked[0]).await?.iter().map(|x| 2.0 * x).collect();
                Ok(vec![self.device.array(&asked[0].shape, &numbers)?])
            })
        }
    }

    #[track_caller]
    fn twice(cx: &mut Context, x: Tensor) -> Tensor {
        cx.ask(&[x], &[(x.shape(), DType::F32)])[0]
    }

    fn parts(segments: &Segments) -> impl Iterator<Item = &ProgramPart> {
        segments.before.iter().flatten().chain([&segments.last])
    }

    fn products(segments: &Segments) -> Vec<usize> {
        parts(segments).map(|part| part.program.plan().count(Kind::MatMul)).collect()
    }

    #[test]
    fn values_cross_cuts_and_states_change_at_the_end() {
        let device = Device::cpu(1);
        let mut segments = Segments::new(&device, |cx| {
            let w = cx.state("w", &[3, 3], DType::F32);
            let rate = cx.scalar_f32("rate");
            // Needed before the first cut and after the last one.
            let product = w.matmul(w);
            let doubled = twice(cx, product * rate);
            // A loop of which one part wants one result, and the last part another.
            let (halved, rows) =
                scan(4, false, &[doubled], &[], |_, c, _| Loop { carry: vec![c[0] * 0.5], ys: vec![c[0]] });
            let again = twice(cx, halved[0]);
            cx.update("w", again + product + rows[0].sum_keep(0).reshape(&[3, 3]) + w);
            cx.output("old", w);
        })
        .unwrap();
        assert_eq!(products(&segments), [1, 0, 0]);
        let mut state = State::new();
        let diagonal = [1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 3.0];
        state.insert("w", device.array(&[3, 3], &diagonal).unwrap());
        let read = |array: &Array| pollster::block_on(device.read(array)).unwrap();
        let mut run = |answers: usize| {
            let mut host = Twice { device: device.clone(), answers };
            pollster::block_on(segments.run(&state, &[("rate", 0.5.into())], &mut host))
        };
        for answers in [0, 1] {
            assert_eq!(run(answers).unwrap_err().to_string(), Error::Program("tired".to_owned()).to_string());
            assert_eq!(read(state.get("w").unwrap()), diagonal, "nothing has changed");
        }
        let out = run(2).unwrap();
        // w² · ½ · 2 = w²; a sixteenth of it, doubled; and 1 + ½ + ¼ + ⅛ of it.
        let want = |w: f64| w * w / 8.0 + w * w + w * w * 1.875 + w;
        let got = read(state.get("w").unwrap());
        assert_eq!([got[0], got[4], got[8]], [want(1.0), want(2.0), want(3.0)]);
        assert_eq!(read(out.get("old").unwrap()), diagonal);
    }

    #[test]
    fn a_trace_that_asks_nothing_is_the_program_that_it_was() {
        let device = Device::cpu(1);
        let trace = |cx: &mut Context| {
            let w = cx.state("w", &[8, 8], DType::F32);
            cx.update("w", w.matmul(w).tanh());
        };
        let segments = Segments::new(&device, trace).unwrap();
        let program = Program::new(&device, trace).unwrap();
        assert_eq!(segments.last().plan().to_string(), program.plan().to_string());
    }

    #[test]
    fn keys_are_computed_again_and_numbers_are_carried() {
        let device = Device::cpu(1);
        let segments = Segments::new(&device, |cx| {
            let x = cx.state("x", &[4], DType::F32);
            let number = cx.scalar_u32("number");
            let words = [number, number + Tensor::constant_u32(1)];
            let key = crate::dist::fold_in(words.map(|word| word.broadcast_to(&[4])), number);
            let (drawn, wave) = (key[0].to_f32(), x.sin());
            let back = twice(cx, drawn * wave);
            cx.update("x", back + key[1].to_f32() + wave);
        })
        .unwrap();
        let carried: Vec<usize> = parts(&segments).map(|part| part.reads.len()).collect();
        // The sine and the answer.
        assert_eq!(carried, [0, 2]);
    }

    /// x ← ½ (2 (x + i)) + w², three times.
    fn looped(cx: &mut Context) {
        let w = cx.state("w", &[64, 64], DType::F32);
        let x = cx.state("x", &[64, 64], DType::F32);
        let memory = cx.bulk("memory", &[9, 64], DType::F32);
        let inside = cx.begin_loop(3, &[x, memory]);
        let square = w.matmul(w);
        let back = twice(cx, inside[1] + inside[0].to_f32());
        let row = inside[0].reshape(&[1]) * Tensor::constant_u32(2);
        let memory = inside[2].store(row, back.slice(0, 0, 1));
        let last = cx.end_loop(&[back * 0.5 + square, memory]);
        cx.update("x", last[0]);
        cx.update("memory", last[1]);
        cx.output("sum", last[0].sum_all());
    }

    #[test]
    fn a_loop_asks_in_every_pass_and_what_it_does_not_change_is_computed_before_it() {
        let device = Device::cpu(1);
        let mut segments = Segments::new(&device, looped).unwrap();
        assert_eq!(products(&segments), [1, 0, 0, 0]);
        let mut state = State::new();
        let eye: Vec<f64> = (0..64 * 64).map(|i| f64::from(u8::from(i % 65 == 0))).collect();
        state.insert("w", device.array(&[64, 64], &eye).unwrap());
        state.insert("x", device.zeros(&[64, 64], DType::F32).unwrap());
        state.insert("memory", device.zeros(&[9, 64], DType::F32).unwrap());
        let mut host = Twice { device: device.clone(), answers: 6 };
        let mut sum = 0.0;
        for _ in 0..2 {
            let out = pollster::block_on(segments.run(&state, &[], &mut host)).unwrap();
            sum = pollster::block_on(device.read(out.get("sum").unwrap())).unwrap()[0];
        }
        let x = pollster::block_on(device.read(state.get("x").unwrap())).unwrap();
        // Each pass adds its index everywhere, and the identity.
        assert_eq!((x[0], x[1], host.answers), (2.0 * 6.0, 2.0 * 3.0, 0));
        assert_eq!(sum, f64::from(2 * (64 * 64 * 3 + 64 * 3)));
        let memory = pollster::block_on(device.read(state.get("memory").unwrap())).unwrap();
        // Twice what each pass of the second run began with, and its index, in every second row.
        let rows: Vec<f64> = memory.chunks(64).map(|row| row[1]).collect();
        assert_eq!(rows, [6.0, 0.0, 8.0, 0.0, 12.0, 0.0, 0.0, 0.0, 0.0]);
        // It is the entry itself; the other one is as before if the host fails.
        assert_eq!(segments.steps[0].entries, [None, Some("memory".to_owned())]);
        let before = pollster::block_on(device.read(state.get("x").unwrap())).unwrap();
        host.answers = 2;
        pollster::block_on(segments.run(&state, &[], &mut host)).unwrap_err();
        assert_eq!(pollster::block_on(device.read(state.get("x").unwrap())).unwrap(), before);
    }

    #[test]
    fn carries_may_be_exchanged_and_read_after_they_are_written() {
        let device = Device::cpu(1);
        let mut segments = Segments::new(&device, |cx| {
            let (a, b) = (cx.state("a", &[2], DType::F32), cx.state("b", &[2], DType::F32));
            let inside = cx.begin_loop(3, &[a, b, a * 0.0]);
            let (a, b) = (inside[1], inside[2]);
            // Computed before the ask and needed after it.
            let sum = inside[3] + (a + 1.0).exp();
            let back = twice(cx, a);
            let last = cx.end_loop(&[b, back + sum * 0.0, sum]);
            cx.update("a", last[0]);
            cx.update("b", last[1]);
            cx.output("sum", last[2]);
        })
        .unwrap();
        let mut state = State::new();
        state.insert("a", device.array(&[2], &[1.0, 2.0]).unwrap());
        state.insert("b", device.array(&[2], &[3.0, 5.0]).unwrap());
        let mut host = Twice { device: device.clone(), answers: 3 };
        let out = pollster::block_on(segments.run(&state, &[], &mut host)).unwrap();
        let read = |array: &Array| pollster::block_on(device.read(array)).unwrap();
        // (1, 3) → (3, 2) → (2, 6) → (6, 4), and (2, 5) → (5, 4) → (4, 10) → (10, 8).
        assert_eq!(read(state.get("a").unwrap()), [6.0, 10.0]);
        assert_eq!(read(state.get("b").unwrap()), [4.0, 8.0]);
        let want = [[1.0, 3.0, 2.0], [2.0, 5.0, 4.0]].map(|a| a.iter().map(|a: &f64| (a + 1.0).exp()).sum::<f64>());
        for (got, want) in read(out.get("sum").unwrap()).iter().zip(want) {
            assert!((got / want - 1.0).abs() < 1e-6, "{got} {want}");
        }
    }

    #[test]
    fn new_values_of_a_loop_are_computed_as_soon_as_they_can_be() {
        let device = Device::cpu(1);
        let mut segments = Segments::new(&device, |cx| {
            let (theta, m) = (cx.state("theta", &[2, 2], DType::F32), cx.state("m", &[2, 2], DType::F32));
            let inside = cx.begin_loop(2, &[theta, m]);
            let m = inside[2].matmul(twice(cx, inside[1]));
            let theta = inside[1] + m;
            // Nobody asks for the second product.
            let last = [theta + twice(cx, theta), m.matmul(m)];
            let last = cx.end_loop(&last);
            cx.update("theta", last[0]);
            cx.update("m", last[1]);
        })
        .unwrap();
        assert_eq!(products(&segments).into_iter().filter(|count| *count > 0).collect::<Vec<_>>(), [2]);
        let mut state = State::new();
        let one = || device.array(&[2, 2], &[1.0, 0.0, 0.0, 1.0]).unwrap();
        state.insert("theta", one());
        state.insert("m", one());
        pollster::block_on(segments.run(&state, &[], &mut Twice { device: device.clone(), answers: 4 })).unwrap();
        // (1, 1) → (9, 4) → (243, 5184).
        let read = |name: &str| pollster::block_on(device.read(state.get(name).unwrap())).unwrap()[0];
        assert_eq!([read("theta"), read("m")], [243.0, 5184.0]);
    }

    #[test]
    fn the_host_is_asked_for_what_a_carry_was_beside_its_new_value() {
        let device = Device::cpu(1);
        let mut segments = Segments::new(&device, |cx| {
            let (w, sum) = (cx.state("w", &[2, 2], DType::F32), cx.state("sum", &[2, 2], DType::F32));
            let inside = cx.begin_loop(3, &[w, sum]);
            let new = inside[1] * 3.0;
            let doubled = cx.ask(&[inside[1], new], &[(w.shape(), DType::F32)])[0];
            let last = cx.end_loop(&[new, inside[2] + doubled]);
            cx.update("w", last[0]);
            cx.update("sum", last[1]);
        })
        .unwrap();
        let mut state = State::new();
        state.insert("w", device.array(&[2, 2], &[1.0; 4]).unwrap());
        state.insert("sum", device.array(&[2, 2], &[0.0; 4]).unwrap());
        pollster::block_on(segments.run(&state, &[], &mut Twice { device: device.clone(), answers: 3 })).unwrap();
        let read = |name: &str| pollster::block_on(device.read(state.get(name).unwrap())).unwrap()[0];
        assert_eq!([read("w"), read("sum")], [27.0, 2.0 * (1.0 + 3.0 + 9.0)]);
    }

    #[test]
    fn asks_that_cannot_be_are_errors() {
        let device = Device::cpu(1);
        let inside = Segments::new(&device, |cx| {
            let x = cx.state("x", &[2], DType::F32);
            let (c, _) = scan(3, false, &[x], &[], |_, c, _| Loop { carry: vec![twice(cx, c[0])], ys: vec![] });
            cx.update("x", c[0]);
        });
        let message = inside.unwrap_err().to_string();
        assert!(
            message.contains("the host cannot be asked inside of a loop (at core/src/program/segments.rs"),
            "{message}"
        );
        let alone = Program::new(&device, |cx| {
            let x = cx.state("x", &[2], DType::F32);
            let y = twice(cx, x);
            cx.update("x", y);
        });
        assert!(alone.unwrap_err().to_string().contains("run as segments"));
        let leaks = Segments::new(&device, |cx| {
            let x = cx.state("x", &[2], DType::F32);
            let inside = cx.begin_loop(3, &[x]);
            let back = twice(cx, inside[1]);
            let last = cx.end_loop(&[back])[0];
            cx.update("x", last + back);
        });
        assert!(leaks.unwrap_err().to_string().contains("a value from inside of `repeat` is used after it"));
        let copied = Segments::new(&device, |cx| {
            let x = cx.bulk("x", &[2, 3], DType::F32);
            let inside = cx.begin_loop(3, &[x]);
            let back = twice(cx, inside[0].to_f32().broadcast_to(&[1, 3]));
            let last = cx.end_loop(&[inside[1].store(Tensor::literal_u32(&[0]), back)])[0];
            cx.output("last", last.gather(Tensor::literal_u32(&[0])));
        });
        assert!(copied.unwrap_err().to_string().contains("`x` is bulk"));
    }
}
