//! Iterations of an algorithm: besides computing with tensors, they draw tasks, play, and let the host compute.

use super::keys::group_keys;
use super::{HostAct, HostCall, Room, Steps};
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::host::EnvPlace;
use crate::learn::Metrics;
use crate::policy::{Acting, Policy};
use crate::program::Context;
use crate::rng::streams;
use crate::task::TaskSource;
use crate::tensor::{Named, Tree, fail, scan_tree};
use crate::{DType, Device, Error, Result, Tensor};

/// An iteration that is being traced. It plays environments by the same calls, on a device or on the host.
///
/// On a device the whole iteration is one program. With environments of the host, each play is asked of the host and
/// divides the trace into [`Segments`](crate::program::Segments).
#[derive(Debug)]
pub struct Iteration<'a> {
    pub(super) cx: &'a mut Context,
    pub(super) place: &'a EnvPlace,
    /// The device on which policies act that play on the host.
    pub(super) device: Option<&'a Device>,
    pub(super) key: [Tensor; 2],
    pub(super) number: Tensor,
    stage: usize,
    /// Each seed's values of schedules, `[S, 1]`, if seeds may have reached different points of their runs.
    scheduled: Option<Named>,
    /// The number of groups per seed, which stand for seeds while an algorithm plays and learns by groups.
    groups: usize,
    /// The steps for which plays of whole episodes have room, where they ask for it; none: all that there can be.
    room: Option<usize>,
    /// True once the host has been told the tasks.
    pub(super) told: bool,
    pub(super) acts: Vec<HostAct>,
}

/// The entry of the state that gives programs each seed's value of a schedule. It is part of no snapshot.
pub(crate) fn schedule_entry(scalar: &str) -> String {
    format!("schedule.{scalar}")
}

/// A policy that plays in N environments of each of K groups.
#[derive(Clone, Copy, Debug)]
pub struct Cast<'a> {
    /// The policy.
    pub policy: &'a dyn Policy,
    /// The values by which it acts, `[K, …]`.
    pub acting: &'a Acting,
    /// K and N: groups, and environments per group.
    pub rows: [usize; 2],
}

/// The tasks of an iteration, M for each of S seeds.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    pub(super) source: TaskSource,
    /// M, the number of tasks per seed.
    pub(super) count: usize,
    /// The numbers of the tasks, u32 `[S, M]`: see [`TaskSource::trace_numbers`].
    pub numbers: Tensor,
    /// The parameters of the tasks, `[S, M, D]`; none if an executor holds them or there is a single task.
    pub(super) parameters: Option<Tensor>,
}

impl<'a> Iteration<'a> {
    /// Makes iteration number `number` (u32 `[]`, from 1), of the first stage, with each seed's key, words `[S, 1]`.
    pub fn new(cx: &'a mut Context, place: &'a EnvPlace, key: [Tensor; 2], number: Tensor) -> Iteration<'a> {
        let (stage, scheduled, groups, told, acts) = (0, None, 1, false, Vec::new());
        Iteration { cx, place, device: None, key, number, stage, scheduled, groups, room: None, told, acts }
    }

    /// Sets the device on which policies act in environments of the host. Without one, a trace that plays there fails.
    #[must_use]
    pub fn acting_on(self, device: &'a Device) -> Iteration<'a> {
        Iteration { device: Some(device), ..self }
    }

    /// Sets the iteration's stage of the algorithm, counted from 0.
    #[must_use]
    pub fn of_stage(self, stage: usize) -> Iteration<'a> {
        Iteration { stage, ..self }
    }

    /// Gives plays of whole episodes room for this number of steps, where they ask for [`room`](Iteration::room).
    #[must_use]
    pub(crate) fn with_room(self, steps: Option<usize>) -> Iteration<'a> {
        Iteration { room: steps, ..self }
    }

    /// The room for whole episodes of at most `most` steps in each environment. A trace that plays in a loop cannot ask
    /// for it.
    #[must_use]
    pub fn room(&self, most: usize) -> Room {
        Room { steps: self.room.map_or(most, |steps| steps.min(most)), most }
    }

    /// Lets the host make the iteration again with more room, where episodes that count are `unfinished`, u32 `[K, N]`.
    /// `valid` is that of the steps.
    #[track_caller]
    pub(super) fn expect_room(&mut self, unfinished: Tensor, valid: Tensor) {
        let most = |x: Tensor| x.reshape(&[x.len()]).max_keep(0);
        let asked = [most(unfinished.to_f32()), most(valid.to_f32().sum_keep(0))];
        self.acts.push(HostAct::Room);
        self.cx.ask(&[Tensor::concat(&asked, 0)], &[]);
    }

    /// Sets each seed's values of schedules, `[S, 1]`, by the names of their scalars.
    #[must_use]
    pub fn scheduled_by_seed(self, scheduled: Named) -> Iteration<'a> {
        Iteration { scheduled: Some(scheduled), ..self }
    }

    /// The acts of the host that the iteration asks for, in order.
    pub fn into_acts(self) -> Vec<HostAct> {
        self.acts
    }

    /// The spaces and the time limit of the environments.
    pub fn spec(&self) -> &EnvSpec {
        self.place.spec()
    }

    /// Tells whether environments are in the program; otherwise they are on the host.
    pub fn in_program(&self) -> bool {
        !self.place.on_host()
    }

    /// Runs `f` with each seed divided into `n` groups: S · n rows take the place of seeds, each with a key of its own,
    /// or the seed's key if there is one group. New values of entries, `[S · n, A, …]`, become those of the seeds,
    /// `[S, n · A, …]`.
    pub fn by_groups<R>(&mut self, n: usize, f: impl FnOnce(&mut Iteration<'a>) -> R) -> R {
        let (key, groups) = (self.key, self.groups);
        (self.key, self.groups) = (group_keys(key, n), groups * n);
        let made = f(self);
        (self.key, self.groups) = (key, groups);
        made
    }

    /// S, the number of stacked seeds.
    pub fn seeds(&self) -> usize {
        self.key[0].size(0)
    }

    /// This trace's stage of the algorithm, counted from 0.
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// The number of the iteration, u32 `[]`, from 1.
    pub fn number(&self) -> Tensor {
        self.number
    }

    /// Each seed's key, words `[S, 1]`.
    pub fn key(&self) -> [Tensor; 2] {
        self.key
    }

    /// The value of a schedule: f32 `[]`, or `[S, 1]` if stacked seeds may have reached different points of their runs.
    #[track_caller]
    pub fn scalar(&mut self, name: &str) -> Tensor {
        let Some(of_seeds) = self.scheduled.as_ref().and_then(|scheduled| scheduled.find(name)) else {
            return self.cx.scalar_f32(name);
        };
        let (seeds, groups) = (of_seeds.size(0), self.groups);
        match groups {
            1 => of_seeds,
            n => of_seeds.unsqueeze(1).broadcast_to(&[seeds, n, 1]).reshape(&[seeds * n, 1]),
        }
    }

    /// The value of a schedule of iterations, f32 `[]`, which is the same for all stacked seeds.
    #[track_caller]
    pub fn scalar_of_iterations(&mut self, name: &str) -> Tensor {
        self.cx.scalar_f32(name)
    }

    /// This rank's number and R, the number of ranks that train together.
    pub fn rank(&self) -> [usize; 2] {
        [self.cx.rank(), self.cx.ranks()]
    }

    /// R, the number of ranks that train together.
    pub fn ranks(&self) -> usize {
        self.cx.ranks()
    }

    /// The declarations of the program, which joins what ranks have.
    pub fn context(&mut self) -> &mut Context {
        self.cx
    }

    /// The tensors of all ranks, `[R, …]` each.
    #[track_caller]
    pub fn of_ranks(&mut self, xs: &[Tensor]) -> Vec<Tensor> {
        self.cx.of_ranks(xs)
    }

    /// Sets the new value of an entry of the state.
    #[track_caller]
    pub fn update(&mut self, name: &str, value: Tensor) {
        let value = match (self.groups, &value.shape()[..]) {
            (1, _) => value,
            (n, [rows, first, rest @ ..]) => value.reshape(&[&[rows / n, first * n], rest].concat()),
            _ => value,
        };
        self.cx.update(name, value);
    }

    /// Draws the tasks of this iteration, `count` for each seed.
    #[track_caller]
    pub fn tasks(&mut self, source: TaskSource, count: usize) -> Tasks {
        let key = fold_in(self.key, Tensor::constant_u32(streams::TASK));
        let parameters = match self.place {
            EnvPlace::Device(env) if !env.spec().task.is_empty() => Some(source.trace(env, key, self.number, count)),
            _ => None,
        };
        Tasks { source, count, numbers: source.trace_numbers(key, self.number, count), parameters }
    }

    /// The [dense reward](crate::env::Env::dense_reward) of steps that were played on these tasks, `[T, K, N, 1]`.
    ///
    /// The trace fails if the environment has none, or is on the host, where it pays a single reward.
    #[track_caller]
    pub fn dense_reward(&self, steps: &Steps, tasks: &Tasks) -> Tensor {
        let none = |problem: &str| {
            fail(Error::config("dense_rewards", problem));
            Tensor::poison()
        };
        let EnvPlace::Device(env) = self.place else {
            return none("environments of the host pay one reward; set it to false");
        };
        let shape = steps.state.shape();
        let [t, k, n, _] = shape[..] else { return Tensor::poison() };
        let by_row = |task: Tensor| {
            let width = task.size(task.rank() - 1);
            let one =
                if k * n == task.len() / width { task.reshape(&[k, n, width]) } else { task.reshape(&[k, 1, width]) };
            one.unsqueeze(0).broadcast_to(&[t, k, n, width])
        };
        match env.trace_dense_reward(steps.state, steps.played, tasks.parameters.map(by_row)) {
            Some(reward) => reward,
            None => {
                none(&format!("`{}` has no other reward than the one that it pays; set it to false", env.spec().name))
            }
        }
    }

    /// Repeats `body` `n` times on carries, and may play in it: `body` gets the index (u32 `[]`) and the carries, and
    /// gives the new carries and the metrics of its pass. These are joined as each [says](crate::learn::Join).
    ///
    /// If everything happens on the device, it is a loop of one program. Otherwise `body` is traced twice, the second
    /// time as programs that are run in every pass; a carry that begins and ends as an entry of the state is changed in
    /// place, even if the host fails.
    #[track_caller]
    pub fn repeat<C: Tree>(
        &mut self,
        n: usize,
        init: &C,
        mut body: impl FnMut(&mut Iteration<'_>, Tensor, C) -> (C, Metrics),
    ) -> (C, Metrics) {
        let seeds = self.seeds();
        let Iteration { cx, place, device, key, number, stage, scheduled, groups, told, acts, .. } = self;
        let (acts_before, told_before) = (acts.len(), *told);
        let mut like = Metrics::default();
        let once = cx.try_loop(|cx| {
            let (carry, each) = scan_tree(n, init, &(), |index, carry, ()| {
                let own = std::mem::take(acts);
                let (place, device, key, number, stage, groups) = (*place, *device, *key, *number, *stage, *groups);
                let (scheduled, it) = (scheduled.clone(), Iteration::new(cx, place, key, number));
                let mut it = Iteration { device, stage, scheduled, groups, told: *told, acts: own, ..it };
                let (carry, metrics) = body(&mut it, index, carry);
                (*told, *acts) = (it.told, it.acts);
                like = metrics.clone();
                (carry, metrics)
            });
            let first = like.passes(seeds, n);
            match each.filter(|each| !each.flat().is_empty()) {
                // The metrics are joined one after the other, as on the host.
                Some(each) => (carry, scan_tree(n, &first, &each, |index, all, next| (all.after(index, &next), ())).0),
                None => (carry, first),
            }
        });
        if let Some((carry, metrics)) = once {
            return (carry, metrics.flattened(seeds, n));
        }
        self.acts.truncate(acts_before);
        self.told = told_before;
        let (first, carries) = (like.passes(seeds, n), init.flat());
        let parts = |all: &[Tensor]| {
            let (carries, metrics) = all.split_at(carries.len().min(all.len()));
            (init.with(carries), first.rebuild(&mut metrics.iter().copied()))
        };
        let given = self.cx.begin_loop(n, &[&carries[..], &first.flat()].concat());
        let [index, given @ ..] = &given[..] else { return parts(&[]) };
        let (carry, before) = parts(given);
        let (carry, metrics) = body(self, *index, carry);
        let last = self.cx.end_loop(&[carry.flat(), before.after(*index, &metrics).flat()].concat());
        let (carry, metrics) = parts(&last);
        (carry, metrics.flattened(seeds, n))
    }

    /// Calls `f` on the host with the numbers of `asks`. Its results are the numbers of f32 tensors of the shapes
    /// `answers`.
    #[track_caller]
    pub fn on_host(
        &mut self,
        asks: &[Tensor],
        shapes: &[&[usize]],
        f: impl FnMut(&[Vec<f64>]) -> Result<Vec<Vec<f64>>> + 'static,
    ) -> Vec<Tensor> {
        if self.cx.tries() {
            return vec![Tensor::poison(); shapes.len()];
        }
        let of_shape = |shape: &&[usize]| (shape.to_vec(), DType::F32);
        let answers: Vec<(Vec<usize>, DType)> = shapes.iter().map(of_shape).collect();
        let shapes = shapes.iter().map(|shape| shape.to_vec()).collect();
        self.acts.push(HostAct::Call(HostCall { f: Box::new(f), shapes }));
        self.cx.ask(asks, &answers)
    }
}
