//! The messages between this process and a worker.
//!
//! Each begins with its length without these four bytes (u32), its kind (u8), and three bytes of padding. Numbers are
//! little-endian. For n environments with observations of O numbers and actions of A:
//!
//! | kind | | content |
//! |---|---|---|
//! | 1 | make | JSON: the environment, their number, the time limit |
//! | 2 | reset | seeds u32\[n\] |
//! | 3 | step | seeds u32\[n\] for episodes that begin, padding to 8 bytes, actions f64\[n · A\] |
//! | 4 | set tasks | f64\[n · D\] |
//! | 5 | render | nothing; the answer has height u32, width u32, and three bytes per pixel |
//! | 6 | outcome, of 2 and 3 | rewards f64\[n\], observations f64\[n · O\], flags u8\[n\], success u8\[n\], padding |
//! | | | behind it the last observations f64\[k · O\] of the k episodes that ended, and JSON of exceptions |
//! | 7 | spec, of 1 | JSON |
//! | 8 | error, of any | JSON |

/// Kinds of messages.
pub(crate) mod kind {
    pub const MAKE: u8 = 1;
    pub const RESET: u8 = 2;
    pub const STEP: u8 = 3;
    pub const SET_TASKS: u8 = 4;
    pub const RENDER: u8 = 5;
    pub const OUTCOME: u8 = 6;
    pub const SPEC: u8 = 7;
    pub const ERROR: u8 = 8;
}

/// Bytes of length, kind and padding.
pub(crate) const HEAD: usize = 8;

/// A message that is being written; its buffer is used again.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

impl Message {
    /// Begins a message of this kind.
    pub fn begin(&mut self, kind: u8) -> &mut Message {
        self.0.clear();
        self.0.extend([0, 0, 0, 0, kind, 0, 0, 0]);
        self
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Message {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends words, and pads them to eight bytes.
    pub fn words(&mut self, words: impl Iterator<Item = u32>) -> &mut Message {
        words.for_each(|word| self.0.extend(word.to_le_bytes()));
        self.0.resize(self.0.len().next_multiple_of(8), 0);
        self
    }

    pub fn numbers(&mut self, numbers: &[f64]) -> &mut Message {
        numbers.iter().for_each(|number| self.0.extend(number.to_le_bytes()));
        self
    }

    /// The whole message, with its length.
    pub fn end(&mut self) -> &[u8] {
        let length = (self.0.len() - 4) as u32;
        self.0[..4].copy_from_slice(&length.to_le_bytes());
        &self.0
    }
}

/// Reads numbers from bytes, as many as there are whole ones.
pub(crate) fn numbers(bytes: &[u8]) -> impl Iterator<Item = f64> + '_ {
    bytes.as_chunks().0.iter().map(|bytes| f64::from_le_bytes(*bytes))
}
