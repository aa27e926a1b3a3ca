//! The order of sums. It depends on the summed length only: never on threads, tiles or other axes.

/// Elements of a summed axis that are added one after the other; the slices' sums are then added in order.
pub fn slice_len(len: usize) -> usize {
    if len <= 1024 { len } else { len.div_ceil(16).max(1024).next_multiple_of(64) }
}

/// Lanes of a slice's sum: element `i` is added to accumulator `i mod 16`.
pub const LANES: usize = 16;

/// Add 16 accumulators up: halves onto halves.
pub fn tree(mut acc: [f32; LANES]) -> f32 {
    let mut w = LANES / 2;
    while w > 0 {
        for j in 0..w {
            acc[j] += acc[j + w];
        }
        w /= 2;
    }
    acc[0]
}

/// Sum of the elements `get(0..len)`.
pub fn sum(len: usize, get: impl Fn(usize) -> f32) -> f32 {
    let slice = slice_len(len);
    let mut total: Option<f32> = None;
    let mut lo = 0;
    while lo < len {
        let hi = (lo + slice).min(len);
        let mut acc = [0.0; LANES];
        for i in lo..hi {
            acc[(i - lo) % LANES] += get(i);
        }
        let s = tree(acc);
        total = Some(total.map_or(s, |t| t + s));
        lo = hi;
    }
    total.unwrap_or(0.0)
}
