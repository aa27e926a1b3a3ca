//! The calls of an algorithm's iteration besides computing with tensors: it draws tasks, plays, and lets the host compute.

use super::keys::group_keys;
use super::stepping::fold_recorded;
use super::{
    ActorSpec, Amount, Experience, HostAct, HostCall, HostPlay, Keys, Play, PolicyActor, Recorded, Running, Steps,
    Until, replay,
};
use crate::dist::fold_in;
use crate::env::EnvSpec;
use crate::host::EnvPlace;
use crate::learn::Metrics;
use crate::policy::{Acting, How, Policy};
use crate::program::Context;
use crate::rng::streams;
use crate::task::TaskSource;
use crate::tensor::{Named, Tree, fail, scan_tree};
use crate::{DType, Device, Error, Result, Tensor};

/// An iteration that is being traced: wherever environments are, it plays them by the same calls.
///
/// On a device the whole iteration is one program. On the host it asks for what is played, and the trace is divided there
/// ([`Segments`](crate::program::Segments)).
#[derive(Debug)]
pub struct Iteration<'a> {
    cx: &'a mut Context,
    place: &'a EnvPlace,
    /// Where policies act that play on the host.
    device: Option<&'a Device>,
    key: [Tensor; 2],
    number: Tensor,
    stage: usize,
    /// Each seed's numbers of schedules, `[S, 1]`, where seeds may have come to different points of their runs.
    scheduled: Option<Named>,
    /// Groups of each seed that stand for seeds, while an algorithm plays and learns by groups.
    groups: usize,
    /// The host has been told the tasks.
    told: bool,
    acts: Vec<HostAct>,
}

/// Name of the entry of the state that gives each seed's number of a schedule to programs; it is part of no snapshot.
pub(crate) fn schedule_entry(scalar: &str) -> String {
    format!("schedule.{scalar}")
}

/// Who plays: a policy in N environments of each of K groups.
#[derive(Clone, Copy, Debug)]
pub struct Cast<'a> {
    /// Who acts.
    pub policy: &'a dyn Policy,
    /// The values by which it acts, `[K, …]`.
    pub acting: &'a Acting,
    /// K and N.
    pub rows: [usize; 2],
}

/// The tasks of an iteration, M for each of S seeds.
#[derive(Clone, Copy, Debug)]
pub struct Tasks {
    source: TaskSource,
    /// M.
    count: usize,
    /// Their numbers, u32 `[S, M]`: see [`TaskSource::trace_numbers`].
    pub numbers: Tensor,
    /// Their parameters, `[S, M, D]`; none where an executor holds them, and where there is a single task.
    parameters: Option<Tensor>,
}

/// A play that the host is asked for.
#[derive(Clone, Copy)]
struct Request {
    how: How,
    steps: usize,
    /// Whole episodes; none: goes on from where environments are.
    episodes: Option<Amount>,
    /// As [`Until::lasting`].
    lasting: Option<usize>,
    tasks: Option<(TaskSource, usize)>,
}

impl<'a> Iteration<'a> {
    /// The iteration of that number (u32 `[]`, from 1), of the first stage, with each seed's key, words `[S, 1]`.
    pub fn new(cx: &'a mut Context, place: &'a EnvPlace, key: [Tensor; 2], number: Tensor) -> Iteration<'a> {
        let (stage, scheduled, groups, told, acts) = (0, None, 1, false, Vec::new());
        Iteration { cx, place, device: None, key, number, stage, scheduled, groups, told, acts }
    }

    /// Gives the device on which policies act in environments of the host; without one, playing there is an error of the trace.
    #[must_use]
    pub fn acting_on(self, device: &'a Device) -> Iteration<'a> {
        Iteration { device: Some(device), ..self }
    }

    /// The same of another stage.
    #[must_use]
    pub fn of_stage(self, stage: usize) -> Iteration<'a> {
        Iteration { stage, ..self }
    }

    /// Gives each seed its own numbers of schedules, `[S, 1]`, by the names of their scalars.
    #[must_use]
    pub fn scheduled_by_seed(self, scheduled: Named) -> Iteration<'a> {
        Iteration { scheduled: Some(scheduled), ..self }
    }

    /// The host's act at each ask, in order.
    pub fn into_acts(self) -> Vec<HostAct> {
        self.acts
    }

    /// Spaces and time limit of the environments.
    pub fn spec(&self) -> &EnvSpec {
        self.place.spec()
    }

    /// Tells whether environments are in the program; else they are on the host.
    pub fn in_program(&self) -> bool {
        !self.place.on_host()
    }

    /// What `f` makes of this iteration with `n` groups of each seed in the place of seeds: they are S · n, each with a key of its own, which
    /// is the seed's if it has one group. New values `[S · n, A, …]` of entries become those of the seeds, `[S, n · A, …]`.
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

    /// The stage that it is of, from 0: one of those that the algorithm has, and this trace is of that one alone.
    pub fn stage(&self) -> usize {
        self.stage
    }

    /// Number of the iteration, u32 `[]`, from 1.
    pub fn number(&self) -> Tensor {
        self.number
    }

    /// Each seed's key, words `[S, 1]`.
    pub fn key(&self) -> [Tensor; 2] {
        self.key
    }

    /// A number that follows a schedule: f32 `[]`, or `[S, 1]` where stacked seeds may have come to different points of their runs.
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

    /// A number that follows a schedule of iterations, which all stacked seeds have made as many of: f32 `[]`.
    #[track_caller]
    pub fn scalar_of_iterations(&mut self, name: &str) -> Tensor {
        self.cx.scalar_f32(name)
    }

    /// The new value of an entry of the state.
    #[track_caller]
    pub fn update(&mut self, name: &str, value: Tensor) {
        let value = match (self.groups, &value.shape()[..]) {
            (1, _) => value,
            (n, [rows, first, rest @ ..]) => value.reshape(&[&[rows / n, first * n], rest].concat()),
            _ => value,
        };
        self.cx.update(name, value);
    }

    /// The tasks of this iteration, `count` for each seed.
    #[track_caller]
    pub fn tasks(&mut self, source: TaskSource, count: usize) -> Tasks {
        let key = fold_in(self.key, Tensor::constant_u32(streams::TASK));
        let parameters = match self.place {
            EnvPlace::Device(env) if !env.spec().task.is_empty() => Some(source.trace(env, key, self.number, count)),
            _ => None,
        };
        Tasks { source, count, numbers: source.trace_numbers(key, self.number, count), parameters }
    }

    /// Whole episodes of each environment, one after the other, from new ones on: T `steps` in all, of which those after the last episode
    /// are not valid. The rows are S seeds with M tasks each, or the tasks of all seeds with some environments each.
    #[track_caller]
    pub fn episodes(
        &mut self,
        cast: Cast<'_>,
        tasks: &Tasks,
        key: [Tensor; 2],
        amount: Amount,
        steps: usize,
    ) -> Experience {
        let rows = cast.rows[0];
        let by_row = |parameters: Tensor| match rows == parameters.size(0) {
            true => parameters,
            false => parameters.reshape(&[rows, parameters.size(2)]),
        };
        let told = match self.place {
            EnvPlace::Host(host) if !host.spec().task.is_empty() => {
                (!std::mem::replace(&mut self.told, true)).then_some((tasks.source, tasks.count))
            }
            _ => None,
        };
        self.trial(cast, (tasks.parameters.map(by_row), told), key, amount, (steps, false))
    }

    /// Plays whole episodes where a task is learned: of many, each has its own. If `lasting`, noise lasts through all.
    ///
    /// An error of the trace if an executor has many tasks.
    #[track_caller]
    pub fn own_episodes(
        &mut self,
        cast: Cast<'_>,
        key: [Tensor; 2],
        amount: Amount,
        steps: usize,
        lasting: bool,
    ) -> Experience {
        if let EnvPlace::Host(host) = self.place
            && !host.spec().task.is_empty()
        {
            fail(Error::one_task(&host.spec().name));
        }
        self.trial(cast, (None, None), key, amount, (steps, lasting))
    }

    /// Whole episodes on tasks with these parameters, `[K, D]`, where environments are in the program, and on those that the host is told.
    #[track_caller]
    fn trial(
        &mut self,
        cast: Cast<'_>,
        (tasks, told): (Option<Tensor>, Option<(TaskSource, usize)>),
        key: [Tensor; 2],
        amount: Amount,
        (steps, noise): (usize, bool),
    ) -> Experience {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of(key));
        match self.place {
            EnvPlace::Device(env) => {
                let play = Play { env, policy, acting, how: How::Explore, rows, tasks, keys };
                if noise { play.episodes_with_noise(amount, steps) } else { play.episodes(amount, steps) }
            }
            EnvPlace::Host(host) => {
                let (lasting, episodes) = (noise.then_some(0), Some(amount));
                let request = Request { how: How::Explore, steps, episodes, lasting, tasks: told };
                let (first, recorded) = self.ask(host.spec(), cast, keys, &Named::new(), request);
                let first = first.first().copied().unwrap_or(Tensor::poison());
                replay(policy, acting, amount, first, &recorded)
            }
        }
    }

    /// Folds `add` over the steps of one new episode in each environment, from `init`, `[K, N, …]`, on: at most so many `steps`, in which
    /// the policy acts as `how` says. No step is kept; where environments are in the program, it ends once all are done. If there are
    /// many tasks, each episode has its own.
    ///
    /// An error of the trace if an executor has many tasks.
    #[track_caller]
    pub fn fold<C: Tree>(
        &mut self,
        (cast, how): (Cast<'_>, How),
        key: [Tensor; 2],
        steps: usize,
        init: &C,
        add: impl FnOnce(&C, &Steps) -> C,
    ) -> C {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of(key));
        match self.place {
            EnvPlace::Device(env) => {
                let tasks = (!env.spec().task.is_empty()).then(|| {
                    // As `host::TaskPerEpisode` draws them: at the reset.
                    let key = [0, streams::TASK].map(Tensor::constant_u32).into_iter().fold(keys.env, fold_in);
                    env.trace_tasks(key, Tensor::iota(&rows, 1))
                });
                Play { env, policy, acting, how, rows, tasks, keys }.fold(steps, init, add)
            }
            EnvPlace::Host(host) => {
                if !host.spec().task.is_empty() {
                    fail(Error::one_task(&host.spec().name));
                    return init.with(&init.flat());
                }
                let amount = Amount::Episodes(1);
                let request = Request { how, steps, episodes: Some(amount), lasting: None, tasks: None };
                let (first, recorded) = self.ask(host.spec(), cast, keys, &Named::new(), request);
                let first = first.first().copied().unwrap_or(Tensor::poison());
                fold_recorded(&replay(policy, acting, amount, first, &recorded).steps, init, add)
            }
        }
    }

    /// The [dense reward](crate::env::Env::dense_reward) of steps that were played on these tasks, `[T, K, N, 1]`.
    ///
    /// An error of the trace if the environment has no such, or is on the host, where it pays one reward.
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

    /// Steps from where environments are, through the ends of episodes; the first of them draws by the number `first` (u32 `[]`) of
    /// this iteration. Environments of the host keep their states to themselves: of `from` only the observations and the steps are of
    /// interest there.
    #[track_caller]
    pub fn go_on(&mut self, cast: Cast<'_>, from: Running, until: Until, first: Tensor) -> Experience {
        let (Cast { policy, acting, rows }, keys) = (cast, Keys::of_iteration(self.key, self.number));
        let keys = Keys { first, ..keys };
        match self.place {
            EnvPlace::Device(env) => {
                Play { env, policy, acting, how: How::Explore, rows, tasks: None, keys }.go_on(from, until)
            }
            EnvPlace::Host(host) => {
                let Until { steps, lasting, .. } = until;
                let request = Request { how: How::Explore, steps, episodes: None, lasting, tasks: None };
                let (rest, recorded) = self.ask(host.spec(), cast, keys, &from.memory, request);
                let memory = from.memory.with(&rest);
                recorded.went_on(Running { memory, ..from })
            }
        }
    }

    /// A loop of `n` passes over carries, with plays inside or without: `body` gets the index (u32 `[]`) and the carries, and gives the
    /// new ones and the metrics of its pass, which are joined as each [says](crate::learn::Join).
    ///
    /// Where all happens on the device it is a loop of one program. Otherwise `body` is traced twice, the second time as programs that
    /// are run in every pass; a carry that begins and ends as an entry of the state is changed where it is, also when the host fails.
    #[track_caller]
    pub fn repeat<C: Tree>(
        &mut self,
        n: usize,
        init: &C,
        mut body: impl FnMut(&mut Iteration<'_>, Tensor, C) -> (C, Metrics),
    ) -> (C, Metrics) {
        let seeds = self.seeds();
        let Iteration { cx, place, device, key, number, stage, scheduled, groups, told, acts } = self;
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
                // One after the other, as on the host.
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

    /// Computes what is no tensor program: `f` gets the numbers of `asks` and gives those of tensors of these shapes, f32.
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

    /// Asks the host to play, with this memory of the policy where it goes on: the first observations `[K, N, O]` of new episodes, or the
    /// memory after it; and what was recorded.
    #[track_caller]
    fn ask(
        &mut self,
        spec: &EnvSpec,
        cast: Cast<'_>,
        keys: Keys,
        memory: &Named,
        request: Request,
    ) -> (Vec<Tensor>, Recorded) {
        let (Cast { policy, acting, rows }, Request { how, steps, episodes, lasting, tasks }) = (cast, request);
        let ([k, n], o, a) = (rows, spec.observation.len(), spec.action.dim());
        if self.cx.tries() {
            return (vec![Tensor::poison()], Recorded::poison());
        }
        let Some(device) = self.device else {
            fail(Error::Program("a policy needs a device to act in environments of the host".to_owned()));
            return (vec![Tensor::poison()], Recorded::poison());
        };
        let mut asks = acting.flat();
        // Programs of their own know nothing of this trace.
        let shapes: Vec<(Vec<usize>, DType)> = asks.iter().map(|x| (x.shape(), x.dtype())).collect();
        let names: Vec<String> = (0..shapes.len()).map(|i| format!("acting {i}")).collect();
        let spec = ActorSpec { policy, sizes: [k, n, o, a], how, lasting: lasting.is_some(), info: &[] };
        let actor = PolicyActor::new(device, spec, &|cx: &mut Context| {
            let one = |(name, (shape, dtype)): (&String, &(Vec<usize>, DType))| cx.input(name, shape, *dtype);
            acting.with(&names.iter().zip(&shapes).map(one).collect::<Vec<_>>())
        });
        match actor {
            Ok(mut actor) => {
                actor.lasts = lasting.unwrap_or(0);
                self.acts.push(HostAct::Play(HostPlay { actor, acting: names, rows, steps, episodes, tasks }));
            }
            Err(error) => {
                fail(error);
            }
        }
        asks.extend(memory.flat());
        asks.extend([keys.action, keys.lasting].map(|words| Tensor::concat(&words, 1)));
        // The host reads these: one array.
        asks.push(Tensor::concat(&[Tensor::concat(&keys.env, 1).reshape(&[2 * k]), keys.first.reshape(&[1])], 0));
        let wide = |width: usize, dtype: DType| (vec![steps, k, n, width], dtype);
        let flat = |dtype: DType| (vec![steps, k, n], dtype);
        let mut answers = vec![
            wide(a, DType::F32),
            flat(DType::F32),
            flat(DType::U32),
            flat(DType::U32),
            wide(o, DType::F32),
            wide(o, DType::F32),
        ];
        answers.extend(episodes.map(|_| (vec![k, n, o], DType::F32)));
        answers.extend(memory.flat().iter().map(|x| (x.shape(), x.dtype())));
        let given = self.cx.ask(&asks, &answers);
        let [action, reward, terminated, truncated, last_observation, observation, rest @ ..] = &given[..] else {
            return (vec![Tensor::poison()], Recorded::poison());
        };
        let recorded = Recorded {
            action: *action,
            reward: *reward,
            terminated: *terminated,
            truncated: *truncated,
            last_observation: *last_observation,
            observation: *observation,
        };
        (rest.to_vec(), recorded)
    }
}
