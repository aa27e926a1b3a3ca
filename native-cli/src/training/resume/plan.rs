//! The plan of a resume: what becomes of each stack of runs, found out for all before anything is written for one.

use super::source::Source;
use crate::files::reading;
use crate::folder::{RunFolder, file, provenance};
use crate::outcome::Stop;
use crate::settings::config;
use crate::settings::keep_snapshots::Keep;
use crate::settings::run_settings::RunSettings;
use crate::terminal::output::{say, say_line};
use crate::text::numbers::grouped;
use crate::training::args::TrainArgs;
use crate::training::kept_snapshot::Kept;
use crate::training::run::{Pace, SeedRun};
use crate::training::start::{prepare, record, title};
use quickstudy_core::backend::Device;
use quickstudy_core::train::{Layer, Length, Session, Setup};
use std::path::PathBuf;
use toml::{Table, Value};

/// Settings that a run keeps when it goes on: the command may name them, but not change them.
const UNCHANGED: [&str; 3] = ["algorithm", "env", "seed"];

/// Runs that go on together.
pub(super) struct Stack {
    session: Session,
    sources: Vec<Source>,
    /// The folders in which they go on, and the kept snapshots that are copied there.
    folders: Vec<(RunFolder, Option<Kept>)>,
    texts: Vec<ConfigTexts>,
    /// None where all steps are made.
    pace: Option<Pace>,
    extended: bool,
    /// Several runs go on, so that `--out` is the folder of their folders.
    several: bool,
}

/// The configuration of a run.
struct ConfigTexts {
    /// The present text.
    now: String,
    /// As the command asks for it, but for the interval of rows: by that it is told which rows there should be so far.
    early: String,
    /// As the command asks for it.
    changed: String,
}

/// Runs that are ready to train.
pub(super) struct Ready {
    pub(super) session: Session,
    pub(super) runs: Vec<SeedRun>,
    pub(super) pace: Pace,
    /// Says if the runs make other steps than those they were begun for.
    pub(super) extended: bool,
}

/// The length that a configuration asks for, and the file that does.
type Wish = (Length, PathBuf);

/// Finds out what becomes of the runs, and checks it.
pub(super) fn plan(args: &TrainArgs, runs: Vec<(Session, Vec<Source>)>) -> Result<Vec<Stack>, Stop> {
    let several = runs.iter().map(|(_, sources)| sources.len()).sum::<usize>() > 1;
    let wishes: Vec<Option<Wish>> = runs.iter().map(|(session, sources)| wish(session, sources)).collect();
    // A resume that asked for other steps may have been killed before all configurations had them.
    let alike = |one: &Session, other: &Session| {
        let of = |setup: &Setup| (setup.algorithm.name, setup.env.spec().name.clone(), setup.length(), setup.table());
        of(one.setup()) == of(other.setup())
    };
    let wishes: Vec<Option<Wish>> = runs
        .iter()
        .map(|(session, _)| {
            let of_alike = runs.iter().zip(&wishes).filter(|((other, _), _)| alike(session, other));
            of_alike.filter_map(|(_, wish)| wish.clone()).max_by_key(|(length, path)| (number(*length), path.clone()))
        })
        .collect();
    runs.into_iter().zip(wishes).map(|(run, wish)| Stack::of(args, run, wish, several)).collect()
}

/// The number of a length.
fn number(length: Length) -> u64 {
    match length {
        Length::Preset => 0,
        Length::Steps(all) | Length::Iterations(all) => all,
    }
}

/// A length in words.
fn words(length: Length) -> String {
    match length {
        Length::Iterations(all) => format!("{} iterations", grouped(all)),
        _ => format!("{} environment steps", grouped(number(length))),
    }
}

/// The length that the runs' configurations ask for, where it is another than that of the snapshots: configurations
/// change first.
fn wish(session: &Session, sources: &[Source]) -> Option<Wish> {
    let of = |source: &Source| {
        let Source::Last(folder) = source else { return None };
        let path = folder.join(file::CONFIG);
        let length = config::read_file(&path).ok()?.0.length();
        (![Length::Preset, session.setup().length()].contains(&length)).then_some((length, path))
    };
    sources.iter().filter_map(of).max_by_key(|(length, path)| (number(*length), path.clone()))
}

impl Stack {
    fn of(
        args: &TrainArgs,
        (mut session, sources): (Session, Vec<Source>),
        wish: Option<Wish>,
        several: bool,
    ) -> Result<Self, Stop> {
        check_unchanged(args, session.setup())?;
        session.set_debug(args.debug);
        let (before, given) = (session.setup().length(), args.run.length());
        let asked = match (given, &wish) {
            (Length::Preset, Some((length, _))) => *length,
            (Length::Preset, None) => before,
            (length, _) => length,
        };
        let (flag, what, by_iterations) = match asked {
            Length::Iterations(_) => ("--iterations", "iterations", true),
            _ => ("--steps", "environment steps", false),
        };
        let of = |index: usize| if by_iterations { session.iterations_made(index) } else { session.steps_made(index) };
        if let Some(most) = (0..sources.len()).max_by_key(|index| of(*index))
            && number(asked) < of(most)
            && asked != before
        {
            let (run, made, asked) = (sources[most].run().display(), grouped(of(most)), grouped(number(asked)));
            let message = format!("{run} has made {made} {what}, so it cannot make {asked} in all");
            let all = what.rsplit(' ').next().unwrap_or(what);
            return Err(Stop::user(message).hint(format!("{flag} counts all {all} of a run, from its beginning")));
        }
        session.set_length(asked)?;
        let (folders, extended) = (Vec::new(), asked != before);
        let mut stack = Self { session, sources, folders, texts: Vec::new(), pace: None, extended, several };
        if stack.session.done() {
            return Ok(stack);
        }
        if let (Length::Preset, Some((length, path))) = (given, wish) {
            say(&format!("note: on to {}, as {} says", words(length), path.display()));
        }
        for (index, source) in stack.sources.iter().enumerate() {
            if stack.session.goes_on_unlike_planned(index) {
                let (run, made) = (source.run().display(), grouped(stack.session.steps_made(index)));
                say(&format!(
                    "note: {run} was finished by what an earlier version planned, and has made {made} of {} \
                     environment steps: training continues until they are made",
                    grouped(stack.session.setup().steps)
                ));
            }
        }
        for (index, source) in stack.sources.iter().enumerate() {
            if stack.session.has_wrong_goals(index) {
                let run = source.run().display();
                say(&format!(
                    "note: {run} has a replay buffer of an earlier version: where an episode ended by reaching its \
                     goal, the row holds the next episode's first observation, from which hindsight takes wrong goals \
                     until newer rows replace it; train anew to be rid of them"
                ));
            }
        }
        stack.configure(args, asked)?;
        Ok(stack)
    }

    /// Takes the settings of the run from the configurations, in which the flags take their place.
    fn configure(&mut self, args: &TrainArgs, asked: Length) -> Result<(), Stop> {
        let mut keys = args.run.clone();
        for source in &self.sources {
            let path = source.run().join(file::CONFIG);
            let (mut own, mut now) = (RunSettings::default(), String::new());
            if path.exists() {
                own = config::read_file(&path)?.0;
                now = String::from_utf8_lossy(&reading::read_own_text(&path)?).into_owned();
            }
            let mut changes = args.run.clone();
            let of_file = own.length();
            if ![Length::Preset, asked].contains(&of_file) {
                (changes.steps, changes.iterations) = match asked {
                    Length::Iterations(all) => (None, Some(all)),
                    _ => (Some(number(asked)), None),
                };
            }
            let other = match changes.length() {
                Length::Preset => None,
                Length::Steps(_) => Some("iterations"),
                Length::Iterations(_) => Some("steps"),
            };
            let now_without = |text: &str| other.map_or_else(|| text.to_owned(), |key| config::without_key(text, key));
            let mut changes = changes.given();
            UNCHANGED.iter().for_each(|key| drop(changes.remove(*key)));
            let log_every = changes.remove_entry("log_every");
            // A key that is not there yet is put before the others.
            let in_order = RunSettings::KEYS.iter().rev().filter_map(|key| changes.remove_entry(*key));
            let with = |text: String, (key, value): (String, Value)| config::with_key(&text, &key, &value);
            let early = in_order.fold(now_without(&now), with);
            let changed = log_every.into_iter().fold(early.clone(), with);
            keys = keys.or(own);
            self.texts.push(ConfigTexts { now, early, changed });
        }
        let pace = args.pace(&keys, self.session.setup());
        if pace.keep == Keep::None {
            return Err(Stop::user(
                "--keep-snapshots none: a run that goes on has a last snapshot, which would grow old",
            )
            .hint("take last, all or a number of environment steps"));
        }
        prepare(&mut self.session, &pace)?;
        self.pace = Some(pace);
        Ok(())
    }

    /// Makes the folders of runs that go on from kept snapshots, all of them before something is copied: what is there
    /// tells that the command was not done with.
    pub(super) fn begin_copies(&mut self, args: &TrainArgs) -> Result<(), Stop> {
        if self.pace.is_none() {
            return Ok(());
        }
        let sources = std::mem::take(&mut self.sources);
        for (index, source) in sources.into_iter().enumerate() {
            self.folders.push(match source {
                Source::Last(folder) => (folder, None),
                Source::Kept(kept) => {
                    let made = self.session.steps_made(index);
                    (kept.begin(made, args.out.as_deref(), self.several)?, Some(kept))
                }
            });
        }
        Ok(())
    }

    /// Copies the kept snapshots and what belongs to them.
    pub(super) fn copy(&self) -> Result<(), Stop> {
        for (index, ((folder, kept), texts)) in self.folders.iter().zip(&self.texts).enumerate() {
            if let Some(kept) = kept {
                kept.copy(folder, self.session.steps_made(index), &texts.early)?;
            }
        }
        Ok(())
    }

    /// Says that the copies are whole.
    pub(super) fn end_copies(&self) -> Result<(), Stop> {
        self.folders.iter().try_for_each(|(folder, _)| Kept::end(folder))
    }

    /// Writes the configurations that change: from then on the command is not forgotten.
    pub(super) fn write_configurations(&self) -> Result<(), Stop> {
        for ((folder, kept), ConfigTexts { now, early, .. }) in self.folders.iter().zip(&self.texts) {
            if kept.is_none() && early != now {
                folder.write(file::CONFIG, early.as_bytes())?;
            }
        }
        Ok(())
    }

    /// Goes back to the snapshots in all files, and says which runs are finished; the others are ready to train.
    pub(super) fn go_back(self, args: &TrainArgs, device: &Device) -> Result<Option<Ready>, Stop> {
        let Some(pace) = self.pace else { return self.finish().map(|()| None) };
        let Self { session, folders, texts, extended, .. } = self;
        let seeds = session.setup().seeds.clone();
        let mut runs = Vec::with_capacity(folders.len());
        for (index, (((folder, _), texts), seed)) in folders.into_iter().zip(texts).zip(seeds).enumerate() {
            let made = session.steps_made(index);
            provenance::note_of_change(&folder, &device.caps().name).iter().for_each(|note| say(note));
            record(&folder, args, device, made)?;
            let run =
                SeedRun::resume(folder, title(session.setup(), seed), &texts.changed, made, session.segments(index))?;
            // The rows so far are those of the configuration as it was.
            if texts.changed != texts.early {
                run.folder.write(file::CONFIG, texts.changed.as_bytes())?;
            }
            runs.push(run);
        }
        Ok(Some(Ready { session, runs, pace, extended }))
    }

    fn finish(self) -> Result<(), Stop> {
        let Self { session, sources, .. } = self;
        let seeds = session.setup().seeds.clone();
        let asked = session.setup().length();
        for (index, (source, seed)) in sources.into_iter().zip(seeds).enumerate() {
            let made = session.steps_made(index);
            let at = match &source {
                Source::Last(folder) => folder.path().to_owned(),
                Source::Kept(_) => source.snapshot(),
            };
            if let Source::Last(folder) = source {
                Kept::end(&folder)?;
                let config = reading::read_own_text(&folder.join(file::CONFIG)).unwrap_or_default();
                let config = String::from_utf8_lossy(&config).into_owned();
                let title = title(session.setup(), seed);
                let mut run = SeedRun::resume(folder, title, &config, made, session.segments(index))?;
                run.finish()?;
                say_line(&run.ended(seed, made, true));
            }
            let (done, what, flag) = match asked {
                Length::Iterations(_) => (session.iterations_made(index), "iterations", "--iterations"),
                _ => (made, "environment steps", "--steps"),
            };
            let (at, all) = (at.display(), number(asked));
            let numbers = match done <= all {
                true => format!("{} of {} {what}", grouped(done), grouped(all)),
                false => format!("{} {what}, more than {}", grouped(done), grouped(all)),
            };
            say(&format!("{at} is finished: it made {numbers}; go further with a larger {flag}"));
        }
        Ok(())
    }
}

/// Names and settings given beside `--resume` must be those of the run: it could not be told from a new one otherwise.
fn check_unchanged(args: &TrainArgs, setup: &Setup) -> Result<(), Stop> {
    let request = args.request();
    let (file_keys, file_settings) = match &request.config {
        Some(path) => config::read_file(path)?,
        None => Default::default(),
    };
    let (set_keys, set_settings) = config::from_settings(&request.settings)?;
    let keys = request.flags.or(set_keys).or(file_keys);
    let differs = |what: &str, run: &str, asked: &str| {
        Stop::user(format!("the run to resume has the {what} {run}, not {asked}"))
            .hint("a resumed run keeps its settings; leave them out, or start a new run without --resume")
    };
    let env = &setup.env.spec().name;
    if let Some(asked) = keys.algorithm.filter(|asked| *asked != setup.algorithm.name) {
        return Err(differs("algorithm", setup.algorithm.name, &asked));
    }
    if let Some(asked) = keys.env.filter(|asked| asked != env) {
        return Err(differs("environment", env, &asked));
    }
    if let Some(asked) = keys.seed
        && setup.seeds.iter().any(|seed| !asked.contains(seed))
    {
        return Err(differs("seed", &format!("{:?}", setup.seeds), &format!("{asked:?}")));
    }
    let own: Table = setup.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect();
    let layers = [("snapshot", own), ("--config", file_settings), ("--set", set_settings)]
        .map(|(origin, settings)| Layer { origin: origin.to_owned(), settings });
    // Runs of a sweep may have a seed twice, and settings do not depend on it.
    let asked = Setup::resolve(setup.algorithm, setup.env.clone(), &setup.seeds[..1], setup.length(), &layers)?;
    for (run, asked) in setup.settings.iter().zip(&asked.settings) {
        if run.value != asked.value {
            return Err(differs(&run.key, &run.value.to_string(), &asked.value.to_string()));
        }
    }
    Ok(())
}
