//! Values that share a buffer, because a loop in one kernel touches more of them than it may bind. The first of these
//! buffers also has the small values of a program.

use std::collections::HashMap;

use super::spot::{Home, Key, Spot};

/// Which values share a buffer: the program's own first buffers.
#[derive(Debug)]
pub(super) struct Packs {
    /// Pack and first word in it.
    of: HashMap<Key, [usize; 2]>,
    lens: Vec<usize>,
    /// The wishes, in their order.
    wished: Vec<(Key, usize)>,
}

impl Default for Packs {
    fn default() -> Packs {
        Packs { of: HashMap::new(), lens: vec![0], wished: Vec::new() }
    }
}

impl Packs {
    /// Number of words of each pack.
    pub fn lens(&self) -> Vec<usize> {
        self.lens.clone()
    }

    /// The place of a value in a pack, if one holds it.
    pub fn find(&self, key: Key) -> Option<Spot> {
        let [pack, first] = *self.of.get(&key)?;
        Some(Spot { home: Home::Own(pack), first, key: None })
    }

    /// Notes that a value should be in a pack.
    pub fn wish(&mut self, key: Key, len: usize) {
        if !self.wished.iter().any(|w| w.0 == key) {
            self.wished.push((key, len));
        }
    }

    /// Make room for all that is wished for, in buffers of at most that many words. True if anything is new.
    pub fn grant(&mut self, wishes: &Packs, most: usize) -> bool {
        let before = self.of.len();
        for (key, len) in &wishes.wished {
            if self.of.contains_key(key) || *len > most {
                continue;
            }
            let pack = match self.lens.iter().position(|n| n + len <= most) {
                Some(pack) => pack,
                None => {
                    self.lens.push(0);
                    self.lens.len() - 1
                }
            };
            self.of.insert(*key, [pack, self.lens[pack]]);
            self.lens[pack] += len;
        }
        self.of.len() > before
    }
}
