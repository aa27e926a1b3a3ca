//! Names of columns: those that are looked for, and all of them in words, for the titles of axes.

/// The column that orders rows: environment steps so far, summed over parallel environments.
pub(crate) const ENV_STEPS: &str = "time/env_steps";
/// Seconds of training so far.
pub(crate) const SECONDS: &str = "time/seconds";
/// Training return, as every algorithm reports it.
pub(crate) const EPISODE_RETURN: &str = "rollout/ep_return_mean";
/// Mean return of the evaluation in this iteration.
pub(crate) const EVAL_RETURN: &str = "eval/return_mean";

/// Titles that do not follow from the names.
const TITLES: [(&str, &str); 12] = [
    (ENV_STEPS, "environment steps"),
    (SECONDS, "seconds"),
    ("time/sps", "environment steps per second"),
    (EPISODE_RETURN, "training return"),
    (EVAL_RETURN, "evaluation return"),
    ("rollout/ep_return_median", "median training return"),
    ("rollout/ep_return_std", "deviation of training returns"),
    ("rollout/ep_return_max", "largest training return"),
    ("rollout/ep_return_min", "smallest training return"),
    ("rollout/ep_len_mean", "length of training episodes"),
    ("rollout/episodes", "training episodes"),
    ("eval/ep_len_mean", "length of evaluation episodes"),
];

/// Abbreviations in names, and what they stand for.
const LONG: [(&str, &str); 14] = [
    ("approx", "estimated"),
    ("clip", "clip"),
    ("coef", "weight"),
    ("eps", "epsilon"),
    ("ep", "episode"),
    ("frac", "fraction"),
    ("grad", "gradient"),
    ("kl", "KL divergence"),
    ("len", "length"),
    ("lr", "learning rate"),
    ("max", "maximum"),
    ("min", "minimum"),
    ("norm", "norm"),
    ("std", "deviation"),
];

/// The title of an axis along which a column of the metrics is drawn: `evaluation return` for `eval/return_mean`.
pub(crate) fn axis_title(metric: &str) -> String {
    if let Some((_, title)) = TITLES.iter().find(|(name, _)| *name == metric) {
        return (*title).to_owned();
    }
    let (group, name) = metric.rsplit_once('/').unwrap_or(("", metric));
    let words: Vec<String> = words(name).iter().map(|word| long(word)).collect();
    // What is measured of training and its clock needs no word for it; other groups have names in common.
    let first = match group {
        "" | "train" | "time" | "meta" => None,
        "MetaTest/Average" => Some("after adaptation:".to_owned()),
        other => Some(format!("{}:", other.replace(['/', '_'], " "))),
    };
    first.into_iter().chain(words).collect::<Vec<_>>().join(" ")
}

fn long(word: &str) -> String {
    LONG.iter().find(|(short, _)| *short == word).map_or(word, |(_, long)| long).to_owned()
}

/// The words of a name, `ep_len_mean` or `AverageReturn`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for c in name.chars() {
        if c == '_' || c.is_whitespace() || (c.is_uppercase() && words.last().is_some_and(|word| !word.is_empty())) {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c != '_' && !c.is_whitespace()) {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::train::METRIC_DOCS;
    use std::collections::BTreeSet;

    #[test]
    fn each_metric_has_a_title_in_words_of_its_own() {
        let titles: BTreeSet<String> = METRIC_DOCS.iter().map(|(name, _)| axis_title(name)).collect();
        assert_eq!(titles.len(), METRIC_DOCS.len(), "{titles:?}");
        for title in titles {
            assert!(!title.contains(['_', '/']) && title.len() < 48 && title.len() > 3, "{title}");
        }
        for (name, title) in [
            ("eval/return_mean", "evaluation return"),
            ("train/value_loss", "value loss"),
            ("train/approx_kl", "estimated KL divergence"),
            ("meta/step_1_return", "step 1 return"),
            ("MetaTest/Average/AverageReturn", "after adaptation: average return"),
            ("particles/distance", "particles: distance"),
            ("mine", "mine"),
        ] {
            assert_eq!(axis_title(name), title);
        }
    }
}
