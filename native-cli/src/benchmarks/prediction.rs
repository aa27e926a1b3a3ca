//! Predicts, without a graphics card, how long iterations of the measured trainings take on some, by their kernels.

use super::training::TrainingCase;
use crate::json::bench::{PredictedKernel, Prediction};
use crate::outcome::Stop;

/// Predicts the time of an iteration, with as many buffers per kernel as every GPU binds, and of each of its kernels.
#[cfg(feature = "gpu")]
pub(crate) fn predict(case: &TrainingCase) -> Result<(Prediction, Vec<PredictedKernel>), Stop> {
    use crate::json::bench::{CardTime, PredictedPart};
    use quickstudy_gpu::predict::{Card, kernels};
    use quickstudy_gpu::work::{Cost, Work};
    use quickstudy_gpu::{KernelLimits, Plan, PlanOptions};

    let times = |micros: &dyn Fn(&Card) -> f64| -> Vec<CardTime> {
        let time = |card: &Card| CardTime { card: card.name.to_owned(), milliseconds: micros(card) / 1e3 };
        Card::ALL.iter().map(time).collect()
    };
    let found = kernels(&Plan::new(case.setup()?.trace()?, &PlanOptions::default())?, KernelLimits::default())?;
    let mut all = Work::default();
    found.iter().for_each(|kernel| all += kernel.all());
    let part = |cost: &Cost| PredictedPart {
        part: cost.name().to_owned(),
        count: all[*cost],
        cards: times(&|card| card.micros_of(&all, *cost)),
    };
    let few: usize = found.iter().filter(|kernel| kernel.workgroups <= 2).map(|kernel| kernel.dispatches).sum();
    let prediction = Prediction {
        algorithm: case.of.name.to_owned(),
        environment: case.env.to_owned(),
        name: case.name.to_owned(),
        dispatches: all[Cost::Dispatch],
        few_workgroups: few as f64 / all[Cost::Dispatch] as f64,
        longest_loop: found.iter().map(|kernel| kernel.work.iterations()).max().unwrap_or(0),
        cards: times(&|card| card.micros(&all)),
        parts: Cost::ALL.iter().filter(|cost| all[**cost] > 0).map(part).collect(),
    };
    let kernels = found.into_iter().map(|kernel| PredictedKernel {
        dispatches: kernel.dispatches,
        workgroups: kernel.workgroups,
        iterations: kernel.work.iterations(),
        cards: times(&|card| card.micros(&kernel.all())),
        operations: kernel.operations,
        origin: kernel.origin,
    });
    Ok((prediction, kernels.collect()))
}

/// Without GPUs there are no kernels to predict.
#[cfg(not(feature = "gpu"))]
pub(crate) fn predict(_: &TrainingCase) -> Result<(Prediction, Vec<PredictedKernel>), Stop> {
    Err(Stop::user(crate::machine::gpus::missing()))
}
