//! Arrays that ranks join where their traces are cut.

use super::cut::RankJoin;
use crate::backend::Array;
use crate::backend::ranks::sum;
use crate::{Device, Error, Result};

/// Room for what ranks join: new memory takes longer than a message.
#[derive(Debug, Default)]
pub(super) struct RankWords {
    words: Vec<u32>,
    all: Vec<u32>,
}

/// Joins arrays with those of the other ranks: all of them in one message. `old` are the answers of the pass before,
/// which are written anew where nobody else has them.
pub(super) async fn joined(
    device: &Device,
    join: RankJoin,
    asked: &[Array],
    old: Vec<Option<Array>>,
    RankWords { words, all }: &mut RankWords,
) -> Result<Vec<Array>> {
    let alone = || Error::Program("this trace is of several ranks, and the device of one".to_owned());
    let ranks = device.ranks().ok_or_else(alone)?;
    words.clear();
    for array in asked {
        device.append_part(array, 0..array.len(), words).await?;
    }
    let each = words.len();
    let (all, count): (&[u32], usize) = match join {
        RankJoin::Sum => {
            sum(ranks, words, all)?;
            (words, 1)
        }
        RankJoin::All => {
            all.resize(each * ranks.count(), 0);
            ranks.gather(words, all)?;
            (all, ranks.count())
        }
    };
    let mut first = 0;
    let mut answers = Vec::with_capacity(asked.len());
    for (array, old) in asked.iter().zip(old) {
        let leading = if join == RankJoin::All { &[count][..] } else { &[] };
        let answer = match old.filter(Array::is_unshared) {
            Some(old) => old,
            None => device.zeros(&[leading, &array.shape[..]].concat(), array.dtype())?,
        };
        for rank in 0..count {
            device.write_part(&answer, rank * array.len(), &all[rank * each + first..][..array.len()])?;
        }
        first += array.len();
        answers.push(answer);
    }
    Ok(answers)
}
