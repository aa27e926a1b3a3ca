//! Runs that were killed before their first snapshot: they begin anew, by their configurations.

use crate::files::reading;
use crate::folder::{self, RunFolder, file};
use crate::outcome::Stop;
use crate::settings::keep_snapshots::Keep;
use crate::settings::request::{Plan, Request};
use crate::terminal::activity::{self, Work};
use crate::terminal::output::say;
use crate::training::args::TrainArgs;
use crate::training::run::{self, SeedRun};
use crate::training::smaller::with_smaller;
use crate::training::start::title;
use crate::training::warm_start;
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Session, Setup};

/// A run folder with a configuration and no snapshot.
pub(super) struct Unbegun {
    folder: RunFolder,
    plan: Plan,
    config: String,
}

impl Unbegun {
    /// The run of this folder.
    pub(super) fn read(folder: RunFolder) -> Result<Self, Stop> {
        let lost = |hint: String| move |stop: Stop| Stop { message: stop.message, ..Stop::user("").hint(hint) };
        let missing = || folder::read_snapshot(folder.path(), file::LAST).map(|_| ());
        if let Err(found) = folder.check_unbegun() {
            missing().map_err(lost(format!("{}: its snapshots are gone, or it kept none", found.message)))?;
        }
        let path = folder.join(file::CONFIG);
        let config = String::from_utf8_lossy(&reading::read_own_text(&path)?).into_owned();
        let plan = Plan::resolve(&Request { config: Some(path), ..Request::default() })?;
        if plan.run.keep_snapshots(&plan.setup) == Keep::None {
            missing().map_err(lost("it keeps no snapshots and cannot be resumed; start it again".to_owned()))?;
        }
        Ok(Self { folder, plan, config })
    }

    /// The algorithm, environment and settings that it trains.
    pub(super) fn setup(&self) -> &Setup {
        &self.plan.setup
    }

    /// Tells whether both can be trained together: runs that differ in the seed alone.
    fn fits(&self, other: &Self) -> bool {
        let of = |run: &Self| {
            let Setup { algorithm, env, steps, .. } = &run.plan.setup;
            (algorithm.name, env.spec().name.clone(), *steps, run.plan.setup.table(), run.plan.run.from.clone())
        };
        self.plan.setup.seeds != other.plan.setup.seeds && of(self) == of(other)
    }
}

/// Begins the runs anew, up to their first snapshots, and says so. Each comes with its place in the command.
pub(super) fn begin(
    args: &TrainArgs,
    device: &Device,
    mut runs: Vec<(usize, Unbegun)>,
) -> Result<Vec<(usize, RunFolder)>, Stop> {
    let mut begun = Vec::with_capacity(runs.len());
    while !runs.is_empty() {
        // The first, and all that can be stacked with it.
        let mut stack: Vec<(usize, Unbegun)> = Vec::new();
        for run in std::mem::take(&mut runs) {
            match stack.iter().all(|(_, other)| run.1.fits(other)) {
                true => stack.push(run),
                false => runs.push(run),
            }
        }
        begun.extend(begin_stack(args, device, stack)?);
    }
    Ok(begun)
}

fn begin_stack(
    args: &TrainArgs,
    device: &Device,
    stack: Vec<(usize, Unbegun)>,
) -> Result<Vec<(usize, RunFolder)>, Stop> {
    let Some((_, first)) = stack.first() else { return Ok(Vec::new()) };
    let mut setup = first.plan.setup.clone();
    setup.seeds = stack.iter().flat_map(|(_, run)| run.plan.setup.seeds.clone()).collect();
    let from = first.plan.run.from.clone().unwrap_or_default();
    let mut session = Session::new(device, &setup).map_err(|error| with_smaller(error, device, &setup))?;
    warm_start::begin_with(&mut session, &from)?;
    session.set_debug(args.debug);
    activity::begin(Work::Saving);
    let (mut places, mut runs) = (Vec::new(), Vec::new());
    for ((place, run), seed) in stack.into_iter().zip(&setup.seeds) {
        say(&format!("{} begins anew: it was stopped before its first snapshot", run.folder.path().display()));
        places.push(place);
        runs.push(SeedRun::create(run.folder, title(&setup, *seed), &run.config)?);
    }
    run::save_first(&session, &mut runs)?;
    activity::begin(Work::SettingUp);
    Ok(places.into_iter().zip(runs.into_iter().map(|run| run.folder)).collect())
}
