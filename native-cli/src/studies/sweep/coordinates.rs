//! Parallel coordinates: an axis for each setting that was tried and one for the score, a line for each trial
//! (Inselberg 1985).

use super::file::Goal;
use super::halving::ranked;
use super::score::Score;
use super::trial::Trial;
use crate::curve::clip;
use crate::pictures::sheet::{Anchor, GRID, INK, QUIET, Sheet, Style, WHITE, ticks};
use crate::results::experiments::show;
use crate::text::numbers::{short_count, tick_labels};
use quickstudy_core::env::Color;
use toml::Value;

/// Size of the sheet, which is wider for many axes.
const WIDTH: f32 = 960.0;
const HEIGHT: f32 = 460.0;
/// From an axis to the next, at least.
const BETWEEN: f32 = 130.0;
/// Around the axes.
const LEFT: f32 = 90.0;
const RIGHT: f32 = 90.0;
const TOP: f32 = 104.0;
const BOTTOM: f32 = 40.0;
/// The colours of the best and of the worst trial.
const BEST: Color = Color::rgb(196, 60, 24);
const WORST: Color = Color::rgb(176, 182, 196);

/// An axis: where values are on it, from 0 at its lower end to 1, and its labels.
struct Axis {
    name: String,
    places: Vec<Option<f64>>,
    labels: Vec<(f64, String)>,
}

impl Axis {
    /// The axis of a setting: numbers on a line, or on one of their logarithms where they span more than a power of
    /// ten; all else in order of appearance.
    fn of(name: &str, values: &[Option<Value>]) -> Self {
        let number = |value: &Value| value.as_float().or_else(|| value.as_integer().map(|n| n as f64));
        let numbers: Option<Vec<f64>> = values.iter().flatten().map(number).collect();
        if let Some(numbers) = numbers.filter(|numbers| !numbers.is_empty()) {
            let placed = values.iter().map(|value| value.as_ref().and_then(number)).collect();
            let least = numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let most = numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            return Self::numbers(name, placed, least > 0.0 && most / least > 10.0);
        }
        let mut words: Vec<String> = Vec::new();
        for value in values.iter().flatten().map(show) {
            if !words.contains(&value) {
                words.push(value);
            }
        }
        let place = |at: usize| if words.len() == 1 { 0.5 } else { at as f64 / (words.len() - 1) as f64 };
        let find =
            |value: &Option<Value>| words.iter().position(|word| value.as_ref().map(show).as_ref() == Some(word));
        Self {
            name: name.to_owned(),
            places: values.iter().map(|value| find(value).map(place)).collect(),
            labels: words.iter().enumerate().map(|(at, word)| (place(at), word.clone())).collect(),
        }
    }

    fn numbers(name: &str, values: Vec<Option<f64>>, log: bool) -> Self {
        let scaled = |value: f64| if log { value.log10() } else { value };
        let all: Vec<f64> = values.iter().flatten().copied().filter(|value| value.is_finite()).map(scaled).collect();
        let (mut low, mut high) =
            (all.iter().copied().fold(f64::INFINITY, f64::min), all.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        if all.is_empty() {
            (low, high) = (0.0, 1.0);
        } else if high <= low {
            (low, high) = (low - 0.5, high + 0.5);
        }
        let place = |value: f64| (scaled(value) - low) / (high - low);
        let marks: Vec<f64> = match log {
            true => powers(low, high),
            false => ticks(low, high, 6),
        };
        let texts = if log { marks.iter().map(|mark| power_label(*mark)).collect() } else { tick_labels(&marks) };
        Self {
            name: name.to_owned(),
            places: values.into_iter().map(|value| value.filter(|value| value.is_finite()).map(place)).collect(),
            labels: marks.iter().map(|mark| place(*mark)).zip(texts).collect(),
        }
    }
}

/// 1, 2 and 5 times powers of ten between these exponents; powers alone where they are many.
fn powers(low: f64, high: f64) -> Vec<f64> {
    let within = |value: &f64| (low - 1e-9..=high + 1e-9).contains(&value.log10());
    let of = |digits: &[f64]| -> Vec<f64> {
        let exponents = low.floor() as i32..=high.ceil() as i32;
        exponents.flat_map(|e| digits.iter().map(move |d| d * 10_f64.powi(e))).filter(within).collect()
    };
    if high - low > 2.5 { of(&[1.0]) } else { of(&[1.0, 2.0, 5.0]) }
}

fn power_label(value: f64) -> String {
    if (1e-3..1e4).contains(&value) { short_count_or_plain(value) } else { format!("{value:.0e}") }
}

fn short_count_or_plain(value: f64) -> String {
    if value >= 1.0 { short_count(value) } else { format!("{value}") }
}

/// Draws the trials that have a score; the best ones last, and in the stronger colour.
pub(crate) fn draw(title: &str, metric: &str, trials: &[Trial], scores: &[Score], goal: Goal) -> Sheet {
    let mut keys: Vec<&String> = Vec::new();
    for (key, _) in trials.iter().flat_map(|trial| &trial.tried) {
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let value_of = |key: &String, trial: &Trial| trial.tried.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    let axis = |key: &&String| Axis::of(key, &trials.iter().map(|trial| value_of(key, trial)).collect::<Vec<_>>());
    let mut axes: Vec<Axis> = keys.iter().map(axis).collect();
    axes.push(Axis::numbers(metric, scores.iter().map(Score::value).collect(), false));
    let gaps = (axes.len() - 1).max(1) as f32;
    let width = WIDTH.max(LEFT + RIGHT + BETWEEN * gaps);
    let mut sheet = Sheet::new(width, HEIGHT);
    let x = |number: usize| LEFT + (width - LEFT - RIGHT) * number as f32 / gaps;
    let y = |place: f64| HEIGHT - BOTTOM - place as f32 * (HEIGHT - TOP - BOTTOM);
    sheet.text(title, [24.0, 30.0], Style::new(16.0, INK).bold());
    let scored: Vec<usize> = (0..trials.len()).filter(|trial| scores[*trial].value().is_some()).collect();
    let about = format!("{} of {} trials have a score; the better, the redder", scored.len(), trials.len());
    sheet.text(&about, [24.0, 50.0], Style::new(13.0, QUIET));
    for number in 0..axes.len() {
        sheet.stroke(&[[x(number), y(0.0)], [x(number), y(1.0)]], 1.0, GRID, 1.0);
    }
    let order = ranked(&scored, scores, goal);
    for (rank, trial) in order.iter().enumerate().rev() {
        let share = rank as f64 / (order.len() - 1).max(1) as f64;
        let (color, thick) = (mixed(share), if rank == 0 { 3.0 } else { 1.5 });
        let points: Vec<Option<[f32; 2]>> =
            axes.iter().enumerate().map(|(i, axis)| Some([x(i), y(axis.places[*trial]?)])).collect();
        // A line ends where a trial lacks a setting.
        for piece in points.split(Option::is_none).filter(|piece| piece.len() > 1) {
            let piece: Vec<[f32; 2]> = piece.iter().flatten().copied().collect();
            sheet.stroke(&piece, thick, color, if rank == 0 { 1.0 } else { 0.75 });
        }
    }
    // A name may reach half way to the next one, and to the edge.
    let room = ((width - LEFT - RIGHT) / gaps).min(2.0 * RIGHT) - 10.0;
    for (number, axis) in axes.iter().enumerate() {
        let style = Style::new(13.0, INK).bold().at(Anchor::Middle);
        sheet.text(&clip(&axis.name, style, room), [x(number), TOP - 22.0], style);
        for (place, label) in &axis.labels {
            let style = Style::new(12.0, QUIET).at(Anchor::End);
            sheet.stroke(&[[x(number) - 4.0, y(*place)], [x(number), y(*place)]], 1.0, QUIET, 1.0);
            let label = clip(label, style, LEFT - 16.0);
            // Lines that pass behind it are paler.
            let [left, right] = [x(number) - 10.0 - style.width(&label), x(number) - 6.0];
            let [top, bottom] = [y(*place) - 8.0, y(*place) + 8.0];
            sheet.fill(&[[left, top], [right, top], [right, bottom], [left, bottom]], WHITE, 0.8);
            sheet.text(&label, [x(number) - 8.0, y(*place) + 4.0], style);
        }
    }
    sheet
}

/// A colour between that of the best, at 0, and that of the worst.
fn mixed(share: f64) -> Color {
    let mix = |from: u8, to: u8| (f64::from(from) + (f64::from(to) - f64::from(from)) * share).round() as u8;
    Color::rgb(mix(BEST.r, WORST.r), mix(BEST.g, WORST.g), mix(BEST.b, WORST.b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_are_logarithmic_where_values_span_more_than_a_power_of_ten() {
        let values = |all: &[f64]| all.iter().map(|x| Some(Value::Float(*x))).collect::<Vec<_>>();
        let axis = Axis::of("learning_rate", &values(&[1e-4, 1e-2, 1e-3]));
        let places: Vec<f64> = axis.places.iter().map(|place| place.unwrap()).collect();
        assert!((places[2] - 0.5).abs() < 1e-12 && places[0] == 0.0 && places[1] == 1.0, "{places:?}");
        assert!(axis.labels.iter().any(|(_, label)| label == "0.001"), "{:?}", axis.labels);
        let axis = Axis::of("gamma", &values(&[0.9, 1.0]));
        assert_eq!((axis.places[0], axis.places[1]), (Some(0.0), Some(1.0)));
        assert!((Axis::of("gamma", &values(&[0.9])).places[0].unwrap() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn words_are_in_order_of_appearance() {
        let values = ["tanh", "relu", "tanh"].map(|word| Some(Value::String(word.into())));
        let axis = Axis::of("activation", &values);
        assert_eq!(axis.places, [Some(0.0), Some(1.0), Some(0.0)]);
        assert_eq!(axis.labels, [(0.0, "tanh".to_owned()), (1.0, "relu".to_owned())]);
        assert_eq!(Axis::of("x", &[None, Some(Value::Boolean(true))]).places, [None, Some(0.5)]);
    }
}
