//! The order in which tasks of classes with goals are played.

use std::ops::Range;

use quickstudy_core::host::Chance;
use quickstudy_core::rng::{Permutation, fold_in};

/// Classes of tasks, each with its goals, dealt in the order of Meta-World's task sampler: place n of a batch has class
/// n modulo their number, and goals of a class come in a shuffled order, none twice before all others.
///
/// A task follows from its chance alone, so that runs repeat and seeds do not depend on each other. The original goes
/// on in its order from batch to batch; here each batch has an order of its own, unless tasks are a pool
/// (`train_tasks`), whose numbers are places in a single order.
#[derive(Clone, Debug)]
pub(crate) struct Deck {
    classes: Vec<(usize, Range<usize>)>,
}

impl Deck {
    /// A deck of these classes, without those that have no goals; none if that leaves nothing.
    pub fn new(mut classes: Vec<(usize, Range<usize>)>) -> Option<Deck> {
        classes.retain(|(_, goals)| !goals.is_empty());
        (!classes.is_empty()).then_some(Deck { classes })
    }

    /// The class and the goal of each chance.
    pub fn deal(&self, chances: &[Chance]) -> Vec<Vec<f64>> {
        let task = |chance: &Chance| {
            let count = self.classes.len();
            let (class, goals) = &self.classes[chance.element as usize % count];
            let order = Permutation::new(fold_in(chance.key, *class as u32), goals.len() as u32);
            let goal = order.apply((chance.element as usize / count % goals.len()) as u32);
            vec![*class as f64, (goals.start + goal as usize) as f64]
        };
        chances.iter().map(task).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn deal(deck: &Deck, key: [u32; 2], count: u32) -> Vec<[usize; 2]> {
        let chances: Vec<Chance> = (0..count).map(|element| Chance { key, element }).collect();
        deck.deal(&chances).iter().map(|task| [task[0] as usize, task[1] as usize]).collect()
    }

    #[test]
    fn places_keep_their_class_and_goals_come_again_when_all_others_have() {
        let deck = Deck::new((10..15).map(|class| (class, 0..50)).collect()).unwrap();
        let tasks = deal(&deck, [1, 2], 250);
        assert!(tasks.iter().enumerate().all(|(place, [class, _])| *class == 10 + place % 5));
        assert_eq!(tasks.iter().collect::<HashSet<_>>().len(), 250);
        let other = deal(&deck, [1, 3], 250);
        assert!(other.iter().zip(&tasks).all(|([a, _], [b, _])| a == b) && other != tasks, "another order");
        assert_eq!(deal(&deck, [1, 2], 40), tasks[..40]);
        let orders: HashSet<Vec<usize>> =
            (0..5).map(|class| tasks.iter().skip(class).step_by(5).map(|[_, goal]| *goal).collect()).collect();
        assert_eq!(orders.len(), 5, "each class has its own");
    }

    #[test]
    fn held_out_goals_are_no_others() {
        let [train, test] = [0..50, 50..100].map(|goals| Deck::new(vec![(0, goals)]).unwrap());
        assert!(Deck::new(vec![(0, 3..3)]).is_none());
        let goals = |deck| deal(deck, [5, 5], 50).into_iter().map(|[_, goal]| goal).collect::<HashSet<_>>();
        assert_eq!((goals(&train), goals(&test)), ((0..50).collect(), (50..100).collect()));
    }
}
