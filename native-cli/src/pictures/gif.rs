//! Animated GIFs of episodes.

use crate::outcome::Stop;
use crate::pictures::raster::{Painter, Picture};
use crate::pictures::scene::{self, BACKGROUND, paint};
use crate::pictures::sheet::{INK, Style, letter};
use ::gif::{DisposalMethod, Encoder, Frame, Repeat};
use quickstudy_core::env::Scene;
use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

/// Shortest time of a frame in hundredths of a second: viewers slow down anything shorter.
const SHORTEST: u64 = 2;
/// Time of the last frame before the recording starts again, in hundredths of a second.
const PAUSE: u16 = 100;

/// Pixels above a scene in which its caption is written.
const CAPTION: usize = 30;

/// The image of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Image {
    /// Shapes, which are painted here.
    Scene(Scene),
    /// Pixels, as an environment of Python draws itself.
    Picture(Picture),
}

/// An episode of a recording.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Clip {
    /// The image, and a line about it; no room is taken where no frame has one.
    pub frames: Vec<(Image, String)>,
    /// Time of a frame.
    pub seconds: f64,
}

/// Which of `count` scenes that follow each other after `seconds` are shown, and for how many hundredths of a second.
///
/// Times are rounded from the start of the recording, so that it is as long as what it shows; scenes that come too fast
/// for a GIF are left out. The last one stays for a second.
fn timing(count: usize, seconds: f64) -> Vec<(usize, u16)> {
    let at = |i: usize| (i as f64 * seconds * 100.0).round() as u64;
    let mut shown: Vec<(usize, u16)> = Vec::new();
    let (mut current, mut since) = (0, 0);
    for i in 1..count {
        if at(i) - since >= SHORTEST {
            shown.push((current, u16::try_from(at(i) - since).unwrap_or(u16::MAX)));
            (current, since) = (i, at(i));
        }
    }
    if count > 0 {
        shown.push((count - 1, PAUSE));
    }
    shown
}

impl Image {
    /// Pixels of a recording that begins with this image, and of `width` if it is a scene: across, and down.
    fn size(&self, width: usize) -> [usize; 2] {
        match self {
            Image::Scene(scene) => [width, scene::height(scene.view, width)],
            Image::Picture(picture) => [picture.width, picture.height],
        }
    }

    /// Paints the image as large as `first`: a scene in its own view, which is that of the first one or one as large
    /// elsewhere.
    fn painted(&self, first: &Image, [width, height]: [usize; 2]) -> Picture {
        let mut painted = match (self, first) {
            (Image::Picture(picture), _) => picture.clone(),
            (Image::Scene(scene), Image::Scene(Scene { view: first, .. })) => {
                let [left, _, low, _] = scene.view;
                let view = [left, left + (first[1] - first[0]), low, low + (first[3] - first[2])];
                let view = if view.iter().all(|x| x.is_finite()) { view } else { *first };
                paint(&Scene { view, shapes: scene.shapes.clone() }, width)
            }
            (Image::Scene(scene), Image::Picture(_)) => paint(scene, width),
        };
        // Far away, sizes of views are rounded. Environments of Python may draw pictures of other sizes.
        if painted.width != width {
            let rows = painted.pixels.chunks(painted.width.max(1)).map(|row| {
                let mut row = row.to_vec();
                row.resize(width, BACKGROUND);
                row
            });
            painted.pixels = rows.collect::<Vec<_>>().concat();
        }
        painted.pixels.resize(width * height, BACKGROUND);
        Picture { width, height, ..painted }
    }
}

/// An image below its caption.
fn picture((image, caption): &(Image, String), first: &Image, size: [usize; 2], above: usize) -> Picture {
    let painted = image.painted(first, size);
    if above == 0 {
        return painted;
    }
    let [width, height] = size;
    let mut painter = Painter::new(width, height + above, BACKGROUND);
    painter.picture.pixels[above * width..].copy_from_slice(&painted.pixels);
    letter(&mut painter, caption, [12.0, above as f32 - 9.0], &Style::new(15.0, INK), 1.0);
    painter.picture
}

/// Writes episodes as a looping GIF, one after the other, each at its own speed: scenes `width` pixels across, pictures
/// as they are.
///
/// All frames share one palette of the 256 most frequent colours, and each frame holds only the rectangle that
/// changed, so ten seconds of CartPole take a few hundred kilobytes. All scenes must have views of the
/// same size; they may move.
pub(crate) fn encode(clips: &[Clip], width: usize) -> Result<Vec<u8>, Stop> {
    let frames = || clips.iter().flat_map(|clip| &clip.frames);
    let Some((first, _)) = frames().next() else {
        return Err(Stop::user("there is no frame to record"));
    };
    let above = if frames().any(|(_, caption)| !caption.is_empty()) { CAPTION } else { 0 };
    let size = first.size(width);
    let [width, height] = [size[0], size[1] + above];
    let (Ok(wide), Ok(high)) = (u16::try_from(width), u16::try_from(height)) else {
        return Err(Stop::user(format!("a GIF has at most 65535 pixels a side, got {width} × {height}")));
    };
    let timing = clips.iter().flat_map(|clip| {
        let shown = timing(clip.frames.len(), clip.seconds);
        shown.into_iter().map(|(i, delay)| (&clip.frames[i], delay))
    });
    let timing: Vec<(&(Image, String), u16)> = timing.collect();
    let pictures = || timing.iter().map(|(frame, _)| picture(frame, first, size, above));
    // Two passes over the painter instead of holding every picture: 1000 frames would take 300 MB.
    let palette = Palette::of(pictures());
    let mut out = Vec::new();
    let failed = |error: ::gif::EncodingError| Stop::failure(format!("cannot encode the GIF: {error}"));
    let mut encoder = Encoder::new(&mut out, wide, high, &palette.bytes()).map_err(failed)?;
    encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
    let mut shown: Option<Vec<u8>> = None;
    for (picture, (_, delay)) in pictures().zip(&timing) {
        let mut last = (BACKGROUND, palette.index(BACKGROUND));
        let to_index = |pixel: &[u8; 3]| {
            // Neighbours are mostly equal; a look-up each would take longer than painting.
            if *pixel != last.0 {
                last = (*pixel, palette.index(*pixel));
            }
            last.1
        };
        let indices: Vec<u8> = picture.pixels.iter().map(to_index).collect();
        let [left, top, w, h] = changed(shown.as_deref(), &indices, width, height);
        let buffer: Vec<u8> =
            (top..top + h).flat_map(|y| &indices[y * width + left..y * width + left + w]).copied().collect();
        let frame = Frame {
            delay: *delay,
            dispose: DisposalMethod::Keep,
            left: left as u16,
            top: top as u16,
            width: w as u16,
            height: h as u16,
            buffer: Cow::Owned(buffer),
            ..Frame::default()
        };
        encoder.write_frame(&frame).map_err(failed)?;
        shown = Some(indices);
    }
    drop(encoder);
    Ok(out)
}

/// Encodes and writes a GIF.
pub(crate) fn save(path: &Path, clips: &[Clip], width: usize) -> Result<(), Stop> {
    crate::terminal::output::write(path, &encode(clips, width)?)
}

/// The rectangle `[left, top, width, height]` in which two frames differ; one pixel if nowhere.
fn changed(old: Option<&[u8]>, new: &[u8], width: usize, height: usize) -> [usize; 4] {
    let Some(old) = old else {
        return [0, 0, width, height];
    };
    let (mut left, mut right, mut top, mut bottom) = (width, 0, height, 0);
    for (y, (a, b)) in old.chunks(width).zip(new.chunks(width)).enumerate() {
        if let Some(first) = a.iter().zip(b).position(|(p, q)| p != q) {
            let last = a.iter().zip(b).rposition(|(p, q)| p != q).unwrap_or(first);
            left = left.min(first);
            right = right.max(last + 1);
            top = top.min(y);
            bottom = y + 1;
        }
    }
    if right == 0 {
        return [0, 0, 1, 1];
    }
    [left, top, right - left, bottom - top]
}

/// Up to 256 colours and where every painted colour goes.
struct Palette {
    colors: Vec<[u8; 3]>,
    index: HashMap<[u8; 3], u8>,
}

impl Palette {
    fn of(pictures: impl Iterator<Item = Picture>) -> Self {
        let mut counts: HashMap<[u8; 3], usize> = HashMap::new();
        counts.insert(BACKGROUND, usize::MAX / 2);
        for picture in pictures {
            for run in picture.pixels.chunk_by(|a, b| a == b) {
                *counts.entry(run[0]).or_default() += run.len();
            }
        }
        let mut colors: Vec<([u8; 3], usize)> = counts.into_iter().collect();
        // By frequency, ties by colour, so that the same frames give the same file.
        colors.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let kept: Vec<[u8; 3]> = colors.iter().take(256).map(|(color, _)| *color).collect();
        let index = colors.iter().map(|(color, _)| (*color, nearest(&kept, *color))).collect();
        Self { colors: kept, index }
    }

    fn index(&self, pixel: [u8; 3]) -> u8 {
        self.index.get(&pixel).copied().unwrap_or(0)
    }

    fn bytes(&self) -> Vec<u8> {
        self.colors.concat()
    }
}

fn nearest(colors: &[[u8; 3]], wanted: [u8; 3]) -> u8 {
    let distance = |color: &[u8; 3]| -> u32 {
        let gap = |i: usize| u32::from(color[i].abs_diff(wanted[i])).pow(2);
        gap(0) + gap(1) + gap(2)
    };
    let best = colors.iter().enumerate().min_by_key(|(_, color)| distance(color));
    best.map_or(0, |(i, _)| i as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quickstudy_core::env::{Color, Shape};

    fn moving(frames: usize) -> Vec<Scene> {
        (0..frames)
            .map(|i| {
                let x = -0.8 + 0.1 * i as f32;
                Scene::new([-1.0, 1.0, -0.5, 0.5])
                    .with(Shape::rect([-1.0, 1.0, -0.5, -0.45], Color::GREY))
                    .with(Shape::circle([x, 0.0], 0.2, Color::ORANGE))
                    .with(Shape::line([x, 0.0], [0.0, 0.4], 0.03, Color::INK))
            })
            .collect()
    }

    #[test]
    fn decoded_frames_equal_the_painted_ones() {
        let scenes = moving(12);
        let clip = |caption: &str| Clip {
            frames: scenes
                .iter()
                .enumerate()
                .map(|(i, scene)| (Image::Scene(scene.clone()), caption.replace('#', &i.to_string())))
                .collect(),
            seconds: 0.02,
        };
        let bytes = encode(&[clip("")], 160).unwrap();
        let mut options = ::gif::DecodeOptions::new();
        options.set_color_output(::gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).unwrap();
        let (width, mut canvas) = (160, vec![[0_u8; 3]; 160 * 80]);
        let (mut count, mut stored) = (0, 0);
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            stored += usize::from(frame.width) * usize::from(frame.height);
            for (i, rgba) in frame.buffer.chunks(4).enumerate() {
                let x = usize::from(frame.left) + i % usize::from(frame.width);
                let y = usize::from(frame.top) + i / usize::from(frame.width);
                canvas[y * width + x] = [rgba[0], rgba[1], rgba[2]];
            }
            let wanted = paint(&scenes[count], width);
            let worst =
                canvas.iter().zip(&wanted.pixels).flat_map(|(a, b)| (0..3).map(move |c| a[c].abs_diff(b[c]))).max();
            assert!(worst <= Some(24), "frame {count}: {worst:?}");
            assert_eq!(frame.delay, if count == 11 { 100 } else { 2 });
            count += 1;
        }
        assert_eq!(count, 12);
        assert!(stored < 12 * 160 * 80 / 2, "only changed rectangles are stored: {stored}");
        assert_eq!(encode(&[clip("")], 160).unwrap(), bytes);
        // With captions there is room above the scenes, which are as they were.
        let named = clip("step #");
        let frames: Vec<Picture> =
            named.frames.iter().map(|frame| picture(frame, &frame.0, [160, 80], CAPTION)).collect();
        assert_eq!((frames[3].width, frames[3].height), (160, 80 + CAPTION));
        assert_eq!(frames[3].pixels[CAPTION * 160..], paint(&scenes[3], 160).pixels);
        assert_ne!(frames[3].pixels[..CAPTION * 160], frames[4].pixels[..CAPTION * 160]);
        // Two episodes, one after the other, each with its own time and its own end.
        let both = encode(&[named.clone(), Clip { seconds: 0.1, ..named }], 160).unwrap();
        let mut decoder = ::gif::DecodeOptions::new().read_info(&both[..]).unwrap();
        let mut delays = Vec::new();
        while let Some(frame) = decoder.read_next_frame().unwrap() {
            delays.push(frame.delay);
        }
        assert_eq!(delays, [vec![2; 11], vec![100], vec![10; 11], vec![100]].concat());
    }

    #[test]
    fn recordings_take_as_long_as_what_they_show() {
        assert_eq!(timing(3, 0.05), [(0, 5), (1, 5), (2, 100)]);
        assert_eq!(timing(4, 1.0 / 30.0), [(0, 3), (1, 4), (2, 3), (3, 100)]);
        assert_eq!(timing(5, 0.01), [(0, 2), (2, 2), (4, 100)], "too fast for a GIF: each other one");
        assert_eq!(timing(1, 0.02), [(0, 100)]);
        let total: u32 = timing(301, 1.0 / 30.0).iter().map(|(_, delay)| u32::from(*delay)).sum();
        assert_eq!(total, 1000 + 100);
    }

    #[test]
    fn frames_without_change_and_empty_recordings() {
        let still = [Clip { frames: vec![(Image::Scene(moving(1)[0].clone()), String::new()); 3], seconds: 0.05 }];
        assert!(encode(&still, 100).is_ok());
        assert_eq!(encode(&[], 100).unwrap_err().code, 2);
        assert_eq!(encode(&still, 70_000).unwrap_err().code, 2);
        assert_eq!(changed(Some(&[1, 1, 1, 1]), &[1, 1, 1, 1], 2, 2), [0, 0, 1, 1]);
        assert_eq!(changed(Some(&[1, 1, 1, 1]), &[1, 1, 1, 0], 2, 2), [1, 1, 1, 1]);
    }
}
