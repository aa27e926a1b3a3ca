//! Makes a failing recipe smaller.

use super::{Kind, LoopStep, Recipe, Ref, Step};

/// A smaller recipe for which `fails` still holds, by trying to remove or simplify one thing at a time.
pub fn shrink(recipe: &Recipe, mut fails: impl FnMut(&Recipe) -> bool) -> Recipe {
    let mut best = recipe.clone();
    loop {
        let mut smaller = false;
        for candidate in candidates(&best) {
            if fails(&candidate) {
                best = candidate;
                smaller = true;
                break;
            }
        }
        if !smaller {
            return best;
        }
    }
}

/// All recipes that are one change smaller; the largest changes first.
fn candidates(recipe: &Recipe) -> Vec<Recipe> {
    let mut found = Vec::new();
    let compacted = compact(recipe);
    if compacted.to_string().len() < recipe.to_string().len() {
        found.push(compacted);
    }
    if recipe.outputs.len() + recipe.updates.len() > 1 {
        for i in 0..recipe.outputs.len() {
            let mut r = recipe.clone();
            r.outputs.remove(i);
            found.push(r);
        }
        for i in 0..recipe.updates.len() {
            let mut r = recipe.clone();
            r.updates.remove(i);
            found.push(r);
        }
    }
    let mut number = recipe.args.len();
    for (i, step) in recipe.steps.iter().enumerate() {
        for simpler in simpler(step, number) {
            let mut r = recipe.clone();
            r.steps[i] = simpler;
            found.push(r);
        }
        number += step.results();
    }
    // An operation deep in the graph may do as the result.
    for (i, out) in recipe.outputs.iter().enumerate() {
        for earlier in (recipe.args.len()..*out).rev() {
            let mut r = recipe.clone();
            r.outputs[i] = earlier;
            found.push(r);
        }
    }
    for (i, arg) in recipe.args.iter().enumerate() {
        if arg.kind == Kind::State && !recipe.updates.iter().any(|u| u.0 == i) {
            let mut r = recipe.clone();
            r.args[i].kind = Kind::Input;
            found.push(r);
        }
    }
    found
}

/// The recipe without steps that nothing needs, and without copies.
pub fn compact(recipe: &Recipe) -> Recipe {
    let total = recipe.args.len() + count(&recipe.steps);
    let mut live = vec![false; total];
    recipe.outputs.iter().chain(recipe.updates.iter().map(|u| &u.1)).for_each(|r| live[*r] = true);
    mark(&recipe.steps, &mut live);
    let mut map: Vec<Ref> = (0..recipe.args.len()).collect();
    let steps = rebuild(&recipe.steps, &live, &mut map, recipe.args.len());
    Recipe {
        args: recipe.args.clone(),
        steps,
        outputs: recipe.outputs.iter().map(|r| map[*r]).collect(),
        updates: recipe.updates.iter().map(|(s, v)| (*s, map[*v])).collect(),
    }
}

fn count(steps: &[Step]) -> usize {
    steps.iter().map(Step::results).sum()
}

/// From the values that are needed at the end of `steps`, all that are needed.
fn mark(steps: &[Step], live: &mut [bool]) {
    let mut last = live.len();
    for step in steps.iter().rev() {
        let first = last - step.results();
        if live[first..last].contains(&true) {
            if let Step::Scan(l) = step {
                l.init.iter().chain(&l.xs).for_each(|r| live[*r] = true);
                inside(l, first).iter().enumerate().take(first).filter(|(_, i)| **i).for_each(|(r, _)| live[r] = true);
            } else {
                step.operands().into_iter().for_each(|r| live[r] = true);
            }
        }
        last = first;
    }
}

/// Which values the body of a loop needs, in its numbering; `first` is the number of values around it.
fn inside(l: &LoopStep, first: usize) -> Vec<bool> {
    let mut live = vec![false; first + 1 + l.init.len() + l.xs.len() + count(&l.body)];
    l.carry.iter().chain(&l.ys).chain(&l.until).for_each(|r| live[*r] = true);
    mark(&l.body, &mut live);
    live
}

/// The live steps with new numbers. `map` gives the new number of each value, `next` is the next one.
fn rebuild(steps: &[Step], live: &[bool], map: &mut Vec<Ref>, mut next: usize) -> Vec<Step> {
    let mut found = Vec::new();
    for step in steps {
        let first = map.len();
        let n = step.results();
        if let Step::Same(a) = step {
            map.push(map[*a]);
            continue;
        }
        if !live[first..first + n].contains(&true) {
            map.extend(vec![usize::MAX; n]);
            continue;
        }
        if let Step::Scan(l) = step {
            let (c, x) = (l.init.len(), l.xs.len());
            let kept: Vec<usize> = (0..l.ys.len()).filter(|i| live[first + c + i]).collect();
            let mut inner = map.clone();
            inner.extend(next..next + 1 + c + x);
            let body = rebuild(&l.body, &inside(l, first), &mut inner, next + 1 + c + x);
            let get = |refs: &[Ref], map: &[Ref]| refs.iter().map(|r| map[*r]).collect::<Vec<_>>();
            found.push(Step::Scan(Box::new(LoopStep {
                init: get(&l.init, map),
                xs: get(&l.xs, map),
                body,
                carry: get(&l.carry, &inner),
                ys: kept.iter().map(|i| inner[l.ys[*i]]).collect(),
                until: l.until.map(|u| inner[u]),
                ..l.as_ref().clone()
            })));
            map.extend(next..next + c);
            map.extend((0..l.ys.len()).map(|i| kept.iter().position(|k| *k == i).map_or(usize::MAX, |k| next + c + k)));
            next += c + kept.len();
            continue;
        }
        let mut renumbered = step.clone();
        for r in renumbered.operands_mut() {
            *r = map[*r];
        }
        found.push(renumbered);
        map.extend(next..next + n);
        next += n;
    }
    found
}

/// Steps to try in place of one, whose first result has number `first`. Most do not fit and fail in another way, which
/// does not count.
fn simpler(step: &Step, first: usize) -> Vec<Step> {
    match step {
        Step::Full(..) | Step::Literal(..) | Step::Iota(..) | Step::Same(_) => vec![],
        Step::Scan(l) => simpler_loops(l, first).into_iter().map(|l| Step::Scan(Box::new(l))).collect(),
        Step::Grad(loss, wrt) if wrt.len() == 1 => vec![Step::Same(wrt[0]), Step::Same(*loss)],
        Step::Grad(..) | Step::Call(..) => vec![],
        other => other.operands().into_iter().map(Step::Same).collect(),
    }
}

fn simpler_loops(l: &LoopStep, first: usize) -> Vec<LoopStep> {
    let mut found = Vec::new();
    if l.until.is_some() {
        found.push(LoopStep { until: None, ..l.clone() });
    }
    if l.reverse {
        found.push(LoopStep { reverse: false, ..l.clone() });
    }
    if l.len > 1 && l.xs.is_empty() {
        found.push(LoopStep { len: l.len - 1, ..l.clone() });
    }
    for i in 0..l.carry.len() {
        let unchanged = first + 1 + i;
        if l.carry[i] != unchanged {
            let mut r = l.clone();
            r.carry[i] = unchanged;
            found.push(r);
        }
    }
    let mut number = first + 1 + l.init.len() + l.xs.len();
    for (i, step) in l.body.iter().enumerate() {
        for s in simpler(step, number) {
            let mut r = l.clone();
            r.body[i] = s;
            found.push(r);
        }
        number += step.results();
    }
    found
}
