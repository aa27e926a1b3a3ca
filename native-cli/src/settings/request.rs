//! Requests of `train`: layers of settings resolved into a setup, and the text of `config.toml`.

use crate::outcome::Stop;
use crate::settings::run_settings::RunSettings;
use crate::settings::values::{Kind as _, Seeds, Sources};
use crate::settings::{config, register};
use quickstudy_core::Error;
use quickstudy_core::algo::{AlgorithmDef, Family};
use quickstudy_core::env::EnvSpec;
use quickstudy_core::meta::TestSizes;
use quickstudy_core::train::{Layer, Setting, Setup};
use std::path::PathBuf;
use toml::{Table, Value};

/// Flags that are layers of settings.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Dedicated flags.
    pub flags: RunSettings,
    /// `--config`.
    pub config: Option<PathBuf>,
    /// `--set`.
    pub settings: Vec<(String, Value)>,
}

impl Request {
    /// Settings of the run that were given, flags before `--set` before the file.
    pub(crate) fn run(&self) -> Result<RunSettings, Stop> {
        let of_file = self.config.as_deref().map(config::read_file).transpose()?.unwrap_or_default().0;
        Ok(self.flags.clone().or(config::from_settings(&self.settings)?.0).or(of_file))
    }
}

/// A resolved request.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Algorithm, environment, seeds, steps and the algorithm's settings.
    pub setup: Setup,
    /// Settings of the run that were given.
    pub run: RunSettings,
    /// The sources of the seeds in order, where each begins with the parameters of another run.
    sources: Vec<PathBuf>,
    /// Settings of the run with their origins.
    shown: Vec<Setting>,
}

impl Plan {
    /// Resolves defaults < preset < file < `--set` < flags.
    pub(crate) fn resolve(request: &Request) -> Result<Self, Stop> {
        let (file_name, (file_keys, file_settings)) = match &request.config {
            Some(path) => (path.display().to_string(), config::read_file(path)?),
            None => Default::default(),
        };
        let (set_keys, set_settings) = config::from_settings(&request.settings)?;
        let run = request.flags.clone().or(set_keys.clone()).or(file_keys.clone());
        let missing = |what: &str, hint: &str| Stop::user(format!("no {what} was named")).hint(hint);
        let algorithm = run.algorithm.as_deref().ok_or_else(|| {
            missing("algorithm", &format!("`quickstudy train {} --env cartpole`", register::algorithm_names()[0]))
        })?;
        let env = (run.env.as_deref())
            .ok_or_else(|| missing("environment", "name one with --env; `quickstudy list` shows them"))?;
        let seeds = run.seed.clone().unwrap_or_else(|| vec![0]);

        let layers = [
            Layer { origin: format!("--config {file_name}"), settings: file_settings },
            Layer { origin: "--set".to_owned(), settings: set_settings },
        ];
        // The algorithm first: with an unknown one nothing else means anything.
        let definition = register::algorithm(algorithm)?;
        let env = register::environment(env)?;
        let spec = env.spec().clone();
        let setup = Setup::resolve(definition, env, &seeds, run.length(), &layers).map_err(|error| {
            // A mistake in a file is found sooner with the file's name.
            let in_file = match &error {
                Error::Unknown { kind: "key", name: key, .. } | Error::Config { key, .. } => layers
                    .iter()
                    .rev()
                    .find(|l| l.settings.contains_key(key))
                    .is_some_and(|l| l.origin.starts_with("--config")),
                _ => false,
            };
            let instead = instead(&error, definition, &spec, &layers);
            let stop = Stop::from(error);
            let stop = match instead {
                Some(instead) => stop.hint(instead),
                None => stop,
            };
            if in_file { stop.about(&file_name) } else { stop }
        })?;

        let sizes = run.meta_test().values();
        let size = TestSizes::KEYS.iter().zip(sizes).find(|(_, size)| size.is_some());
        if let (Some((key, _)), Family::SingleTask) = (size, setup.algorithm.family) {
            let message = format!("{key}: a policy of {algorithm} does not adapt, so that there is no meta-test");
            return Err(Stop::user(message).hint("leave it out; --eval-episodes says how many episodes are played"));
        }
        let file_origin = format!("--config {file_name}");
        let layers = [(&request.flags, None), (&set_keys, Some("--set".to_owned())), (&file_keys, Some(file_origin))];
        let shown = RunSettings::resolved(&layers, &setup);
        Ok(Self { setup, run, sources: Vec::new(), shown })
    }

    /// Notes the run or snapshot whose parameters each seed begins with, where several were named: a configuration is
    /// that of one seed.
    pub(crate) fn set_sources(&mut self, sources: Vec<PathBuf>) {
        self.sources = sources;
    }

    /// The text of `config.toml` for one seed.
    pub(crate) fn config_toml(&self, seed: u64) -> String {
        let mut all = self.shown.clone();
        let number = self.setup.seeds.iter().position(|other| *other == seed);
        let source = number.and_then(|number| self.sources.get(number)).map(|source| vec![source.clone()]);
        for setting in &mut all {
            match (setting.key.as_str(), &source) {
                // As a flag: a file or `--set` may have named other seeds too.
                ("seed", _) => (setting.value, setting.origin) = (Seeds::write(&vec![seed]), "--seed".to_owned()),
                ("from", Some(source)) => setting.value = Sources::write(source),
                _ => {}
            }
        }
        all.extend(self.setup.settings.iter().cloned());
        config::render(&all)
    }
}

/// Names what would fit where an algorithm with the settings of these layers refuses an environment: environments that
/// it takes, and algorithms that take the environment. None if the refusal is not about the environment, or nothing
/// else fits either.
fn instead(error: &Error, algorithm: &AlgorithmDef, env: &EnvSpec, layers: &[Layer]) -> Option<String> {
    let Error::Config { key, .. } = error else { return None };
    let settings: Table = layers.iter().flat_map(|layer| layer.settings.clone()).collect();
    if algorithm.fit(&settings, env).is_ok() {
        return None;
    }
    let takes = |name: &&str| register::environment(name).is_ok_and(|env| algorithm.fit(&settings, env.spec()).is_ok());
    let environments: Vec<&str> = register::environment_names().into_iter().filter(takes).collect();
    // With another algorithm, its settings would be others.
    let is_env = key == "env";
    let algorithms = register::algorithms().filter(|def| is_env && def.fit(&Table::new(), env).is_ok());
    let algorithms: Vec<&str> = algorithms.map(|def| def.name).collect();
    let (name, place) = (algorithm.name, &env.name);
    let with = if is_env { String::new() } else { format!(" with {key} = {}", settings.get(key)?) };
    let of_environments = (!environments.is_empty()).then(|| format!("{name}{with} takes {}", environments.join(", ")));
    let of_algorithms = (!algorithms.is_empty()).then(|| format!("{place} is for {}", algorithms.join(", ")));
    let all: Vec<String> = [of_environments, of_algorithms].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::scratch;
    use quickstudy_core::algo::PpoConfig;
    use quickstudy_core::settings::Settings as _;

    fn request(env: &str) -> Request {
        let flags = RunSettings { algorithm: Some("ppo".into()), env: Some(env.into()), ..RunSettings::default() };
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
        let (every, episodes) = (plan.run.eval_every(&plan.setup), plan.run.eval_episodes(&plan.setup));
        assert_eq!((plan.setup.steps, every, episodes), (20_000, 2000, 20));
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
            problem(Request { flags: RunSettings { env: None, ..request("x").flags }, ..Request::default() })
                .contains("--env")
        );
        let mut asked = request("cartpole");
        asked.settings = vec![("clip_esp".into(), 0.1.into())];
        assert!(problem(asked.clone()).contains("did you mean `clip_eps`?"));
        asked.settings = vec![("minibatches".into(), 7.into())];
        assert!(problem(asked).contains("must divide"));
    }
}
