//! Settings of a run, each declared once.
//!
//! A declaration gives a setting its key, its kind, its line of help, and its default. The flag of `train`, the key of
//! files and of `--set`, the precedence of layers, the lines of `config.toml` with their origins, and the table of
//! `docs/command-line.md` derive from it. All other settings are the algorithm's own.

use crate::settings::keep_snapshots::Keep;
use crate::settings::values::{Algorithm, Count, Episodes, Interval, Kind, Name, Seeds, Sources};
use clap::{Arg, ArgMatches, Command, FromArgMatches};
use quickstudy_core::algo::Family;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Evaluation, Length, Setting, Setup};
use toml::{Table, Value};

/// Declares a struct of settings: of each its help, `key: Kind`, and behind `=` its default with the origin that
/// `config.toml` shows, as a function of the settings that were given and of the setup. `key` is then a method too,
/// with the value that counts. Behind `or` stands a default that is there in some runs only.
macro_rules! run_settings {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident {
            $($(#[doc = $line:literal])+ $key:ident: $kind:ident $(= $default:expr)? $(, or $rare:expr)?;)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[doc = $line])+ pub $key: Option<<$kind as Kind>::Value>,)+
        }

        impl $name {
            /// Keys, as they are spelled in files.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($key)),+];

            /// Arguments of the command line.
            pub fn arguments() -> Vec<Arg> {
                vec![$($kind::argument(stringify!($key)).help(concat!($($line),+).trim_ascii())),+]
            }

            /// Takes what was typed.
            fn typed(matches: &mut ArgMatches) -> Self {
                Self { $($key: $kind::typed(matches, stringify!($key)),)+ }
            }

            /// Takes the run's keys out of `table` and leaves the algorithm's.
            pub fn take(table: &mut Table) -> Result<Self, String> {
                Self { $($key: read::<$kind>(table, stringify!($key))?,)+ }.with_one_length()
            }

            /// Values of `self`, and those of `other` where it has none.
            fn filled(self, other: Self) -> Self {
                Self { $($key: self.$key.or(other.$key),)+ }
            }

            /// The values that were given, by their keys.
            pub fn given(&self) -> Table {
                let all = [$((stringify!($key), self.$key.as_ref().map($kind::write))),+];
                all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
            }

            /// Values and origins where none was given.
            fn defaults(&self, setup: &Setup) -> Vec<(&'static str, Option<(Value, String)>)> {
                vec![$((stringify!($key), {
                    let default: fn(&$name, &Setup) -> Option<(<$kind as Kind>::Value, String)> =
                        run_settings!(@default $($default)? $(, $rare)?);
                    default(self, setup).map(|(value, origin)| ($kind::write(&value), origin))
                })),+]
            }

            /// The origin of a value that was typed.
            pub fn typed_origin(key: &str) -> String {
                match key {
                    $(stringify!($key) => $kind::origin(key),)+
                    _ => String::new(),
                }
            }

            $($(
                #[doc = concat!("The value of `", stringify!($key), "`, or its default.")]
                pub fn $key(&self, setup: &Setup) -> <$kind as Kind>::Value {
                    let default: fn(&$name, &Setup) -> (<$kind as Kind>::Value, String) = $default;
                    self.$key.clone().unwrap_or_else(|| default(self, setup).0)
                }
            )?)+
        }
    };
    (@default) => { |_, _| None };
    (@default $default:expr) => {
        |run, setup| Some({
            let default: fn(&RunSettings, &Setup) -> (_, String) = $default;
            default(run, setup)
        })
    };
    (@default , $rare:expr) => { $rare };
}

run_settings! {
    /// Settings of the run itself, as far as they were given.
    pub struct RunSettings {
        /// Algorithm (see `quickstudy list`), or several: ppo,a2c; --config and --resume know it already
        algorithm: Algorithm;
        /// Environment (see `quickstudy list`), or several: cartpole,acrobot; pendulum:time_limit=100 ends its episodes
        /// after 100 steps, and so for all
        env: Name;
        /// Seed, range or list: 3, 0..10 (ten seeds, one folder each), 1,5,7 [default: 0]
        seed: Seeds = |_, setup| (setup.seeds.clone(), "--seed".into());
        /// Environment steps that each seed makes, to the end of an iteration: 100000, 100k, 1.5M or 1e5 [default: the
        /// preset's]
        steps: Count, or |_, setup| {
            let preset = setup.preset.as_ref();
            let origin = preset.map_or("default".into(), |name| format!("preset {name}"));
            setup.iterations.is_none().then_some((setup.steps, origin))
        };
        /// Iterations that each seed makes, in place of --steps: garage's n_epochs, Pyrado's max_iter
        iterations: Count;
        /// Begin with the parameters of a run (its last snapshot) or of a snapshot file instead of first ones: policy,
        /// critics, targets and statistics of normalisers. One source is for all seeds; as many sources as seeds are
        /// for the same seeds
        from: Sources;
        /// Environment steps between evaluations, 0 for none [default: a tenth of --steps]
        eval_every: Interval = |_, setup| (setup.steps.div_ceil(10), "default: a tenth of steps".into());
        /// Episodes per evaluation [default: 20; of RL², 500 trials]
        eval_episodes: Episodes = |_, setup| (eval_episodes(setup.algorithm.family), "default".into());
        /// Meta-test as garage's MetaEvaluator: episodes of exploration on each task, in all; policies that adapt in
        /// several rounds divide them over these [default: 10, with one of the other two]
        n_exploration_eps: Count, or |run, setup| size(run, setup, |sizes| sizes.n_exploration_eps);
        /// Meta-test: episodes of the adapted policy on each task, which are measured [default: 1]
        n_test_episodes: Count, or |run, setup| size(run, setup, |sizes| sizes.n_test_episodes);
        /// Meta-test: held-out tasks [default: as without a meta-test]
        n_test_tasks: Count, or |run, setup| size(run, setup, |sizes| sizes.n_test_tasks);
        /// Environment steps between rows of the metrics, 1 for a row per iteration; with 0, rows get rarer after a
        /// thousand iterations, which keeps those of a day's run far below 100 MB. Evaluations always have theirs
        /// [default: 0]
        log_every: Interval = |_, _| (0, "default: rows get rarer".into());
        /// Snapshots that stay: last (and the best policy), all for that of each iteration too, a number for one each
        /// time that so many environment steps are passed, none for not even the last [default: last]
        keep_snapshots: Keep = |_, _| (Keep::Last, "default".into());
    }
}

/// Episodes of an evaluation where nobody says.
///
/// Trials of policies that adapt by their memory differ by their tasks, and cost little: with few of them, the best
/// evaluation would be the luckiest.
fn eval_episodes(family: Family) -> u64 {
    match family {
        Family::Memory => 500,
        _ => 20,
    }
}

/// A size of the meta-test that was not given, where another one was.
fn size(run: &RunSettings, setup: &Setup, of: fn(TestSizes) -> usize) -> Option<(u64, String)> {
    run.meta_test().sizes(run.eval_episodes(setup)).map(|sizes| (of(sizes) as u64, "default".to_owned()))
}

fn read<K: Kind>(table: &mut Table, key: &str) -> Result<Option<K::Value>, String> {
    table.remove(key).map(|value| K::read(value).map_err(|problem| format!("{key}: {problem}"))).transpose()
}

impl RunSettings {
    /// Refuses two lengths at once.
    fn with_one_length(self) -> Result<Self, String> {
        match (self.steps, self.iterations) {
            (Some(steps), Some(iterations)) => Err(format!(
                "iterations: {iterations} are asked for beside steps = {steps}, and a run is as long as one of them \
                 says; leave the other out"
            )),
            _ => Ok(self),
        }
    }

    /// The length of the run, as far as it was given.
    pub fn length(&self) -> Length {
        self.iterations.map_or_else(|| self.steps.into(), Length::Iterations)
    }

    /// The settings of a lower layer without its length, if this one has a length.
    fn below(&self, lower: Self) -> Self {
        match self.length() {
            Length::Preset => lower,
            _ => Self { steps: None, iterations: None, ..lower },
        }
    }

    /// Values of `self`, and those of `other` where it has none. Of two lengths, steps and iterations, the first
    /// counts.
    pub fn or(self, other: Self) -> Self {
        let other = self.below(other);
        self.filled(other)
    }

    /// The sizes of a meta-test that were given.
    pub fn meta_test(&self) -> MetaTestArgs {
        MetaTestArgs::of([self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks])
    }

    /// The evaluations of the run.
    pub fn evaluation(&self, setup: &Setup) -> Evaluation {
        self.meta_test().evaluation(self.eval_episodes(setup))
    }

    /// The settings that count, where each is of the first of `layers` that has it, otherwise its default.
    pub fn resolved(layers: &[(&Self, Option<String>)], setup: &Setup) -> Vec<Setting> {
        let (mut run, mut given) = (Self::default(), Vec::<(Table, &Option<String>)>::new());
        for (layer, from) in layers {
            given.push((run.below((*layer).clone()).given(), from));
            run = run.or((*layer).clone());
        }
        let resolved = |(key, default): (&'static str, Option<(Value, String)>)| {
            let found = given.iter().find_map(|(layer, origin)| Some((layer.get(key)?.clone(), *origin)));
            let typed = || Self::typed_origin(key);
            let (value, origin) = match found {
                Some((value, origin)) => (value, origin.clone().unwrap_or_else(typed)),
                None => default?,
            };
            Some(Setting { key: key.to_owned(), value, origin })
        };
        let mut all: Vec<Setting> = run.defaults(setup).into_iter().filter_map(resolved).collect();
        // Behind the others: a list of paths may be long.
        all.sort_by_key(|setting| setting.key == "from");
        all
    }

    /// Rows of the table in `docs/command-line.md`: flag, key and meaning of each setting.
    pub fn rows() -> Vec<String> {
        let row = |argument: Arg| {
            let key = argument.get_id().as_str();
            let value = argument.get_value_names().unwrap_or_default().join(" ");
            let flag = argument.get_long().map_or(value.clone(), |flag| format!("--{flag} {value}"));
            let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
            format!("| `{flag}` | `{key}` | {help} |")
        };
        Self::arguments().into_iter().map(row).collect()
    }

    /// The place in `train --help` of an argument that comes behind the setting `key`, `nth` of those that do.
    pub(crate) fn behind(key: &str, nth: usize) -> usize {
        place(Self::KEYS.iter().position(|other| *other == key).unwrap_or(Self::KEYS.len())) + nth
    }
}

/// The place in `train --help` of the setting with this number: other arguments fit between two of them.
const fn place(number: usize) -> usize {
    10 * number
}

impl clap::Args for RunSettings {
    fn augment_args(command: Command) -> Command {
        let arguments = Self::arguments().into_iter().enumerate();
        let in_place = |(number, argument): (usize, Arg)| {
            let argument = argument.display_order(place(number));
            if argument.get_id() == "iterations" { argument.conflicts_with("steps") } else { argument }
        };
        command.args(arguments.map(in_place))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for RunSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Self::from_arg_matches_mut(&mut matches.clone())
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::typed(matches))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::typed(&mut matches.clone()).or(std::mem::take(self));
        Ok(())
    }
}

/// The sizes of a meta-test, as far as they are given; with one of them, the others are as by default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetaTestArgs {
    /// Episodes of exploration on each task.
    pub n_exploration_eps: Option<u64>,
    /// Episodes of the adapted policy on each task, which are measured.
    pub n_test_episodes: Option<u64>,
    /// Held-out tasks.
    pub n_test_tasks: Option<u64>,
}

/// As settings of a run declare them.
impl clap::Args for MetaTestArgs {
    fn augment_args(command: Command) -> Command {
        let all = RunSettings::arguments().into_iter();
        command.args(all.filter(|argument| TestSizes::KEYS.contains(&argument.get_id().as_str())))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for MetaTestArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self::of(TestSizes::KEYS.map(|key| matches.get_one(key).copied())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl MetaTestArgs {
    /// The values in order of [`TestSizes::KEYS`].
    pub fn values(&self) -> [Option<u64>; 3] {
        [self.n_exploration_eps, self.n_test_episodes, self.n_test_tasks]
    }

    /// Arguments with these values, in order of [`TestSizes::KEYS`].
    pub fn of([n_exploration_eps, n_test_episodes, n_test_tasks]: [Option<u64>; 3]) -> MetaTestArgs {
        MetaTestArgs { n_exploration_eps, n_test_episodes, n_test_tasks }
    }

    /// The sizes of the meta-test, on so many tasks if none says how many; none if nothing is given.
    pub fn sizes(&self, tasks: u64) -> Option<TestSizes> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let standard = TestSizes::default();
        self.values().iter().any(Option::is_some).then(|| TestSizes {
            n_exploration_eps: self.n_exploration_eps.map_or(standard.n_exploration_eps, size),
            n_test_episodes: self.n_test_episodes.map_or(standard.n_test_episodes, size),
            n_test_tasks: size(self.n_test_tasks.unwrap_or(tasks)),
        })
    }

    /// The meta-test that evaluations play, or a number of episodes.
    pub fn evaluation(&self, episodes: u64) -> Evaluation {
        let episodes_of_each = usize::try_from(episodes).unwrap_or(usize::MAX);
        self.sizes(episodes).map_or(Evaluation::Episodes(episodes_of_each), Evaluation::MetaTest)
    }
}

#[cfg(test)]
mod tests;
