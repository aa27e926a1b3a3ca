//! Lowered programs as text.

use super::steps::{Lowered, LoweredStep};
use super::values::{NO_NODE, Storage, ValueId};
use crate::program::describe;
use crate::tensor::Graph;

/// The steps of a program, a line each; those of a loop are indented below it.
pub fn text(graph: &Graph, root: &Lowered) -> String {
    let mut lines = vec![format!("steps: {}", root.steps.len())];
    steps(graph, root, "  ", &mut lines);
    lines.join("\n") + "\n"
}

fn steps(graph: &Graph, lowered: &Lowered, indent: &str, lines: &mut Vec<String>) {
    let name = |value: ValueId| name(lowered, value);
    let names = |values: &mut dyn Iterator<Item = ValueId>| values.map(name).collect::<Vec<_>>().join(" ");
    for step in &lowered.steps {
        match step {
            LoweredStep::Copy { src, dst } => {
                lines.push(format!("{indent}copy {:?} {} -> {}", src.shape, name(src.value), name(*dst)));
            }
            LoweredStep::Node(step) => {
                let (operation, shape) = (describe(&graph.nodes[step.id as usize]), &step.shape);
                let src = names(&mut step.src.iter().map(|view| view.value));
                let dst = names(&mut step.dst.iter().copied());
                lines.push(format!("{indent}{operation} {shape:?} {src} -> {dst}"));
            }
            LoweredStep::Scan(scan) => {
                let backwards = if scan.reverse { " backwards" } else { "" };
                let kept = scan.carries.iter().map(|carry| carry.kept).chain(scan.ys.iter().map(|ys| ys.0));
                lines.push(format!("{indent}scan {}x{backwards} -> {}", scan.len, names(&mut kept.into_iter())));
                steps(graph, &scan.body, &format!("{indent}  "), lines);
            }
            LoweredStep::Tile(tile) => {
                let (groups, rows, lanes, code) = (tile.groups, tile.rows, tile.lanes, tile.code.len());
                let sums = names(&mut tile.terminals.iter().map(|sum| sum.dst));
                let sums = if sums.is_empty() { sums } else { format!(", sums {sums}") };
                lines.push(format!("{indent}tiles of {lanes} of [{groups}, {rows}] rows: {code} instructions{sums}"));
            }
        }
    }
}

/// The node, argument or number that a value is.
fn name(lowered: &Lowered, value: ValueId) -> String {
    match &lowered.storage[value] {
        Storage::Arg(i) => format!("@{i}"),
        Storage::Scalar(i) => format!("${i}"),
        Storage::Static(words) => format!("literal of {}", words.len()),
        Storage::Iota(_, axis) => format!("iota over {axis}"),
        Storage::Same(other) => name(lowered, *other),
        _ if lowered.nodes[value] == NO_NODE => format!("#{value}"),
        _ => format!("%{}", lowered.nodes[value]),
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::{Loop, scan};
    use crate::{DType, Device, Program, Tensor};

    #[test]
    fn a_program_prints_its_trace_and_its_steps() {
        let program = Program::new(&Device::cpu(1), |cx| {
            let x = cx.input("x", &[4, 3], DType::F32);
            // Each row of a new carry needs all rows of the old one.
            let (c, _) = scan(7, true, &[Tensor::zeros(&[3, 3]) + x.slice(0, 0, 3)], &[], |_, c, _| Loop {
                carry: vec![c[0].matmul(c[0])],
                ys: Vec::new(),
            });
            cx.output("last", c[0]);
            cx.output("large", x.exp().sum(&[1]));
            cx.output("turned", x.transpose());
        });
        let text = program.unwrap().dump();
        for part in [
            "@0 input `x` f32[4, 3]",
            "%0 = @0: f32[4, 3]",
            "steps: ",
            "\n  scan 7x backwards -> ",
            "\n    ",
            "\n  tiles of 16 of [1, 4] rows",
            " -> @3",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
    }
}
