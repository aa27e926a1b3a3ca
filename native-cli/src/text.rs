//! Words and numbers as people read them: on a terminal, in a shell, in tables and pictures.

pub(crate) mod columns;
pub(crate) mod markup;
pub(crate) mod numbers;
pub(crate) mod program;
pub(crate) mod quote;

use std::borrow::Cow;

/// The text on one line, without characters that steer a terminal or cannot be seen: names of files, settings or
/// snapshots may hold any, which are shown and not obeyed.
pub(crate) fn one_line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_no_letter) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if is_no_letter(c) { safe.extend(c.escape_unicode()) } else { safe.push(c) }
    }
    Cow::Owned(safe)
}

/// Tells whether a character steers terminals or cannot be seen.
pub(crate) fn is_no_letter(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_steer_a_terminal() {
        assert_eq!(one_line("plain – ünïcode"), "plain – ünïcode");
        assert_eq!(one_line("\u{1b}[31mred\r\u{202e}"), "\\u{1b}[31mred\\u{d}\\u{202e}");
        assert_eq!(one_line("a\nerror: b"), "a\\u{a}error: b");
    }
}
