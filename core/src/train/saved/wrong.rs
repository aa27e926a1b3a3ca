//! Errors about files whose content is wrong.

use crate::Error;

/// Makes an error whose text may quote the file.
pub(in crate::train) fn wrong(problem: impl AsRef<str>) -> Error {
    Error::Snapshot(shown(problem.as_ref()))
}

/// The most characters of a message.
const LONGEST: usize = 400;

/// Makes text from a file fit to be shown: on one line, of limited length, and without characters that control
/// terminals.
pub(in crate::train) fn shown(text: &str) -> String {
    let steers = |c: char| {
        c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let mut safe = String::new();
    for (i, c) in text.chars().enumerate() {
        match c {
            _ if i == LONGEST => {
                safe.push('…');
                break;
            }
            c if steers(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    safe
}
