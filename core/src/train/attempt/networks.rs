//! Networks of trained policies, as numbers, for programs that are none of this crate's.

use super::evaluator::Evaluator;
use crate::credit::Moments;
use crate::policy::{Normalised, OBS_LIMIT, Outline, Policy};
use crate::{Error, Program, Result, State};

/// The networks by which a trained policy takes its deterministic actions: their outline, and its numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyNetworks {
    /// The outline, whose slices are places in `slices`.
    pub outline: Outline,
    /// The slices of the parameters.
    pub slices: Vec<SliceNumbers>,
    /// The scale by which observations are standardised, if they are.
    pub scale: Option<ObservationScale>,
}

/// A slice of parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct SliceNumbers {
    /// Its shape; weights are `[inputs, outputs]`.
    pub shape: Vec<usize>,
    /// Its numbers, row by row.
    pub numbers: Vec<f32>,
}

/// The scale of observations: networks read (x − mean) / deviation, limited to ±limit.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservationScale {
    /// The mean of each number.
    pub mean: Vec<f32>,
    /// The deviation of each number.
    pub deviation: Vec<f32>,
    /// The limit.
    pub limit: f32,
}

impl Evaluator {
    /// The networks by which the policy, or the particle that was chosen, takes its deterministic actions before it has
    /// seen anything of a task.
    ///
    /// # Errors
    /// [`Error::Config`] if it acts by no networks that it could name, as a policy of another crate may, or names
    /// others than it has; or if the device fails.
    pub async fn networks(&self) -> Result<PolicyNetworks> {
        let outline = outlined(&*self.fitted().policy(), self.algorithm())?;
        let (mut shapes, mut has_scale) = (Vec::new(), false);
        let mut program = Program::new(self.on(), |cx| {
            let held = self.fitted().declare_policy(cx, 1);
            let acting = self.fitted().start(&held, 1);
            for (at, part) in acting.parts.iter().enumerate() {
                cx.output(&name(at), *part);
            }
            shapes = acting.parts.iter().map(|part| part.shape()[1..].to_vec()).collect();
            let [mean, variance] = [Normalised::MEAN, Normalised::VARIANCE].map(|name| acting.values.find(name));
            if let (true, Some(mean), Some(variance)) = (outline.standardised, mean, variance) {
                has_scale = true;
                cx.output(Normalised::MEAN, mean);
                cx.output(Normalised::VARIANCE, variance);
            }
        })?;
        if !outline.fits(&shapes, self.env().spec()) {
            let problem = format!("the outline of a policy of {} does not fit its parameters", self.algorithm());
            return Err(Error::config("policy", problem));
        }
        let inputs: Vec<_> = self.policy().arrays.iter().map(|(name, array)| (*name, array)).collect();
        let out = program.run(&State::new(), &inputs, &[])?;
        let mut slices = Vec::with_capacity(shapes.len());
        for (at, shape) in shapes.into_iter().enumerate() {
            slices.push(SliceNumbers { shape, numbers: self.on().read_f32(out.get(&name(at))?).await? });
        }
        let scale = match has_scale {
            false => None,
            true => {
                let mean = self.on().read_f32(out.get(Normalised::MEAN)?).await?;
                let variance = self.on().read_f32(out.get(Normalised::VARIANCE)?).await?;
                let deviation = variance.into_iter().map(Moments::deviation).collect();
                Some(ObservationScale { mean, deviation, limit: OBS_LIMIT as f32 })
            }
        };
        Ok(PolicyNetworks { outline, slices, scale })
    }
}

/// The outline of an algorithm's policy.
fn outlined(policy: &dyn Policy, algorithm: &str) -> Result<Outline> {
    policy.outline().ok_or_else(|| {
        let problem = format!("a policy of {algorithm} names no networks that it acts by; `Policy::outline` may do so");
        Error::config("policy", problem)
    })
}

fn name(slice: usize) -> String {
    format!("slice {slice}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;
    use crate::policy::{ActionRule, Uniform};
    use crate::train::{Layer, Session, Setup};

    #[test]
    fn networks_are_those_of_the_snapshot() {
        let device = Device::cpu(1);
        let settings = toml::from_str("hidden = [3]\nenvs = 2\nhorizon = 8\nnormalise_observations = true").unwrap();
        let small = Layer { origin: "test".into(), settings };
        let env = crate::env::builtin("pendulum").unwrap();
        let setup = Setup::resolve("a2c", env, &[0], Some(64), &[small]).unwrap();
        let mut session = Session::new(&device, &setup).unwrap();
        while !session.done() {
            pollster::block_on(session.step()).unwrap();
        }
        let bytes = pollster::block_on(session.policy_snapshot(0)).unwrap();
        let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
        let floats = |name: &str| -> Vec<f32> {
            file.tensor(name).unwrap().data().as_chunks().0.iter().map(|b| f32::from_le_bytes(*b)).collect()
        };
        let networks = pollster::block_on(Evaluator::load(&device, &bytes).unwrap().networks()).unwrap();
        assert!(matches!(networks.outline.rule, ActionRule::Limited(_)) && networks.outline.standardised);
        let scale = networks.scale.unwrap();
        assert_eq!((scale.mean, scale.limit), (floats("policy.0.mean"), floats("policy.0.clip")[0]));
        assert_eq!(scale.deviation, floats("policy.0.std"));
        let [(weight, bias), last] = *networks.outline.linear() else { panic!("two layers") };
        assert_eq!(networks.slices[weight].shape, [3, 3]);
        let transposed: Vec<f32> = (0..9).map(|i| floats("policy.1.weight")[3 * (i % 3) + i / 3]).collect();
        assert_eq!(networks.slices[weight].numbers, transposed);
        assert_eq!(networks.slices[bias].numbers, floats("policy.1.bias"));
        assert_eq!(networks.slices[last.0].numbers, floats("policy.2.weight"));
    }

    #[test]
    fn a_policy_without_networks_says_so() {
        let uniform = Uniform::new(&crate::env::ActionSpace::discrete(&["a", "b"]));
        let error = outlined(&uniform, "mine").unwrap_err().to_string();
        assert!(error.contains("a policy of mine names no networks"), "{error}");
    }
}
