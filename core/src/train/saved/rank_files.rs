//! Snapshots of several ranks, which train together, in one file: that of rank 0, with the files of the others in it.

#[cfg(not(target_arch = "wasm32"))]
use safetensors::tensor::Dtype;

use super::snapshot::Header;
#[cfg(not(target_arch = "wasm32"))]
use super::snapshot::{self as snapshots, Entry, OF_RANK};
use super::wrong::wrong;
use crate::algo::{AlgorithmDef, Together};
use crate::{Device, Result};

/// The file that all ranks have together, of the own file of each. All ranks get the same one.
#[cfg(not(target_arch = "wasm32"))]
pub(in crate::train) fn joined(device: &Device, def: &'static AlgorithmDef, own: Vec<u8>) -> Result<Vec<u8>> {
    let Some(ranks) = device.ranks() else { return Ok(own) };
    let length = u32::try_from(own.len()).map_err(|_| wrong("a rank has more than 4 GB"))?;
    let mut lengths = vec![0; ranks.count()];
    ranks.gather(&[length], &mut lengths)?;
    let room = lengths.iter().max().map_or(0, |most| *most as usize).next_multiple_of(4);
    let mut padded = own;
    padded.resize(room, 0);
    // Whoever copies bytes into words keeps their order, on any processor.
    let words: Vec<u32> = padded.as_chunks().0.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
    let mut all = vec![0; words.len() * ranks.count()];
    ranks.gather(&words, &mut all)?;
    let file = |rank: usize| {
        let words = &all[rank * words.len()..(rank + 1) * words.len()];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        bytes.truncate(lengths[rank] as usize);
        bytes
    };
    let first = file(0);
    let ((header, _, mut entries), _) = snapshots::open(&first, &[def])?;
    entries.extend((1..ranks.count()).map(|rank| {
        let bytes = file(rank);
        Entry { name: format!("{OF_RANK}{rank}"), dtype: Dtype::U8, shape: vec![bytes.len()], bytes: bytes.into() }
    }));
    snapshots::encode(header, &entries)
}

/// A page has one rank.
#[cfg(target_arch = "wasm32")]
pub(in crate::train) fn joined(_: &Device, _: &'static AlgorithmDef, own: Vec<u8>) -> Result<Vec<u8>> {
    Ok(own)
}

/// The own file of the rank of this device, if it is another one than the whole file.
///
/// # Errors
/// [`Error::Snapshot`](crate::Error::Snapshot) if the file is of another number of ranks, or lacks that of this rank.
#[cfg(not(target_arch = "wasm32"))]
pub(in crate::train) fn of_rank(
    device: &Device,
    file: &[u8],
    own: &[&'static AlgorithmDef],
) -> Result<Option<Vec<u8>>> {
    let ([rank, _], ((header, _, entries), _)) = (device.rank(), snapshots::open(file, own)?);
    if header.ranks == 1 {
        return Ok(None);
    }
    // The whole file is intact before a part of it is taken.
    snapshots::decode(file, own)?;
    check(device, &header, Together::Gradients)?;
    if rank == 0 {
        return Ok(None);
    }
    let name = format!("{OF_RANK}{rank}");
    let found = entries.into_iter().find(|entry| entry.name == name && entry.dtype == Dtype::U8);
    let found = found.ok_or_else(|| wrong(format!("the state of rank {rank} is not in it")))?;
    Ok(Some(found.bytes.into_owned()))
}

/// Checks that a run can go on with as many ranks as there are here.
///
/// # Errors
/// [`Error::Snapshot`](crate::Error::Snapshot) that says how many it has.
#[cfg(not(target_arch = "wasm32"))]
pub(in crate::train) fn check(device: &Device, header: &Header, together: Together) -> Result<()> {
    let [_, ranks] = device.rank();
    if header.ranks == ranks || together != Together::Gradients {
        return Ok(());
    }
    let are = if ranks == 1 { "is one rank".to_owned() } else { format!("are {ranks} ranks") };
    let (of, with) = match header.ranks {
        1 => ("one rank".to_owned(), "with one rank".to_owned()),
        n => (format!("{n} ranks together"), format!("with {n} ranks, such as by `mpirun -n {n}`")),
    };
    Err(wrong(format!("it is of {of}, and here {are}; start it {with}")))
}

/// A page has one rank.
#[cfg(target_arch = "wasm32")]
pub(in crate::train) fn of_rank(_: &Device, _: &[u8], _: &[&'static AlgorithmDef]) -> Result<Option<Vec<u8>>> {
    Ok(None)
}

/// Checks that a run is of one rank.
#[cfg(target_arch = "wasm32")]
pub(in crate::train) fn check(_: &Device, header: &Header, _: Together) -> Result<()> {
    match header.ranks {
        1 => Ok(()),
        n => Err(wrong(format!("it is of {n} ranks together"))),
    }
}
