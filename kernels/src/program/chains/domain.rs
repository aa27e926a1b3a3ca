//! The rows that a chain acts on.

/// Rows of a group from which on a few unused lanes cost less than loads of what differs from group to group.
const FEW: usize = 64;

/// The rows that a chain acts on: leading axes of its nodes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Domain {
    /// Leading axes: `[rows]` or `[groups, rows]`; of a flat domain, the whole shape.
    pub lead: Vec<usize>,
    /// The rows are all elements of tensors of this one shape.
    pub flat: bool,
    /// Rows of several groups are taken together: there are too few in one to fill the lanes.
    pub merged: bool,
}

impl Domain {
    /// Number of groups.
    pub fn groups(&self) -> usize {
        if self.flat || self.lead.len() < 2 { 1 } else { self.lead[0] }
    }

    /// Rows per group.
    pub fn rows(&self) -> usize {
        if self.flat { self.lead.iter().product() } else { self.lead.last().copied().unwrap_or(1) }
    }

    /// A copy that takes several groups together, where the rows of one group leave lanes unused; else none.
    pub fn merge(&self) -> Option<Domain> {
        let [groups, rows] = self.lead[..] else { return None };
        let few = rows < FEW && !rows.is_multiple_of(16);
        (few && groups > 1 && !self.flat && !self.merged).then(|| Domain { merged: true, ..self.clone() })
    }

    /// Groups whose rows are never taken together, and rows of each.
    pub fn apart(&self) -> [usize; 2] {
        if self.merged { [1, self.groups() * self.rows()] } else { [self.groups(), self.rows()] }
    }

    /// The inner axes of a shape that varies with the row.
    pub fn inner<'s>(&self, shape: &'s [usize]) -> Option<&'s [usize]> {
        (shape.len() >= self.lead.len() && shape[..self.lead.len()] == self.lead[..]).then(|| &shape[self.lead.len()..])
    }
}

/// How a shape lies in a domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// The shape begins with all axes of the rows.
    Rows,
    /// Its first axis is that of the groups.
    Group,
    /// The shape is the same for all groups and rows.
    None,
}
