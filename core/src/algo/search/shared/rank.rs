//! The order of candidates by their returns.

use crate::Tensor;

/// Pairs of candidates: their returns in a column `[S, n, 1]` and in a row `[S, 1, n]`, and their numbers likewise.
fn pairs(returns: Tensor) -> ([Tensor; 2], [Tensor; 2]) {
    let n = returns.size(1);
    ([returns.unsqueeze(2), returns.unsqueeze(1)], [Tensor::iota(&[1, n, 1], 1), Tensor::iota(&[1, 1, n], 2)])
}

/// The place of each candidate among all, f32 `[S, n]`, from 0 for the highest of the returns `[S, n]`; of equal
/// returns the first has the lower place.
#[track_caller]
pub fn order(returns: Tensor) -> Tensor {
    let ([own, other], [i, j]) = pairs(returns);
    let before = other.gt(own).bit_or(other.eq(own).bit_and(j.lt(i)));
    before.to_f32().sum_keep(2).reshape(&returns.shape())
}

/// 1/k for each of the k candidates with the highest returns, 0 for the others: `[S, n]` → `[S, n]`.
#[track_caller]
pub fn best_share(returns: Tensor, k: usize) -> Tensor {
    let k = k as f64;
    let in_it = order(returns).lt(Tensor::constant_f32(k));
    in_it.select(Tensor::constant_f32(1.0 / k), Tensor::constant_f32(0.0))
}

/// Ranks of returns, `[S, n]` → `[S, n]`, from −½ for the lowest to ½ for the highest. Equal returns share the mean of
/// their ranks.
#[track_caller]
pub fn centred_ranks(returns: Tensor) -> Tensor {
    let n = returns.size(1);
    let ([own, other], _) = pairs(returns);
    // Half of the count of lower returns minus that of higher ones is the mean rank minus the middle rank.
    let above = other.lt(own).to_f32() - other.gt(own).to_f32();
    above.sum_keep(2).reshape(&returns.shape()) * (0.5 / (n - 1).max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn equal_returns_share_ranks_and_keep_their_order() {
        let device = Device::cpu(1);
        let mut program = Program::new(&device, |cx| {
            let returns = Tensor::literal_f32(&[3.0, 7.0, 3.0, -1.0, 0.0, 0.0, 0.0, 0.0]).reshape(&[2, 4]);
            cx.output("order", order(returns));
            cx.output("best", best_share(returns, 2));
            cx.output("ranks", centred_ranks(returns));
        })
        .unwrap();
        let out = program.run(&State::new(), &[], &[]).unwrap();
        let read = |name| pollster::block_on(device.read(out.get(name).unwrap())).unwrap();
        assert_eq!(read("order"), [1.0, 0.0, 2.0, 3.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(read("best"), [0.5, 0.5, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0]);
        let expected = [0.0, 0.5, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0];
        assert!(read("ranks").iter().zip(expected).all(|(got, x)| (got - x).abs() < 1e-7));
    }
}
