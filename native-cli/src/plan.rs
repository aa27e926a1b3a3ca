//! Requests of `train`: layers of settings resolved into a setup, and the text of `config.toml`.

use crate::config::{self, Resolved, RunKeys};
use crate::fits;
use crate::keep::Keep;
use crate::known;
use crate::meta_test::MetaTestArgs;
use crate::outcome::Stop;
use quickstudy_core::algo::{AlgorithmDef, Family};
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Layer, Setup};
use std::path::PathBuf;
use toml::Value;

/// Episodes of an evaluation where nobody says.
///
/// Trials of policies that adapt by their memory differ by their tasks, and cost little: with few of them, the best evaluation would be the luckiest.
#[must_use]
pub fn eval_episodes(algorithm: &AlgorithmDef) -> u64 {
    match algorithm.family {
        Family::Memory => 500,
        _ => 20,
    }
}

/// Flags that are layers of settings.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Dedicated flags.
    pub flags: RunKeys,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--set`.
    pub settings: Vec<(String, Value)>,
}

/// A resolved request.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Algorithm, environment, seeds, steps and the algorithm's settings.
    pub setup: Setup,
    /// Environment steps between evaluations, 0 for none.
    pub eval_every: u64,
    /// Episodes per evaluation.
    pub eval_episodes: u64,
    /// The sizes of the meta-tests that evaluations are instead.
    pub meta_test: MetaTestArgs,
    /// Environment steps between rows of the metrics, 0 for rows that get rarer.
    pub log_every: u64,
    /// The snapshots that are kept.
    pub keep_snapshots: Keep,
    /// Run folders and snapshots whose parameters training begins with; none for first parameters.
    pub from: Vec<PathBuf>,
    /// The one of these with which each seed begins, where there are several.
    sources: Vec<PathBuf>,
    /// The run's keys except the seed, with their origins.
    keys: Vec<Resolved>,
}

/// The first value that is there, with its origin.
fn pick<T: Clone>(layers: &[(&RunKeys, String)], get: impl Fn(&RunKeys) -> &Option<T>) -> Option<(T, String)> {
    layers.iter().find_map(|(keys, origin)| Some((get(keys).clone()?, origin.clone())))
}

impl Plan {
    /// Resolves defaults < preset < file < `--set` < flags.
    ///
    /// # Errors
    /// [`Stop`] with code 2 for anything missing, unknown or out of range.
    pub fn resolve(request: &Request) -> Result<Self, Stop> {
        let (file_name, (file_keys, file_settings)) = match &request.config {
            Some(path) => (path.display().to_string(), config::read_file(path)?),
            None => Default::default(),
        };
        let (set_keys, set_settings) = config::from_settings(&request.settings)?;
        let flag = |key: &str| -> Vec<(&RunKeys, String)> {
            vec![
                (&request.flags, key.to_owned()),
                (&set_keys, "--set".to_owned()),
                (&file_keys, format!("--config {file_name}")),
            ]
        };
        let missing = |what: &str, hint: &str| Stop::user(format!("no {what} was named")).hint(hint);
        let (algorithm, algorithm_origin) = pick(&flag("command line"), |k| &k.algorithm).ok_or_else(|| {
            missing("algorithm", &format!("`quickstudy train {} --env cartpole`", known::algorithm_names()[0]))
        })?;
        let (env_name, env_origin) = pick(&flag("--env"), |k| &k.env)
            .ok_or_else(|| missing("environment", "name one with --env; `quickstudy list` shows them"))?;
        let (seeds, _) = pick(&flag("--seed"), |k| &k.seeds).unwrap_or_else(|| (vec![0], String::new()));
        let steps = pick(&flag("--steps"), |k| &k.steps);

        let layers = [
            Layer { origin: format!("--config {file_name}"), settings: file_settings },
            Layer { origin: "--set".to_owned(), settings: set_settings },
        ];
        // The algorithm first: with an unknown one nothing else means anything.
        let definition = known::algorithm(&algorithm)?;
        let env = known::environment(&env_name)?;
        let spec = env.spec().clone();
        let setup = Setup::resolve(definition, env, &seeds, steps.as_ref().map(|s| s.0), &layers).map_err(|error| {
            use quickstudy_core::Error;
            // A mistake in a file is found sooner with the file's name.
            let in_file = match &error {
                Error::Unknown { kind: "key", name: key, .. } | Error::Config { key, .. } => layers
                    .iter()
                    .rev()
                    .find(|l| l.settings.contains_key(key))
                    .is_some_and(|l| l.origin.starts_with("--config")),
                _ => false,
            };
            let instead = fits::instead(&error, definition, &spec, &layers);
            let stop = Stop::from(error);
            let stop = match instead {
                Some(instead) => stop.hint(instead),
                None => stop,
            };
            if in_file { Stop { message: format!("{file_name}: {}", stop.message), ..stop } } else { stop }
        })?;

        let steps_origin = steps.map_or_else(
            || setup.preset.as_ref().map_or("default".to_owned(), |name| format!("preset {name}")),
            |(_, origin)| origin,
        );
        let (eval_every, every_origin) = pick(&flag("--eval-every"), |k| &k.eval_every)
            .unwrap_or_else(|| (setup.steps.div_ceil(10), "default: a tenth of steps".to_owned()));
        let (episodes, episodes_origin) = pick(&flag("--eval-episodes"), |k| &k.eval_episodes)
            .unwrap_or_else(|| (eval_episodes(setup.algorithm), "default".to_owned()));
        let sizes = TestSizes::KEYS.into_iter().enumerate().map(|(i, key)| {
            let given = flag(&format!("--{}", key.replace('_', "-")));
            given.into_iter().find_map(|(keys, origin)| Some((keys.meta_test.values()[i]?, origin)))
        });
        let sizes: Vec<Option<(u64, String)>> = sizes.collect();
        let meta_test = MetaTestArgs::of([0, 1, 2].map(|i| sizes[i].as_ref().map(|(value, _)| *value)));
        if meta_test != MetaTestArgs::default() && setup.algorithm.family == Family::SingleTask {
            let key = TestSizes::KEYS.iter().zip(&sizes).find(|(_, size)| size.is_some()).map_or("", |(key, _)| key);
            let message = format!("{key}: a policy of {algorithm} does not adapt, so that there is no meta-test");
            return Err(Stop::user(message).hint("leave it out; --eval-episodes says how many episodes are played"));
        }
        let (log_every, log_origin) =
            pick(&flag("--log-every"), |k| &k.log_every).unwrap_or_else(|| (0, "default: rows get rarer".to_owned()));
        let (keep_snapshots, keep_origin) =
            pick(&flag("--keep-snapshots"), |k| &k.keep_snapshots).unwrap_or((Keep::Last, "default".to_owned()));
        let number = |value: u64| Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
        let resolved = |key: &str, value: Value, origin: String| Resolved { key: key.to_owned(), value, origin };
        let mut keys = vec![
            resolved("algorithm", algorithm.into(), algorithm_origin),
            resolved("env", env_name.into(), env_origin),
            resolved("steps", number(setup.steps), steps_origin),
            resolved("eval_every", number(eval_every), every_origin),
            resolved("eval_episodes", number(episodes), episodes_origin),
        ];
        let all = meta_test.sizes(episodes).map(|all| [all.n_exploration_eps, all.n_test_episodes, all.n_test_tasks]);
        for ((key, value), given) in TestSizes::KEYS.into_iter().zip(all.into_iter().flatten()).zip(sizes) {
            let origin = given.map_or("default".to_owned(), |(_, origin)| origin);
            keys.push(resolved(key, number(value as u64), origin));
        }
        keys.push(resolved("log_every", number(log_every), log_origin));
        keys.push(resolved("keep_snapshots", keep_snapshots.value(), keep_origin));
        let (from, from_origin) = pick(&flag("--from"), |k| &k.from).unwrap_or_default();
        if !from.is_empty() {
            let paths = from.iter().map(|path| config::path_value(path)).collect();
            keys.push(resolved("from", Value::Array(paths), from_origin));
        }
        let sources = Vec::new();
        Ok(Self {
            setup,
            eval_every,
            eval_episodes: episodes,
            meta_test,
            log_every,
            keep_snapshots,
            from,
            sources,
            keys,
        })
    }

    /// Notes the run or snapshot whose parameters each seed begins with, where several were named: a configuration is that of one seed.
    pub fn set_sources(&mut self, sources: Vec<PathBuf>) {
        self.sources = sources;
    }

    /// The text of `config.toml` for one seed.
    #[must_use]
    pub fn config_toml(&self, seed: u64) -> String {
        let mut all = self.keys.clone();
        let number = self.setup.seeds.iter().position(|other| *other == seed);
        if let Some(source) = number.and_then(|number| self.sources.get(number))
            && let Some(from) = all.iter_mut().find(|one| one.key == "from")
        {
            from.value = Value::Array(vec![config::path_value(source)]);
        }
        let seed = Value::Integer(i64::try_from(seed).unwrap_or(i64::MAX));
        let origin = "--seed".to_owned();
        all.insert(2, Resolved { key: "seed".to_owned(), value: seed, origin });
        all.extend(self.setup.settings.iter().map(|setting| Resolved {
            key: setting.key.clone(),
            value: setting.value.clone(),
            origin: setting.origin.clone(),
        }));
        config::render(&all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_folder::tests::scratch;
    use quickstudy_core::algo::PpoConfig;
    use quickstudy_core::settings::Settings as _;

    fn request(env: &str) -> Request {
        let flags = RunKeys { algorithm: Some("ppo".into()), env: Some(env.into()), ..RunKeys::default() };
        Request { flags, ..Request::default() }
    }

    #[test]
    fn layers_win_in_order_and_the_result_can_be_fed_back() {
        let dir = scratch("plan");
        let file = dir.join("a.toml");
        std::fs::write(&file, "gamma = 0.9\nepochs = 3\nsteps = \"20k\"\nseed = 4\nenv = \"acrobot\"\n").unwrap();
        let mut asked = request("cartpole");
        asked.config = Some(file.clone());
        asked.settings = vec![("epochs".into(), 5.into())];
        let plan = Plan::resolve(&asked).unwrap();
        let config = PpoConfig::default().with(&plan.setup.table()).unwrap();
        assert_eq!((config.sampling.gamma, config.epochs), (0.9, 5));
        assert_eq!((plan.setup.steps, plan.eval_every, plan.eval_episodes), (20_000, 2000, 20));
        assert_eq!(plan.setup.seeds, [4]);
        let text = plan.config_toml(4);
        let line = |key: &str| text.lines().find(|l| l.starts_with(&format!("{key} = "))).unwrap().to_owned();
        assert!(line("epochs").ends_with("# --set") && line("env").ends_with("# --env"), "{text}");
        assert!(line("gamma").contains("# --config ") && line("clip_eps").ends_with("# preset ppo-cartpole"), "{text}");

        std::fs::write(&file, &text).unwrap();
        let again = Plan::resolve(&Request { config: Some(file), ..Request::default() }).unwrap();
        assert_eq!(again.setup.table(), plan.setup.table());
        assert_eq!((again.setup.seeds.as_slice(), again.setup.steps), (&[4][..], 20_000));
        assert_eq!(again.setup.env.spec().name, "cartpole");
    }

    #[test]
    fn mistakes_are_user_errors_with_suggestions() {
        let problem = |asked: Request| {
            let stop = Plan::resolve(&asked).unwrap_err();
            assert_eq!(stop.code, 2);
            format!("{} ({})", stop.message, stop.hint)
        };
        assert!(problem(request("cartpol")).contains("did you mean `cartpole`?"));
        let file = std::env::temp_dir().join(format!("quickstudy-mistake-{}.toml", std::process::id()));
        std::fs::write(&file, "gama = 0.9").unwrap();
        let in_file = Request { config: Some(file.clone()), ..request("cartpole") };
        let text = problem(in_file);
        assert!(text.starts_with(&format!("{}: unknown key `gama`, did you mean `gamma`?", file.display())), "{text}");
        std::fs::remove_file(&file).unwrap();
        let mut asked = request("cartpole");
        asked.flags.algorithm = Some("pp0".into());
        assert!(problem(asked.clone()).contains("did you mean `ppo`?"));
        asked.flags.algorithm = None;
        assert!(problem(asked).contains("algorithm"));
        assert!(
            problem(Request { flags: RunKeys { env: None, ..request("x").flags }, ..Request::default() })
                .contains("--env")
        );
        let mut asked = request("cartpole");
        asked.settings = vec![("clip_esp".into(), 0.1.into())];
        assert!(problem(asked.clone()).contains("did you mean `clip_eps`?"));
        asked.settings = vec![("minibatches".into(), 7.into())];
        assert!(problem(asked).contains("must divide"));
    }
}
