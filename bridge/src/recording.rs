//! Pictures of episodes, as environments draw them.

use std::cell::RefCell;
use std::rc::Rc;

use quickstudy_core::Result;
use quickstudy_core::backend::LocalFuture;
use quickstudy_core::env::EnvSpec;
use quickstudy_core::host::{Chance, Executor, Faults, Fleet, FleetSize, Stepped};
use quickstudy_core::rng::Key;

use crate::name::Recipe;
use crate::pool::Pool;
use crate::workers::{Use, Workers};

/// A picture: rows from the top, red, green and blue of each pixel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// Pixels of a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Three bytes for each pixel.
    pub pixels: Vec<u8>,
}

/// The frames of one episode of each environment: pictures, each with the rewards until then.
pub type Frames = Rc<RefCell<Vec<Vec<(Picture, f64)>>>>;

/// Workers that draw the first episode of each environment.
struct Recording {
    workers: Workers,
    frames: Frames,
    /// The sum of rewards of each first episode; none when it has ended.
    returns: Vec<Option<f64>>,
}

impl Recipe {
    /// An executor of this environment that draws it, and the frames of the first episode of each environment.
    ///
    /// # Errors
    /// As [`place`](Recipe::place), or if the environment cannot be drawn as an array of pixels.
    pub fn recording(self, spec: &EnvSpec, size: FleetSize) -> Result<(Box<dyn Executor>, Frames)> {
        let pool = Rc::new(Pool::new(self));
        let workers = Workers::new(&pool, spec, size, Use { held_out: false, render: true })?;
        let frames = Frames::default();
        let recording = Recording { workers, frames: Rc::clone(&frames), returns: Vec::new() };
        Ok((Box::new(recording), frames))
    }
}

impl Recording {
    /// Draws the environments whose first episode runs.
    fn draw(&mut self) -> Result<()> {
        for env in 0..self.returns.len() {
            let Some(sum) = self.returns[env] else { continue };
            let (height, width, pixels) = self.workers.picture(env)?;
            self.frames.borrow_mut()[env].push((Picture { width, height, pixels }, sum));
        }
        Ok(())
    }
}

impl Executor for Recording {
    fn fleet(&self) -> &Fleet {
        self.workers.fleet()
    }

    fn sample_tasks<'a>(&'a mut self, chances: &'a [Chance]) -> LocalFuture<'a, Result<Vec<Vec<f64>>>> {
        self.workers.sample_tasks(chances)
    }

    fn set_tasks<'a>(&'a mut self, tasks: &'a [Vec<f64>]) -> LocalFuture<'a, Result<()>> {
        self.workers.set_tasks(tasks)
    }

    fn reset<'a>(&'a mut self, keys: &'a [Key]) -> LocalFuture<'a, Result<Vec<f64>>> {
        Box::pin(async move {
            let first = self.workers.reset(keys).await?;
            let envs = self.fleet().num_envs();
            self.returns = vec![Some(0.0); envs];
            *self.frames.borrow_mut() = vec![Vec::new(); envs];
            self.draw()?;
            Ok(first)
        })
    }

    fn step<'a>(&'a mut self, actions: &'a [f64], keys: &'a [Key]) -> LocalFuture<'a, Result<Stepped>> {
        Box::pin(async move {
            let stepped = self.workers.step(actions, keys).await?;
            for (sum, reward) in self.returns.iter_mut().zip(&stepped.rewards) {
                *sum = sum.map(|sum| sum + reward);
            }
            self.draw()?;
            for (env, sum) in self.returns.iter_mut().enumerate() {
                *sum = sum.filter(|_| !stepped.ended(env));
            }
            Ok(stepped)
        })
    }

    fn faults(&self) -> Faults {
        self.workers.faults()
    }
}
