//! The texts of presets without their comments, for WebAssembly, where each byte is loaded and nobody reads them.

/// The text of a preset's file: whole, and in WebAssembly without comments.
macro_rules! file {
    ($name:literal) => {{
        const WHOLE: &str = include_str!(concat!("presets/", $name));
        #[cfg(target_arch = "wasm32")]
        const TEXT: &str = {
            use $crate::train::setup::without_comments::{text, without_comments};
            const BARE: ([u8; WHOLE.len()], usize) = without_comments(WHOLE);
            text(BARE.0.split_at(BARE.1).0)
        };
        #[cfg(not(target_arch = "wasm32"))]
        const TEXT: &str = WHOLE;
        TEXT
    }};
}
pub(super) use file;

/// A text from each `#` to the end of its line left out, and the spaces before that: its bytes, and how many they are.
/// No name and no value of a preset has a `#`.
#[cfg(any(test, target_arch = "wasm32"))]
pub(in crate::train) const fn without_comments<const N: usize>(whole: &str) -> ([u8; N], usize) {
    let (from, mut bytes, mut len) = (whole.as_bytes(), [0; N], 0);
    let (mut i, mut comment) = (0, false);
    while i < from.len() {
        if from[i] == b'#' {
            comment = true;
        }
        if from[i] == b'\n' {
            comment = false;
            while len > 0 && bytes[len - 1] == b' ' {
                len -= 1;
            }
        }
        // Lines of comments leave no empty ones.
        if !comment && (from[i] != b'\n' || len > 0 && bytes[len - 1] != b'\n') {
            bytes[len] = from[i];
            len += 1;
        }
        i += 1;
    }
    (bytes, len)
}

/// Bytes as text: what is left of a text without some whole lines and their ends is one. A test sees that none is lost.
#[cfg(any(test, target_arch = "wasm32"))]
pub(in crate::train) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{text, without_comments};
    use crate::train::presets;

    #[test]
    fn presets_without_comments_say_as_much() {
        const WHOLE: &str = "# σ of λ\n\na = 1 # one\n# b = 2\nc = [\"d\"]   # é\n";
        const BARE: ([u8; WHOLE.len()], usize) = without_comments(WHOLE);
        assert_eq!(text(BARE.0.split_at(BARE.1).0), "a = 1\nc = [\"d\"]\n");
        for preset in presets().unwrap() {
            let (bytes, len) = without_comments::<10_000>(preset.text);
            let bare = text(&bytes[..len]);
            let table = |text: &str| toml::from_str::<toml::Table>(text).unwrap();
            assert_eq!(table(bare), table(preset.text), "{}", preset.name);
            let shorter = bare.len() < preset.text.len() || cfg!(target_arch = "wasm32");
            assert!(!bare.contains('#') && shorter, "{}", preset.name);
        }
    }
}
