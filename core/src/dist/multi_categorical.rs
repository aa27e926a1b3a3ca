//! Several choices at once.

use super::RowNoise;
use super::categorical::Categorical;
use crate::Tensor;

/// The logit of options that a choice lacks: their probability is 0 in floats, and their logarithm is finite, so that
/// products of both are 0.
const ABSENT: f64 = -1e9;

/// A distribution over several independent choices per row, each with options of its own.
#[derive(Clone, Copy, Debug)]
pub struct MultiCategorical {
    /// The choices of each row, `[S, B, C, M]`: M is the largest count of options.
    each: Categorical,
    /// The index of the last option of each choice, `[C]`.
    last: Tensor,
    choices: usize,
}

impl MultiCategorical {
    /// Makes the distribution of unnormalised log-probabilities `[S, B, A]`: those of the first choice's options, then
    /// of the second's, and so on. `counts` says how many options each choice has, A together.
    #[track_caller]
    pub fn new(logits: Tensor, counts: &[usize]) -> MultiCategorical {
        let last = Tensor::literal_f32(&counts.iter().map(|count| *count as f64 - 1.0).collect::<Vec<_>>());
        let (s, b, choices) = (logits.size(0), logits.size(1), counts.len());
        let most = counts.iter().copied().max().unwrap_or(1);
        let mut from = 0;
        // Choices with equally many options lie side by side at once.
        let runs = counts.chunk_by(|a, b| a == b).map(|run| {
            let (first, count) = (from, run[0]);
            from += run.len() * count;
            logits.slice(2, first, from).reshape(&[s, b, run.len(), count]).pad(3, 0, most - count)
        });
        let table = Tensor::concat(&runs.collect::<Vec<_>>(), 2);
        let table = match counts.iter().all(|count| *count == most) {
            true => table,
            false => {
                let option = Tensor::iota(&[1, 1, 1, most], 3).to_f32();
                option.gt(last.reshape(&[1, 1, choices, 1])).select(Tensor::constant_f32(ABSENT), table)
            }
        };
        MultiCategorical { each: Categorical::new(table), last, choices }
    }

    /// Lays values of the choices side by side, `[S, B, C, 1]` → `[S, B, C]`.
    #[track_caller]
    fn by_row(&self, each: Tensor) -> Tensor {
        each.reshape(&[each.size(0), each.size(1), self.choices])
    }

    /// Log-probability of the options `action: [S, B, C]` together → `[S, B, 1]`: the sum over the choices.
    #[track_caller]
    pub fn log_prob(&self, action: Tensor) -> Tensor {
        self.by_row(self.each.log_prob(action.unsqueeze(3))).sum_keep(2)
    }

    /// Entropy, `[S, B, 1]`: the sum over the choices.
    #[track_caller]
    pub fn entropy(&self) -> Tensor {
        self.by_row(self.each.entropy()).sum_keep(2)
    }

    /// KL(self ‖ other), `[S, B, 1]`, of distributions over choices with equally many options: the sum over them.
    #[track_caller]
    pub fn kl(&self, other: &MultiCategorical) -> Tensor {
        self.by_row(self.each.kl(&other.each)).sum_keep(2)
    }

    /// A copy through which no gradient flows.
    #[track_caller]
    pub fn stop_gradient(&self) -> MultiCategorical {
        MultiCategorical { each: self.each.stop_gradient(), ..*self }
    }

    /// An option of each choice, `[S, B, C]`, each by a random number of its own.
    #[track_caller]
    pub fn sample(&self, noise: &RowNoise) -> Tensor {
        let drawn = self.each.invert(noise.uniforms(self.choices).unsqueeze(3));
        // The last option takes what rounding leaves over.
        self.by_row(drawn).min(self.last)
    }

    /// The most probable option of each choice, the first of equals, `[S, B, C]`.
    #[track_caller]
    pub fn mode(&self) -> Tensor {
        self.by_row(self.each.mode())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grad::check::{check, value};
    use crate::program::State;
    use crate::{DType, Device, Program};

    const COUNTS: [usize; 4] = [3, 2, 2, 4];
    const ACTION: [f64; 8] = [2.0, 0.0, 1.0, 3.0, 0.0, 1.0, 1.0, 0.0];

    fn logits(seed: usize) -> Vec<f64> {
        (0..22).map(|i| 1.5 * (1.3 * i as f64 + 2.1 * seed as f64 + 0.5).sin()).collect()
    }

    fn of(logits: Tensor) -> MultiCategorical {
        MultiCategorical::new(logits, &COUNTS)
    }

    fn action() -> Tensor {
        Tensor::literal_f32(&ACTION).reshape(&[1, 2, 4])
    }

    /// The probabilities of each choice of a row.
    fn softmax(row: &[f64]) -> Vec<Vec<f64>> {
        let mut rest = row;
        let choices = COUNTS.iter().map(|count| {
            let (own, others) = rest.split_at(*count);
            rest = others;
            let sum = own.iter().map(|x| x.exp()).sum::<f64>();
            own.iter().map(|x| x.exp() / sum).collect()
        });
        choices.collect()
    }

    #[test]
    fn log_probabilities_entropy_divergence_and_mode_are_those_of_each_choice_together() {
        let (p, q) = (logits(1), logits(2));
        let point = [(vec![1, 2, 11], p.clone()), (vec![1, 2, 11], q.clone())];
        let got = value(
            |x| {
                let (d, other) = (of(x[0]), of(x[1]));
                vec![d.log_prob(action()), d.entropy(), d.kl(&other), d.mode()]
            },
            &point,
        );
        let got = got.unwrap();
        for row in 0..2 {
            let [p, q] = [&p, &q].map(|x| softmax(&x[11 * row..11 * (row + 1)]));
            let taken = p.iter().zip(&ACTION[4 * row..]).map(|(p, a)| p[*a as usize].ln()).sum::<f64>();
            let entropy = -p.iter().flatten().map(|p| p * p.ln()).sum::<f64>();
            let kl = p.iter().flatten().zip(q.iter().flatten()).map(|(p, q)| p * (p / q).ln()).sum::<f64>();
            for (got, expected) in got.iter().zip([taken, entropy, kl]) {
                assert_eq!(got.len(), 2);
                assert!((got[row] - expected).abs() < 1e-12, "row {row}: {} {expected}", got[row]);
            }
            let best = |p: &Vec<f64>| (0..p.len()).max_by(|a, b| p[*a].total_cmp(&p[*b])).unwrap() as f64;
            assert_eq!(got[3][4 * row..4 * (row + 1)], p.iter().map(best).collect::<Vec<_>>());
        }
    }

    #[test]
    fn numbers_are_those_of_an_independent_script() {
        // The formulas evaluated in f64 by a Python script.
        let point = [(vec![1, 1, 5], vec![0.2, -1.1, 0.5, 1.7, -0.4]), (vec![1, 1, 5], vec![-0.3, 0.4, 0.0, 0.9, 1.2])];
        let got = value(
            |x| {
                let [p, q] = [0, 1].map(|i| MultiCategorical::new(x[i], &[2, 3]));
                vec![p.log_prob(Tensor::literal_f32(&[1.0, 2.0]).reshape(&[1, 1, 2])), p.entropy(), p.kl(&q)]
            },
            &point,
        );
        let got = got.unwrap();
        for (got, expected) in got.iter().zip([-3.9942328997600884, 1.3071582042774414, 0.8246516297306544]) {
            assert!((got[0] - expected).abs() < 1e-12, "{} {expected}", got[0]);
        }
    }

    #[test]
    fn gradients_agree_with_differences() {
        let point = [(vec![1, 2, 11], logits(3)), (vec![1, 2, 11], logits(4))];
        for (order, most) in [(1, 1e-7), (2, 1e-6)] {
            check(|x| of(x[0]).log_prob(action()), &point, order, most, most).unwrap();
            check(|x| of(x[0]).entropy(), &point, order, most, most).unwrap();
            check(|x| of(x[0]).kl(&of(x[1])), &point, order, most, most).unwrap();
        }
    }

    fn run(rows: usize, logits: &[f64], counts: &[usize], f: impl FnOnce(Tensor, &RowNoise) -> Tensor) -> Vec<f64> {
        let device = Device::cpu(1);
        let width = counts.iter().sum();
        let mut program = Program::new(&device, |cx| {
            let key = [Tensor::constant_u32(3), Tensor::constant_u32(4)].map(|k| k.broadcast_to(&[1, 1]));
            let logits = cx.input("logits", &[1, 1, width], DType::F32).broadcast_to(&[1, rows, width]);
            let y = f(logits, &RowNoise::new(key, rows));
            cx.output("y", y);
        })
        .unwrap();
        let logits = device.array(&[1, 1, width], logits).unwrap();
        let out = program.run(&State::new(), &[("logits", &logits)], &[]).unwrap();
        pollster::block_on(device.read(out.get("y").unwrap())).unwrap()
    }

    #[test]
    fn samples_come_in_proportion_and_choices_are_independent() {
        let (n, logits) = (20_000, &logits(5)[..11]);
        let samples = run(n, logits, &COUNTS, |logits, noise| of(logits).sample(noise));
        let p = softmax(logits);
        let near = |share: f64, p: f64| (share - p).abs() < 4.0 * (p * (1.0 - p) / n as f64).sqrt();
        let share =
            |test: &dyn Fn(&[f64]) -> bool| samples.chunks(4).filter(|action| test(action)).count() as f64 / n as f64;
        for (i, p_i) in p.iter().enumerate() {
            for (a, p_a) in p_i.iter().enumerate() {
                assert!(near(share(&|action| action[i] == a as f64), *p_a), "choice {i}, option {a}");
                for (j, p_j) in p.iter().enumerate().skip(i + 1) {
                    for (b, p_b) in p_j.iter().enumerate() {
                        let both = share(&|action| action[i] == a as f64 && action[j] == b as f64);
                        assert!(near(both, p_a * p_b), "choices {i} and {j}, options {a} and {b}: {both}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_single_choice_is_drawn_as_by_the_categorical() {
        let logits = [0.3, -0.2, 1.1];
        let several = run(500, &logits, &[3], |logits, noise| MultiCategorical::new(logits, &[3]).sample(noise));
        assert_eq!(several, run(500, &logits, &[3], |logits, noise| Categorical::new(logits).sample(noise)));
    }

    #[test]
    fn an_option_that_a_choice_lacks_is_never_taken() {
        // The first choice has one option, beside one of 30.
        let (counts, logits) = ([1, 30], [-80.0; 31]);
        let samples = run(5000, &logits, &counts, |logits, noise| MultiCategorical::new(logits, &counts).sample(noise));
        assert!(samples.chunks(2).all(|action| action[0] == 0.0 && (0.0..30.0).contains(&action[1])));
        let best = run(1, &logits, &counts, |logits, _| MultiCategorical::new(logits, &counts).mode());
        assert_eq!(best, [0.0, 0.0]);
        let sums = run(1, &logits, &counts, |logits, _| MultiCategorical::new(logits, &counts).entropy());
        assert!((sums[0] - 30f64.ln()).abs() < 1e-5, "{sums:?}");
    }
}
