//! Numbers in pictures and tables: short, and alike where they stand beside each other.

/// A count as `512`, `20k`, `1.5M`.
#[must_use]
pub fn short_count(value: f64) -> String {
    let (size, unit) = unit_of(value.abs(), 1e3);
    let text = format!("{:.2}", value / size);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The size and the sign of a unit for a number; thousands from `least` on.
fn unit_of(magnitude: f64, least: f64) -> (f64, &'static str) {
    match magnitude {
        v if v >= 1e9 => (1e9, "B"),
        v if v >= 1e6 => (1e6, "M"),
        v if v >= least => (1e3, "k"),
        _ => (1.0, ""),
    }
}

/// Labels of the ticks of an axis: the same unit, and as many digits after the point as tell neighbours apart.
#[must_use]
pub fn tick_labels(ticks: &[f64]) -> Vec<String> {
    let largest = ticks.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    let gap = ticks.windows(2).map(|pair| (pair[1] - pair[0]).abs()).fold(f64::INFINITY, f64::min);
    let gap = if gap.is_finite() && gap > 0.0 { gap } else { largest.max(f64::MIN_POSITIVE) };
    let (size, unit) = unit_of(largest, 1e4);
    // Ticks are multiples of 1, 2 or 5 times a power of ten.
    let digits = (0..9_usize).find(|digits| gap / size * 10.0_f64.powi(*digits as i32) > 0.999).unwrap_or(9);
    let label = |x: &f64| match *x == 0.0 && !unit.is_empty() {
        true => "0".to_owned(),
        false => minus_zero(format!("{:.digits$}", x / size)) + unit,
    };
    ticks.iter().map(label).collect()
}

/// Values that stand beside each other, with as many digits after the point as the largest of them leaves room for.
#[must_use]
pub fn alike(values: &[f64]) -> Vec<String> {
    let largest = values.iter().filter(|x| x.is_finite()).fold(0.0_f64, |most, x| most.max(x.abs()));
    let digits = match largest {
        v if v >= 1e3 => 0,
        v if v >= 1e2 => 1,
        v if v >= 1.0 || v == 0.0 => 2,
        _ => 3,
    };
    let (size, unit) = unit_of(largest, 1e5);
    let digits = if unit.is_empty() { digits } else { 2 };
    values.iter().map(|x| minus_zero(format!("{:.digits$}", x / size)) + unit).collect()
}

/// A number without the sign that a small negative one has after rounding.
fn minus_zero(text: String) -> String {
    match text.strip_prefix('-') {
        Some(rest) if rest.chars().all(|c| "0.".contains(c)) => rest.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_short() {
        for (value, text) in
            [(0.0, "0"), (512.0, "512"), (20_000.0, "20k"), (1.5e6, "1.5M"), (-200.0, "-200"), (0.25, "0.25")]
        {
            assert_eq!(short_count(value), text);
        }
    }

    #[test]
    fn ticks_have_the_same_digits_and_the_same_unit() {
        assert_eq!(tick_labels(&[0.0, 50.0, 100.0]), ["0", "50", "100"]);
        assert_eq!(tick_labels(&[0.0, 0.5, 1.0]), ["0.0", "0.5", "1.0"]);
        assert_eq!(tick_labels(&[-0.2, -0.0, 0.2, 0.6000000000000001]), ["-0.2", "0.0", "0.2", "0.6"]);
        assert_eq!(tick_labels(&[0.0, 5e5, 1e6, 1.5e6]), ["0", "0.5M", "1.0M", "1.5M"]);
        assert_eq!(tick_labels(&[0.0, 2e4, 1e5]), ["0", "20k", "100k"]);
        assert_eq!(tick_labels(&[0.0, 500.0, 1000.0, 1500.0]), ["0", "500", "1000", "1500"]);
        assert_eq!((tick_labels(&[]), tick_labels(&[3.0])), (vec![], vec!["3".to_owned()]));
    }

    #[test]
    fn values_beside_each_other_have_the_same_digits() {
        assert_eq!(alike(&[50.0, 100.0]), ["50.0", "100.0"]);
        assert_eq!(alike(&[9.5, -14.25]), ["9.50", "-14.25"]);
        assert_eq!(alike(&[-0.001, 0.5]), ["-0.001", "0.500"]);
        assert_eq!(alike(&[-0.0001, -0.5, 1.0]), ["0.00", "-0.50", "1.00"]);
        assert_eq!(alike(&[20_000.0, 5.0]), ["20000", "5"]);
        assert_eq!(alike(&[1_250_000.0, 500.0]), ["1.25M", "0.00M"]);
    }
}
