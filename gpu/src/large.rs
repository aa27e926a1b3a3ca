//! Finds buffers that are too large for a GPU, and says which tensor is in them and where it was made.

use quickstudy_kernels::program::Trace;
use quickstudy_kernels::tensor::{Graph, NodeId, Op};
use quickstudy_kernels::{DType, Error, Result};

use crate::context::Context;
use crate::plan::{KernelSchedule, Place, Plan};

/// Bytes as MiB, rounded up to a tenth.
fn mib(bytes: u64) -> String {
    let tenths = (bytes * 10).div_ceil(1 << 20);
    if tenths.is_multiple_of(10) {
        format!("{} MiB", tenths / 10)
    } else {
        format!("{}.{} MiB", tenths / 10, tenths % 10)
    }
}

/// Checks that so many bytes fit into one buffer; `what` names them in the error.
///
/// # Errors
/// [`Error::Device`] if they do not.
pub(crate) fn check(context: &Context, bytes: u64, what: impl FnOnce() -> String) -> Result<()> {
    let most = context.room();
    if bytes <= most {
        return Ok(());
    }
    Err(Error::Device(format!(
        "{} needs {}, and {} allows {} in one buffer; use fewer environments, a shorter horizon or fewer seeds, or run \
         on the CPU",
        what(),
        mib(bytes),
        context.info.name,
        mib(most)
    )))
}

/// Checks that every argument of a program fits into a buffer.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_arguments(context: &Context, trace: &Trace) -> Result<()> {
    for arg in &trace.args {
        let bytes = arg.shape.iter().product::<usize>() as u64 * 4;
        check(context, bytes, || format!("the {} `{}` {}", arg.role.name(), arg.name, tensor(&arg.shape, arg.dtype)))?;
    }
    Ok(())
}

/// Checks that a program's own buffers, given by their numbers of elements, can be had.
///
/// # Errors
/// As [`check`].
pub(crate) fn check_own(context: &Context, plan: &Plan, own: &[usize]) -> Result<()> {
    own.iter().try_for_each(|len| check(context, *len as u64 * 4, || temporary(plan, *len)))
}

fn tensor(shape: &[usize], dtype: DType) -> String {
    format!("({dtype} {shape:?})")
}

/// Describes the value that a program keeps in a buffer of so many elements.
fn temporary(plan: &Plan, len: usize) -> String {
    match kept(&plan.trace.graph, &plan.schedule, len) {
        Some(id) => {
            let node = &plan.trace.graph.nodes[id as usize];
            format!("the result of `{}` {}, made at {},", node.op.name(), tensor(&node.shape, node.dtype), node.origin)
        }
        None => format!("what a program keeps together ({len} elements)"),
    }
}

/// The value of that many elements that a kernel keeps in a temporary, or a loop as a carry.
pub(crate) fn kept(graph: &Graph, schedule: &KernelSchedule, len: usize) -> Option<NodeId> {
    schedule.kernels.iter().find_map(|kernel| {
        let is_slot = |place: &Place| matches!(place, Place::Slot(_));
        let written = kernel.writes.iter().find(|(id, place)| is_slot(place) && graph.nodes[*id as usize].len() == len);
        let carry = || {
            kernel.nodes.iter().find_map(|id| match &graph.nodes[*id as usize].op {
                Op::Scan(scan) => {
                    let first = &graph.nodes[*id as usize].src[..scan.carries];
                    first.iter().copied().find(|src| graph.nodes[*src as usize].len() == len)
                }
                _ => None,
            })
        };
        let inside = || kernel.body.as_ref().and_then(|body| kept(graph, body, len));
        written.map(|w| w.0).or_else(inside).or_else(carry)
    })
}

#[cfg(test)]
mod tests {
    use super::mib;

    #[test]
    fn what_is_too_large_is_never_rounded_to_what_fits() {
        assert_eq!(mib(128 << 20), "128 MiB");
        assert_eq!(mib((128 << 20) + 4), "128.1 MiB");
        assert_eq!(mib(3 << 19), "1.5 MiB");
    }
}
