//! `quickstudy python`: which Python runs environments, and what it has.

use crate::json::VERSION;
use crate::json::python::PythonLine;
use crate::outcome::Stop;
use crate::settings::python::PythonArgs;
use crate::terminal::json_args::JsonArgs;
use crate::terminal::output::say;
use quickstudy_bridge::Interpreter;

/// Arguments of `quickstudy python`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quickstudy python check
  quickstudy python check --python .venv
  quickstudy python check --json           a JSON object on each line
  quickstudy train ppo --env gymnasium:CartPole-v1
  quickstudy train sac --env 'gymnasium:Pendulum-v1?g=5.0' --workers 1
  quickstudy train ppo --env gymnasium:my_module:MyEnv-v0   of my_module.py here")]
pub(crate) struct PythonVerbArgs {
    /// The thing to do
    #[command(subcommand)]
    pub verb: PythonVerb,
}

/// The verbs of `quickstudy python`.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum PythonVerb {
    /// Show which Python runs environments, which packages it has, and how to install those that are missing
    Check(CheckArgs),
}

/// Arguments of `quickstudy python check`.
#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// How Python is run
    #[command(flatten)]
    pub python: PythonArgs,
    /// Results as lines of JSON
    #[command(flatten)]
    pub json: JsonArgs,
}

/// A package, the environments that need it, and the arguments of `pip install` for it.
struct Package {
    /// Its names in package indices; the first is shown.
    names: &'static [&'static str],
    purpose: &'static str,
    install: &'static str,
}

const PACKAGES: [Package; 6] = [
    Package { names: &["numpy"], purpose: "all environments", install: "numpy" },
    Package { names: &["gymnasium"], purpose: "gymnasium:ID", install: "gymnasium" },
    Package {
        names: &["pygame", "pygame-ce"],
        purpose: "pictures of CartPole and its like",
        install: "\"gymnasium[classic-control]\"",
    },
    Package { names: &["mujoco"], purpose: "HalfCheetah-v5 and its like", install: "\"gymnasium[mujoco]\"" },
    Package { names: &["box2d", "box2d-py"], purpose: "LunarLander-v3 and its like", install: "\"gymnasium[box2d]\"" },
    Package { names: &["ale-py"], purpose: "ALE/Pong-v5 and its like", install: "\"gymnasium[atari]\"" },
];

/// Packages without which no environment runs.
const NEEDED: [&str; 2] = ["numpy", "gymnasium"];

/// Runs the verb.
pub(crate) fn run(args: &PythonVerbArgs) -> Result<(), Stop> {
    let PythonVerb::Check(CheckArgs { python, json }) = &args.verb;
    json.reserve([])?;
    let interpreter = Interpreter::find(python.python.as_deref())?;
    let version = interpreter.version()?;
    say(&format!("python      {version:<12} {} ({})", interpreter.path.display(), interpreter.found));
    json.write(&PythonLine::Interpreter {
        version: VERSION,
        path: interpreter.path.display().to_string(),
        found: interpreter.found.clone(),
        python: version,
    })?;
    let mut missing = Vec::new();
    let versions = interpreter.packages(&PACKAGES.map(|package| package.names))?;
    for (Package { names, purpose, install }, version) in PACKAGES.iter().zip(versions) {
        let name = names[0];
        json.write(&PythonLine::Package {
            name: name.to_owned(),
            installed: version.clone(),
            purpose: (*purpose).to_owned(),
            needed: NEEDED.contains(&name),
            install: interpreter.install(install),
        })?;
        match version {
            Some(version) => say(&format!("{name:<11} {version:<12} {purpose}")),
            None => {
                say(&format!("{name:<11} {:<12} {purpose}: {}", "missing", interpreter.install(install)));
                missing.push(name);
            }
        }
    }
    let ready = !NEEDED.iter().any(|name| missing.contains(name));
    json.write(&PythonLine::Result { ready })?;
    if !ready {
        let install = interpreter.install("\"gymnasium[classic-control,mujoco]\"");
        return Err(Stop::user("this Python cannot run environments of Gymnasium").hint(format!("`{install}`")));
    }
    Ok(())
}
