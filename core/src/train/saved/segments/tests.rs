use std::collections::BTreeMap;

use super::*;

/// A ring whose row p holds p and p + ½, and the segments on a disk.
struct Kept {
    ring: Ring,
    shape: [usize; 2],
    words: Vec<u32>,
    disk: BTreeMap<String, Vec<u8>>,
    /// The number of bytes that were appended.
    appended: usize,
}

impl Kept {
    fn new(rows: usize) -> Kept {
        let shape = [rows, 2];
        let ring = Ring::new("memory".to_owned(), &shape);
        Kept { ring, shape, words: vec![0; 2 * rows], disk: BTreeMap::new(), appended: 0 }
    }

    fn add(&mut self, from: u64, to: u64) {
        for row in from..to {
            let at = 2 * (row as usize % self.shape[0]);
            self.words[at..at + 2].copy_from_slice(&[row as f32, row as f32 + 0.5].map(f32::to_bits));
        }
    }

    /// Saves the rows like a snapshot after `added` rows, and deletes files that it does not name.
    fn save(&mut self, added: u64) {
        for stretch in self.ring.advance(&self.shape, added).unwrap() {
            let words = self.words[self.ring.elements(stretch)].to_vec();
            let (name, offset) = self.ring.put(stretch, &words).unwrap();
            let file = self.disk.entry(name).or_default();
            file.truncate(offset as usize);
            assert_eq!(file.len() as u64, offset);
            file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            self.appended += 4 * words.len();
        }
        let named: Vec<String> = self.ring.files().map(|(name, _)| name).collect();
        self.disk.retain(|name, _| named.contains(name));
        assert!(self.ring.files().all(|(name, bytes)| self.disk[&name].len() as u64 >= bytes));
    }

    fn read(&self) -> Result<Vec<u32>> {
        let mut words = vec![0; self.words.len()];
        let read = |name: &str, bytes: u64| {
            let file = self.disk.get(name).ok_or_else(|| Error::Snapshot(format!("{name} is gone")))?;
            Ok(file[..file.len().min(bytes as usize)].to_vec())
        };
        self.ring.read(true, &read, &mut |first, new| {
            words[first..first + new.len()].copy_from_slice(new);
            Ok(())
        })?;
        Ok(words)
    }

    fn check(&self, added: u64) {
        self.ring.check(&self.shape, added).unwrap();
        assert_eq!(self.read().unwrap(), self.words, "after {added} rows");
    }
}

#[test]
fn rows_are_appended_once_and_read_back_wherever_the_ring_begins() {
    for step in [1, 3, 7, 16, 17, 40] {
        let mut kept = Kept::new(17);
        for added in (step..200).step_by(step as usize) {
            kept.add(added - step, added);
            let before = kept.appended;
            kept.save(added);
            assert_eq!(kept.appended - before, 8 * step.min(17) as usize, "what is new, {step} rows at a time");
            kept.check(added);
            kept.save(added);
            assert_eq!(kept.appended - before, 8 * step.min(17) as usize, "nothing is new");
            // Segments have three rows. Six hold 17 rows; a seventh is there while the oldest row is in the middle of
            // the first.
            assert!(kept.disk.len() <= 7, "{:?}", kept.disk.keys());
        }
    }
}

#[test]
fn segments_are_the_same_whenever_snapshots_are_made() {
    let [mut often, mut rarely] = [Kept::new(64), Kept::new(64)];
    for (kept, step) in [(&mut often, 1), (&mut rarely, 50)] {
        for added in (step..=400).step_by(step as usize) {
            kept.add(added - step, added);
            kept.save(added);
        }
    }
    assert_eq!((&often.ring, &often.disk), (&rarely.ring, &rarely.disk));
    assert_eq!(often.ring.segments.len(), 8);
    // 400 is a multiple of the 8 rows of a segment.
    assert_eq!(often.ring.files().next().unwrap(), ("memory-336.rows".to_owned(), 64));
}

#[test]
fn a_ring_that_grows_before_it_is_full_goes_on_in_its_segments() {
    let mut kept = Kept::new(20);
    kept.add(0, 20);
    kept.save(20);
    let before: Vec<String> = kept.disk.keys().cloned().collect();
    kept.shape[0] = 50;
    kept.words.resize(100, 0);
    kept.add(20, 45);
    kept.save(45);
    kept.check(45);
    assert!(before.iter().all(|name| kept.disk.contains_key(name)), "{:?}", kept.disk.keys());
    kept.add(45, 130);
    kept.save(130);
    kept.check(130);
}

#[test]
fn what_follows_the_rows_of_a_snapshot_is_ignored_and_overwritten() {
    let mut kept = Kept::new(40);
    kept.add(0, 13);
    kept.save(13);
    for file in kept.disk.values_mut() {
        file.extend(b"half a row of a process that died");
    }
    assert_eq!(kept.read().unwrap(), kept.words);
    kept.add(13, 30);
    kept.save(30);
    kept.check(30);
}

#[test]
fn damage_is_an_error_that_names_the_segment() {
    let mut kept = Kept::new(40);
    kept.add(0, 100);
    kept.save(100);
    let names: Vec<String> = kept.disk.keys().cloned().collect();
    assert_eq!(names.len(), 8);
    for name in &names {
        let whole = kept.disk[name].clone();
        for at in 0..whole.len() {
            kept.disk.get_mut(name).unwrap()[at] ^= 1 << (at % 8);
            let error = kept.read().unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("damaged"), "{error}");
            kept.disk.insert(name.clone(), whole.clone());
        }
        kept.disk.get_mut(name).unwrap().truncate(whole.len() - 1);
        let error = kept.read().unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("bytes, expected"), "{error}");
        kept.disk.insert(name.clone(), whole.clone());
    }
    assert!(kept.read().is_ok());
    // A NaN is refused even if the checksum fits.
    let nan = f32::NAN.to_bits();
    kept.ring.segments[0].checksum = Checksum::EMPTY.over(&[nan; 10]);
    kept.disk.insert(names[0].clone(), nan.to_le_bytes().repeat(10));
    assert!(kept.read().unwrap_err().to_string().contains("holds NaN in row 60"));
}

#[test]
fn rings_that_cannot_be_are_refused() {
    let mut kept = Kept::new(16);
    kept.add(0, 21);
    kept.save(21);
    let good = kept.ring.clone();
    let problem = |change: &dyn Fn(&mut Ring)| {
        let mut ring = good.clone();
        change(&mut ring);
        ring.check(&[16, 2], 21).unwrap_err().to_string()
    };
    assert!(good.check(&[16, 2], 21).is_ok());
    assert!(problem(&|ring| ring.shape[1] = 3).contains("expected [16, 2]"));
    assert!(problem(&|ring| ring.added = 22).contains("22 rows"));
    let cannot: [&dyn Fn(&mut Ring); 6] = [
        &|ring| ring.segments.truncate(7),
        &|ring| ring.segments = ring.segments.split_off(1),
        &|ring| _ = ring.segments.remove(3),
        &|ring| ring.segments[0].first = u64::MAX,
        &|ring| ring.segments[2].rows = u64::MAX,
        &|ring| ring.segments[2].rows = 0,
    ];
    for change in cannot {
        assert!(problem(change).contains("do not hold its rows 5..21"));
    }
    // These segments are of another training.
    assert!(good.clone().advance(&[16, 2], 20).is_err());
    assert!(good.clone().advance(&[16, 3], 30).is_err());
}

#[test]
fn the_next_row_is_that_of_a_memory() {
    // Rows are counted as by `replay::ReplayMemory`, where R stands for the first row.
    assert_eq!([0, 1, 4, 5, 6, 10, 11].map(|added| Ring::next(5, added)), [0, 1, 4, 5, 1, 5, 1]);
}

#[test]
fn segments_are_limited_and_a_ring_has_eight() {
    let most = |shape: &[usize]| Ring::new(String::new(), shape).most();
    assert_eq!(most(&[1000, 42]), 125);
    assert_eq!(most(&[1, 42]), 1);
    // 64 MiB hold this number of rows of 168 bytes.
    assert_eq!(most(&[16_000_000, 42]), 399_457);
    assert_eq!(Ring::bytes_at_once(&[1_000_000, 42]), 21_000_000);
    assert!(Ring::bytes_at_once(&[16_000_000, 42]) <= 64 << 20);
}

#[test]
fn checksums_are_written_as_digits() {
    let segment = Segment { first: 3, rows: 2, checksum: Checksum(0xab) };
    let text = serde_json::to_string(&segment).unwrap();
    assert_eq!(text, r#"{"first":3,"rows":2,"checksum":"00000000000000ab"}"#);
    assert_eq!(serde_json::from_str::<Segment>(&text).unwrap(), segment);
    for digits in ["ab", "+0000000000000ab", "00000000000000xy"] {
        assert!(serde_json::from_str::<Segment>(&text.replace("00000000000000ab", digits)).is_err(), "{digits}");
    }
}
