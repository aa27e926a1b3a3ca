//! Encoders of all kinds: the transitions that they read, and the beliefs that follow.

use super::*;

/// K rows, E tasks of each, and C transitions of each task.
const SIZES: [usize; 3] = [2, 3, 5];

/// Makes an encoder for [`env`], and K rows of its parameters.
fn encoder(config: &PearlConfig) -> (ContextEncoder, Layout, Vec<f64>) {
    let mut layout = Layout::new();
    let encoder = ContextEncoder::new(&mut layout, config, env().spec());
    let theta = (0..SIZES[0] as u32).flat_map(|seed| layout.init([seed, 2])).collect();
    (encoder, layout, theta)
}

/// The tensors of evidence and of the belief that follows from it.
fn all(encoder: &ContextEncoder, parts: &[Tensor], evidence: &Named) -> Vec<Tensor> {
    let belief = encoder.belief(parts, evidence);
    evidence.iter().map(|(_, x)| x).chain([belief.mean]).chain(belief.variance).collect()
}

#[test]
fn an_encoder_reads_transitions_with_or_without_what_they_led_to() {
    for config in kinds() {
        let (encoder, layout, _) = encoder(&config);
        // O + A + 1, or 2 O + A + 1 with the next observation.
        let width = if config.use_next_obs_in_context { 7 } else { 5 };
        assert_eq!((encoder.width(), ContextEncoder::inputs(&config, env().spec())), (width, width));
        let shapes: Vec<(&str, &[usize])> = layout.slices().map(|(name, shape, _)| (name, shape)).collect();
        assert_eq!(shapes[0], ("encoder.0.weight", &[width, 6][..]));
        // Means alone, or means and deviations.
        let numbers = if config.use_information_bottleneck { 6 } else { 3 };
        assert_eq!(shapes[shapes.len() - 1], ("encoder.2.bias", &[numbers][..]));
        let read = compute(|_| {
            let of = |width: usize, seed: usize| uneven(&[1, 4, width], seed);
            let [obs, action, reward, next_obs] = [of(2, 1), of(2, 2), of(1, 3), of(2, 4)];
            let seen = encoder.transitions([obs, action, reward, next_obs]);
            assert_eq!(seen.shape(), [1, 4, width]);
            vec![seen, obs, action, reward, next_obs]
        });
        for t in 0..4 {
            let parts = [(1, 2), (2, 2), (3, 1), (4, 2)].map(|(i, width)| &read[i][t * width..][..width]);
            assert_eq!(read[0][t * width..][..width], parts.concat()[..width]);
        }
    }
}

#[test]
fn a_context_that_is_read_at_once_is_the_same_as_one_transition_after_the_other() {
    let [k, e, c] = SIZES;
    for config in kinds() {
        let (encoder, layout, theta) = encoder(&config);
        let mut parts_of = 0;
        let got = compute(|_| {
            let parts = layout.split(Tensor::literal_f32(&theta).reshape(&[k, layout.len()]));
            let context = uneven(&[k, e, c, encoder.width()], 5);
            let step = |t: usize| context.slice(2, t, t + 1).reshape(&[k, e, encoder.width()]);
            let nothing = encoder.nothing([k, e]);
            let one_by_one = (0..c).fold(nothing.clone(), |evidence, t| encoder.after_step(&parts, &evidence, step(t)));
            let at_once = encoder.after(&parts, &nothing, context, None);
            // The second part is read on top of the evidence of the first one.
            let first = encoder.after(&parts, &nothing, context.slice(2, 0, 2), None);
            let in_two = encoder.after(&parts, &first, context.slice(2, 2, c), None);
            let backwards: Vec<Tensor> = (0..c).rev().map(|t| context.slice(2, t, t + 1)).collect();
            let backwards = encoder.after(&parts, &nothing, Tensor::concat(&backwards, 2), None);
            let each = [one_by_one, at_once, in_two, backwards, nothing].map(|of| all(&encoder, &parts, &of));
            parts_of = each[0].len();
            each.concat()
        });
        let of = |which: usize| got[which * parts_of..][..parts_of].concat();
        let [one_by_one, at_once, in_two, backwards, nothing] = [0, 1, 2, 3, 4].map(of);
        assert!(furthest(&one_by_one, &at_once) < 2e-5, "{config:?}");
        assert!(furthest(&in_two, &at_once) < 2e-5, "{config:?}");
        assert!(furthest(&nothing, &at_once) > 0.1, "{config:?}");
        // Votes have no order, but the state of recurrent units depends on it.
        let order = furthest(&backwards, &at_once);
        assert_eq!(order > 1e-3, config.encoder == EncoderKind::Gru, "{config:?}: {order}");
    }
}

#[test]
fn padding_changes_nothing_wherever_it_is() {
    let [k, e, c] = SIZES;
    for config in kinds() {
        let (encoder, layout, theta) = encoder(&config);
        let got = compute(|_| {
            let parts = layout.split(Tensor::literal_f32(&theta).reshape(&[k, layout.len()]));
            let (width, nothing) = (encoder.width(), encoder.nothing([k, e]));
            let context = uneven(&[k, e, c, width], 5);
            let rubbish = uneven(&[k, e, 2, width], 6) * 100.0;
            let flags = |valid: u32, c: usize| Tensor::constant_u32(valid).broadcast_to(&[k, e, c, 1]);
            // Two that count, two that do not, the rest of them, which count, and two that do not.
            let [early, late] = [context.slice(2, 0, 2), context.slice(2, 2, c)];
            let padded = Tensor::concat(&[early, rubbish, late, rubbish], 2);
            let valid = Tensor::concat(&[flags(1, 2), flags(0, 2), flags(1, c - 2), flags(0, 2)], 2);
            let evidence = encoder.after(&parts, &nothing, context, None);
            let same = encoder.after(&parts, &nothing, padded, Some(valid));
            let other = encoder.after(&parts, &nothing, padded, None);
            let none = encoder.after(&parts, &evidence, rubbish, Some(flags(0, 2)));
            [evidence, same, other, none].map(|of| Tensor::concat(&all(&encoder, &parts, &of), 2)).to_vec()
        });
        assert!(furthest(&got[0], &got[1]) < 2e-5, "{config:?}");
        assert!(furthest(&got[0], &got[2]) > 1e-2, "the rubbish would be seen, {config:?}");
        assert_eq!(got[0], got[3], "{config:?}");
    }
}

#[test]
fn without_evidence_the_belief_is_the_prior() {
    let [k, e, c] = SIZES;
    for config in kinds() {
        let (encoder, layout, theta) = encoder(&config);
        let got = compute(|_| {
            let parts = layout.split(Tensor::literal_f32(&theta).reshape(&[k, layout.len()]));
            let nothing = encoder.nothing([k, e]);
            let padding = Tensor::constant_u32(0).broadcast_to(&[k, e, c, 1]);
            let padded = encoder.after(&parts, &nothing, uneven(&[k, e, c, encoder.width()], 5), Some(padding));
            let [prior, again] = [&nothing, &padded].map(|of| encoder.belief(&parts, of));
            assert_eq!(prior.variance.is_some(), config.use_information_bottleneck);
            let normal = uneven(&[k, e, 3], 7);
            let variances = [prior, again].map(|of| of.variance.unwrap_or(Tensor::ones(&[k, e, 3])));
            let divergences = [prior.divergence(), again.divergence()];
            [&[prior.mean, again.mean][..], &variances, &divergences, &[prior.draw(normal), normal]].concat()
        });
        assert!(got[..2].concat().iter().all(|mean| *mean == 0.0), "{config:?}");
        assert!(got[2..4].concat().iter().all(|variance| *variance == 1.0), "{config:?}");
        assert!(got[4..6].concat().iter().all(|divergence| *divergence == 0.0), "{config:?}");
        // A draw of the prior is standard normal; the point is 0.
        let drawn = if config.use_information_bottleneck { got[7].clone() } else { vec![0.0; k * e * 3] };
        assert_eq!(got[6], drawn, "{config:?}");
    }
}

#[test]
fn the_divergence_is_that_of_normal_distributions_and_summed_over_tasks() {
    let (mean, variance) = ([0.5, -1.0, 0.0, 2.0], [0.25, 1.0, 4.0, 1e-3]);
    let got = compute(|_| {
        let of = |x: &[f64]| Tensor::literal_f32(x).reshape(&[1, 2, 2]);
        let belief = Belief { mean: of(&mean), variance: Some(of(&variance)) };
        vec![belief.divergence(), Belief { variance: None, ..belief }.divergence()]
    });
    let each = mean.iter().zip(variance).map(|(m, v): (&f64, f64)| 0.5 * (m * m + v - 1.0 - v.ln()));
    assert!((got[0][0] - each.sum::<f64>()).abs() < 1e-5, "{got:?}");
    assert_eq!(got[1], [0.0]);
}
