//! Random programs: node by node and in tiles, one thread and several, every instruction set, all the same bits; and
//! all within the error bound that the reference carries along.

#![allow(clippy::panic, reason = "a failing program is printed")]

use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::tensor::Op;
use quickstudy_core::{Device, Program};
use quickstudy_tests::random_graph::{Failure, Recipe, Report, Scale, Step, Way, check, compact, generate, shrink};

fn way(name: &str, tiles: bool, threads: usize) -> Way {
    let device = Device::new(Cpu::new(CpuOptions { threads, tiles, ..CpuOptions::default() }));
    Way { name: name.to_owned(), device, slack: 1.0 }
}

/// The plain way first: the others are compared with it.
fn ways() -> Vec<Way> {
    vec![way("node by node", false, 1), way("tiles", true, 1), way("tiles, 3 threads", true, 3)]
}

/// Check the programs of some seeds. A failing one is made smaller and printed.
fn run(seeds: impl Iterator<Item = u64>, scale: Scale) -> Report {
    let ways = ways();
    let mut report = Report::default();
    for seed in seeds {
        let recipe = generate(seed, scale);
        match check(&recipe, &ways) {
            Ok(r) => report.add(r),
            Err(failure) => {
                let small = shrink(&recipe, |r| check(r, &ways).is_err_and(|f| f.resembles(&failure)));
                let failure = check(&small, &ways).err().unwrap_or(failure);
                panic!("seed {seed}, {scale:?}: {failure}\n{small}\n{}", dump(&small, &failure));
            }
        }
    }
    report
}

/// The graph and steps of a failing program, where it can be compiled.
fn dump(recipe: &Recipe, failure: &Failure) -> String {
    match quickstudy_core::Program::new(&Device::cpu(1), |cx| recipe.trace(cx)) {
        Ok(program) => program.dump(),
        Err(e) => format!("{failure} ({e})"),
    }
}

/// Most elements must have been compared with a bound that says something.
fn is_sharp(report: Report) {
    println!("{report:?}");
    let share = |n: usize| n as f64 / report.elements as f64;
    assert!(share(report.tight) > 0.9, "only {} of {} bounds are tight", report.tight, report.elements);
    assert!(share(report.unbounded) < 0.05, "{} of {} have no bound", report.unbounded, report.elements);
    assert!(share(report.inexact) > 0.2, "only {} of {} are rounded", report.inexact, report.elements);
    let near = report.near as f64 / report.inexact as f64;
    assert!(near > 0.1, "bounds are loose: only {near} of the errors reach a hundredth of theirs");
}

macro_rules! batches {
    ($($name:ident: $scale:expr, $seeds:expr;)*) => {
        $(#[test] fn $name() { is_sharp(run($seeds, $scale)); })*
    };
}

batches! {
    small_programs_0: Scale::Small, 0..300;
    small_programs_1: Scale::Small, 300..600;
    small_programs_2: Scale::Small, 600..900;
    small_programs_3: Scale::Small, 900..1200;
    small_programs_4: Scale::Small, 1200..1500;
    small_programs_5: Scale::Small, 1500..1800;
    small_programs_6: Scale::Small, 1800..2100;
    programs_with_many_rows_0: Scale::Rows, 0..50;
    programs_with_many_rows_1: Scale::Rows, 50..100;
    programs_with_large_products: Scale::Products, 0..20;
    programs_with_chains: Scale::Chains, 0..100;
}

#[test]
fn programs_have_every_kind_of_step() {
    let mut count = std::collections::BTreeMap::<String, usize>::new();
    let mut steps = 0;
    for seed in 0..2100 {
        let recipe = compact(&generate(seed, Scale::Small));
        let mut has = std::collections::BTreeSet::new();
        names(&recipe.steps, false, &mut has);
        steps += recipe.steps.len();
        if has.contains("until") && ends_by_rows(&recipe) {
            has.insert("until by rows".to_owned());
        }
        has.insert(if recipe.updates.is_empty() { "no update" } else { "update" }.to_owned());
        has.into_iter().for_each(|n| *count.entry(n).or_default() += 1);
    }
    println!("{steps} steps, {count:?}");
    assert!(steps > 2100 * 20, "only {steps} steps that results need");
    for (kind, least) in [
        ("Scan", 500),
        ("inner Scan", 50),
        ("until", 100),
        ("until by rows", 50),
        ("reverse", 100),
        ("Store", 400),
        ("inner Store", 100),
        ("Gather", 200),
        ("MatMul", 500),
        ("inner MatMul", 100),
        ("Grad", 300),
        ("Call", 50),
        ("Threefry", 300),
        ("Permutation", 100),
        ("Concat", 200),
        ("Pad", 100),
        ("Max", 200),
        ("Sum", 500),
        ("Select", 300),
        ("update", 1500),
    ] {
        let found = count.get(kind).copied().unwrap_or(0);
        assert!(found >= least, "only {found} programs have {kind}");
    }
}

/// Tells whether a loop's condition has axes.
fn ends_by_rows(recipe: &Recipe) -> bool {
    let Ok(trace) = Program::trace_of(|cx| recipe.trace(cx)) else { return false };
    let nodes = &trace.graph.nodes;
    nodes.iter().any(|node| match &node.op {
        Op::Scan(scan) => scan.until.is_some_and(|done| !nodes[scan.body.params[1 + done] as usize].shape.is_empty()),
        _ => false,
    })
}

/// Names of the steps that occur.
fn names(steps: &[Step], inner: bool, found: &mut std::collections::BTreeSet<String>) {
    for step in steps {
        let text = format!("{step:?}");
        let name: String = text.chars().take_while(|c| c.is_alphabetic()).collect();
        found.insert(if inner { format!("inner {name}") } else { name });
        if let Step::Scan(l) = step {
            names(&l.body, true, found);
            if l.reverse {
                found.insert("reverse".to_owned());
            }
            if l.until.is_some() {
                found.insert("until".to_owned());
            }
        }
    }
}

#[test]
#[ignore = "takes fresh seeds until 60 seconds are over; prints the failing seed and program"]
fn fresh_programs() {
    let start = std::time::Instant::now();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let first = now.map_or(1, |t| t.as_nanos() as u64);
    let (mut report, mut count) = (Report::default(), 0);
    while start.elapsed().as_secs() < 60 {
        report.add(run(first + count * 5..first + count * 5 + 4, Scale::Small));
        report.add(run(first + count * 5 + 4..first + count * 5 + 5, Scale::Rows));
        count += 1;
    }
    println!("seeds {first}..{}", first + count * 5);
    is_sharp(report);
}

#[test]
fn all_instruction_sets_give_programs_within_their_bounds() {
    for isa in Isa::available() {
        let device = Device::new(Cpu::new(CpuOptions { isa, threads: 1, ..CpuOptions::default() }));
        let ways = [Way { name: isa.to_string(), device, slack: 1.0 }];
        let mut report = Report::default();
        for seed in 5000..5100 {
            match check(&generate(seed, Scale::Small), &ways) {
                Ok(r) => report.add(r),
                Err(failure) => panic!("{isa}, seed {seed}: {failure}"),
            }
        }
        is_sharp(report);
    }
}
