//! Text as others read it: words of a shell, cells of CSV files, markup.

use super::is_no_letter;
use std::ffi::OsStr;
use std::fmt::Write as _;

/// An argument as a shell would need it typed: as it is where that is safe, otherwise in quotes. What
/// cannot be typed, such as control characters and bytes that are no text, is written in `$'…'`, which
/// bash, zsh and ksh turn into the same bytes again.
pub(crate) fn shell_quote(argument: impl AsRef<OsStr>) -> String {
    let bytes = argument.as_ref().as_encoded_bytes();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:+@%".contains(c);
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(plain) => text.to_owned(),
        Ok(text) if !text.chars().any(is_no_letter) => format!("'{}'", text.replace('\'', r"'\''")),
        _ => escaped(bytes),
    }
}

/// A cell of a CSV file, in quotes if it needs them.
pub(crate) fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) {
        true => csv_text(text),
        false => text.to_owned(),
    }
}

/// A cell of a CSV file in quotes.
pub(crate) fn csv_text(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Text for the content and the attributes of elements of HTML and SVG: whatever a name of a run holds, it is shown and
/// not obeyed.
///
/// Characters of control and those that turn the direction of writing are shown as replacement characters; ends of
/// lines and tabs stay.
pub(crate) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            _ if c.is_control() || turns(c) => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

/// Tells whether a character changes how the letters around it are ordered, by which a name may look like another.
fn turns(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn escaped(bytes: &[u8]) -> String {
    let mut text = "$'".to_owned();
    // Three octal digits end by themselves, whatever follows.
    let octal = |text: &mut String, bytes: &[u8]| bytes.iter().for_each(|byte| _ = write!(text, "\\{byte:03o}"));
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\'' | '\\' => text.extend(['\\', c]),
                '\n' => text.push_str("\\n"),
                '\t' => text.push_str("\\t"),
                c if is_no_letter(c) => octal(&mut text, c.encode_utf8(&mut [0; 4]).as_bytes()),
                c => text.push(c),
            }
        }
        octal(&mut text, chunk.invalid());
    }
    text.push('\'');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        for (word, quoted) in [
            ("runs/cartpole-ppo-s0", "runs/cartpole-ppo-s0"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("ünï", "'ünï'"),
            ("\u{1b}[31mred'\\", r"$'\033[31mred\'\\'"),
            ("a\nb\t\u{202e}1", r"$'a\nb\t\342\200\2561'"),
        ] {
            assert_eq!(shell_quote(word), quoted);
        }
    }

    #[test]
    fn no_sign_of_markup_is_left() {
        assert_eq!(markup("a<b & \"c\" 'd'>"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;");
        assert_eq!(markup("\u{1b}[31m\u{202e}x\n\ty\r\u{0}é"), "\u{fffd}[31m\u{fffd}x\n\ty\u{fffd}\u{fffd}é");
    }

    #[test]
    fn cells_with_commas_are_quoted() {
        assert_eq!([csv_cell("ppo"), csv_cell("h=[64,\"x\"]")], ["ppo", "\"h=[64,\"\"x\"\"]\""]);
    }

    #[test]
    #[cfg(unix)]
    fn a_shell_makes_the_same_bytes_again() {
        use std::os::unix::ffi::OsStrExt as _;
        // Each byte but 0, which no argument holds, before a digit.
        let all: Vec<u8> = (1..=255).flat_map(|byte| [byte, b'7']).collect();
        for word in [&all[..], b"\xff\xfe", b"'\\'", "\u{9b}31m".as_bytes()] {
            let quoted = shell_quote(OsStr::from_bytes(word));
            assert!(!quoted.chars().any(is_no_letter), "{quoted}");
            let script = format!("printf %s {quoted}");
            let Ok(made) = std::process::Command::new("bash").args(["-c", &script]).output() else { return };
            assert_eq!(made.stdout, word, "{quoted}");
        }
    }
}
