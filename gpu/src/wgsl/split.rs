//! Long sums in two dispatches: here the second one, which joins the partial results of slices and computes what
//! follows from them.

use quickstudy_kernels::DType;
use quickstudy_kernels::tensor::NodeId;

use super::body::buffer;
use super::emit::Emitter;
use super::index::Ix;
use super::memory::Memory;
use super::results::{GROUP, after};
use crate::plan::Kernel;

/// Results of a workgroup: neighbours, so that their partial results are read together.
const WIDTH: usize = 16;

/// A number of slices of `len` elements: what is wanted, but at least 2 and no slices shorter than `least`. Returns the
/// number, and the length of all but the last: a multiple of 16.
pub(super) fn slices(len: usize, wanted: usize, least: usize) -> (usize, usize) {
    let each = len.div_ceil(wanted.min(len / least).max(2)).next_multiple_of(16);
    (len.div_ceil(each), each)
}

/// The fewest slices of `len` elements that [`slices`] makes no longer than `longest`.
pub(super) fn least(len: usize, longest: usize) -> usize {
    len.div_ceil((longest / 16 * 16).max(16))
}

/// Scratch holds, for each head, each slice's partial results.
pub(super) fn emit(
    emitter: &mut Emitter<'_>,
    kernel: &Kernel,
    memory: &Memory,
    heads: &[NodeId],
    slices: usize,
) -> usize {
    let results: usize = kernel.space.iter().product();
    let lanes = GROUP / WIDTH;
    let scratch = memory.written.len();
    emitter.read.insert(scratch);
    let arrays = emitter.share_sums(heads, GROUP);
    emitter.line(&format!("let item = (group.x + group.y * count.x) * {WIDTH}u + local % {WIDTH}u;"));
    emitter.line(&format!("let place = min(item, {}u);", results - 1));
    for (k, id) in heads.iter().enumerate() {
        let (first, _) = emitter.start_of(*id);
        emitter.line(&format!("var sum{k} = {first};"));
    }
    let head = format!("for (var i = local / {WIDTH}u; i < {slices}u; i += {lanes}u)");
    emitter.turns(&head, slices.div_ceil(lanes), |emitter| {
        emitter.line(&format!("let part = i * {results}u + place;"));
        for (k, id) in heads.iter().enumerate() {
            let float = emitter.graph.nodes[*id as usize].dtype == DType::F32;
            let at = emitter.add(&Ix::var("part"), &Ix::Known(k * slices * results));
            let word = format!("{}[{at}]", buffer(scratch));
            let x = emitter.bind(if float { format!("bitcast<f32>({word})") } else { word });
            let next = emitter.combined(*id, &format!("sum{k}"), &x);
            emitter.line(&format!("sum{k} = {next};"));
        }
    });
    for (k, array) in arrays.iter().enumerate() {
        emitter.line(&format!("{array}[local] = sum{k};"));
    }
    emitter.line("workgroupBarrier();");
    emitter.block(&format!("if (local < {WIDTH}u && item < {results}u)"), |emitter| {
        for lane in 1..lanes {
            for (k, id) in heads.iter().enumerate() {
                let x = emitter.bind(format!("{}[local + {}u]", arrays[k], lane * WIDTH));
                let next = emitter.combined(*id, &format!("sum{k}"), &x);
                emitter.line(&format!("sum{k} = {next};"));
            }
        }
        let known: Vec<(NodeId, String)> = heads.iter().enumerate().map(|(k, id)| (*id, format!("sum{k}"))).collect();
        let item = if results == 1 { Ix::Known(0) } else { Ix::var("item") };
        after(emitter, kernel, memory, &known, &item);
    });
    results.div_ceil(WIDTH)
}

#[cfg(test)]
mod tests {
    use super::{least, slices};

    #[test]
    fn no_slice_is_too_long() {
        for len in [5000, 5001, 70_001, 1_000_000] {
            for longest in [64, 100, 1000, 4999, 60_000] {
                let n = least(len, longest);
                assert!(n == 1 || slices(len, n, len / n).1 <= longest, "{len} {longest}");
            }
        }
    }

    #[test]
    fn slices_hold_all_elements_and_none_is_empty() {
        for len in [2048, 2049, 8193, 100_003, 131_072] {
            for wanted in [1, 2, 7, 256, 100_000] {
                let (n, each) = slices(len, wanted, 256);
                assert!(n >= 2 && n <= wanted.max(2) && each >= 240 && each.is_multiple_of(16), "{len} {wanted}");
                assert!(n * each >= len && (n - 1) * each < len, "{len} {wanted}: {n} of {each}");
            }
        }
    }
}
