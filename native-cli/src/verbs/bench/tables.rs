//! Tables of `bench`: their heads, their rows, and what the columns of training mean.

use crate::benchmarks::summing::Cuts;
use crate::json::bench::{BenchLine, CardTime, PredictedPart, Prediction};
use crate::statistics;
use crate::text::numbers::{brief, duration, short_count};
use std::time::Duration;

pub(super) const STEPPING: &str = "environment, random actions           steps/s, 1 core     share of randomness";
pub(super) const HOST_STEPPING: &str = "environment of the host, random actions                steps/s µs, all of them";
pub(super) const TRAINING: &str =
    "with updates                        steps/s  GFLOP/s of peak  dispatches  host µs    set-up    first";
pub(super) const PREDICTION: &str =
    "ms per iteration                  dispatches  ≤ 2 groups  longest loop      H100    laptop  Chromium";
pub(super) const KERNELS: &str = "  dispatches  groups  iterations   µs each      H100    laptop  Chromium  kernel";
pub(super) const LEARNING: &str =
    "preset                           steps        IQM           95 % of the IQM     lowest     random      time";
pub(super) const SUMMING: &str = "       bytes    µs per sum        GB/s";
pub(super) const CUTS: &str = "a cut for each update, no message       µs alone  µs with cuts    µs a cut";

/// The end of the help.
pub(super) const HELP: &str = "\
Columns of the training part:
  steps/s     environment steps per second, updates included
  GFLOP/s     arithmetic of an iteration (2·M·N·K for each product, 1 for each
              element of other f32 operations, gradients included) per second;
              those of TD3's policy are counted in each second update, when it
              is moved
  of peak     their share of the multiply-adds that one core makes, times
              threads, measured in the same minute; - on a GPU
  dispatches  commands that an iteration gives the GPU; - on the CPU
  host µs     the processor's time to record and submit one of them, apart
              from waiting for the GPU; - on the CPU
  set-up      tracing, planning and compiling, shaders included
  first       the first iteration after that

With --predict, milliseconds per iteration on an NVIDIA H100, on a laptop with a
graphics card, and on a laptop without one in Chromium:
  dispatches  as above, with 8 buffers per kernel, as few as any GPU binds
  ≤ 2 groups  share of dispatches with one or two workgroups
  longest loop
              iterations that one invocation makes one after the other in a
              dispatch, at most
  µs each     one dispatch of a kernel on the H100, with --kernels

Examples:
  quickstudy bench                          environments and training
  quickstudy bench training --threads 1     training alone, one thread
  quickstudy bench training --device gpu    the same on a GPU
  quickstudy bench training --device gpu --predict
                                            its times on GPUs that are not here
  quickstudy bench learning --env cartpole  ten seeds of a preset, and how good
                                            their policies are after training
  quickstudy bench --json                   a JSON object on each line
  quickstudy bench environments --env gymnasium:CartPole-v1 --workers 1 --envs 8
                                            steps of processes of Python";

/// The row of a result.
pub(super) fn row(line: &BenchLine) -> String {
    let time = |seconds: &f64| brief(Duration::from_secs_f64(*seconds));
    match line {
        BenchLine::Benchmark { device, opening_seconds, .. } => {
            format!("{device}, opened in {}", time(opening_seconds))
        }
        BenchLine::Stepping(found) => {
            let (speed, share) = (short_count(found.steps_per_second), 100.0 * found.randomness_share);
            format!("{:<28}{:<10}{speed:>14}{share:>22.0} %", found.environment, found.isa)
        }
        BenchLine::HostStepping(found) => {
            let (speed, all) = (found.steps_per_second, 1e6 * found.envs as f64 / found.steps_per_second);
            let name = format!("{}, {} side by side", found.environment, found.envs);
            format!("{name:<50}{:>12}{all:>16.1}", short_count(speed))
        }
        BenchLine::Training(found) => {
            let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
            format!(
                "{:<34}{:>9}{:>9.1}{:>8}{:>12}{:>9}{:>10}{:>9}",
                format!("{} {}, {}", found.algorithm, found.environment, found.name),
                short_count(found.steps_per_second.round()),
                found.flops_per_second / 1e9,
                or_dash(found.peak_share.map(|share| format!("{:.0} %", share * 100.0))),
                or_dash(found.dispatches.map(|count| format!("{count:.0}"))),
                or_dash(found.dispatch_seconds.map(|host| format!("{:.2}", host * 1e6))),
                time(&found.setup_seconds),
                time(&found.first_seconds),
            )
        }
        BenchLine::Prediction(found) => format!(
            "{:<34}{:>10}{:>10.0} %{:>14}{}",
            format!("{} {}, {}", found.algorithm, found.environment, found.name),
            found.dispatches,
            100.0 * found.few_workgroups,
            found.longest_loop,
            milliseconds(&found.cards)
        ),
        BenchLine::PredictedKernel(found) => {
            let each = found.cards.first().map_or(0.0, |first| 1e3 * first.milliseconds / found.dispatches as f64);
            let origin = found.origin.as_ref().map_or_else(String::new, |origin| format!(" ({origin})"));
            format!(
                "{:>12}{:>8}{:>12}{each:>10.1}{}  {}{origin}",
                found.dispatches,
                found.workgroups,
                found.iterations,
                milliseconds(&found.cards),
                found.operations,
            )
        }
        BenchLine::Learning(found) => {
            let number = |it: Option<f64>| it.map_or_else(|| statistics::NONE.to_owned(), |it| format!("{it:.1}"));
            format!(
                "{:<30}{:>8}{:>11}{:>26}{:>11}{:>11}{:>10}",
                found.preset,
                short_count(found.steps as f64),
                number(found.iqm),
                statistics::interval_text(found.low.zip(found.high), 1),
                number(found.lowest),
                number(found.random),
                duration(found.seconds),
            )
        }
        BenchLine::Summing(found) => {
            let (bytes, micros) = (4 * found.numbers, 1e6 * found.seconds);
            format!("{bytes:>12}{micros:>14.1}{:>12.2}", bytes as f64 / found.seconds / 1e9)
        }
    }
}

/// Columns of the cards' times.
fn milliseconds(cards: &[CardTime]) -> String {
    cards.iter().map(|time| format!("{:>10.2}", time.milliseconds)).collect()
}

/// Rows of what the time of a prediction goes into.
pub(super) fn parts(found: &Prediction) -> String {
    let row = |part: &PredictedPart| {
        format!("  {:<32}{:>10}{:>26}{}\n", part.part, part.count, "", milliseconds(&part.cards))
    };
    found.parts.iter().map(row).collect()
}

/// The row of a program that stops for each update.
pub(super) fn cuts(found: &Cuts) -> String {
    let [alone, beside] = [found.alone, found.beside].map(|seconds| 1e6 * seconds);
    format!("{:<34}{alone:>14.0}{beside:>14.0}{:>12.1}", found.name, (beside - alone) / found.count)
}
