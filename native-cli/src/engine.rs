//! The bridge to `quickstudy-core`: devices, errors and sessions as the rest of the command line sees them.

use crate::metrics::Row;
use crate::outcome::Stop;
use crate::run::{Encode, Training};
use quickstudy_core::backend::Device;
use quickstudy_core::backend::cpu::{Cpu, CpuOptions};
use quickstudy_core::train::{Episode, Session};

/// Where to compute.
#[derive(Clone, Debug, clap::Args)]
pub struct DeviceArgs {
    /// Device; this build has cpu
    #[arg(long, value_name = "NAME", default_value = "cpu")]
    pub device: String,
    /// Threads; results do not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = threads, allow_negative_numbers = true)]
    pub threads: Option<u16>,
}

fn threads(text: &str) -> Result<u16, String> {
    let wrong = || format!("expected a number of threads from 1 to 1024, got `{text}`");
    text.parse().ok().filter(|n| (1..=1024).contains(n)).ok_or_else(wrong)
}

impl DeviceArgs {
    /// The number of threads: as asked for, otherwise one per core.
    #[must_use]
    pub fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.map_or_else(cores, usize::from)
    }

    /// Opens the device.
    ///
    /// # Errors
    /// [`Stop`] with code 2 for an unknown name.
    pub fn open(&self) -> Result<Device, Stop> {
        match self.device.as_str() {
            "cpu" => Ok(Device::new(Cpu::new(CpuOptions { threads: self.threads(), ..CpuOptions::default() }))),
            other => Err(Stop::user(format!("unknown device `{other}`")).hint("this build has: cpu")),
        }
    }

    /// `cpu (AVX-512), 2 threads`.
    #[must_use]
    pub fn describe(&self, device: &Device) -> String {
        let threads = self.threads();
        format!("{}, {threads} thread{}", device.caps().name, if threads == 1 { "" } else { "s" })
    }
}

/// The exit code and sentence for an error of the core.
impl From<quickstudy_core::Error> for Stop {
    fn from(error: quickstudy_core::Error) -> Self {
        use quickstudy_core::Error;
        let message = error.to_string();
        match error {
            Error::NonFinite(_) => Stop::non_finite(message),
            Error::Unknown { kind: "key", .. } => Stop::user(message).hint("`quickstudy list settings` explains all"),
            Error::Unknown { .. } => Stop::user(message).hint("`quickstudy list` shows what there is"),
            Error::Config { .. } | Error::Snapshot(_) => Stop::user(message),
            _ => Stop::failure(message),
        }
    }
}

impl Training for Session {
    fn step(&mut self) -> Result<Vec<Row>, Stop> {
        Ok(pollster::block_on(Session::step(self))?)
    }

    fn env_steps(&self) -> u64 {
        Session::env_steps(self)
    }

    fn total_steps(&self) -> u64 {
        Session::total_steps(self)
    }

    fn done(&self) -> bool {
        Session::done(self)
    }

    fn snapshots(&self) -> Result<Encode<'_>, Stop> {
        let copy = pollster::block_on(Session::snapshots(self))?;
        Ok(Box::new(move |member| Ok(copy.encode(member)?)))
    }

    fn policy_snapshots(&self) -> Result<Encode<'_>, Stop> {
        let copy = pollster::block_on(Session::policy_snapshots(self))?;
        Ok(Box::new(move |member| Ok(copy.encode(member)?)))
    }

    fn evaluate(&mut self, episodes: usize) -> Result<Vec<Vec<Episode>>, Stop> {
        Ok(pollster::block_on(Session::evaluate(self, episodes))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::Error;

    #[test]
    fn what_the_user_can_change_is_code_2() {
        let code = |error: Error| Stop::from(error).code;
        assert_eq!(code(Error::config("gamma", "2 is not in 0 to 1")), 2);
        assert_eq!(code(Error::unknown("environment", "cartpol", ["cartpole"])), 2);
        assert_eq!(code(Error::Snapshot("damaged".into())), 2);
        assert_eq!(code(Error::Device("gone".into())), 1);
        assert_eq!(code(Error::NonFinite("loss".into())), 3);
    }

    #[test]
    fn unknown_devices_name_the_known_ones() {
        let args = DeviceArgs { device: "gpu".into(), threads: Some(3) };
        let error = args.open().unwrap_err();
        assert_eq!((error.code, error.hint.as_str()), (2, "this build has: cpu"));
        let args = DeviceArgs { device: "cpu".into(), ..args };
        assert!(args.describe(&args.open().unwrap()).ends_with(", 3 threads"));
    }
}
