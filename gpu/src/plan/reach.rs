//! Tells which kernels must have run before others, through any number of dependencies.

/// For each kernel the set of all that must run before it.
///
/// Planning asks for far more pairs than there are dependencies, so that sets which are kept up to date cost less than
/// a search for each pair.
#[derive(Clone, Debug, Default)]
pub(super) struct Reach {
    /// A bit for each kernel that must run before.
    before: Vec<Vec<u64>>,
    /// Tells of which kernels others wait.
    awaited: Vec<bool>,
}

impl Reach {
    /// Adds a kernel that waits for none.
    pub(super) fn push(&mut self) {
        self.before.push(Vec::new());
        self.awaited.push(false);
    }

    /// Notes that kernel `first` must run before `then`.
    pub(super) fn add(&mut self, then: usize, first: usize) {
        if self.is_before(first, then) {
            return;
        }
        self.awaited[first] = true;
        let mut new = self.before[first].clone();
        set(&mut new, first);
        unite(&mut self.before[then], &new);
        if self.awaited[then] {
            for later in 0..self.before.len() {
                if self.is_before(then, later) {
                    unite(&mut self.before[later], &new);
                }
            }
        }
    }

    /// Tells whether kernel `first` must run before `then`.
    pub(super) fn is_before(&self, first: usize, then: usize) -> bool {
        self.before[then].get(first / 64).is_some_and(|word| word >> (first % 64) & 1 == 1)
    }
}

fn set(bits: &mut Vec<u64>, i: usize) {
    bits.resize(bits.len().max(i / 64 + 1), 0);
    bits[i / 64] |= 1 << (i % 64);
}

fn unite(bits: &mut Vec<u64>, more: &[u64]) {
    bits.resize(bits.len().max(more.len()), 0);
    for (word, more) in bits.iter_mut().zip(more) {
        *word |= more;
    }
}

#[cfg(test)]
mod tests {
    use quickstudy_kernels::rng::Threefry;

    use super::*;

    /// Sets that grow edge by edge are what a search through the edges finds.
    #[test]
    fn sets_are_what_a_search_finds() {
        const N: usize = 150;
        let (mut reach, mut edges) = (Reach::default(), vec![Vec::new(); N]);
        let mut rng = Threefry::new([1, 2]);
        (0..N).for_each(|_| reach.push());
        for _ in 0..160 {
            let mut draw = || (rng.uniform() * N as f64) as usize;
            // Numbers tell nothing about the order: 7 has no common divisor with 150.
            let (a, b) = (draw(), draw());
            let (first, then) = (a.min(b) * 7 % N, a.max(b) * 7 % N);
            if first == then {
                continue;
            }
            reach.add(then, first);
            edges[then].push(first);
        }
        let mut found = 0;
        for then in 0..N {
            let (mut seen, mut stack) = (vec![false; N], vec![then]);
            while let Some(x) = stack.pop() {
                stack.extend(edges[x].iter().filter(|first| !std::mem::replace(&mut seen[**first], true)));
            }
            for (first, seen) in seen.into_iter().enumerate() {
                assert_eq!(reach.is_before(first, then), seen, "{first} before {then}");
                found += usize::from(seen);
            }
        }
        let direct: usize = edges.iter().map(Vec::len).sum();
        assert!(found > 2 * direct, "{found} pairs of {direct} edges");
    }
}
