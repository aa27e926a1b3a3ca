//! The common part of all machines: a name, the time of a step, and domain parameters.
//!
//! Domain parameters are the constants of a machine: masses, lengths, the resistance of a motor. Each may be given with
//! the name of the environment. With `randomised=true` they are the parameters of a task instead, drawn anew for each,
//! as Pyrado's default randomisers draw them (`domain_randomization/default_randomizers.py`): most are normal around
//! their value with a standard deviation that is a part of it, others uniform, and all are clipped. Those that Pyrado
//! does not draw stay as they are.

use std::borrow::Cow;

use crate::Result;
use crate::env::builtin::parameters::Parameter;
use crate::env::builtin::reader::Reader;
use crate::env::{Dim, Draws, Real};

/// How a domain parameter differs from task to task.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Spread {
    /// Normal, with a standard deviation of this part of the value.
    Normal(f64),
    /// Uniform, up to this part of the value away from it.
    Uniform(f64),
    /// Uniform, up to this number away from the value.
    Within(f64),
    /// No randomisation.
    None,
}

/// A constant of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DomainParameter {
    /// Pyrado's name.
    pub name: &'static str,
    /// The value that a name without it stands for.
    pub nominal: f64,
    /// The distribution from which tasks draw it, where machines are random.
    pub spread: Spread,
    /// The values that it may have; those of tasks are clipped to them.
    pub range: [f64; 2],
    /// Explains it, with its unit.
    pub meaning: &'static str,
}

impl DomainParameter {
    /// A number of at least `least`.
    pub(super) const fn new(
        name: &'static str,
        nominal: f64,
        spread: Spread,
        least: f64,
        meaning: &'static str,
    ) -> Self {
        Self { name, nominal, spread, range: [least, 1e6], meaning }
    }

    /// A number of at most `most`.
    pub(super) const fn most(mut self, most: f64) -> Self {
        self.range[1] = most;
        self
    }

    /// The standard deviation or half of the width of its distribution around `value`.
    fn width(&self, value: f64) -> Option<f64> {
        match self.spread {
            Spread::Normal(part) | Spread::Uniform(part) => Some(part * value.abs()),
            Spread::Within(width) => Some(width),
            Spread::None => None,
        }
    }

    /// The numbers that are drawn around `value`.
    fn dim(&self, value: f64) -> Option<Dim> {
        // No normal number that is made from 24 random bits is larger.
        let most = if matches!(self.spread, Spread::Normal(_)) { 5.8 } else { 1.0 };
        let width = most * self.width(value)?;
        let [least, largest] = self.range;
        Some(Dim::new(self.name, (value - width).max(least), (value + width).min(largest)))
    }
}

/// The name of a machine's environment, the time of a step, and `N` domain parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Machine<const N: usize> {
    /// The name of the environment.
    pub name: String,
    /// Time of a step in s.
    pub dt: f64,
    /// Values of the domain parameters, in the order of the table.
    pub values: [f64; N],
    /// Domain parameters are those of the task, drawn around `values`.
    pub randomised: bool,
    table: &'static [DomainParameter; N],
}

/// Name of the parameter that makes domain parameters those of tasks.
const RANDOMISED: &str = "randomised";

impl<const N: usize> Machine<N> {
    pub(super) fn new(name: &str, dt: f64, table: &'static [DomainParameter; N]) -> Self {
        let values = table.each_ref().map(|parameter| parameter.nominal);
        Self { name: name.to_owned(), dt, values, randomised: false, table }
    }

    /// The domain parameters: those of the task if it has them.
    #[inline(always)]
    pub(super) fn domain<R: Real>(&self, task: &[R]) -> [R; N] {
        let mut domain = self.values.map(R::lit);
        if self.randomised {
            let mut told = 0;
            for (number, parameter) in domain.iter_mut().zip(self.table) {
                if parameter.spread != Spread::None {
                    *number = task[told];
                    told += 1;
                }
            }
        }
        domain
    }

    /// The domain parameters for a picture.
    pub(super) fn drawn(&self, task: &[f32]) -> [f32; N] {
        let wide: Vec<f64> = task.iter().map(|number| f64::from(*number)).collect();
        self.domain::<f64>(&wide).map(|number| number as f32)
    }

    /// Parameters of tasks.
    pub(super) fn task(&self) -> Vec<Dim> {
        let drawn = self.table.iter().zip(self.values).filter_map(|(parameter, value)| parameter.dim(value));
        if self.randomised { drawn.collect() } else { Vec::new() }
    }

    /// Draws a task.
    pub(super) fn sample_task<R: Real>(&self, rng: &mut Draws<R>, task: &mut [R]) {
        draw(self.table, &self.values, rng, task);
    }

    /// The parameters of the environment: those of the domain, `more`, and two that all machines have.
    pub(super) fn parameters(&self, more: Vec<Parameter>) -> Vec<Parameter> {
        let domain = self.table.iter().zip(self.values);
        let domain = domain.map(|(parameter, value)| given(parameter.name, value, parameter.meaning));
        let common = [
            given("dt", self.dt, "time of a step in s"),
            given(RANDOMISED, false, "domain parameters differ from task to task"),
        ];
        domain.chain(more).chain(common).collect()
    }

    /// Reads the domain parameters that were given.
    pub(super) fn read_domain(&mut self, read: &mut Reader<'_>) -> Result<()> {
        for (value, parameter) in self.values.iter_mut().zip(self.table) {
            *value = read.within(parameter.name, *value, parameter.range)?;
        }
        Ok(())
    }

    /// Reads the parameters that all machines have, and takes the name that has been read.
    pub(super) fn read_rest(&mut self, mut read: Reader<'_>) -> Result<()> {
        self.dt = read.within("dt", self.dt, [1e-4, 0.1])?;
        self.randomised = read.flag(RANDOMISED, self.randomised)?;
        self.name = read.name;
        Ok(())
    }
}

/// A parameter with its default.
pub(super) fn given(name: &'static str, default: impl ToString, meaning: &'static str) -> Parameter {
    Parameter { name, default: Cow::Owned(default.to_string()), meaning }
}

/// Draws domain parameters. This is compiled once, not for each machine.
#[inline(never)]
fn draw<R: Real>(table: &[DomainParameter], values: &[f64], rng: &mut Draws<R>, task: &mut [R]) {
    let drawn = table
        .iter()
        .zip(values)
        .filter_map(|(parameter, value)| Some((parameter, *value, parameter.width(*value)?, parameter.dim(*value)?)));
    for (number, (parameter, value, width, dim)) in task.iter_mut().zip(drawn) {
        let off = match parameter.spread {
            Spread::Normal(_) => rng.normal(),
            _ => rng.range(-1.0, 1.0),
        };
        *number = (off * R::lit(width) + R::lit(value)).clamp(dim.low, dim.high);
    }
}
