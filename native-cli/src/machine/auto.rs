//! `--device auto`: a GPU only if it is real and faster on the program at hand.

use crate::outcome::Stop;
use crate::text::numbers::brief;
use std::time::Duration;

/// A GPU that may be taken.
pub(super) struct Candidate<'a, D> {
    /// Name for people.
    pub name: String,
    /// Runs on the processor, which the CPU backend does better.
    pub software: bool,
    /// Why it cannot be used, if it cannot.
    pub problem: Option<String>,
    /// Opens it.
    #[allow(clippy::type_complexity, reason = "a name would say no more")]
    pub open: Box<dyn FnOnce() -> Result<D, Stop> + 'a>,
}

/// The fastest of the CPU and the real GPUs by `time`, which tries a device on the program at hand; and why it was
/// taken, one sentence. Without a real GPU nothing is measured. What fails is not taken, and the reason says so.
pub(super) fn choose<D>(
    cpu: D,
    gpus: Vec<Candidate<'_, D>>,
    time: &mut dyn FnMut(&D) -> Result<Duration, Stop>,
) -> (D, String) {
    let mut best: Option<(D, String, Duration)> = None;
    let mut refused = Vec::new();
    for Candidate { name, software, problem, open } in gpus {
        if software {
            refused.push(format!("{name} is software"));
            continue;
        }
        if let Some(problem) = problem {
            refused.push(format!("{name} is unusable: {problem}"));
            continue;
        }
        match open().and_then(|gpu| time(&gpu).map(|taken| (gpu, taken))) {
            Ok((gpu, taken)) if best.as_ref().is_none_or(|best| taken < best.2) => best = Some((gpu, name, taken)),
            Ok((_, taken)) => refused.push(format!("{name} takes {}", brief(taken))),
            Err(stop) => refused.push(format!("{name} failed: {}", stop.message)),
        }
    }
    let Some((gpu, name, on_gpu)) = best else {
        let reason = if refused.is_empty() { "no GPU was found".to_owned() } else { refused.join("; ") };
        return (cpu, format!("auto takes the CPU: {reason}"));
    };
    match time(&cpu) {
        Ok(on_cpu) if on_cpu <= on_gpu => {
            (cpu, format!("auto takes the CPU: {} against {} on {name}", brief(on_cpu), brief(on_gpu)))
        }
        Ok(on_cpu) => (gpu, format!("auto takes {name}: {} against {} on the CPU", brief(on_gpu), brief(on_cpu))),
        Err(stop) => (gpu, format!("auto takes {name}: the CPU failed: {}", stop.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn gpu(name: &'static str) -> Candidate<'static, &'static str> {
        Candidate { name: name.into(), software: false, problem: None, open: Box::new(move || Ok(name)) }
    }

    /// The choice if the CPU takes 10 ms, `gpu` `ms`, and any other device fails.
    fn chosen(gpus: Vec<Candidate<'_, &'static str>>, ms: u32) -> (&'static str, String) {
        choose("cpu", gpus, &mut |device| match *device {
            "cpu" => Ok(10 * MS),
            "gpu" => Ok(ms * MS),
            other => Err(Stop::failure(format!("no session on {other}"))),
        })
    }

    #[test]
    fn the_faster_one_is_taken() {
        let (device, why) = chosen(vec![gpu("gpu")], 9);
        assert_eq!((device, why.as_str()), ("gpu", "auto takes gpu: 9.0 ms against 10.0 ms on the CPU"));
        let (device, why) = chosen(vec![gpu("gpu")], 11);
        assert_eq!((device, why.as_str()), ("cpu", "auto takes the CPU: 10.0 ms against 11.0 ms on gpu"));
        // A tie is no reason to leave the CPU, whose results are the same on every machine.
        assert_eq!(chosen(vec![gpu("gpu")], 10).0, "cpu");
    }

    #[test]
    fn of_several_gpus_the_fastest_counts() {
        let times = |device: &&str| match *device {
            "cpu" => Ok(10 * MS),
            "slow" => Ok(9 * MS),
            _ => Ok(2 * MS),
        };
        for order in [["slow", "fast"], ["fast", "slow"]] {
            let (device, _) = choose("cpu", order.map(gpu).into(), &mut { times });
            assert_eq!(device, "fast");
        }
    }

    #[test]
    fn without_a_real_gpu_nothing_is_opened_or_measured() {
        let mut measured = 0;
        let mut time = |_: &&str| {
            measured += 1;
            Ok(MS)
        };
        assert_eq!(choose("cpu", vec![], &mut time), ("cpu", "auto takes the CPU: no GPU was found".into()));
        let never = || -> Result<&'static str, Stop> { Err(Stop::failure("it was opened")) };
        let software = Candidate { software: true, open: Box::new(never), ..gpu("llvmpipe") };
        let problem = Some("8 bindings are too few".to_owned());
        let unusable = Candidate { problem, open: Box::new(never), ..gpu("old") };
        let (device, why) = choose("cpu", vec![software, unusable], &mut time);
        assert_eq!(device, "cpu");
        assert_eq!(why, "auto takes the CPU: llvmpipe is software; old is unusable: 8 bindings are too few");
        assert_eq!(measured, 0);
    }

    #[test]
    fn what_fails_is_not_taken() {
        let closed = Candidate { open: Box::new(|| Err(Stop::failure("no memory"))), ..gpu("gpu") };
        let (device, why) = chosen(vec![closed], 1);
        assert_eq!((device, why.as_str()), ("cpu", "auto takes the CPU: gpu failed: no memory"));
        let (device, why) = chosen(vec![gpu("broken")], 1);
        assert_eq!((device, why.as_str()), ("cpu", "auto takes the CPU: broken failed: no session on broken"));
        // The other GPU is still there.
        assert_eq!(chosen(vec![gpu("broken"), gpu("gpu")], 1).0, "gpu");
        let (device, why) = choose("cpu", vec![gpu("gpu")], &mut |device| match *device {
            "gpu" => Ok(MS),
            _ => Err(Stop::failure("no memory")),
        });
        assert_eq!((device, why.as_str()), ("gpu", "auto takes gpu: the CPU failed: no memory"));
    }
}
