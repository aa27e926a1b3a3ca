//! Warm starts: training that begins with the results of other runs.

use crate::algo::{First, StateEntry};
use crate::nn::Layout;
use crate::train::saved::rules::RunLength;
use crate::train::saved::snapshot::{self, Decoded, Entry, SnapshotKind};
use crate::train::saved::tensors;
use crate::train::saved::wrong::wrong;
use crate::train::session::Session;
use crate::train::setup::own::Own;
use crate::{DType, Error, Result};

/// Settings that change the meaning of the same parameters.
const MEANINGS: [&str; 3] = ["activation", "reset", "normalise_observations"];

impl Session {
    /// Begins with the results of other runs, before the first iteration: the parameters of policy and critics, their
    /// targets, and the statistics by which observations and rewards are normalised. Optimisers, schedules, random
    /// numbers and replay buffers begin anew.
    ///
    /// A single snapshot is for all seeds. If there is one per seed, each is for the seed of the same number, or, if
    /// the runs had other seeds, for the seeds in order. A snapshot may be a session's, whose segments are not needed,
    /// or a policy's. With a policy's, targets are copies of its networks, and because it has no counts, its statistics
    /// of observations last until those of the first iteration replace them. The run may have been of another algorithm
    /// or on another environment with the same networks.
    ///
    /// Snapshots of this session hold everything: [`Session::restore`] no longer needs the others. Returns, for each
    /// seed, the number of the snapshot from which it begins.
    ///
    /// # Errors
    /// [`Error::Snapshot`] if the bytes are no snapshots or their networks are others; [`Error::Config`] for another
    /// number of snapshots; [`Error::Program`] after the first iteration.
    pub fn start_from<'a>(&mut self, own: impl Into<Own<'a>>, snapshots: &[&[u8]]) -> Result<Vec<usize>> {
        if self.iteration() > 0 {
            return Err(Error::Program("training begins with other parameters before its first iteration".to_owned()));
        }
        let own = own.into();
        let decoded: Vec<Decoded<'_>> =
            snapshots.iter().map(|file| snapshot::decode(file, own.algorithms)).collect::<Result<_>>()?;
        let seeds = self.setup().seeds.clone();
        let sources = sources(&seeds, &decoded.iter().map(|(header, ..)| header.seed).collect::<Vec<_>>())?;
        let required = self.setup().fitted().policy_entries();
        let entries: Vec<StateEntry> =
            self.entries().into_iter().filter(|entry| is_learned(entry) || required.contains(&entry.name)).collect();
        // The bytes are the words of each file and of the stack.
        let elements: usize = entries.iter().map(|entry| entry.shape.iter().product::<usize>()).sum();
        let bytes = 4 * elements as u64 * (snapshots.len() + seeds.len()) as u64;
        let _copies = self.device().take_on_host(bytes)?;
        let mut learned = Vec::with_capacity(decoded.len());
        for file in &decoded {
            self.check_meanings(file)?;
            learned.push(learned_by(file, &entries, &required, self.layout())?);
        }
        let mut arrays = Vec::with_capacity(entries.len());
        for (i, entry) in entries.iter().enumerate() {
            let shape = [&[seeds.len()], &entry.shape[..]].concat();
            let words: Vec<u32> = sources.iter().flat_map(|source| learned[*source][i].iter().copied()).collect();
            let array = match entry.dtype {
                DType::U32 => self.device().array_u32(&shape, &words)?,
                DType::F32 => self.device().array_f32(&shape, bytemuck::cast_slice(&words))?,
            };
            arrays.push((entry.name, array));
        }
        arrays.into_iter().for_each(|(name, array)| self.state_mut().insert(name, array));
        Ok(sources)
    }

    /// Checks the settings that the shapes of tensors do not tell.
    fn check_meanings(&self, (header, ..): &Decoded<'_>) -> Result<()> {
        for setting in self.setup().settings.iter().filter(|setting| MEANINGS.contains(&setting.key.as_str())) {
            if let Some(other) = header.config.get(&setting.key).filter(|other| **other != setting.value) {
                let (key, own) = (&setting.key, &setting.value);
                return Err(wrong(format!("its networks have {key} = {other}, and those of this run {key} = {own}")));
            }
        }
        Ok(())
    }
}

/// Tells whether a warm start copies an entry.
fn is_learned(entry: &StateEntry) -> bool {
    entry.statistics || matches!(entry.first, First::Parameters(_))
}

/// The number of the snapshot from which each seed begins; `of` has the snapshots' seeds.
fn sources(seeds: &[u64], of: &[u64]) -> Result<Vec<usize>> {
    let same = |seed: &u64| of.iter().position(|other| other == seed);
    match of.len() {
        1 => Ok(vec![0; seeds.len()]),
        n if n == seeds.len() => {
            let same: Option<Vec<usize>> = seeds.iter().map(same).collect();
            Ok(same.unwrap_or_else(|| (0..n).collect()))
        }
        n => {
            let seeds = seeds.len();
            let problem = format!("{n} snapshots for {seeds} seeds; give one for all seeds, or one for each");
            Err(Error::config("from", problem))
        }
    }
}

/// Reads the words of these entries from a file; statistics that it does not have begin with their first values. A
/// policy must have all `required` entries.
fn learned_by(
    (header, _, tensors): &Decoded<'_>,
    entries: &[StateEntry],
    required: &[&str],
    layout: &Layout,
) -> Result<Vec<Vec<u32>>> {
    let policy = header.kind == SnapshotKind::Policy;
    let names = |entry: &StateEntry| tensors::names(std::slice::from_ref(entry), layout, header.format);
    let has = |entry: &StateEntry| names(entry).iter().any(|name| tensors.iter().any(|tensor| tensor.name == *name));
    let needed = |entry: &&StateEntry| {
        required.contains(&entry.name) || has(entry) || (!policy && matches!(entry.first, First::Parameters(_)))
    };
    let there: Vec<StateEntry> = entries.iter().filter(needed).cloned().collect();
    // Differences by another environment are best told by shapes.
    tensors::check_shapes(tensors, header.format, entries, layout)?;
    let known = tensors::names(entries, layout, header.format);
    check_networks(tensors, &tensors::names(&there, layout, header.format), &known)?;
    let arrays =
        tensors::read(tensors, header.format, &there, layout, RunLength { iteration: header.iteration, made: 0 })?;
    let words = |name: &str| arrays.iter().find(|array| array.entry.name == name).map(|array| &*array.words);
    let one = |entry: &StateEntry| {
        let len = entry.shape.iter().product::<usize>();
        match (words(entry.name), entry.first) {
            (Some(words), _) => words.to_vec(),
            (None, First::Parameters(from)) => {
                words("theta").unwrap_or_default().iter().copied().skip(from).take(len).collect()
            }
            (None, First::Value(first)) => vec![(first as f32).to_bits(); len],
            (None, _) => vec![0; len],
        }
    };
    Ok(entries.iter().map(one).collect())
}

/// Checks that a file has all `needed` tensors, and no tensors of the same networks that are not `known`: another layer
/// would be ignored in silence.
fn check_networks(tensors: &[Entry<'_>], needed: &[String], known: &[String]) -> Result<()> {
    if let Some(name) = needed.iter().find(|name| tensors.iter().all(|tensor| tensor.name != **name)) {
        return Err(wrong(format!("it has no tensor `{name}`, and the networks of this run have one")));
    }
    let network = |name: &str| name.split('.').next().map(str::to_owned);
    let networks: Vec<_> = known.iter().map(|name| network(name)).collect();
    let of_networks = |name: &str| !name.starts_with("target.") && networks.contains(&network(name));
    match tensors.iter().find(|tensor| of_networks(&tensor.name) && !known.contains(&tensor.name)) {
        Some(Entry { name, .. }) => {
            Err(wrong(format!("it has a tensor `{name}`, and the networks of this run have none")))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::sources;

    #[test]
    fn seeds_begin_with_the_run_of_their_number_or_all_with_one() {
        assert_eq!(sources(&[4, 5, 6], &[9]).unwrap(), [0, 0, 0]);
        assert_eq!(sources(&[0, 1, 10], &[0, 10, 1]).unwrap(), [0, 2, 1]);
        assert_eq!(sources(&[0, 1], &[1, 2]).unwrap(), [0, 1], "in order, as seed 0 has no run");
        let error = sources(&[0, 1, 2], &[0, 1]).unwrap_err().to_string();
        assert_eq!(error, "from: 2 snapshots for 3 seeds; give one for all seeds, or one for each");
        assert!(sources(&[0], &[]).is_err() && sources(&[0], &[0, 1]).is_err());
    }
}
