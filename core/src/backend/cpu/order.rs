//! The order of sums. It depends on the summed length only: never on threads, tiles or other axes.

/// Elements of a summed axis that are added one after the other; the slices' sums are then added in order.
pub fn slice_len(len: usize) -> usize {
    if len <= 1024 { len } else { len.div_ceil(16).max(1024).next_multiple_of(64) }
}
