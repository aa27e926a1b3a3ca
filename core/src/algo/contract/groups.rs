//! Groups of parameters, each of which makes its steps together, on one θ.

use std::ops::Range;

use super::{First, Held, StateEntry};
use crate::math::order::by_key;
use crate::nn::Layout;
use crate::optim::{GradientMoments, Trained};
use crate::play::Iteration;
use crate::{DType, Tensor};

/// A group: the name of its optimiser's entry of corrections, its slices, and their places in θ.
#[derive(Clone, Debug)]
struct ParameterGroup {
    scale: &'static str,
    layout: Layout,
    places: Vec<Range<usize>>,
}

/// Groups of parameters on one θ, each stepped by an optimiser of its own.
///
/// Either each group is a vector of its own, and θ is all of them one behind the other ([`new`](ParameterGroups::new)),
/// or all groups see all of θ and each moves its own places ([`on`](ParameterGroups::on)).
#[derive(Clone, Debug)]
pub struct ParameterGroups {
    groups: Vec<ParameterGroup>,
    layout: Layout,
    /// True if each group sees all of θ.
    shared: bool,
}

impl ParameterGroups {
    /// The entry of Adam's bias correction, as [`StateEntry::learner`] names it, for a single group or the first one.
    pub const SCALE: &'static str = "adam_scale";

    /// Makes a single group: all parameters make their steps together.
    #[must_use]
    pub fn one(layout: Layout) -> ParameterGroups {
        let all = 0..layout.len();
        ParameterGroups::on(layout, vec![(ParameterGroups::SCALE, vec![all])])
    }

    /// Makes groups of these slices, one behind the other in θ. Each has the name of the entry, `[2]`, of Adam's bias
    /// correction of its steps: [`SCALE`](ParameterGroups::SCALE) for the first group, and a name of your own, such as
    /// `adam_scale_values`, for each other.
    pub fn new(groups: Vec<(&'static str, Layout)>) -> ParameterGroups {
        let mut whole = Layout::new();
        let one = |(scale, layout): (&'static str, Layout)| {
            let from = whole.len();
            whole.append(&layout);
            let own = from..whole.len();
            ParameterGroup { scale, layout, places: Vec::from([own]) }
        };
        let groups = groups.into_iter().map(one).collect();
        ParameterGroups { groups, layout: whole, shared: false }
    }

    /// Makes groups that see all of θ. Each has the name of an entry, as in [`new`](ParameterGroups::new), and the
    /// places that it moves. A group's loss function must have no gradient at the places of others.
    pub fn on(layout: Layout, groups: Vec<(&'static str, Vec<Range<usize>>)>) -> ParameterGroups {
        let one = |(scale, mut places): (&'static str, Vec<Range<usize>>)| {
            places.retain(|places| !places.is_empty());
            ParameterGroup { scale, layout: layout.clone(), places }
        };
        ParameterGroups { groups: groups.into_iter().map(one).collect(), layout, shared: true }
    }

    /// The slices of all groups.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The slices that a group sees.
    pub fn of(&self, group: usize) -> &Layout {
        &self.groups[group].layout
    }

    /// The place in θ of a group's first parameter.
    pub fn offset(&self, group: usize) -> usize {
        self.groups[group].places.first().map_or(0, |places| places.start)
    }

    /// Entries of a key, all parameters, and the optimisers' memories.
    pub fn entries(&self) -> Vec<StateEntry> {
        let p = self.layout.len();
        let mut entries = vec![
            StateEntry::new("key", &[2], DType::U32).from(First::Key),
            StateEntry::new("theta", &[p], DType::F32).from(First::Parameters(0)),
        ];
        entries.extend(StateEntry::moments(p));
        entries.extend(self.groups.iter().map(|group| StateEntry::corrections(group.scale, group.places.clone())));
        entries
    }

    /// Reads the groups from a state.
    pub fn begin(&self, held: &Held) -> Vec<Trained> {
        let one = |group: &ParameterGroup| {
            let part = |name: &str| match (self.shared, &group.places[..]) {
                (false, [places]) => held.get(name).slice(1, places.start, places.end),
                _ => held.get(name),
            };
            let memory = |name: &str| match self.shared && self.groups.len() > 1 {
                true => only(held.get(name), &group.places),
                false => part(name),
            };
            let moments = GradientMoments { m: memory("adam_m"), v: memory("adam_v"), scale: held.get(group.scale) };
            Trained { theta: part("theta"), moments }
        };
        self.groups.iter().map(one).collect()
    }

    /// Writes the groups to the state.
    pub fn keep(&self, it: &mut Iteration<'_>, trained: &[Trained]) {
        let all = |of: &dyn Fn(&Trained) -> Tensor| trained.iter().map(of).collect::<Vec<_>>();
        let [theta, m, v] = [
            all(&|group: &Trained| group.theta),
            all(&|group: &Trained| group.moments.m),
            all(&|group: &Trained| group.moments.v),
        ];
        let one_of = |parts: Vec<Tensor>| match self.shared {
            true => parts.into_iter().reduce(|a, b| a + b).unwrap_or(Tensor::poison()),
            false => Tensor::concat(&parts, 1),
        };
        it.update("theta", if self.shared { self.moved(&theta) } else { Tensor::concat(&theta, 1) });
        it.update("adam_m", one_of(m));
        it.update("adam_v", one_of(v));
        for (group, trained) in self.groups.iter().zip(trained) {
            it.update(group.scale, trained.moments.scale);
        }
    }

    /// θ with each group's places taken from the group's own copy, `[S, P]` each.
    fn moved(&self, thetas: &[Tensor]) -> Tensor {
        if let [only] = thetas {
            return *only;
        }
        let mut runs: Vec<(&Range<usize>, Tensor)> = Vec::new();
        for (group, theta) in self.groups.iter().zip(thetas) {
            runs.extend(group.places.iter().map(|places| (places, *theta)));
        }
        let runs = by_key(runs, &|(places, _)| places.start as u64);
        let parts: Vec<Tensor> =
            runs.into_iter().map(|(places, theta)| theta.slice(1, places.start, places.end)).collect();
        Tensor::concat(&parts, 1)
    }
}

/// `x: [S, P]` at these places, in order, and 0 elsewhere.
#[track_caller]
fn only(x: Tensor, places: &[Range<usize>]) -> Tensor {
    let (seeds, p) = (x.size(0), x.size(1));
    let (mut parts, mut at) = (Vec::<Tensor>::new(), 0);
    let none_until = |at: &mut usize, parts: &mut Vec<Tensor>, next: usize| {
        parts.extend((*at < next).then(|| Tensor::zeros(&[seeds, next - *at])));
        *at = next;
    };
    for places in places {
        none_until(&mut at, &mut parts, places.start);
        parts.push(x.slice(1, places.start, places.end));
        at = places.end;
    }
    none_until(&mut at, &mut parts, p);
    Tensor::concat(&parts, 1)
}
