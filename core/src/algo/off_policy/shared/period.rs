//! Periods of updates, after which their kinds repeat, for policies that move only in every d-th update.

use crate::Tensor;

/// The number of passes, of `updates` updates each, after which a period begins with a pass again.
pub(super) fn passes(updates: usize, period: usize) -> usize {
    period / gcd(updates, period)
}

/// The number of an update in its period, from 0, u32 `[]`, by the numbers of the pass and of the update in it, from 0.
/// A pass has `updates` updates; the first pass begins with a period.
pub(super) fn number(pass: Tensor, update: Tensor, updates: usize, period: usize) -> Tensor {
    if period == 1 {
        return Tensor::constant_u32(0);
    }
    // Remainders are taken first: the number of all updates may be too large for u32.
    let before = match updates.is_multiple_of(period) {
        true => Tensor::constant_u32(0),
        false => remainder(pass, period) * Tensor::constant_u32((updates % period) as u32),
    };
    let within = if updates == 1 { update } else { remainder(update, period) };
    remainder(before + within, period)
}

/// The number of a pass in its period of `passes` passes, by its number among all, any u32 `[]`.
pub(super) fn pass(number: Tensor, passes: usize) -> Tensor {
    if passes == 1 {
        return Tensor::constant_u32(0);
    }
    // The number is split into halves, which are exact in f32: x = 2¹² high + low.
    let word = Tensor::constant_u32;
    let (high, low) = (number.shr(word(12)), number.bit_and(word((1 << 12) - 1)));
    remainder(remainder(high, passes) * word((1 << 12) % passes as u32) + low, passes)
}

/// The remainder of x / n, for whole numbers x up to 2²⁴ and n of 2 or more.
fn remainder(x: Tensor, n: usize) -> Tensor {
    let word = Tensor::constant_u32;
    if n.is_power_of_two() {
        return x.bit_and(word(n as u32 - 1));
    }
    // Rounding may make the quotient too large or too small by one.
    let quotient = (x.to_f32() * (1.0 / n as f64)).floor().to_u32();
    let rest = x + quotient * word((n as u32).wrapping_neg());
    let rest = rest.lt(word(1 << 31)).select(rest, rest + word(n as u32));
    rest.lt(word(n as u32)).select(rest, rest + word((n as u32).wrapping_neg()))
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a.max(1) } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::State;
    use crate::{Device, Program};

    #[test]
    fn periods_are_counted_across_passes() {
        let device = Device::cpu(1);
        for (updates, period) in
            [(1u32, 2u32), (1, 3), (2, 3), (3, 2), (4, 2), (5, 64), (33, 2), (65_536, 63), (65_535, 61), (7, 1)]
        {
            // The first passes and the last ones that an iteration may have, with updates at both ends of a pass.
            let all: Vec<[u32; 2]> = (0..200)
                .chain((1 << 24) - 200..1 << 24)
                .flat_map(|pass| [0, 1, updates / 2, updates - 1].map(|update| [pass, update]))
                .filter(|[_, update]| *update < updates)
                .collect();
            let column = |k: usize| Tensor::literal_u32(&all.iter().map(|row| row[k]).collect::<Vec<_>>());
            let mut program = Program::new(&device, |cx| {
                let number = number(column(0), column(1), updates as usize, period as usize);
                cx.output("number", number.broadcast_to(&[all.len()]));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            let found = pollster::block_on(device.read_u32(out.get("number").unwrap())).unwrap();
            let exact = |[pass, update]: &[u32; 2]| {
                ((u64::from(*pass) * u64::from(updates) + u64::from(*update)) % u64::from(period)) as u32
            };
            assert_eq!(found, all.iter().map(exact).collect::<Vec<_>>(), "{updates} updates, {period}");
        }
    }

    #[test]
    fn passes_are_counted_through_a_whole_run() {
        let device = Device::cpu(1);
        for passes in [1u32, 2, 3, 7, 32, 63, 64] {
            let all: Vec<u32> =
                (0..300).flat_map(|i| [i, (1 << 24) - 150 + i, u32::MAX - i, i.wrapping_mul(2_654_435_761)]).collect();
            let mut program = Program::new(&device, |cx| {
                cx.output("pass", pass(Tensor::literal_u32(&all), passes as usize).broadcast_to(&[all.len()]));
            })
            .unwrap();
            let out = program.run(&State::new(), &[], &[]).unwrap();
            let found = pollster::block_on(device.read_u32(out.get("pass").unwrap())).unwrap();
            assert_eq!(found, all.iter().map(|x| x % passes).collect::<Vec<_>>(), "{passes} passes");
        }
    }

    #[test]
    fn periods_begin_with_a_pass_again() {
        for (updates, period, want) in
            [(1, 2, 2), (2, 2, 1), (3, 2, 2), (2, 3, 3), (4, 6, 3), (5, 1, 1), (65_536, 64, 1)]
        {
            assert_eq!(passes(updates, period), want);
        }
    }
}
