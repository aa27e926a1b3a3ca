//! Text within pages and drawings: whatever a name of a run holds, it is shown and not obeyed.

/// Text for the content and the attributes of elements of HTML and SVG.
///
/// Characters of control and those that turn the direction of writing are shown as replacement characters; ends of
/// lines and tabs stay.
pub(crate) fn escaped(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_sign_of_markup_is_left() {
        assert_eq!(escaped("a<b & \"c\" 'd'>"), "a&lt;b &amp; &quot;c&quot; &#39;d&#39;&gt;");
        assert_eq!(escaped("\u{1b}[31m\u{202e}x\n\ty\r\u{0}é"), "\u{fffd}[31m\u{fffd}x\n\ty\u{fffd}\u{fffd}é");
    }
}
