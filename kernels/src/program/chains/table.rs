//! Positions of the inner elements of an operand.

/// Positions of the inner elements of an operand.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Table {
    /// Element `m` at `start + m`.
    Dense {
        /// The first.
        start: usize,
        /// How many.
        len: usize,
    },
    /// Each element at one position.
    Repeat {
        /// Their common position.
        at: usize,
        /// How many.
        len: usize,
    },
    /// Any.
    Any(Box<[u32]>),
}

/// Inner elements of a row at most.
const LONGEST_TABLE: usize = 1 << 20;

impl Table {
    /// Tells whether a table can be made of a strided inner shape: it is no larger than a cache, and its positions are
    /// 32-bit numbers.
    pub fn fits(shape: &[usize], strides: &[usize], offset: usize) -> bool {
        let len: usize = shape.iter().product();
        let last =
            shape.iter().zip(strides).map(|(n, s)| (n - 1).saturating_mul(*s)).fold(offset, usize::saturating_add);
        len <= LONGEST_TABLE && last <= u32::MAX as usize
    }

    /// The table of a strided inner shape.
    pub fn new(shape: &[usize], strides: &[usize], offset: usize) -> Table {
        let len: usize = shape.iter().product();
        let mut inner = 1;
        let in_order = shape.iter().zip(strides).rev().all(|(n, s)| {
            let next = *n == 1 || *s == inner;
            inner *= n;
            next
        });
        if len <= 1 || in_order {
            return Table::Dense { start: offset, len };
        }
        if shape.iter().zip(strides).all(|(n, s)| *n == 1 || *s == 0) {
            return Table::Repeat { at: offset, len };
        }
        let mut at = vec![offset as u32; len];
        let mut inner = 1;
        for (n, s) in shape.iter().zip(strides).rev() {
            for (i, a) in at.iter_mut().enumerate() {
                *a += ((i / inner) % n * s) as u32;
            }
            inner *= n;
        }
        Table::Any(at.into())
    }

    /// Number of inner elements.
    pub fn len(&self) -> usize {
        match self {
            Table::Dense { len, .. } | Table::Repeat { len, .. } => *len,
            Table::Any(at) => at.len(),
        }
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Position of inner element `m`.
    pub fn at(&self, m: usize) -> usize {
        match self {
            Table::Dense { start, .. } => start + m,
            Table::Repeat { at, .. } => *at,
            Table::Any(at) => at[m] as usize,
        }
    }

    /// The largest position.
    pub fn max(&self) -> usize {
        match self {
            Table::Dense { start, len } => start + len.saturating_sub(1),
            Table::Repeat { at, .. } => *at,
            Table::Any(at) => at.iter().copied().max().unwrap_or(0) as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_recognised() {
        assert_eq!(Table::new(&[2, 1, 3], &[3, 9, 1], 5), Table::Dense { start: 5, len: 6 });
        assert_eq!(Table::new(&[], &[], 2), Table::Dense { start: 2, len: 1 });
        assert_eq!(Table::new(&[2, 3], &[0, 0], 4), Table::Repeat { at: 4, len: 6 });
        let any = Table::new(&[2, 3], &[1, 2], 1);
        assert_eq!(any, Table::Any([1, 3, 5, 2, 4, 6].into()));
        let tables = [Table::Dense { start: 5, len: 6 }, Table::Repeat { at: 4, len: 6 }, any];
        assert_eq!(tables.map(|t| t.max()), [10, 4, 6]);
    }
}
