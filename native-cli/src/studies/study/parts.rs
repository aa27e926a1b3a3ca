//! The pairs of a study, as they are typed: lists with commas.

use crate::outcome::Stop;
use crate::settings::register;
use crate::settings::request::Request;
use crate::settings::run_settings::RunSettings;
use quickstudy_bridge::is_name;

/// An algorithm and an environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The algorithm.
    pub algorithm: String,
    /// The environment, with its parameters.
    pub env: String,
}

impl Pair {
    /// The request with this pair in the place of its lists.
    pub(crate) fn request(&self, request: &Request) -> Request {
        let (algorithm, env) = (Some(self.algorithm.clone()), Some(self.env.clone()));
        Request { flags: RunSettings { algorithm, env, ..request.flags.clone() }, ..request.clone() }
    }
}

/// All pairs of the algorithms and environments that a request names, environment by environment; none where one of
/// the two is not named.
pub(crate) fn pairs(request: &Request) -> Result<Vec<Pair>, Stop> {
    let run = request.run()?;
    let (Some(algorithms), Some(envs)) = (&run.algorithm, &run.env) else { return Ok(Vec::new()) };
    let (algorithms, envs) = (list(algorithms, "algorithm")?, list(envs, "environment")?);
    let pair = |env: &String, algorithm: &String| Pair { algorithm: algorithm.clone(), env: env.clone() };
    Ok(envs.iter().flat_map(|env| algorithms.iter().map(move |algorithm| pair(env, algorithm))).collect())
}

/// The names in a list with commas. A part `key=value` belongs to the name before it, as in
/// `bandit:arms=10,pulls=100`, and so does what is in brackets or quotes, or what follows `?` and is no environment.
fn list(text: &str, what: &str) -> Result<Vec<String>, Stop> {
    let mut names: Vec<String> = Vec::new();
    for part in split(text) {
        let part = part.trim();
        if part.is_empty() {
            return Err(Stop::user(format!("the list of {what}s `{text}` has an empty part"))
                .hint(format!("write the names of {what}s with a comma between two of them")));
        }
        match names.last_mut() {
            Some(name) if is_parameter(part) && name.contains(':') => *name += &format!(",{part}"),
            // A value of a parameter of Gymnasium may be a list, whose parts are no environments.
            Some(name) if name.contains('?') && !is_environment(part) => *name += &format!(",{part}"),
            _ => names.push(part.to_owned()),
        }
    }
    for (number, name) in names.iter().enumerate() {
        if names[..number].contains(name) {
            return Err(Stop::user(format!("the {what} `{name}` is named twice")));
        }
    }
    Ok(names)
}

/// Splits at commas that are in no brackets and no quotes.
pub(crate) fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut depth, mut quoted) = (Vec::new(), 0, 0_i32, false);
    for (at, letter) in text.char_indices() {
        match letter {
            '"' => quoted = !quoted,
            '[' | '{' | '(' if !quoted => depth += 1,
            ']' | '}' | ')' if !quoted => depth -= 1,
            ',' if !quoted && depth <= 0 => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

/// Tells whether a part begins with the name of an environment that there is, or is one of Python.
fn is_environment(part: &str) -> bool {
    let name = part.split(':').next().unwrap_or(part);
    is_name(part) || register::environment_names().contains(&name)
}

/// Tells whether a part is `key=value`.
fn is_parameter(part: &str) -> bool {
    let key = part.split_once('=').map_or("", |(key, _)| key);
    key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !key.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envs(text: &str) -> Result<Vec<String>, String> {
        list(text, "environment").map_err(|stop| stop.message)
    }

    #[test]
    fn parameters_belong_to_the_environment_before_them() {
        let names = |text: &str| envs(text).unwrap();
        assert_eq!(names("cartpole"), ["cartpole"]);
        assert_eq!(names("cartpole,pendulum"), ["cartpole", "pendulum"]);
        assert_eq!(names("bandit:arms=10,pulls=100"), ["bandit:arms=10,pulls=100"]);
        assert_eq!(
            names("cartpole,bandit:arms=10,pulls=100,pendulum:time_limit=50, acrobot"),
            ["cartpole", "bandit:arms=10,pulls=100", "pendulum:time_limit=50", "acrobot"]
        );
        assert_eq!(
            names("bandit:arms=5,bandit:arms=10,pulls=3"),
            ["bandit:arms=5", "bandit:arms=10,pulls=3"],
            "a name with a colon begins an environment"
        );
        let python = "gymnasium:A-v0?x=[1,2]&y=\"a,b\",gymnasium:B-v1";
        assert_eq!(names(python), ["gymnasium:A-v0?x=[1,2]&y=\"a,b\"", "gymnasium:B-v1"]);
        let lists = "gymnasium:A-v0?x=a,a,b&y=1,cartpole,gymnasium:A-v0?x=a";
        assert_eq!(names(lists), ["gymnasium:A-v0?x=a,a,b&y=1", "cartpole", "gymnasium:A-v0?x=a"]);
    }

    #[test]
    fn lists_with_mistakes_are_refused() {
        assert!(envs("cartpole,,pendulum").unwrap_err().contains("empty part"));
        assert!(envs("cartpole,").unwrap_err().contains("empty part"));
        assert!(envs("cartpole,pendulum,cartpole").unwrap_err().contains("`cartpole` is named twice"));
        // No environment is before it whose parameter it could be: it is looked up, and not known.
        assert_eq!(envs("cartpole,arms=3").unwrap(), ["cartpole", "arms=3"]);
    }

    #[test]
    fn each_algorithm_meets_each_environment() {
        let flags = RunSettings {
            algorithm: Some("ppo,a2c".into()),
            env: Some("cartpole,pendulum".into()),
            ..RunSettings::default()
        };
        let request = Request { flags, ..Request::default() };
        let all = pairs(&request).unwrap();
        let names: Vec<String> = all.iter().map(|pair| format!("{} {}", pair.algorithm, pair.env)).collect();
        assert_eq!(names, ["ppo cartpole", "a2c cartpole", "ppo pendulum", "a2c pendulum"]);
        let one = all[3].request(&request);
        assert_eq!((one.flags.algorithm.as_deref(), one.flags.env.as_deref()), (Some("a2c"), Some("pendulum")));
        assert!(pairs(&Request::default()).unwrap().is_empty());
    }
}
