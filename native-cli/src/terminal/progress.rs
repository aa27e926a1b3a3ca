//! Progress: a bar on a terminal, aligned lines elsewhere.

use crate::json::finite;
use crate::json::train::TrainLine;
use crate::terminal::output::{is_json, say, say_line};
use crate::terminal::ticker::{SILENCE, Ticker};
use crate::text::numbers::{duration, grouped, short_count};
use console::Term;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::collections::VecDeque;
use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

/// The progress that is shown at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// Environment steps made, of one seed in the mean.
    pub steps: u64,
    /// Mean return of recent episodes; NaN before the first has ended.
    pub episode_return: f64,
    /// Mean return of the last evaluation; NaN before the first.
    pub eval_return: f64,
}

/// Shows how far a training run is.
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    total: u64,
    seeds: u64,
    /// Recent `(time, steps)`, for the speed and the time left.
    recent: VecDeque<(Instant, u64)>,
    next_line: u64,
    last_line: Instant,
    /// The last report, where no line says it.
    unsaid: Option<Report>,
    /// When the last line of JSON was printed.
    printed: Option<Instant>,
    /// The last report, where no line of JSON has it.
    unprinted: Option<Report>,
    /// Shows what one long iteration or evaluation is at.
    ticker: Ticker,
}

/// Speed is measured over this much time, so that the time left follows changes of speed.
const WINDOW: Duration = Duration::from_secs(10);
/// Between two lines of JSON.
const PRINTED: Duration = Duration::from_millis(250);
/// Columns that the bar itself takes at least.
pub(crate) const BAR: usize = 12;

impl Progress {
    /// Starts at `done` of `total` environment steps per seed, for `seeds` stacked seeds.
    pub(crate) fn new(done: u64, total: u64, seeds: u64) -> Self {
        let bar = (std::io::stderr().is_terminal() && !is_json()).then(|| {
            let target = ProgressDrawTarget::stderr_with_hz(12);
            let bar = ProgressBar::with_draw_target(Some(total), target);
            if let Ok(style) = ProgressStyle::with_template("{wide_bar:.cyan/238} {msg}") {
                bar.set_style(style.progress_chars("━╸─"));
            }
            bar
        });
        let now = Instant::now();
        let ticker = Ticker::new(bar.clone().map(|bar| Box::new(move |text: &str| show(&bar, text)) as _));
        let recent = VecDeque::from([(now, done)]);
        Self {
            bar,
            total,
            seeds,
            recent,
            next_line: 0,
            last_line: now,
            unsaid: None,
            printed: None,
            unprinted: None,
            ticker,
        }
    }

    /// Sets the number of steps in all, which may become clear only on the way.
    pub(crate) fn set_total(&mut self, total: u64) {
        if total != self.total {
            self.total = total;
            self.bar.iter().for_each(|bar| bar.set_length(total));
        }
    }

    /// Shows a report: on a terminal always, otherwise at each tenth of the run or after half a minute of silence.
    pub(crate) fn update(&mut self, report: Report) {
        let now = Instant::now();
        while self.recent.len() > 2 && now - self.recent[1].0 > WINDOW {
            self.recent.pop_front();
        }
        // 20 samples per second are plenty, however short an iteration is.
        if self.recent.len() < 2 || now - self.recent[self.recent.len() - 1].0 > WINDOW / 200 {
            self.recent.push_back((now, report.steps));
        }
        self.unsaid = Some(report);
        let (then, before) = self.recent[0];
        let seconds = (now - then).as_secs_f64();
        let speed = if seconds > 0.0 { report.steps.saturating_sub(before) as f64 / seconds } else { 0.0 };
        self.unprinted = Some(report);
        if self.printed.is_none_or(|then| now - then > PRINTED) {
            self.print(report, speed);
            (self.printed, self.unprinted) = (Some(now), None);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(report.steps.min(self.total));
            let room = usize::from(Term::stderr().size().1).saturating_sub(BAR + 2);
            bar.set_message(fitting(report, self.total, self.seeds, speed, room));
        } else if report.steps >= self.next_line || now - self.last_line > SILENCE {
            say(&line(report, self.total, self.seeds, speed));
            self.ticker.spoke();
            let tenth = (self.total / 10).max(1);
            self.next_line = (report.steps / tenth + 1) * tenth;
            self.last_line = now;
            self.unsaid = None;
        }
    }

    fn print(&self, report: Report, speed: f64) {
        let line = TrainLine::Progress {
            algorithm: None,
            environment: None,
            steps: report.steps,
            total: self.total,
            episode_return: finite(report.episode_return),
            evaluation: finite(report.eval_return),
            steps_per_second: (speed > 0.0).then_some((speed * self.seeds as f64).round()),
        };
        say_line(&line);
    }

    /// Puts a line with the last report in the place of the bar.
    pub(crate) fn finish(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if let Some(report) = self.unprinted.take() {
            self.print(report, 0.0);
        }
        if let Some(report) = self.unsaid.take() {
            say(&line(report, self.total, self.seeds, 0.0));
        }
    }
}

/// Shows a text beside the bar, as far as there is room.
fn show(bar: &ProgressBar, text: &str) {
    let room = usize::from(Term::stderr().size().1).saturating_sub(BAR + 2);
    bar.set_message(text.chars().take(room).collect::<String>());
}

/// As much of [`line`] as fits into `room` columns, so that it never wraps: the number of steps goes first, which the
/// bar shows as well, then what the speed tells.
pub(crate) fn fitting(report: Report, total: u64, seeds: u64, speed: f64, room: usize) -> String {
    let whole = line(report, total, seeds, speed);
    if whole.chars().count() <= room {
        return whole;
    }
    let mut text = format!("{:>3} %", percent(report.steps, total));
    let mut parts = vec![format!("  return {:>6}", value(report.episode_return))];
    if !report.eval_return.is_nan() {
        parts.push(format!("  eval {:>6}", value(report.eval_return)));
    }
    if speed > 0.0 {
        let left = total.saturating_sub(report.steps) as f64 / speed;
        parts.push(format!("  {:>5} steps/s", short_speed(speed * seeds as f64)));
        parts.push(format!("  {:>6} left", duration(left)));
    }
    // In order of importance: return, speed, time left, evaluation.
    let mut order: Vec<usize> = (0..parts.len()).collect();
    if parts.len() == 4 {
        order = vec![0, 2, 3, 1];
    }
    let mut used = text.chars().count();
    let mut shown = vec![false; parts.len()];
    for i in order {
        let width = parts[i].chars().count();
        shown[i] = used + width <= room;
        if shown[i] {
            used += width;
        }
    }
    text.extend(parts.into_iter().zip(shown).filter(|(_, shown)| *shown).map(|(part, _)| part));
    text
}

fn percent(steps: u64, total: u64) -> u64 {
    100 * steps.min(total) / total.max(1)
}

/// `  40 960 / 200 000 steps   20 %   return   187.3   eval   212.0   61k steps/s   2.6 s left`
pub(crate) fn line(report: Report, total: u64, seeds: u64, speed: f64) -> String {
    let width = grouped(total).len();
    let percent = percent(report.steps, total);
    let mut text = format!(
        "{:>width$} / {} steps {percent:>3} %  return {:>8}",
        grouped(report.steps),
        grouped(total),
        value(report.episode_return),
    );
    if !report.eval_return.is_nan() {
        text += &format!("  eval {:>8}", value(report.eval_return));
    }
    if speed > 0.0 {
        let left = total.saturating_sub(report.steps) as f64 / speed;
        text += &format!("  {:>6} steps/s  {:>6} left", short_speed(speed * seeds as f64), duration(left));
    }
    text
}

fn value(x: f64) -> String {
    if x.is_nan() { "–".into() } else { format!("{x:.1}") }
}

fn short_speed(speed: f64) -> String {
    if speed >= 1e6 {
        format!("{:.2}M", speed / 1e6)
    } else if speed >= 1e4 {
        format!("{:.0}k", speed / 1e3)
    } else {
        short_count(speed.round())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_aligned_and_complete() {
        let report = |steps, ret, eval| Report { steps, episode_return: ret, eval_return: eval };
        assert_eq!(
            line(report(40_960, 187.34, 212.0), 200_000, 1, 61_200.0),
            " 40 960 / 200 000 steps  20 %  return    187.3  eval    212.0     61k steps/s   2.6 s left"
        );
        let early = line(report(0, f64::NAN, f64::NAN), 200_000, 1, 0.0);
        assert_eq!(early, "      0 / 200 000 steps   0 %  return        –");
        // The speed counts all seeds, the time left does not.
        assert!(line(report(100, 1.0, f64::NAN), 200, 10, 50.0).ends_with("500 steps/s   2.0 s left"));
        // The last iteration may make more than was asked for.
        let last = line(report(214, 1.0, f64::NAN), 200, 1, 50.0);
        assert!(last.starts_with("214 / 200 steps 100 %") && last.ends_with("50 steps/s   0.0 s left"), "{last}");
    }

    #[test]
    fn the_bar_fits_its_terminal_and_keeps_what_matters() {
        let report = Report { steps: 123_456_789, episode_return: -1234.5, eval_return: -1021.3 };
        let at = |columns: usize| fitting(report, 200_000_000, 1, 987_654.3, columns - BAR - 2);
        for columns in [30, 40, 60, 80, 100, 200] {
            assert!(at(columns).chars().count() + BAR + 2 <= columns, "{columns}: {}", at(columns));
        }
        assert_eq!(at(80), " 61 %  return -1234.5  eval -1021.3   988k steps/s    1:18 left");
        assert_eq!(at(60), " 61 %  return -1234.5   988k steps/s");
        assert!(at(120).contains("123 456 789 / 200 000 000 steps"));
        assert_eq!(at(20), " 61 %");
    }
}
