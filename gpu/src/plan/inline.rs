//! Chooses nodes that are computed where they are read, instead of once for all.

use quickstudy_kernels::program::fold;
use quickstudy_kernels::tensor::{NodeId, Op, Unary};

use super::flow::{Class, Flow, Use};

/// Operations that may be computed more than once to save a kernel: about what a device with many cores does while it
/// starts one.
const BUDGET: usize = 1 << 21;

/// Elements that are not worth a kernel.
const TINY: usize = 4096;

/// The items that are inlined, and what every item then reads.
pub(super) struct Inlined {
    /// Computed by every kernel that needs it.
    pub yes: Vec<bool>,
    /// For each item: what it reads through inlined items, each once.
    pub needs: Vec<Vec<(NodeId, Use)>>,
    /// For each item that changes a value where it is: the items that read the old value, and so run before.
    pub before: Vec<Vec<usize>>,
}

/// Choose. Items in `forced` are not inlined.
#[inline(never)]
pub(super) fn choose(flow: &Flow<'_>, forced: &[bool]) -> Inlined {
    let n = flow.items.len();
    let mut wanted = vec![false; n];
    flow.wanted.iter().for_each(|i| wanted[*i] = true);
    let about = About { hosted: hosted(flow), light: light(flow, &wanted), flow };
    let mut yes = vec![false; n];
    // Elements of an item that its readers evaluate, if it is inlined.
    let mut work = vec![0usize; n];
    for i in (0..n).rev() {
        let item = &flow.items[i];
        let readers = &flow.readers[i];
        for (r, k) in readers {
            let evaluations = flow.items[*r].edges[*k].evaluations.unwrap_or(0);
            // Views repeat or drop elements: what an inlined reader evaluates grows in proportion.
            let factor = if yes[*r] { work[*r].div_ceil(flow.items[*r].space.max(1)) } else { 1 };
            work[i] = work[i].saturating_add(evaluations.saturating_mul(factor));
        }
        if forced[i] || wanted[i] || readers.is_empty() {
            continue;
        }
        yes[i] = match item.class {
            Class::Reduce => is_inner_sum(flow, i),
            Class::Map => {
                let may = readers.iter().all(|(r, k)| flow.items[*r].edges[*k].evaluations.is_some());
                may && about.is_better_inlined(i, &yes, work[i])
            }
            _ => false,
        };
        yes[i] = yes[i] && !reads_too_late(flow, i, &yes);
    }
    let needs = needs(flow, &yes);
    let before = before(flow, &yes, &needs);
    Inlined { yes, needs, before }
}

/// Tells whether an item reads a value that is changed where it is, and would be computed, were it inlined, by a
/// kernel that needs what the change has made.
fn reads_too_late(flow: &Flow<'_>, i: usize, yes: &[bool]) -> bool {
    let read = flow.items[i].edges.iter().filter(|edge| edge.how != Use::Dest);
    let changers = read.flat_map(|edge| flow.changers(edge.to)).filter(|change| !depends(flow, i, *change));
    let (mut seen, mut stack, mut kernels) = (vec![i], vec![i], Vec::new());
    let changers: Vec<usize> = changers.collect();
    if changers.is_empty() {
        return false;
    }
    while let Some(x) = stack.pop() {
        for (r, _) in &flow.readers[x] {
            if seen.contains(r) {
                continue;
            }
            seen.push(*r);
            if yes[*r] { stack.push(*r) } else { kernels.push(*r) }
        }
    }
    changers.iter().any(|change| kernels.iter().any(|kernel| depends(flow, *kernel, *change)))
}

/// The items that read a value before another one changes it where it is. Left out are those that
/// cannot, because they need what the change makes, themselves or through others that have to wait:
/// then the value is copied, or is an error.
#[inline(never)]
fn before(flow: &Flow<'_>, yes: &[bool], needs: &[Vec<(NodeId, Use)>]) -> Vec<Vec<usize>> {
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); flow.items.len()];
    if flow.changes.is_empty() {
        return before;
    }
    for reader in (0..flow.items.len()).filter(|i| !yes[*i]) {
        for (value, _) in needs[reader].iter().filter(|(_, how)| *how != Use::Dest) {
            for change in flow.changers(*value).filter(|change| *change != reader) {
                if !before[change].contains(&reader) && !waits(flow, &before, reader, change) {
                    before[change].push(reader);
                }
            }
        }
    }
    before
}

/// Tells whether item `i` needs item `on`, or has to run after it for another reason.
fn waits(flow: &Flow<'_>, before: &[Vec<usize>], i: usize, on: usize) -> bool {
    let mut seen = vec![false; flow.items.len()];
    let mut stack = vec![i];
    while let Some(x) = stack.pop() {
        if x == on {
            return true;
        }
        let operands = flow.items[x].edges.iter().filter_map(|edge| flow.find(edge.to));
        stack.extend(operands.chain(before[x].iter().copied()).filter(|t| !std::mem::replace(&mut seen[*t], true)));
    }
    false
}

/// The facts about items by which the choice is made.
struct About<'a> {
    flow: &'a Flow<'a>,
    /// Items that a kernel which starts with a product or reduction can compute on the way: true if no
    /// other kernel reads the operands of the item.
    hosted: Vec<Option<bool>>,
    /// Little work on a single value that is in memory anyway.
    light: Vec<Option<(NodeId, usize)>>,
}

/// Which items can be computed at the end of a kernel that starts with a product or reduction: all paths to that one
/// stay at the same index.
#[inline(never)]
fn hosted(flow: &Flow<'_>) -> Vec<Option<bool>> {
    let starts = |i: usize| flow.items[i].class != Class::Map;
    let mut number = vec![0; flow.items.len()];
    let mut count = 0;
    for i in (0..flow.items.len()).filter(|i| starts(*i)) {
        number[i] = count;
        count += 1;
    }
    let words = usize::div_ceil(count, 64);
    // Of each item: heavy items that it needs at its own index, and those that it needs in another way.
    let mut near = vec![0u64; words * flow.items.len()];
    let mut far = near.clone();
    let mut hosted = vec![None; flow.items.len()];
    for i in 0..flow.items.len() {
        let mut alone = false;
        for e in &flow.items[i].edges {
            let Some(t) = flow.find(e.to) else {
                continue;
            };
            let direct = e.how == Use::Direct;
            let joins = matches!(flow.items[t].class, Class::Reduce | Class::MatMul);
            for w in 0..words {
                let (n, f) = (near[t * words + w], far[t * words + w]);
                let through = direct && !starts(t);
                near[i * words + w] |= if through { n } else { 0 };
                far[i * words + w] |= if through { f } else { n | f };
            }
            if starts(t) {
                let list = if direct && joins { &mut near } else { &mut far };
                list[i * words + number[t] / 64] |= 1 << (number[t] % 64);
            }
            let host = (starts(t) && joins) || hosted[t].is_some();
            alone |= direct && host && hosted[t] != Some(false) && flow.readers[t].iter().all(|(r, _)| *r == i);
        }
        if flow.items[i].class == Class::Map && (0..words).any(|w| near[i * words + w] & !far[i * words + w] != 0) {
            hosted[i] = Some(alone);
        }
    }
    hosted
}

/// Little work on a single value that is in memory anyway: to read that one is as good as to read the result.
#[inline(never)]
fn light(flow: &Flow<'_>, wanted: &[bool]) -> Vec<Option<(NodeId, usize)>> {
    const MOST: usize = 8;
    let kept = |t: usize| {
        let readers = &flow.readers[t];
        let class = |r: usize| flow.items[r].class;
        wanted[t]
            || matches!(class(t), Class::Scan | Class::Call | Class::Chain)
            || readers.iter().any(|(r, k)| flow.items[*r].edges[*k].evaluations.is_none())
            || (readers.len() > 1 && readers.iter().any(|(r, _)| matches!(class(*r), Class::MatMul | Class::Call)))
    };
    let mut light: Vec<Option<(NodeId, usize)>> = vec![None; flow.items.len()];
    for i in 0..flow.items.len() {
        let item = &flow.items[i];
        if item.class != Class::Map {
            continue;
        }
        let mut of: Option<(NodeId, usize)> = None;
        let mut fits = true;
        for e in &item.edges {
            let source = match flow.find(e.to) {
                None => Some((e.to, 0)),
                Some(t) if kept(t) => Some((e.to, 0)),
                Some(t) => light[t],
            };
            of = match (source, of) {
                (Some((x, w)), Some((y, v))) if x == y => Some((x, w + v)),
                (Some(s), None) => Some(s),
                _ => {
                    fits = false;
                    None
                }
            };
            fits &= e.how == Use::Direct;
        }
        let weight = weight(&flow.scope.graph.nodes[item.node as usize].op);
        light[i] = of.map(|(x, w)| (x, w + weight)).filter(|(_, w)| fits && *w <= MOST);
    }
    light
}

/// Tells whether a reduction is only the inner part of another one of the same kind.
fn is_inner_sum(flow: &Flow<'_>, i: usize) -> bool {
    let graph = flow.scope.graph;
    let op = |i: usize| &graph.nodes[flow.items[i].node as usize].op;
    let [(reader, _)] = flow.readers[i][..] else {
        return false;
    };
    if flow.items[reader].class != Class::Reduce {
        return false;
    }
    let whole = fold(graph, graph.nodes[flow.items[reader].node as usize].src[0]).1;
    let same =
        matches!((op(i), op(reader)), (Op::Sum { .. }, Op::Sum { .. }) | (Op::ReduceMax { .. }, Op::ReduceMax { .. }));
    same && whole
}

impl About<'_> {
    #[inline(never)]
    fn is_better_inlined(&self, i: usize, yes: &[bool], work: usize) -> bool {
        let flow = self.flow;
        let item = &flow.items[i];
        let readers = &flow.readers[i];
        let weight = weight(&flow.scope.graph.nodes[item.node as usize].op);
        // Indices, masks and the like need no memory at all.
        if item.edges.is_empty() && weight <= 4 {
            return true;
        }
        let mut distinct: Vec<usize> = readers.iter().map(|r| r.0).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let products = distinct.iter().any(|r| matches!(flow.items[*r].class, Class::MatMul | Class::Call));
        if self.light[i].is_some() && !products {
            return true;
        }
        if self.hosted[i] == Some(true) || (products && distinct.len() > 1) {
            return false;
        }
        // Those who read the same index compute it in one kernel with this one, unless they need another reader first.
        let is_near =
            |r: usize| !yes[r] && readers.iter().all(|(x, k)| *x != r || flow.items[r].edges[*k].how == Use::Direct);
        let (near, far): (Vec<usize>, Vec<usize>) = distinct.iter().partition(|r| is_near(**r));
        // A few elements that one kernel needs are computed there.
        if far.is_empty() && distinct.len() == 1 && self.hosted[i].is_none() && item.space <= TINY {
            return true;
        }
        let first = |r: &usize| far.iter().any(|f| depends(flow, *r, *f)) && flow.items[*r].class != Class::Call;
        if far.is_empty() || !near.iter().all(first) {
            return false;
        }
        let extra = work.saturating_sub(item.space).saturating_mul(weight);
        extra == 0 || (self.hosted[i].is_none() && extra <= BUDGET && distinct.len() <= 3)
    }
}

/// Tells whether item `i` needs item `on`.
fn depends(flow: &Flow<'_>, i: usize, on: usize) -> bool {
    let mut seen = vec![false; flow.items.len()];
    let mut stack = vec![i];
    while let Some(x) = stack.pop() {
        if x == on {
            return true;
        }
        for e in &flow.items[x].edges {
            if let Some(t) = flow.find(e.to)
                && t >= on
                && !std::mem::replace(&mut seen[t], true)
            {
                stack.push(t);
            }
        }
    }
    false
}

#[inline(never)]
fn needs(flow: &Flow<'_>, yes: &[bool]) -> Vec<Vec<(NodeId, Use)>> {
    let mut needs: Vec<Vec<(NodeId, Use)>> = Vec::with_capacity(flow.items.len());
    for item in &flow.items {
        let mut list: Vec<(NodeId, Use)> = Vec::with_capacity(item.edges.len());
        for e in &item.edges {
            match flow.find(e.to).filter(|t| yes[*t]) {
                Some(t) => {
                    let through = |u: Use| if e.how == Use::Direct { u } else { Use::Elsewhere };
                    list.extend(needs[t].iter().map(|(n, u)| (*n, through(*u))));
                }
                None => list.push((e.to, e.how)),
            }
        }
        list.sort_unstable();
        list.dedup();
        // Read in two ways: at other indices.
        list.dedup_by(|b, a| {
            let same = a.0 == b.0;
            if same {
                a.1 = Use::Elsewhere;
            }
            same
        });
        needs.push(list);
    }
    needs
}

/// About how many simple operations one element takes.
fn weight(op: &Op) -> usize {
    match op {
        Op::Unary(Unary::Exp | Unary::Log | Unary::Sin | Unary::Cos | Unary::Tanh) => 16,
        Op::Unary(Unary::Recip | Unary::Sqrt) => 4,
        Op::Gather => 4,
        Op::Threefry { .. } => 80,
        Op::Permutation { .. } => 200,
        _ => 1,
    }
}
