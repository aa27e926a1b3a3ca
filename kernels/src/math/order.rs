//! Sorting by numbers.

/// Values in the order of their keys; of equal keys the first stays first.
///
/// One sort serves all callers: the standard library's is compiled anew for each type and key, some kilobytes each,
/// which pages would load.
pub fn by_key<T>(values: Vec<T>, key: &dyn Fn(&T) -> u64) -> Vec<T> {
    let order = order(values.iter().map(key).collect());
    let mut values: Vec<Option<T>> = values.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| values[at].take()).collect()
}

/// A key with the order of [`f64::total_cmp`].
pub fn total(x: f64) -> u64 {
    let bits = x.to_bits();
    if x.is_sign_negative() { !bits } else { bits | 1 << 63 }
}

/// The places of keys in their order.
fn order(keys: Vec<u64>) -> Vec<usize> {
    let mut places: Vec<(u64, usize)> = keys.into_iter().zip(0..).collect();
    places.sort_unstable();
    places.into_iter().map(|(_, at)| at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_keep_their_order() {
        let sorted = by_key(vec!["bb", "a", "cc", "d", ""], &|text| text.len() as u64);
        assert_eq!(sorted, ["", "a", "d", "bb", "cc"]);
        assert!(by_key(Vec::<u8>::new(), &|x| u64::from(*x)).is_empty());
    }

    #[test]
    fn numbers_have_their_total_order() {
        let all = [f64::NAN, 1.0, -0.0, 0.0, -f64::NAN, f64::NEG_INFINITY, 5e-324, -1.5, f64::INFINITY, -5e-324];
        for x in all {
            assert!(all.iter().all(|y| total(x).cmp(&total(*y)) == x.total_cmp(y)), "{x}");
        }
    }
}
