//! The running episodes of environments of the host, as a tensor of bytes.

use safetensors::tensor::Dtype;

use super::snapshot::Entry;
use super::wrong::wrong;
use crate::algo::First;
use crate::host::saved_groups;
use crate::train::setup::Setup;
use crate::{Error, Result};

/// The tensor's name. Files have it if the environments can save where they are.
const NAME: &str = "environment.host";

/// Makes the tensor of these bytes.
pub(in crate::train) fn entry(bytes: Vec<u8>) -> Entry<'static> {
    Entry { name: NAME.to_owned(), dtype: Dtype::U8, shape: vec![bytes.len()], bytes: bytes.into() }
}

/// Reads the tensor of a run with this setup, and checks all that can be checked without its environments. None if the
/// file has no such tensor, or the run does not continue episodes of the host.
pub(in crate::train) fn read(entries: &[Entry<'_>], setup: &Setup) -> Result<Option<Vec<u8>>> {
    let continued = || setup.fitted().entries(None).iter().any(|entry| entry.first == First::Observation);
    let of_host = |_: &&Entry<'_>| setup.env.on_host() && continued();
    let Some(entry) = entries.iter().find(|entry| entry.name == NAME).filter(of_host) else { return Ok(None) };
    let Entry { dtype, shape, bytes, .. } = entry;
    let problem = match (dtype, &shape[..]) {
        (Dtype::U8, [_]) => saved_groups::problem(bytes, setup.fitted().fleet(1), setup.env.spec().observation.len()),
        _ => Some(format!("is {shape:?} {dtype:?} instead of bytes")),
    };
    problem.map_or_else(|| Ok(Some(bytes.to_vec())), |problem| Err(damaged(&problem)))
}

/// The error for a tensor that an executor's check refuses.
pub(in crate::train) fn refused(error: Error) -> Error {
    match error {
        Error::Snapshot(problem) => damaged(&format!("cannot be: {problem}")),
        other => damaged(&format!("is refused: {other}")),
    }
}

fn damaged(problem: &str) -> Error {
    wrong(format!("the tensor `{NAME}` {problem}; resume another snapshot of the run"))
}
