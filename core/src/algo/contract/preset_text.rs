//! The texts of presets without what people read in them, for WebAssembly, where each byte is loaded and nobody does.

/// The text of a room's presets: whole, and in WebAssembly without comments, origins and kernels.
macro_rules! presets {
    ($file:literal) => {{
        const WHOLE: &str = include_str!($file);
        #[cfg(all(target_arch = "wasm32", not(test)))]
        const TEXT: &str = {
            const BARE: ([u8; WHOLE.len()], usize) = $crate::algo::bare(WHOLE);
            $crate::algo::text(BARE.0.split_at(BARE.1).0)
        };
        #[cfg(any(test, not(target_arch = "wasm32")))]
        const TEXT: &str = WHOLE;
        TEXT
    }};
}
pub(crate) use presets;

/// The keys of a preset that are left out: a line that begins with their first letters is no setting's.
#[cfg(any(test, target_arch = "wasm32"))]
const FOR_PEOPLE: [&[u8]; 2] = [b"\norigin = ", b"\nkernels = "];

/// A text without comments, from each `#` to the end of its line, and the spaces before that, and without the values
/// of [`FOR_PEOPLE`], which may go on behind a backslash: its bytes, and their number. No name and no value of a preset
/// has a `#`.
#[cfg(any(test, target_arch = "wasm32"))]
pub(crate) const fn bare<const N: usize>(whole: &str) -> ([u8; N], usize) {
    let (from, mut bytes, mut len) = (whole.as_bytes(), [0; N], 0);
    let (mut i, mut left_out) = (0, false);
    while i < from.len() {
        if from[i] == b'#' {
            left_out = true;
        }
        if from[i] == b'\n' && !(left_out && from[i - 1] == b'\\') {
            left_out = begins(from, i, FOR_PEOPLE[0]) || begins(from, i, FOR_PEOPLE[1]);
            while len > 0 && bytes[len - 1] == b' ' {
                len -= 1;
            }
            // Lines that are left out leave no empty ones.
            if len > 0 && bytes[len - 1] != b'\n' {
                bytes[len] = b'\n';
                len += 1;
            }
        } else if !left_out {
            bytes[len] = from[i];
            len += 1;
        }
        i += 1;
    }
    (bytes, len)
}

#[cfg(any(test, target_arch = "wasm32"))]
const fn begins(text: &[u8], at: usize, with: &[u8]) -> bool {
    let mut i = 0;
    while i < with.len() {
        if at + i >= text.len() || text[at + i] != with[i] {
            return false;
        }
        i += 1;
    }
    true
}

/// Bytes as text: what is left of a text without whole characters is one. A test sees that none is lost.
#[cfg(any(test, target_arch = "wasm32"))]
pub(crate) const fn text(bytes: &[u8]) -> &str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => "",
    }
}

#[cfg(test)]
mod tests {
    use super::{bare, text};
    use crate::train::ALGORITHMS;

    #[test]
    fn comments_and_origins_are_left_out() {
        const WHOLE: &str = "# σ of λ\n\n[[preset]]\na = 1 # one\n# b = 2\norigin = \"\"\"\\\n    é \\\n    f\"\"\"\n\
                             kernels = { x = 1 }\nc = [\"d\"]   # é\n";
        const BARE: ([u8; WHOLE.len()], usize) = bare(WHOLE);
        assert_eq!(text(BARE.0.split_at(BARE.1).0), "[[preset]]\na = 1\nc = [\"d\"]\n");
    }

    #[test]
    fn presets_without_comments_say_as_much() {
        for def in ALGORITHMS {
            let (bytes, len) = bare::<40_000>(def.presets);
            let bare = text(&bytes[..len]);
            let tables = |text: &str| {
                let mut file: toml::Table = toml::from_str(text).unwrap();
                for preset in file["preset"].as_array_mut().unwrap() {
                    let preset = preset.as_table_mut().unwrap();
                    preset.retain(|key, _| !["origin", "kernels"].contains(&key));
                }
                file
            };
            assert_eq!(tables(bare), tables(def.presets), "{}", def.name);
            let left = ["#", "origin", "kernels"].iter().find(|word| bare.contains(**word));
            assert_eq!(left, None, "{}", def.name);
        }
    }
}
