//! The policy at play: z, the belief that it is drawn from, and the evidence for that.

use super::*;
use crate::play::{Experience, Keys, Play};
use crate::policy::How;

/// The setting of a play: K groups of N points, and the parameters of each group.
struct Scene {
    nets: PearlNets,
    rows: [usize; 2],
    how: How,
    infers: Option<usize>,
}

impl Scene {
    fn new(config: &PearlConfig, rows: [usize; 2]) -> Scene {
        Scene { nets: PearlNets::new(config, env().spec()).unwrap(), rows, how: How::Explore, infers: None }
    }

    /// Plays episodes of 20 steps by evidence that grows from group to group, 0 in the first one. Reads what `look`
    /// computes from them; it also gets the encoder's parameters and that evidence.
    fn play(&self, episodes: usize, look: impl FnOnce(&Experience, &[Tensor], &Named) -> Vec<Tensor>) -> Vec<Vec<f64>> {
        let [k, n] = self.rows;
        compute(|_| {
            let layout = self.nets.layout();
            let theta: Vec<f64> = (0..k as u32).flat_map(|group| layout.init([group, 9])).collect();
            let parts = self.nets.acting_parts(Tensor::literal_f32(&theta).reshape(&[k, layout.len()]));
            let policy = self.nets.policy(self.infers);
            let (own, encoder) = parts.split_at(policy.slices);
            let group = Tensor::iota(&[k, 1, 1], 0).to_f32();
            let values: Named = self.nets.encoder.nothing([k, 1]).iter().map(|(name, x)| (name, x + group)).collect();
            let acting = Acting { parts: [own, encoder].concat(), values: values.clone() };
            let keys = Keys::of([3, 4].map(Tensor::constant_u32).map(|word| word + Tensor::iota(&[k, 1], 0)));
            let env = env();
            let tasks = Some(Tensor::literal_f32(&numbers(2 * k, 4)).reshape(&[k, 2]));
            let play =
                Play { env: &env, policy: &policy, acting: &acting, how: self.how, rows: self.rows, tasks, keys };
            let played = play.episodes(Amount::Episodes(episodes), 20 * episodes);
            assert_eq!(played.steps.reward.shape(), [20 * episodes, k, n, 1]);
            look(&played, encoder, &values)
        })
    }
}

/// z of each step, `[T, K, N, Z]`, which is the end of the network's input.
fn z(played: &Experience) -> Tensor {
    let seen = played.steps.extras.get("seen");
    seen.slice(3, 2, seen.size(3))
}

/// Steps of all environments, `[T, K, N, W]`, as contexts `[K, N, T, W]`.
fn contexts(x: Tensor) -> Tensor {
    x.permute(&[1, 2, 0, 3])
}

/// The transitions of a play's first steps as the encoder reads them, `[K, N, T, I]`.
fn transitions(scene: &Scene, played: &Experience, steps: usize) -> Tensor {
    let Steps { obs, action, reward, next_obs, .. } = played.steps;
    contexts(scene.nets.encoder.transitions([obs, action, reward, next_obs])).slice(2, 0, steps)
}

#[test]
fn z_is_kept_through_an_episode_and_drawn_anew_in_the_next() {
    for infers in [None, Some(3)] {
        let scene = Scene { infers, ..Scene::new(&config(), [2, 4]) };
        let [z] = &scene.play(2, |played, _, _| vec![z(played)])[..] else { panic!("one output") };
        let steps: Vec<&[f64]> = z.chunks(2 * 4 * 3).collect();
        assert_eq!(steps.len(), 40);
        for t in 0..40 {
            assert_eq!(steps[t], steps[t / 20 * 20], "step {t}");
        }
        // Each number of z, of each environment, in each episode is another one.
        let mut all: Vec<u64> = [steps[0], steps[20]].concat().iter().map(|x| x.to_bits()).collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 2 * 2 * 4 * 3);
    }
}

#[test]
fn z_is_drawn_from_the_belief() {
    const N: usize = 3000;
    // The first group has seen nothing. The belief of the second one follows from precisions 1 and sums 1 of each
    // number.
    let scene = Scene::new(&config(), [2, N]);
    let got = scene.play(1, |played, encoder, values| {
        let belief = scene.nets.encoder.belief(encoder, values);
        vec![z(played).slice(0, 0, 1), belief.mean, belief.variance.unwrap()]
    });
    assert_eq!(got[1..], [vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0], vec![1.0; 6]]);
    for (group, z) in got[0].chunks(3 * N).enumerate() {
        for i in 0..3 {
            let of = |power: i32| {
                z.iter().skip(i).step_by(3).map(|z| (z - group as f64).powi(power)).sum::<f64>() / N as f64
            };
            let bound = 4.0 / (N as f64).sqrt();
            assert!(
                of(1).abs() < bound && (of(2) - 1.0).abs() < 2f64.sqrt() * bound,
                "{group} {i}: {} {}",
                of(1),
                of(2)
            );
        }
    }
}

#[test]
fn a_belief_is_inferred_after_every_second_episode_from_all_that_was_seen() {
    for config in kinds() {
        let scene = Scene { infers: Some(2), ..Scene::new(&config, [2, 3]) };
        let names: Vec<&str> = scene.nets.encoder.evidence().iter().map(|(name, _)| *name).collect();
        for episodes in 1..=5 {
            let got = scene.play(episodes, |played, encoder, values| {
                let all = transitions(&scene, played, 20 * episodes);
                let values = values.iter().map(|(name, x)| (name, x.broadcast_to(&[2, 3, x.size(2)]))).collect();
                // After 2 episodes the belief follows from both, after 3 still from these two, and so on.
                let inferred = match episodes / 2 * 2 * 20 {
                    0 => Named::clone(&values),
                    steps => scene.nets.encoder.after(encoder, &values, all.slice(2, 0, steps), None),
                };
                let seen = scene.nets.encoder.after(encoder, &values, all, None);
                let joined = |of: &dyn Fn(&str) -> Tensor| {
                    Tensor::concat(&names.iter().map(|name| of(name)).collect::<Vec<_>>(), 2)
                };
                let memory = &played.next.memory;
                vec![
                    joined(&|name| memory.get(&format!("used {name}"))),
                    joined(&|name| inferred.get(name)),
                    joined(&|name| memory.get(name)),
                    joined(&|name| seen.get(name)),
                ]
            });
            let near =
                |i: usize, j: usize| got[i].iter().zip(&got[j]).all(|(x, y)| (x - y).abs() < 1e-4 * (1.0 + y.abs()));
            assert!(near(0, 1), "the belief in use, after {episodes} episodes, {config:?}");
            assert!(near(2, 3), "what was seen, after {episodes} episodes, {config:?}");
            // Of odd numbers of episodes there is one more that has been seen.
            assert_eq!(near(0, 2), episodes % 2 == 0, "after {episodes} episodes, {config:?}");
        }
    }
}

#[test]
fn a_policy_acts_by_the_belief_that_it_has_inferred() {
    for encoder in [EncoderKind::Mlp, EncoderKind::Gru] {
        // Points have no draws: z is the belief.
        let config = PearlConfig { encoder, use_information_bottleneck: false, ..config() };
        let scene = Scene { infers: Some(2), ..Scene::new(&config, [2, 3]) };
        let got = scene.play(5, |played, encoder, values| {
            let values: Named = values.iter().map(|(name, x)| (name, x.broadcast_to(&[2, 3, x.size(2)]))).collect();
            let believed = |steps: usize| {
                let seen = transitions(&scene, played, steps);
                scene.nets.encoder.belief(encoder, &scene.nets.encoder.after(encoder, &values, seen, None)).mean
            };
            let z = z(played);
            let of_episode = |episode: usize| z.slice(0, 20 * episode, 20 * episode + 1).reshape(&[2, 3, 3]);
            let before = scene.nets.encoder.belief(encoder, &values).mean;
            let mut all: Vec<Tensor> = (0..5).map(of_episode).collect();
            all.extend([before, believed(40), believed(80)]);
            all
        });
        for (episode, belief) in [(0, 5), (1, 5), (2, 6), (3, 6), (4, 7)] {
            assert!(furthest(&got[episode], &got[belief]) < 1e-5, "{encoder:?} {episode}");
        }
        assert!(furthest(&got[5], &got[6]) > 1e-3 && furthest(&got[6], &got[7]) > 1e-4, "{encoder:?}");
    }
}

#[test]
fn without_inference_a_belief_stays_as_it_is() {
    for config in kinds() {
        let scene = Scene::new(&PearlConfig { use_information_bottleneck: false, ..config }, [2, 3]);
        let got = scene.play(3, |played, encoder, values| {
            let belief = scene.nets.encoder.belief(encoder, values).mean;
            vec![z(played), belief.broadcast_to(&[2, 3, 3])]
        });
        assert!(got[0].chunks(2 * 3 * 3).all(|z| z == got[1]));
    }
}

#[test]
fn one_rollout_makes_a_context_of_each_of_its_steps() {
    // The contract of garage's worker: 20 steps of a point with O = 2 and A = 2 are a context [1, 20, O + A + 1].
    for use_next_obs_in_context in [false, true] {
        let scene = Scene::new(&PearlConfig { use_next_obs_in_context, ..config() }, [1, 1]);
        let got = scene.play(1, |played, _, _| {
            let context = transitions(&scene, played, 20);
            let width = if use_next_obs_in_context { 7 } else { 5 };
            assert_eq!(context.shape(), [1, 1, 20, width]);
            let steps = &played.steps;
            let valid = steps.valid.to_f32();
            vec![context.reshape(&[1, 20, width]), steps.obs, steps.action, steps.reward, steps.next_obs, valid]
        });
        let width = got[0].len() / 20;
        for t in 0..20 {
            let of = |i: usize, width: usize| &got[i][t * width..][..width];
            let all = [of(1, 2), of(2, 2), of(3, 1), of(4, 2)].concat();
            assert_eq!(got[0][t * width..][..width], all[..width]);
        }
        assert_eq!(got[5], [1.0; 20]);
    }
}

#[test]
fn exploiting_takes_the_mean_action_with_the_same_z() {
    let run = |how| {
        let scene = Scene { how, ..Scene::new(&config(), [2, 3]) };
        scene.play(2, |played, _, _| vec![played.steps.action, z(played), played.steps.extras.get("seen")])
    };
    let [explored, exploited] = [How::Explore, How::Exploit].map(run);
    assert_eq!(explored[1], exploited[1], "z is drawn all the same");
    assert!(exploited[1].iter().any(|z| z.abs() > 0.1));
    // The same observations beside the same z lead to the means that a network says by itself.
    let nets = Scene::new(&config(), [2, 3]).nets;
    let means = &compute(|_| {
        let layout = nets.layout();
        let theta: Vec<f64> = (0..2).flat_map(|group| layout.init([group, 9])).collect();
        let parts = nets.acting_parts(Tensor::literal_f32(&theta).reshape(&[2, layout.len()]));
        // [T, K, N, W] as [K, T · N, W], and back.
        let seen = Tensor::literal_f32(&exploited[2]).reshape(&[40, 2, 3, 5]).permute(&[1, 0, 2, 3]);
        let mode = nets.policy(None).net.distribution(&parts, seen.reshape(&[2, 120, 5])).mode();
        vec![mode.reshape(&[2, 40, 3, 2]).permute(&[1, 0, 2, 3])]
    })[0];
    assert!(furthest(&exploited[0], means) < 1e-6, "{}", furthest(&exploited[0], means));
    assert!(furthest(&explored[0], means) > 0.1);
}
