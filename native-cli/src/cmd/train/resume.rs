//! Runs that go on: from the last snapshots in their folders, or from kept ones in new folders.

use super::{TrainArgs, headline, prepare, record, title, train};
use crate::activity::{self, Work};
use crate::config;
use crate::device::time_of_training;
use crate::keep::Keep;
use crate::kept::Kept;
use crate::known;
use crate::outcome::Stop;
use crate::plan::eval_episodes;
use crate::progress::{grouped, say};
use crate::provenance;
use crate::run::{self, SeedRun};
use crate::run_folder::{self, RunFolder, file};
use crate::segments;
use crate::signals;
use crate::ticker::Ticker;
use quickstudy_core::backend::Device;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Layer, Saved, Session, Setup};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Where a run goes on from.
enum Source {
    /// Its folder, where it goes on.
    Last(RunFolder),
    /// A kept snapshot; the run goes on in a new folder.
    Kept(Kept),
}

impl Source {
    fn open(path: &Path) -> Result<Self, Stop> {
        match path.is_file() {
            true => Kept::find(path).map(Self::Kept),
            false => RunFolder::open(path).map(Self::Last),
        }
    }

    /// The folder of the run so far.
    fn run(&self) -> &Path {
        match self {
            Self::Last(folder) => folder.path(),
            Self::Kept(kept) => kept.run(),
        }
    }

    fn snapshot(&self) -> PathBuf {
        match self {
            Self::Last(folder) => folder.join(file::LAST),
            Self::Kept(kept) => kept.path().to_owned(),
        }
    }

    fn read(&self) -> Result<Vec<u8>, Stop> {
        match self {
            Self::Last(folder) => run_folder::read_snapshot(folder.path(), file::LAST),
            Self::Kept(kept) => run_folder::read(kept.path()),
        }
    }
}

/// Resumes the folders together where their snapshots allow it, otherwise one after the other.
pub(super) fn resume(args: &TrainArgs) -> Result<(), Stop> {
    activity::begin(Work::SettingUp);
    let mut runs = Vec::new();
    let mut seen = HashSet::new();
    for path in &args.resume {
        // A folder of runs stands for the runs directly in it.
        for run in run_folder::find_resumable(path).unwrap_or_else(|_| vec![path.clone()]) {
            if args.out.is_some() && !run.is_file() {
                let message = format!("{} goes on where it is, and --out names another folder", run.display());
                return Err(Stop::user(message)
                    .hint("leave --out out; kept snapshots, RUN/snapshots/N.safetensors, go on in a new folder"));
            }
            if seen.insert(run.canonicalize().unwrap_or_else(|_| run.clone())) {
                runs.push(run);
            }
        }
    }
    run_folder::check_descriptors(runs.len())?;
    let ticker = Ticker::new(None);
    let sources = runs.iter().map(|run| Source::open(run)).collect::<Result<Vec<_>, _>>()?;
    let snapshots = sources.iter().map(Source::read).collect::<Result<Vec<_>, _>>()?;
    let read = |source: &Source| {
        let run = source.run().to_owned();
        move |name: &str, bytes: u64| segments::read(&run, name, bytes)
    };
    let readers: Vec<_> = sources.iter().map(read).collect();
    let all: Vec<Saved<'_>> = snapshots.iter().zip(&readers).map(|(file, read)| Saved::in_parts(file, read)).collect();
    let (device, why) = args.device.open_for(&mut |device| {
        // All run folders of a command are of one kind, as a rule; the first one stands for them.
        let first = Session::restore_saved(device, known::own(), &all[..1])?;
        time_of_training(device, first.setup())
    })?;
    why.iter().for_each(|why| say(why));
    // A killed stack may leave folders one snapshot apart, and any folders may be named together.
    if all.len() > 1
        && let Ok(session) = Session::restore_saved(&device, known::own(), &all)
    {
        drop(snapshots);
        activity::watch(device.interrupt());
        drop(ticker);
        return resume_session(args, &device, session, sources);
    }
    let mut sessions = Vec::new();
    for (source, snapshot) in sources.into_iter().zip(&all) {
        let session = Session::restore_saved(&device, known::own(), &[*snapshot]).map_err(|error| {
            let stop = Stop::from(error);
            Stop { message: format!("{}: {}", source.snapshot().display(), stop.message), ..stop }
        })?;
        sessions.push((session, source));
    }
    // Training needs the memory.
    drop(snapshots);
    activity::watch(device.interrupt());
    drop(ticker);
    for (session, source) in sessions {
        resume_session(args, &device, session, vec![source])?;
        if signals::stop_asked() {
            break;
        }
    }
    Ok(())
}

fn resume_session(args: &TrainArgs, device: &Device, mut session: Session, sources: Vec<Source>) -> Result<(), Stop> {
    check_unchanged(args, session.setup())?;
    session.set_debug(args.debug);
    let asked = args.steps.unwrap_or(session.setup().steps);
    let extended = asked != session.setup().steps;
    session.set_steps(asked)?;
    if session.done() {
        for (index, source) in sources.iter().enumerate() {
            if let Source::Last(folder) = source {
                run::mend(folder, session.steps_made(index))?;
            }
            let at = match source {
                Source::Last(folder) => folder.path().to_owned(),
                Source::Kept(_) => source.snapshot(),
            };
            let (made, path) = (session.steps_made(index), at.display());
            let numbers = match made <= asked {
                true => format!("{} of {} environment steps", grouped(made), grouped(asked)),
                false => format!("{} environment steps, more than {}", grouped(made), grouped(asked)),
            };
            say(&format!("{path} is finished: it made {numbers}; go further with a larger --steps"));
        }
        return Ok(());
    }
    activity::begin(Work::Saving);
    // What the folders' configurations say, in which the flags then take their place.
    let mut keys = args.flags();
    let mut texts = Vec::with_capacity(sources.len());
    for source in &sources {
        let path = source.run().join(file::CONFIG);
        let mut text = String::new();
        if path.exists() {
            keys = keys.or(config::read_file(&path)?.0);
            text = String::from_utf8_lossy(&run_folder::read_own_text(&path)?).into_owned();
        }
        texts.push(text);
    }
    let keep = keys.keep_snapshots.unwrap_or_default();
    if keep == Keep::None {
        return Err(Stop::user("--keep-snapshots none: a run that goes on has a last snapshot, which would grow old")
            .hint("take last, all or a number of environment steps"));
    }
    let counts = [keys.eval_every.unwrap_or(asked.div_ceil(10)), keys.log_every.unwrap_or(0)];
    let episodes = keys.eval_episodes.unwrap_or_else(|| eval_episodes(session.setup().algorithm));
    let pace = args.pace(counts, keys.meta_test.evaluation(episodes), keep);
    prepare(&mut session, &pace)?;
    headline(session.setup(), &args.device.describe(device));
    say(&goes_on(&(0..sources.len()).map(|index| session.steps_made(index)).collect::<Vec<_>>(), asked));
    if extended {
        say("note: linear schedules now end at the new number of steps");
    }
    let mut runs = Vec::new();
    let seeds = session.setup().seeds.clone();
    let several = sources.len() > 1;
    for (index, ((source, text), seed)) in sources.into_iter().zip(texts).zip(seeds).enumerate() {
        let made = session.steps_made(index);
        let number = |value: Option<u64>| value.map(|value| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
        let [exploration, episodes, tasks] = args.meta_test.values();
        let flags = [
            (TestSizes::KEYS[2], number(tasks)),
            (TestSizes::KEYS[1], number(episodes)),
            (TestSizes::KEYS[0], number(exploration)),
            ("steps", number(args.steps)),
            ("eval_every", number(args.eval_every)),
            ("eval_episodes", number(args.eval_episodes)),
            ("log_every", number(args.log_every)),
            ("keep_snapshots", args.keep_snapshots.map(Keep::value)),
        ];
        let changed = flags.iter().fold(text.clone(), |text, (key, value)| match value {
            Some(value) => config::with_key(&text, key, value),
            None => text,
        });
        let folder = match source {
            Source::Last(folder) => folder,
            Source::Kept(kept) => kept.begin(made, args.out.as_deref(), several)?,
        };
        provenance::note_change(&folder, &device.caps().name);
        record(&folder, args, device, made)?;
        let run = SeedRun::resume(folder, title(session.setup(), seed), &changed, made, session.segments(index))?;
        // The rows so far are those of the configuration as it was.
        if changed != text {
            run.folder.write_unsynced(file::CONFIG, changed.as_bytes())?;
        }
        runs.push(run);
    }
    train(args, session, runs, pace)
}

/// Says from which of the asked environment steps runs go on that have made so many.
fn goes_on(made: &[u64], asked: u64) -> String {
    let [least, most] = [made.iter().min(), made.iter().max()].map(|steps| grouped(steps.copied().unwrap_or(0)));
    let from = if least == most { least } else { format!("{least} to {most}") };
    format!("goes on from step {from} of {}", grouped(asked))
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
    if let Some(asked) = keys.seeds
        && setup.seeds.iter().any(|seed| !asked.contains(seed))
    {
        return Err(differs("seed", &format!("{:?}", setup.seeds), &format!("{asked:?}")));
    }
    let own: Table = setup.settings.iter().map(|s| (s.key.clone(), s.value.clone())).collect();
    let layers = [("snapshot", own), ("--config", file_settings), ("--set", set_settings)]
        .map(|(origin, settings)| Layer { origin: origin.to_owned(), settings });
    let asked = Setup::resolve(setup.algorithm, setup.env.clone(), &setup.seeds, Some(setup.steps), &layers)?;
    for (run, asked) in setup.settings.iter().zip(&asked.settings) {
        if run.value != asked.value {
            return Err(differs(&run.key, &run.value.to_string(), &asked.value.to_string()));
        }
    }
    Ok(())
}
