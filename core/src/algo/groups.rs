//! Networks that make their steps apart, on one θ.

use super::{First, Held, StateEntry};
use crate::nn::Layout;
use crate::optim::AdamState;
use crate::play::Iteration;
use crate::tensor::tree;
use crate::{DType, Tensor};

/// Parameters that make their steps together, and their optimiser's memory.
#[derive(Clone, Debug)]
pub struct Trained {
    /// θ, `[S, P]`.
    pub theta: Tensor,
    /// The optimiser's memory.
    pub adam: AdamState,
}

tree!(Trained: theta, adam);

/// Parameters that make their steps together.
#[derive(Clone, Debug)]
struct ParameterGroup {
    /// The entry of Adam's bias correction.
    scale: &'static str,
    layout: Layout,
}

/// Groups of parameters, one behind the other in θ, each stepped by its own optimiser.
#[derive(Clone, Debug)]
pub struct ParameterGroups {
    groups: Vec<ParameterGroup>,
    whole: Layout,
}

impl ParameterGroups {
    /// The state's entry of Adam's bias correction, as [`StateEntry::learner`] names it: that of the only group, or of
    /// the first one.
    pub const SCALE: &'static str = "adam_scale";

    /// A single group: all parameters make their steps together.
    #[must_use]
    pub fn one(layout: Layout) -> ParameterGroups {
        ParameterGroups::new(vec![(ParameterGroups::SCALE, layout)])
    }

    /// Groups of these slices. Each comes with the name of the state's entry, `[2]`, that holds Adam's bias correction
    /// of its steps: [`SCALE`](ParameterGroups::SCALE) for the first one, and a name of your own, such as
    /// `adam_scale_values`, for each other.
    pub fn new(groups: Vec<(&'static str, Layout)>) -> ParameterGroups {
        let mut whole = Layout::new();
        groups.iter().for_each(|(_, layout)| whole.append(layout));
        ParameterGroups {
            groups: groups.into_iter().map(|(scale, layout)| ParameterGroup { scale, layout }).collect(),
            whole,
        }
    }

    /// The slices of all groups.
    pub fn whole(&self) -> &Layout {
        &self.whole
    }

    /// The slices of a group.
    pub fn of(&self, group: usize) -> &Layout {
        &self.groups[group].layout
    }

    /// The place in θ of a group's first parameter.
    pub fn offset(&self, group: usize) -> usize {
        self.groups[..group].iter().map(|group| group.layout.len()).sum()
    }

    /// A key, all parameters, and the optimisers' memories.
    pub fn entries(&self) -> Vec<StateEntry> {
        let p = self.whole.len();
        let mut entries = vec![
            StateEntry::new("key", &[2], DType::U32).from(First::Key),
            StateEntry::new("theta", &[p], DType::F32).from(First::Parameters(0)),
        ];
        entries.extend(StateEntry::moments(p));
        let places = |group: usize| self.offset(group)..self.offset(group) + self.of(group).len();
        let groups = self.groups.iter().enumerate();
        entries.extend(groups.map(|(number, group)| StateEntry::corrections(group.scale, vec![places(number)])));
        entries
    }

    /// The groups as a state holds them.
    pub fn begin(&self, held: &Held) -> Vec<Trained> {
        let mut from = 0;
        let one = |group: &ParameterGroup| {
            let to = from + group.layout.len();
            let part = |name: &str| held.get(name).slice(1, from, to);
            let adam = AdamState { m: part("adam_m"), v: part("adam_v"), scale: held.get(group.scale) };
            let trained = Trained { theta: part("theta"), adam };
            from = to;
            trained
        };
        self.groups.iter().map(one).collect()
    }

    /// Their new values.
    pub fn keep(&self, it: &mut Iteration<'_>, trained: &[Trained]) {
        let joined = |of: &dyn Fn(&Trained) -> Tensor| Tensor::concat(&trained.iter().map(of).collect::<Vec<_>>(), 1);
        it.update("theta", joined(&|group| group.theta));
        it.update("adam_m", joined(&|group| group.adam.m));
        it.update("adam_v", joined(&|group| group.adam.v));
        for (group, trained) in self.groups.iter().zip(trained) {
            it.update(group.scale, trained.adam.scale);
        }
    }
}
