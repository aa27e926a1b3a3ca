//! Plans as text, for people and tests.

use std::fmt::{self, Write};

use quickstudy_kernels::program::{describe, operand};
use quickstudy_kernels::tensor::{NodeId, Op};

use super::Plan;
use super::kernel::{Kernel, KernelSchedule, Place};

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.trace, self.kernels()?)
    }
}

impl Plan {
    /// The kernels as text.
    pub(crate) fn kernels(&self) -> Result<String, fmt::Error> {
        let mut text = Text { plan: self, out: String::new() };
        let sum = (self.schedule.kernels.len(), self.dispatches(), self.schedule.slot_elements());
        writeln!(text.out, "plan: {} kernels, {} dispatches, {} elements of temporaries", sum.0, sum.1, sum.2)?;
        text.schedule(&self.schedule, "  ", "k")?;
        Ok(text.out)
    }
}

struct Text<'a> {
    plan: &'a Plan,
    out: String,
}

impl Text<'_> {
    fn schedule(&mut self, schedule: &KernelSchedule, indent: &str, prefix: &str) -> fmt::Result {
        for (k, kernel) in schedule.kernels.iter().enumerate() {
            let name = format!("{prefix}{k}");
            self.kernel(kernel, indent, &name)?;
            if let Some(body) = &kernel.body {
                self.schedule(body, &format!("{indent}    "), &format!("{name}."))?;
            }
        }
        if !schedule.slots.is_empty() {
            writeln!(self.out, "{indent}slots {:?}", schedule.slots)?;
        }
        Ok(())
    }

    fn kernel(&mut self, kernel: &Kernel, indent: &str, name: &str) -> fmt::Result {
        let graph = &self.plan.trace.graph;
        let dispatches = kernel.dispatches(graph);
        let (kind, space) = (kernel.kind.name(), &kernel.space);
        write!(self.out, "{indent}{name} {kind} {space:?}: {} buffers", kernel.bindings())?;
        writeln!(self.out, "{}", if dispatches == 1 { String::new() } else { format!(", {dispatches} dispatches") })?;
        let list = |places: &[(NodeId, Place)]| -> String {
            places.iter().map(|(id, place)| format!(" %{id}{}", Where(*place))).collect()
        };
        if !kernel.reads.is_empty() {
            writeln!(self.out, "{indent}  reads{}", list(&kernel.reads))?;
        }
        for id in &kernel.nodes {
            let node = &graph.nodes[*id as usize];
            if let Op::Out(_) = node.op {
                continue;
            }
            let operands: String = node.src.iter().map(|s| format!(" {}", operand(graph, *s))).collect();
            write!(self.out, "{indent}  %{id} = {}{operands}", describe(node))?;
            match &kernel.operands {
                Some(part) if kernel.writes.iter().any(|w| w.0 == *id) => {
                    writeln!(self.out, ", operands {} to {}", part.start, part.end - 1)?;
                }
                _ => writeln!(self.out)?,
            }
        }
        for (id, place) in &kernel.writes {
            writeln!(self.out, "{indent}  {} -> {}", operand(graph, *id), Where(*place))?;
        }
        Ok(())
    }
}

struct Where(Place);

impl fmt::Display for Where {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Place::Arg(i) => write!(f, "@{i}"),
            Place::Slot(i) => write!(f, "#{i}"),
            Place::Param(i) => write!(f, "^{i}"),
            Place::Row(i) => write!(f, "row {i}"),
            Place::Outer => write!(f, "@outer"),
        }
    }
}
