//! Numbers and times in lines, tables and pictures: short, and alike where they stand side by side.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A count as `512`, `20k`, `1.5M`.
pub(crate) fn short_count(value: f64) -> String {
    let (size, unit) = unit_of(value.abs(), 1e3);
    let text = format!("{:.2}", value / size);
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number of things: `1 run`, `3 runs`.
pub(crate) fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
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
pub(crate) fn tick_labels(ticks: &[f64]) -> Vec<String> {
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

/// Values that stand side by side, with as many digits after the point as the largest of them leaves room for.
pub(crate) fn alike(values: &[f64]) -> Vec<String> {
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

/// Digits in groups of three with thin gaps, as in `200 000`.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(' ');
        }
        out.push(digit);
    }
    out
}

/// Seconds as `2.6 s`, `1:04` or `2:03:10`.
pub(crate) fn duration(seconds: f64) -> String {
    if seconds < 59.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    let (h, m, s) = (whole / 3600, whole / 60 % 60, whole % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

/// A short time: `3.2 ms`, or as [`duration`] from a second on.
pub(crate) fn brief(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 0.9995 { format!("{:.1} ms", seconds * 1e3) } else { duration(seconds) }
}

/// A time as `2026-11-20T21:30:00Z`.
pub(crate) fn utc(time: SystemTime) -> String {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs());
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to a civil date: Hinnant, "chrono-compatible low-level date algorithms", civil_from_days; era 0 begins on
    // 0000-03-01, 719468 days before 1970-01-01.
    let z = days + 719_468;
    let (era, doe) = (z / 146_097, z % 146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let day = doy - (153 * mp + 2) / 5 + 1;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    let year = yoe + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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

    #[test]
    fn times_are_readable() {
        assert_eq!(duration(0.04), "0.0 s");
        assert_eq!(duration(64.2), "1:04");
        assert_eq!(duration(59.97), "1:00");
        assert_eq!(duration(7390.0), "2:03:10");
        assert_eq!(grouped(1_234_567), "1 234 567");
        assert_eq!(grouped(12), "12");
    }

    #[test]
    fn times_are_civil_dates() {
        let at = |s| utc(UNIX_EPOCH + Duration::from_secs(s));
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        // `date -u -d @1709210096` and `date -u -d @1795210200`
        assert_eq!(at(1_709_210_096), "2024-02-29T12:34:56Z");
        assert_eq!(at(1_795_210_200), "2026-11-20T21:30:00Z");
    }
}
