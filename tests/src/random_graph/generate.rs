//! From a seed to a recipe.
//!
//! Every value carries what is known about it: whether f32 computes it exactly (`exact`, on the grid of 2⁻ᶠʳᵃᶜ), and
//! how large it can be. Operands of `lt`, `eq`, `floor`, casts and indices are exact; the others are kept small
//! enough that error bounds stay meaningful.

use quickstudy_core::DType;
use quickstudy_core::tensor::{Binary, Unary};

use super::dice::Dice;
use super::{Arg, Kind, Recipe, Ref, Step};

/// How large the programs are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// A few elements per axis.
    Small,
    /// 100 to 3000 rows: tiles, slices and threads are in use.
    Rows,
    /// Products of at least 64×32 results and 16 terms: operands are shared by workgroups.
    Products,
    /// Up to 70 rows in groups, and sums over them: chains are in use.
    Chains,
}

/// The facts that are known about a value.
#[derive(Clone, Debug)]
pub(super) struct Info {
    pub shape: Vec<usize>,
    pub dtype: DType,
    /// If f32 holds it exactly: it is a multiple of 2^-frac.
    pub exact: Option<i32>,
    /// Largest absolute value.
    pub mag: f64,
    /// Arguments (as bits) that its value depends on.
    pub deps: u64,
    /// Arguments that it depends on through the source of a gather, which has no derivative.
    pub blocked: u64,
    /// Not to be picked: a constant, or a loop's memory, which is only stored into.
    pub hidden: bool,
}

impl Info {
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    pub(super) fn is_f32(&self) -> bool {
        self.dtype == DType::F32
    }
}

/// The shape that both broadcast to.
pub(super) fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let at = |s: &[usize], i: usize| if i + s.len() < rank { 1 } else { s[i + s.len() - rank] };
    (0..rank)
        .map(|i| match (at(a, i), at(b, i)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}

/// A recipe that is being written.
pub(super) struct Writer {
    pub dice: Dice,
    pub infos: Vec<Info>,
    /// Which values something reads.
    pub used: Vec<bool>,
    pub steps: Vec<Step>,
    /// Elements of one value, at most.
    pub limit: usize,
    /// Leading axis, rows, widths.
    pub lead: usize,
    pub rows: usize,
    pub widths: [usize; 2],
    /// How many loops are around.
    pub depth: usize,
    /// The first value of the innermost loop.
    pub inside: usize,
    /// Only operations on the rows of `[lead, rows, _]`.
    pub rows_only: bool,
    /// Derivatives must exist: no gather from what depends on arguments.
    pub smooth: bool,
}

/// The program of a seed.
pub fn generate(seed: u64, scale: Scale) -> Recipe {
    let mut dice = Dice::new(seed);
    let small = [1, 2, 3, 4, 5, 7, 8, 16, 17, 33];
    let wide = [1, 2, 3, 5, 8, 16, 33, 64, 100];
    let (rows, widths) = match scale {
        Scale::Small => (*dice.one(&small), [*dice.one(&small[..8]), *dice.one(&small)]),
        Scale::Rows => (dice.within(100, 3000), [*dice.one(&wide), *dice.one(&wide[..8])]),
        Scale::Products => {
            (*dice.one(&[64, 65, 100, 128, 130]), [*dice.one(&[64, 66, 71]), *dice.one(&[32, 33, 64, 65])])
        }
        Scale::Chains => (dice.within(1, 70), [0; 2].map(|_| if dice.chance(15) { 64 } else { dice.within(1, 40) })),
    };
    let limit = if scale == Scale::Small { 3000 } else { 200_000 };
    let (lead, smooth) = (dice.within(1, 3), dice.chance(50));
    let mut w = Writer {
        dice,
        infos: vec![],
        used: vec![],
        steps: vec![],
        limit,
        lead,
        rows,
        widths,
        depth: 0,
        inside: 0,
        rows_only: scale == Scale::Chains,
        smooth,
    };
    let mut args = w.arguments();
    let count = w.dice.within(6, 22);
    let chained = w.rows_only.then(|| w.chained(&mut args, count));
    for i in 0..if scale == Scale::Chains { w.dice.below(4) } else { count } {
        w.grow();
        if scale == Scale::Products && i % 5 == 1 {
            w.large_product();
        }
        if i == count / 2 && w.dice.chance(60) {
            w.rollout();
        }
    }
    let mut updates = w.updates(&args);
    updates.retain(|(state, _)| chained.is_none_or(|(theta, _)| *state != theta));
    updates.extend(chained);
    let gradients = if w.smooth { w.gradient(&args) } else { 0 };
    let first = args.len();
    w.read(&[]);
    // What nothing reads, so that little is dead; of those the ones that came last.
    let sinks: Vec<Ref> = (first..w.infos.len()).filter(|i| !w.used[*i] && !w.infos[*i].hidden).collect();
    let mut outputs: Vec<Ref> = (w.infos.len() - gradients..w.infos.len()).collect();
    for _ in 0..w.dice.within(1, 5) {
        let any = first + w.dice.below(w.infos.len() - first);
        let last = sinks.len().saturating_sub(6);
        outputs.push(if sinks.is_empty() || w.dice.chance(15) { any } else { *w.dice.one(&sinks[last..]) });
    }
    Recipe { args, steps: w.steps, outputs, updates }
}

impl Writer {
    // ---- choosing ----

    /// One of the values that satisfy `f`; more often one that nothing reads yet, or a late one.
    pub(super) fn pick(&mut self, f: impl Fn(&Info) -> bool) -> Option<Ref> {
        let able = |i: &Info| !i.hidden && f(i) && (!self.rows_only || self.is_row(i));
        let found: Vec<Ref> = (0..self.infos.len()).filter(|i| able(&self.infos[*i])).collect();
        if found.is_empty() {
            return None;
        }
        let inner = found.iter().position(|i| *i >= self.inside).unwrap_or(0);
        let found = if self.dice.chance(60) { &found[inner..] } else { &found[..] };
        let fresh: Vec<Ref> = found.iter().copied().filter(|i| !self.used.get(*i).is_some_and(|u| *u)).collect();
        if !fresh.is_empty() && self.dice.chance(60) {
            return Some(*self.dice.one(&fresh));
        }
        let from = if self.dice.chance(40) { found.len().saturating_sub(5) } else { 0 };
        Some(*self.dice.one(&found[from..]))
    }

    /// A float of moderate size.
    pub(super) fn float(&mut self) -> Ref {
        let limit = self.limit;
        match self.pick(|i| i.is_f32() && i.len() <= limit) {
            Some(r) => self.tame(r, 30.0),
            None => self.full(0.5, DType::F32, &[]),
        }
    }

    /// A float that f32 computes exactly.
    pub(super) fn exact(&mut self) -> Ref {
        match self.pick(|i| i.is_f32() && i.exact.is_some()) {
            Some(r) => r,
            None => self.full(0.75, DType::F32, &[]),
        }
    }

    /// A u32.
    pub(super) fn integer(&mut self) -> Ref {
        match self.pick(|i| !i.is_f32()) {
            Some(r) => r,
            None => self.full(3.0, DType::U32, &[]),
        }
    }

    /// A value that broadcasts with `a` and satisfies `f`; at least a constant.
    pub(super) fn partner(&mut self, a: Ref, f: impl Fn(&Info) -> bool) -> Ref {
        let (shape, dtype, limit) = (self.infos[a].shape.clone(), self.infos[a].dtype, self.limit);
        let fits = |s: &[usize]| broadcast(&shape, s).is_some_and(|s| s.iter().product::<usize>() <= limit);
        match self.pick(|i| i.dtype == dtype && fits(&i.shape) && f(i)) {
            Some(r) => r,
            None => self.full(1.5, dtype, &[]),
        }
    }

    // ---- adding ----

    pub(super) fn add(&mut self, step: Step, info: Info) -> Ref {
        self.read(&step.operands());
        self.steps.push(step);
        self.infos.push(info);
        self.infos.len() - 1
    }

    /// Note that something reads these values.
    pub(super) fn read(&mut self, values: &[Ref]) {
        self.used.resize(self.infos.len(), false);
        values.iter().for_each(|v| self.used[*v] = true);
    }

    /// As `like`, with another shape.
    pub(super) fn view(&mut self, step: Step, like: Ref, shape: Vec<usize>) -> Ref {
        let info = Info { shape, ..self.infos[like].clone() };
        self.add(step, info)
    }

    pub(super) fn full(&mut self, v: f64, dtype: DType, shape: &[usize]) -> Ref {
        let exact = (0..20).find(|f| (v * 2f64.powi(*f)).fract() == 0.0);
        let info = Info { shape: shape.to_vec(), dtype, exact, mag: v.abs(), deps: 0, blocked: 0, hidden: true };
        self.add(Step::Full(v, dtype, shape.to_vec()), info)
    }

    pub(super) fn un(&mut self, op: Unary, a: Ref) -> Ref {
        let i = self.infos[a].clone();
        let mut info = i.clone();
        (info.exact, info.mag) = match op {
            Unary::Neg | Unary::Stop => (i.exact, i.mag),
            Unary::Recip | Unary::Sqrt => (None, i.mag.max(1.0)),
            Unary::Exp => (None, i.mag.exp()),
            Unary::Log => (None, i.mag.max(1.0).ln().max(17.0)),
            Unary::Sin | Unary::Cos | Unary::Tanh => (None, 1.0),
            Unary::Floor => (Some(0), i.mag + 1.0),
            Unary::Cast(DType::U32) => (Some(0), i.mag),
            Unary::Cast(DType::F32) => (Some(0).filter(|_| i.mag < 16_777_216.0), i.mag),
            Unary::Bitcast(DType::U32) => (Some(0), f64::from(u32::MAX)),
            Unary::Bitcast(DType::F32) => (Some(23), 2.0),
        };
        if let Unary::Cast(d) | Unary::Bitcast(d) = op {
            info.dtype = d;
        }
        self.add(Step::Unary(op, a), info)
    }

    pub(super) fn bin(&mut self, op: Binary, a: Ref, b: Ref) -> Ref {
        let (x, y) = (self.infos[a].clone(), self.infos[b].clone());
        let shape = broadcast(&x.shape, &y.shape).unwrap_or_default();
        let both = x.exact.zip(y.exact);
        let (exact, mag) = match op {
            Binary::Add => (both.map(|(p, q)| p.max(q)), x.mag + y.mag),
            Binary::Mul => (both.map(|(p, q)| p + q), x.mag * y.mag),
            Binary::Max | Binary::Min => (both.map(|(p, q)| p.max(q)), x.mag.max(y.mag)),
            Binary::Lt | Binary::Eq => (Some(0), 1.0),
            Binary::And => (Some(0), x.mag.min(y.mag)),
            Binary::Or | Binary::Xor | Binary::Shl => (Some(0), f64::from(u32::MAX)),
            Binary::Shr => (Some(0), x.mag),
        };
        let dtype = if op.is_comparison() { DType::U32 } else { x.dtype };
        let info =
            Info { shape, dtype, exact, mag, deps: x.deps | y.deps, blocked: x.blocked | y.blocked, hidden: false };
        let info = if dtype == DType::U32 {
            // Integers wrap, and are exact all the same.
            Info { exact: Some(0), mag: if mag > 4e9 { f64::from(u32::MAX) } else { mag }, ..info }
        } else {
            keep_exact(info)
        };
        self.add(Step::Binary(op, a, b), info)
    }

    /// `a` multiplied by a power of two or squashed, where it may be larger than `most`.
    pub(super) fn tame(&mut self, a: Ref, most: f64) -> Ref {
        let mag = self.infos[a].mag;
        if mag <= most {
            return a;
        }
        if self.infos[a].exact.is_none() && self.dice.chance(50) {
            return self.un(Unary::Tanh, a);
        }
        let scale = 2f64.powi(-((mag / most).log2().ceil() as i32));
        let c = self.full(scale, DType::F32, &[]);
        self.bin(Binary::Mul, a, c)
    }

    /// `a` broadcast to a shape.
    pub(super) fn spread(&mut self, a: Ref, shape: &[usize]) -> Ref {
        if self.infos[a].shape == shape {
            return a;
        }
        self.view(Step::Broadcast(a, shape.to_vec()), a, shape.to_vec())
    }

    // ---- arguments and results ----

    fn arguments(&mut self) -> Vec<Arg> {
        let (s, r, [d, e]) = (self.lead, self.rows, self.widths);
        let t = self.dice.within(1, 5);
        let rough = |shape: Vec<usize>| (shape, DType::F32, None);
        let grid = |shape: Vec<usize>| (shape, DType::F32, Some(3));
        let word = |shape: Vec<usize>| (shape, DType::U32, Some(0));
        // Shape, data type, grid; all programs have the first ones.
        let mut wanted = vec![rough(vec![s, r, d]), grid(vec![s, r, d]), rough(vec![s, d, e]), rough(vec![s, 1, e])];
        let more = [
            rough(vec![d, e]),
            rough(vec![e]),
            grid(vec![r, e]),
            word(vec![s, r, 1]),
            rough(vec![s, r, e]),
            rough(vec![t, s, r, d]),
            grid(vec![t, r, e]),
            rough(vec![s, d * e + e]),
            word(vec![r]),
            grid(vec![]),
        ];
        // A chain binds few buffers.
        let often = if self.rows_only { 20 } else { 40 };
        for m in more {
            if self.dice.chance(often) || (self.rows_only && m.0 == [s, d * e + e]) {
                wanted.push(m);
            }
        }
        let fits: Vec<_> = wanted.into_iter().filter(|w| w.0.iter().product::<usize>() <= self.limit).collect();
        let mut args: Vec<Arg> = Vec::new();
        for (shape, dtype, exact) in fits {
            let kind = if self.dice.chance(45) { Kind::State } else { Kind::Input };
            args.push(self.argument(kind, shape, dtype, exact));
        }
        for (dtype, exact) in [(DType::F32, Some(3)), (DType::U32, Some(0)), (DType::U32, Some(0))] {
            args.push(self.argument(Kind::Scalar, Vec::new(), dtype, exact));
        }
        args
    }

    fn argument(&mut self, kind: Kind, shape: Vec<usize>, dtype: DType, exact: Option<i32>) -> Arg {
        let n: usize = shape.iter().product();
        let values: Vec<f64> = (0..n)
            .map(|_| match (dtype, exact) {
                (DType::F32, None) => self.dice.real(1.5),
                (DType::F32, Some(f)) => (self.dice.below(49) as f64 - 24.0) / 2f64.powi(f),
                (DType::U32, _) => (self.dice.bits() >> self.dice.below(33).min(31)).into(),
            })
            .collect();
        let mag = match dtype {
            DType::F32 => 3.0,
            DType::U32 => f64::from(u32::MAX),
        };
        let deps = if dtype == DType::F32 { 1 << self.infos.len() } else { 0 };
        // A state's later values are no longer on the grid.
        let exact = exact.filter(|_| dtype == DType::U32 || kind != Kind::State);
        self.infos.push(Info { shape: shape.clone(), dtype, exact, mag, deps, blocked: 0, hidden: false });
        Arg { kind, shape, dtype, values }
    }

    /// New values of most states.
    fn updates(&mut self, args: &[Arg]) -> Vec<(Ref, Ref)> {
        let mut updates = Vec::new();
        for (i, arg) in args.iter().enumerate() {
            if arg.kind != Kind::State || self.dice.chance(25) {
                continue;
            }
            let shape = arg.shape.clone();
            let from = self.pick(|p| p.dtype == arg.dtype && broadcast(&p.shape, &shape).as_ref() == Some(&shape));
            let from = from.unwrap_or(i);
            let same = self.infos[from].shape == shape;
            let value = if arg.dtype == DType::U32 || (same && self.infos[from].mag <= 3.0 && self.dice.chance(60)) {
                self.spread(from, &shape)
            } else if self.dice.chance(30) && !shape.is_empty() {
                self.store_into(i)
            } else {
                // θ ← 0.9·θ + 0.2·tanh(f): stays within ±3.
                let bounded = self.un(Unary::Tanh, from);
                let (keep, step) = (self.full(0.9, DType::F32, &[]), self.full(0.2, DType::F32, &[]));
                let (kept, moved) = (self.bin(Binary::Mul, i, keep), self.bin(Binary::Mul, bounded, step));
                self.bin(Binary::Add, kept, moved)
            };
            if self.infos[value].mag <= 3.01 || arg.dtype == DType::U32 {
                updates.push((i, value));
            }
        }
        updates
    }

    /// The derivative of some value with respect to some arguments.
    /// Returns how many.
    fn gradient(&mut self, args: &[Arg]) -> usize {
        let Some(loss) = self.pick(|i| i.is_f32() && i.mag <= 100.0 && i.deps != 0 && i.blocked == 0) else {
            return 0;
        };
        let deps = self.infos[loss].deps;
        let on = |i: usize| args[i].kind != Kind::Scalar && args[i].dtype == DType::F32 && deps & (1 << i) != 0;
        let able: Vec<Ref> = (0..args.len()).filter(|i| on(*i)).collect();
        if able.is_empty() {
            return 0;
        }
        let mut wrt: Vec<Ref> = (0..self.dice.within(1, 2)).map(|_| *self.dice.one(&able)).collect();
        wrt.sort_unstable();
        wrt.dedup();
        self.read(&[loss]);
        self.steps.push(Step::Grad(loss, wrt.clone()));
        for w in &wrt {
            let info = Info { exact: None, mag: 1e3, ..self.infos[*w].clone() };
            self.infos.push(info);
        }
        wrt.len()
    }
}

/// `info`, no longer exact if its grid has more than 23 bits.
pub(super) fn keep_exact(info: Info) -> Info {
    let fits = |f: &i32| *f < 60 && info.mag * 2f64.powi(*f) <= 8_388_608.0 && *f >= -20;
    Info { exact: info.exact.filter(fits), ..info }
}
