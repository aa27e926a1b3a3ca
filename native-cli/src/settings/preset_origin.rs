//! Where the numbers of a preset are from.

/// The first sentence of a preset's leading comment, `PPO on X: the origin of its numbers.`, without what it is about.
/// Colons and full stops in brackets, as in `(arXiv:1903.08254; code: a.json)`, belong to what is said.
pub(crate) fn origin(text: &str) -> String {
    let comment: Vec<&str> = text.lines().map_while(|line| line.strip_prefix('#')).map(str::trim).collect();
    let comment = comment.join(" ");
    let about = outside_brackets(&comment, ": ").map_or(comment.as_str(), |at| &comment[at + 2..]);
    let sentence = outside_brackets(about, ". ").map_or(about, |at| &about[..at]);
    sentence.trim_end_matches('.').to_owned()
}

/// Where `sign` is first outside of brackets.
fn outside_brackets(text: &str, sign: &str) -> Option<usize> {
    let mut open = 0;
    text.char_indices().find_map(|(at, c)| {
        open += i32::from(c == '(') - i32::from(c == ')');
        (open == 0 && text[at..].starts_with(sign)).then_some(at)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::train::presets;

    #[test]
    fn an_origin_is_a_sentence_of_the_comment() {
        let text = "# PPO on X: the zoo (a.yml,\n# tuned). More.\nsteps = 1  # x\n";
        assert_eq!(origin(text), "the zoo (a.yml, tuned)");
        let text = "# PEARL on X (arXiv:1; code: a.json): theirs (b. c: d), tuned. From there: e.\n";
        assert_eq!(origin(text), "theirs (b. c: d), tuned");
    }

    #[test]
    fn each_preset_says_where_its_numbers_are_from() {
        for preset in presets().unwrap() {
            let (comment, origin) = (preset.text.trim_start_matches(['#', ' ']), origin(preset.text));
            assert!(!comment.starts_with(&origin), "{}: its comment is no `X on Y: origin`: {origin}", preset.name);
            let count = |bracket: char| origin.matches(bracket).count();
            assert_eq!(count('('), count(')'), "{}: {origin}", preset.name);
            assert!(!origin.ends_with([':', ',', ';', '(']) && origin.len() > 12, "{}: {origin}", preset.name);
        }
    }
}
