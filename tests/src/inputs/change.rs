//! Changed copies of a corpus, the same for the same seed.

use quickstudy_core::rng::Threefry;

/// Numbers at which something may overflow, round or end.
const NUMBERS: [&str; 24] = [
    "0",
    "-1",
    "1",
    "2",
    "7",
    "255",
    "256",
    "65535",
    "65536",
    "1000000",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "1e308",
    "1e999",
    "-1e-320",
    "0.1",
    "nan",
    "inf",
];

/// Longest input.
const LONGEST: usize = 1 << 16;

pub(super) struct Changer<'a> {
    corpus: &'a [Vec<u8>],
    words: &'a [&'a str],
    rng: Threefry,
}

impl<'a> Changer<'a> {
    pub fn new(corpus: &'a [Vec<u8>], words: &'a [&'a str], seed: u32) -> Changer<'a> {
        Changer { corpus, words, rng: Threefry::new([seed, 0x1217]) }
    }

    fn below(&mut self, n: usize) -> usize {
        self.rng.word() as usize % n.max(1)
    }

    fn other(&mut self) -> &'a [u8] {
        let index = self.below(self.corpus.len());
        &self.corpus[index]
    }

    /// One of the corpus with one to eight changes.
    pub fn next(&mut self) -> Vec<u8> {
        let mut input = self.other().to_vec();
        for _ in 0..1 << self.below(4) {
            self.change(&mut input);
            input.truncate(LONGEST);
        }
        input
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let most = 1 << self.below(9);
        let length = 1 + self.below(most);
        let range = at..(at + length).min(input.len());
        match self.below(9) {
            0 if at < input.len() => input[at] ^= 1 << self.below(8),
            1 if at < input.len() => input[at] = self.rng.word() as u8,
            2 => drop(input.drain(range)),
            3 => {
                let copy = input[range].to_vec();
                let to = self.below(input.len() + 1);
                input.splice(to..to, copy);
            }
            4 => {
                let other = self.other();
                let from = self.below(other.len() + 1);
                let piece = other[from..(from + length).min(other.len())].to_vec();
                input.splice(range, piece);
            }
            5 if !self.words.is_empty() => {
                let index = self.below(self.words.len());
                input.splice(at..at, self.words[index].bytes());
            }
            6 => {
                let number = NUMBERS[self.below(NUMBERS.len())];
                input.splice(at..at, number.bytes());
            }
            _ => self.number(input, at),
        }
    }

    /// Replace the number that is next in a text.
    fn number(&mut self, input: &mut Vec<u8>, at: usize) {
        let digit = |byte: &u8| byte.is_ascii_digit();
        let Some(start) = input[at..].iter().position(digit).map(|i| at + i) else { return };
        let end = input[start..].iter().position(|byte| !digit(byte)).map_or(input.len(), |i| start + i);
        let number = NUMBERS[self.below(NUMBERS.len())];
        input.splice(start..end, number.bytes());
    }
}
