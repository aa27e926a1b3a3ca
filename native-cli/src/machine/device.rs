//! Where to compute: `--device` and `--threads`.

use crate::machine::auto::{Candidate, choose};
use crate::machine::gpus::{self, Adapter};
use crate::machine::memory;
use crate::outcome::Stop;
use crate::ranks::{self, launch};
use crate::text::numbers::plural;
use quickstudy_core::backend::Device;
use quickstudy_core::backend::cpu::simd::isa::Isa;
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::train::{Session, Setup};
use std::time::{Duration, Instant};

/// The device on which a training goes on.
#[derive(Clone, Copy, Debug)]
pub enum Reopen {
    /// Opened anew: the one that was lost.
    Same,
    /// One that cannot be lost.
    Cpu,
    /// The CPU with this many threads.
    Threads(usize),
}

/// Where to compute.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct DeviceArgs {
    /// cpu, gpu (a graphics card if there is one), gpu:1 (by number, see `quickstudy devices`) or auto (a real GPU
    /// where a trial on it is faster, otherwise the CPU)
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Threads of the CPU; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
    /// Memory that programs and their data may take: 8G, 500M [default: what is
    /// free, where the system tells; of a graphics card's own memory, all]
    #[arg(long, value_name = "SIZE", value_parser = memory::size, allow_hyphen_values = true)]
    pub memory: Option<u64>,
}

fn threads(text: &str) -> Result<u16, String> {
    let wrong = || format!("expected a number of threads from 1 to 1024, got `{text}`");
    text.parse().ok().filter(|n| (1..=1024).contains(n)).ok_or_else(wrong)
}

/// The values of `--device`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    Cpu,
    Gpu(Option<usize>),
    Auto,
}

impl Choice {
    fn parse(text: &str) -> Result<Choice, Stop> {
        match (text, text.strip_prefix("gpu:").map(str::parse)) {
            ("cpu", _) => Ok(Choice::Cpu),
            ("gpu", _) => Ok(Choice::Gpu(None)),
            ("auto", _) => Ok(Choice::Auto),
            (_, Some(Ok(number))) => Ok(Choice::Gpu(Some(number))),
            _ => Err(Stop::user(format!("unknown device `{text}`"))
                .hint("cpu, gpu, gpu:N (see `quickstudy devices`) or auto")),
        }
    }
}

impl DeviceArgs {
    /// The number of threads: as asked for, otherwise one per core; a single one where `ulimit -v` leaves no addresses
    /// for several.
    pub(crate) fn threads(&self) -> usize {
        if memory::is_short() {
            return 1;
        }
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        // Ranks of a machine share its cores, unless their launcher has given each its own.
        let cores = || (all() / if ranks::count() > 1 { launch::on_this_machine()[1] } else { 1 }).max(1);
        self.threads.map_or_else(cores, usize::from)
    }

    /// Threads that are started later on: one that says how far work is, and for several of the CPU one per core.
    fn threads_to_come(&self) -> usize {
        1 + if self.threads() > 1 { std::thread::available_parallelism().map_or(1, usize::from) } else { 0 }
    }

    fn cpu(&self, isa: Isa, threads: usize) -> Device {
        let device = Device::new(Cpu::new(CpuOptions { threads, isa, ..CpuOptions::default() }));
        let free = || memory::free(self.threads_to_come());
        if let Some(bytes) = self.memory.or_else(free) {
            device.limit_memory(bytes);
        }
        device
    }

    fn gpu(&self, adapter: Option<usize>) -> Result<Device, Stop> {
        let (device, software) = gpus::open(adapter).map_err(|e| {
            Stop::user(e.to_string()).hint("`quickstudy devices` lists what there is; --device cpu always works")
        })?;
        // What computes on the processor has no memory of its own; how much a card has, nobody says.
        let free = if software { memory::free(self.threads_to_come()) } else { None };
        if let Some(bytes) = self.memory.or(free) {
            device.limit_memory(bytes);
        }
        Ok(device)
    }

    /// Tells whether the device is to be chosen by measuring.
    pub(crate) fn is_auto(&self) -> bool {
        self.device == "auto"
    }

    /// Tells whether a GPU is asked for, without opening it.
    pub(crate) fn is_gpu(&self) -> Result<bool, Stop> {
        Ok(matches!(Choice::parse(&self.device)?, Choice::Gpu(_)))
    }

    /// Opens the device; `auto` is the CPU.
    pub(crate) fn open(&self) -> Result<Device, Stop> {
        let isa = isa()?;
        let device = match Choice::parse(&self.device)? {
            Choice::Cpu | Choice::Auto => self.cpu(isa, self.threads()),
            // The ranks of a machine take one GPU each.
            Choice::Gpu(None) if ranks::count() > 1 => {
                let [own, _] = launch::on_this_machine();
                self.gpu(Some(own % gpus::adapters().len().max(1)))?
            }
            Choice::Gpu(number) => self.gpu(number)?,
        };
        Ok(match ranks::team() {
            Some(team) => device.among(team),
            None => device,
        })
    }

    /// Opens the device for what `time` measures a piece of; only `auto` does measure, and says why it chose as it did.
    pub(crate) fn open_for(
        &self,
        time: &mut dyn FnMut(&Device) -> Result<Duration, Stop>,
    ) -> Result<(Device, Option<String>), Stop> {
        if ranks::count() > 1 && self.is_auto() {
            let message = "--device auto measures what is faster, which several ranks cannot do together";
            return Err(Stop::user(message).hint("name the device: cpu or gpu"));
        }
        if Choice::parse(&self.device)? != Choice::Auto {
            return Ok((self.open()?, None));
        }
        let candidate = |(number, Adapter { name, software, problem, .. }): (usize, Adapter)| Candidate {
            name,
            software,
            problem,
            open: Box::new(move || self.gpu(Some(number))),
        };
        let gpus = gpus::adapters().into_iter().enumerate().map(candidate).collect();
        let (device, why) = choose(self.cpu(isa()?, self.threads()), gpus, time);
        Ok((device, Some(why)))
    }

    /// A device to continue on: the CPU where there is no GPU to open anew.
    pub(crate) fn reopen(&self, how: Reopen) -> Device {
        // Known to be good since the first device was opened.
        let cpu = |threads| self.cpu(isa().unwrap_or(Isa::detect()), threads);
        match (how, Choice::parse(&self.device)) {
            (Reopen::Threads(threads), _) => cpu(threads),
            (Reopen::Same, Ok(Choice::Gpu(number))) => self.gpu(number).unwrap_or_else(|_| cpu(self.threads())),
            _ => cpu(self.threads()),
        }
    }

    /// `cpu (AVX-512), 2 threads`.
    pub(crate) fn describe(&self, device: &Device) -> String {
        let (caps, threads) = (device.caps(), self.threads());
        match caps.is_cpu {
            true => format!("{}, {}", caps.name, plural(threads, "thread")),
            false => caps.name.clone(),
        }
    }
}

/// The environment variable that names the instruction set of the CPU's kernels.
pub(crate) const ISA_VARIABLE: &str = "QUICKSTUDY_ISA";

/// The instruction set of the CPU's kernels: the one that [`ISA_VARIABLE`] names, otherwise the best that the processor
/// has.
pub(crate) fn isa() -> Result<Isa, Stop> {
    named_isa(std::env::var_os(ISA_VARIABLE).unwrap_or_default().to_string_lossy().as_ref(), &Isa::available())
}

fn named_isa(name: &str, available: &[Isa]) -> Result<Isa, Stop> {
    if name.is_empty() {
        return Ok(Isa::detect());
    }
    let wrong = |problem: String| {
        let names: Vec<String> = available.iter().map(Isa::to_string).collect();
        Stop::user(format!("{ISA_VARIABLE}: {problem}"))
            .hint(format!("unset it for the best that this processor has, or choose one of: {}", names.join(", ")))
    };
    let isa: Isa = name.parse().map_err(wrong)?;
    if available.contains(&isa) { Ok(isa) } else { Err(wrong(format!("this processor has no {isa}"))) }
}

/// The fastest of a few iterations of training that is then thrown away.
pub(crate) fn time_of_training(device: &Device, setup: &Setup) -> Result<Duration, Stop> {
    let mut session = Session::new(device, setup)?;
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let began = Instant::now();
        pollster::block_on(session.step())?;
        best = best.min(began.elapsed());
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_devices_name_the_known_ones() {
        for name in ["tpu", "gpu:", "gpu:x", "GPU"] {
            let args = DeviceArgs { device: name.into(), threads: Some(3), memory: None };
            let error = args.open().unwrap_err();
            assert_eq!(error.code, 2);
            assert!(error.hint.starts_with("cpu, gpu, gpu:N"), "{}", error.hint);
        }
        let args = DeviceArgs { device: "cpu".into(), threads: Some(3), memory: None };
        assert!(args.describe(&args.open().unwrap()).ends_with(", 3 threads"));
        assert_eq!(Choice::parse("gpu:2").unwrap(), Choice::Gpu(Some(2)));
    }
    #[test]
    fn instruction_sets_that_there_are_not_name_those_that_there_are() {
        let two = [Isa::Baseline, Isa::Avx2];
        assert_eq!(named_isa("", &two).unwrap(), Isa::detect());
        assert_eq!(named_isa("avx2", &two).unwrap(), Isa::Avx2);
        for (name, problem) in [
            ("avx512", "this processor has no avx512"),
            ("AVX2", "unknown instruction set `AVX2`: choose baseline, avx2"),
        ] {
            let error = named_isa(name, &two).unwrap_err();
            assert!(error.message.starts_with(&format!("QUICKSTUDY_ISA: {problem}")), "{}", error.message);
            assert!(error.hint.ends_with("one of: baseline, avx2"), "{}", error.hint);
        }
    }
}
