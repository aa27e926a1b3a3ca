//! Indices in generated code: constants are folded, everything else is a variable.

use std::rc::Rc;

/// An index: known when the code is generated, or a u32 variable of it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ix {
    /// Known.
    Known(usize),
    /// A variable.
    Var(Rc<str>),
}

impl Ix {
    /// A variable.
    pub fn var(name: &str) -> Ix {
        Ix::Var(Rc::from(name))
    }
}

impl std::fmt::Display for Ix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Ix::Known(n) => write!(f, "{n}u"),
            Ix::Var(name) => f.write_str(name),
        }
    }
}

/// Groups of axes of two shapes of one size that hold the same elements: the shorter the groups, the less arithmetic a
/// reshape costs. Axes of size 1 are left out.
pub(crate) fn groups(a: &[usize], b: &[usize]) -> Vec<(Vec<usize>, Vec<usize>)> {
    let axes = |s: &[usize]| (0..s.len()).filter(|i| s[*i] != 1).collect::<Vec<_>>();
    let (a_axes, b_axes) = (axes(a), axes(b));
    let (mut i, mut j) = (0, 0);
    let mut groups = Vec::new();
    while i < a_axes.len() && j < b_axes.len() {
        let (mut left, mut right) = (vec![a_axes[i]], vec![b_axes[j]]);
        let (mut m, mut n) = (a[a_axes[i]], b[b_axes[j]]);
        (i, j) = (i + 1, j + 1);
        while m != n {
            if m < n {
                m *= a[a_axes[i]];
                left.push(a_axes[i]);
                i += 1;
            } else {
                n *= b[b_axes[j]];
                right.push(b_axes[j]);
                j += 1;
            }
        }
        groups.push((left, right));
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn a_reshape_splits_into_the_smallest_groups() {
        assert_eq!(groups(&[2, 3, 4], &[6, 1, 4]), [(vec![0, 1], vec![0]), (vec![2], vec![2])]);
        assert_eq!(groups(&[1, 5], &[5, 1, 1]), [(vec![1], vec![0])]);
        assert_eq!(groups(&[4, 6], &[3, 8]), [(vec![0, 1], vec![0, 1])]);
        assert!(groups(&[], &[1, 1]).is_empty());
    }
}
