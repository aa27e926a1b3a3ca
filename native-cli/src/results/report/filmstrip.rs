//! Pictures of episodes: some moments of one that a policy of an experiment plays, as drawings of the environment.

use super::compared::Compared;
use super::page;
use crate::files::reading;
use crate::folder;
use crate::outcome::Stop;
use crate::pictures::sheet::{Frame, Sheet};
use crate::results::comparison::task::Measured;
use crate::settings::register;
use crate::text::numbers::short_count;
use crate::text::quote::markup;
use quickstudy_core::Device;
use quickstudy_core::env::Scene;
use quickstudy_core::host::EnvPlace;
use quickstudy_core::train::Evaluator;

/// Moments of an episode.
const MOMENTS: usize = 6;
/// Experiments whose policies play at most.
const FILMS: usize = 24;
/// Steps of an episode at most: all of them are in memory at once.
const LONGEST: usize = 20_000;
/// Longer side of a picture.
const SIDE: f32 = 200.0;

/// An episode of an experiment in some pictures.
#[derive(Debug)]
pub(super) struct Filmstrip {
    experiment: String,
    method: usize,
    played: Result<FilmedEpisode, String>,
}

/// The moments of an episode.
#[derive(Debug)]
struct FilmedEpisode {
    /// Says whose episode it is and how it went.
    what: String,
    moments: Vec<(usize, Scene)>,
}

/// The episode of each experiment; beyond some nothing is played.
pub(super) fn films(report: &Compared<'_>) -> Vec<Filmstrip> {
    let film = |i: usize| Filmstrip {
        experiment: report.name(i),
        method: report.comparison.places[i],
        played: median(report, i)
            .ok_or_else(|| "no run of it has a score".to_owned())
            .and_then(|run| play(run).map_err(|stop| stop.message)),
    };
    (0..report.all.len().min(FILMS)).map(film).collect()
}

/// The run of an experiment with the median score, or the one below.
fn median<'a>(report: &'a Compared<'_>, experiment: usize) -> Option<&'a Measured> {
    let one = &report.all[experiment];
    let is_own = |run: &&Measured| one.runs.iter().any(|own| own.folder == run.folder);
    let all = report.comparison.tasks.iter().flat_map(|task| &task.runs[report.comparison.places[experiment]]);
    let mut own: Vec<&Measured> = all.filter(is_own).collect();
    own.sort_by(|a, b| a.score.total_cmp(&b.score));
    own.get(own.len().saturating_sub(1) / 2).copied()
}

fn play(run: &Measured) -> Result<FilmedEpisode, Stop> {
    let policy = reading::read(&folder::policy(&run.folder, false, false)?)?;
    let policy = Evaluator::load_with(&Device::cpu(1), register::own(), &policy)?;
    if matches!(policy.env(), EnvPlace::Host(_)) {
        return Err(Stop::user("its environment is one of the host, which is not drawn here"));
    }
    let env = policy.env().device()?;
    if env.spec().horizon > LONGEST {
        return Err(Stop::user(format!("its episodes may have more than {} steps", short_count(LONGEST as f64))));
    }
    let episode = pollster::block_on(policy.trajectory(0, !policy.draws_only()))?;
    let last = episode.states.len().saturating_sub(1);
    let mut steps: Vec<usize> = (0..MOMENTS).map(|i| last * i / (MOMENTS - 1)).collect();
    steps.dedup();
    let drawn = steps.into_iter().map(|step| Ok((step, env.draw(&episode.states[step], &episode.task)?)));
    let total: f64 = episode.rewards.iter().map(|reward| f64::from(*reward)).sum();
    let (seed, made) = (policy.trained_seed(), short_count(policy.env_steps() as f64));
    Ok(FilmedEpisode {
        what: format!("seed {seed} after {made} steps, return {total:.1} in {} steps", episode.rewards.len()),
        moments: drawn.collect::<Result<_, quickstudy_core::Error>>()?,
    })
}

/// A strip for each episode.
pub(super) fn section(films: &[Filmstrip]) -> String {
    let strip = |(i, film): (usize, &Filmstrip)| {
        let head = format!("<h3>{}{}</h3>\n", page::key(film.method), markup(&film.experiment));
        let body = match &film.played {
            Ok(played) => {
                let picture = |(step, scene): &(usize, Scene)| {
                    let label = format!("{} at step {step}", film.experiment);
                    let drawn = drawn(scene).svg_in_page(&label, &format!("film{i}-{step}"));
                    format!("<figure>{drawn}<figcaption>step {step}</figcaption></figure>\n")
                };
                let pictures: String = played.moments.iter().map(picture).collect();
                format!("<p>{}</p>\n<div class=\"film\">\n{pictures}</div>\n", markup(&played.what))
            }
            Err(why) => format!("<p class=\"none\">No picture: {}</p>\n", markup(why)),
        };
        format!("<div class=\"strip\">\n{head}{body}</div>\n")
    };
    page::section("An episode of each", &films.iter().enumerate().map(strip).collect::<String>())
}

/// A scene, as large as its view.
fn drawn(scene: &Scene) -> Sheet {
    let [xmin, xmax, ymin, ymax] = scene.view;
    let [wide, high] = [xmax - xmin, ymax - ymin];
    let scale = SIDE / wide.max(high).max(f32::MIN_POSITIVE);
    let [width, height] = [wide, high].map(|side| (side * scale).clamp(1.0, SIDE));
    let mut sheet = Sheet::new(width, height);
    let inset = [width, height].map(|side| (side - SIDE) / 2.0);
    sheet.scene(scene, &Frame::new(scene.view, inset, SIDE));
    sheet
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::{Color, Shape};

    #[test]
    fn a_scene_fills_its_picture() {
        let scene = Scene::new([-2.0, 2.0, 0.0, 1.0]).with(Shape::circle([2.0, 0.0], 1.0, Color::BLUE));
        let svg = drawn(&scene).svg_in_page("a", "");
        assert!(svg.contains("viewBox=\"0 0 200.0 50.0\""));
        assert!(svg.contains("cx=\"200.0\" cy=\"50.0\" r=\"50.0\""), "{svg}");
    }
}
