//! Values as words of 32 bits, as they cross between two modules of WebAssembly, which share no memory.

use crate::env::{ActionSpace, Choice, Classes, Dim, EnvSpec, Goal, Scene, Shape};

/// Words that are written.
#[derive(Default)]
pub struct WordWriter(pub Vec<u32>);

impl WordWriter {
    pub fn word(&mut self, word: u32) {
        self.0.push(word);
    }

    pub fn len(&mut self, len: usize) {
        self.word(len as u32);
    }

    pub fn text(&mut self, text: &str) {
        self.len(text.len());
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
        self.0.extend(text.as_bytes().chunks(4).map(word));
    }
}

/// Writes all that a guest tells.
#[cfg(any(all(test, feature = "bodies"), feature = "guest"))]
impl WordWriter {
    pub fn float(&mut self, number: f32) {
        self.word(number.to_bits());
    }

    pub fn double(&mut self, number: f64) {
        let bits = number.to_bits();
        self.0.extend([bits as u32, (bits >> 32) as u32]);
    }

    pub fn list<T>(&mut self, values: &[T], each: impl Fn(&mut Self, &T)) {
        self.len(values.len());
        values.iter().for_each(|value| each(self, value));
    }

    pub fn spec(&mut self, spec: &EnvSpec) {
        let EnvSpec { name, observation, action, horizon, dt, solved_at, task, .. } = spec;
        let EnvSpec { classes, plane, course, legend, goal, .. } = spec;
        self.text(name);
        self.list(observation, Self::dim);
        match action {
            ActionSpace::Discrete { names } => {
                self.word(0);
                self.list(names, |words, name| words.text(name));
            }
            ActionSpace::Box { dims } => {
                self.word(1);
                self.list(dims, Self::dim);
            }
            ActionSpace::MultiDiscrete { choices } => {
                self.word(2);
                self.list(choices, |words, Choice { name, names }| {
                    words.text(name);
                    words.list(names, |words, name| words.text(name));
                });
            }
        }
        self.len(*horizon);
        self.double(*dt);
        self.list(solved_at.as_slice(), |words, number| words.double(*number));
        self.list(task, Self::dim);
        self.list(classes.as_slice(), |words, Classes { names, held_out }| {
            words.list(names, |words, name| words.text(name));
            words.len(*held_out);
        });
        self.list(plane.as_slice(), |words, [x, y]| {
            words.len(*x);
            words.len(*y);
        });
        self.list(course.as_slice(), |words, place| words.len(*place));
        self.text(legend);
        self.list(goal.as_slice(), |words, Goal { achieved, desired, tolerance }| {
            [achieved.start, achieved.end, desired.start, desired.end].iter().for_each(|at| words.len(*at));
            words.double(*tolerance);
        });
    }

    fn dim(&mut self, Dim { name, low, high, whole }: &Dim) {
        self.text(name);
        self.double(*low);
        self.double(*high);
        self.word((*whole).into());
    }

    pub fn scene(&mut self, Scene { view, shapes }: &Scene) {
        view.iter().for_each(|x| self.float(*x));
        self.list(shapes, Self::shape);
    }

    fn shape(&mut self, shape: &Shape) {
        let (kind, size, color, points, text) = match shape {
            Shape::Line { from, to, width, color } => (0, *width, color, &[*from, *to][..], ""),
            Shape::Circle { center, radius, color } => (1, *radius, color, &[*center][..], ""),
            Shape::Polygon { points, color } => (2, 0.0, color, &points[..], ""),
            Shape::Polyline { points, width, color } => (3, *width, color, &points[..], ""),
            Shape::Text { at, height, text, color } => (4, *height, color, &[*at][..], &text[..]),
        };
        self.word(kind);
        self.float(size);
        self.word(u32::from_be_bytes([0, color.r, color.g, color.b]));
        self.list(points, |words, point| point.iter().for_each(|x| words.float(*x)));
        self.text(text);
    }
}

/// Words that are read. What is missing reads as 0, and leaves the reader broken.
pub struct WordReader<'a> {
    words: &'a [u32],
    broken: bool,
}

impl<'a> WordReader<'a> {
    pub fn new(words: &'a [u32]) -> Self {
        Self { words, broken: false }
    }

    pub fn take(&mut self, len: usize) -> &'a [u32] {
        match self.words.split_at_checked(len) {
            Some((taken, rest)) => {
                self.words = rest;
                taken
            }
            None => {
                (self.broken, self.words) = (true, &[]);
                &[]
            }
        }
    }

    pub fn word(&mut self) -> u32 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub fn len(&mut self) -> usize {
        self.word() as usize
    }

    pub fn text(&mut self) -> String {
        let len = self.len();
        let bytes = self.take(len.div_ceil(4)).iter().flat_map(|word| word.to_le_bytes()).take(len).collect();
        String::from_utf8(bytes).unwrap_or_else(|_| {
            self.broken = true;
            String::new()
        })
    }
}

/// Reads all that a host is told.
#[cfg(any(test, feature = "modules"))]
impl WordReader<'_> {
    /// Tells whether words are left.
    pub fn more(&self) -> bool {
        !self.words.is_empty()
    }

    /// Tells whether all that was read was there, and nothing is left.
    pub fn sound(&self) -> bool {
        !self.broken && self.words.is_empty()
    }

    pub fn float(&mut self) -> f32 {
        f32::from_bits(self.word())
    }

    pub fn double(&mut self) -> f64 {
        let [low, high] = [self.word(), self.word()].map(u64::from);
        f64::from_bits(high << 32 | low)
    }

    pub fn list<T>(&mut self, each: impl Fn(&mut Self) -> T) -> Vec<T> {
        let mut values = Vec::new();
        for _ in 0..self.len() {
            // Each value takes a word at least: a length that cannot be ends here.
            if self.words.is_empty() {
                self.broken = true;
                break;
            }
            values.push(each(self));
        }
        values
    }

    pub fn spec(&mut self) -> EnvSpec {
        EnvSpec {
            name: self.text(),
            observation: self.list(Self::dim),
            action: match self.word() {
                0 => ActionSpace::Discrete { names: self.list(Self::text) },
                1 => ActionSpace::Box { dims: self.list(Self::dim) },
                _ => ActionSpace::MultiDiscrete {
                    choices: self.list(|words| Choice { name: words.text(), names: words.list(Self::text) }),
                },
            },
            action_form: None,
            horizon: self.len(),
            dt: self.double(),
            solved_at: self.list(Self::double).pop(),
            task: self.list(Self::dim),
            classes: self.list(|words| Classes { names: words.list(Self::text), held_out: words.len() }).pop(),
            plane: self.list(|words| [words.len(), words.len()]).pop(),
            course: self.list(Self::len).pop(),
            legend: self.text(),
            goal: {
                let range = |words: &mut Self| words.len()..words.len();
                self.list(|words| Goal { achieved: range(words), desired: range(words), tolerance: words.double() })
                    .pop()
            },
        }
    }

    fn dim(&mut self) -> Dim {
        Dim { name: self.text(), low: self.double(), high: self.double(), whole: self.word() != 0 }
    }

    pub fn scene(&mut self) -> Scene {
        let view = std::array::from_fn(|_| self.float());
        Scene { view, shapes: self.list(Self::shape) }
    }

    fn shape(&mut self) -> Shape {
        let (kind, size) = (self.word(), self.float());
        let [_, r, g, b] = self.word().to_be_bytes();
        let color = crate::env::Color { r, g, b };
        let points = self.list(|words| [words.float(), words.float()]);
        let text = self.text();
        let point = |i: usize| points.get(i).copied().unwrap_or_default();
        match kind {
            0 => Shape::Line { from: point(0), to: point(1), width: size, color },
            1 => Shape::Circle { center: point(0), radius: size, color },
            2 => Shape::Polygon { points, color },
            3 => Shape::Polyline { points, width: size, color },
            _ => Shape::Text { at: point(0), height: size, text, color },
        }
    }
}

#[cfg(all(test, feature = "bodies"))]
mod tests {
    use super::*;
    use crate::env::Color;

    #[test]
    fn what_is_written_is_read_again_and_less_is_noticed() {
        let mut spec = EnvSpec::new("näme", vec![Dim::unbounded("x")], ActionSpace::discrete(&["a", "bcdef"]), 7)
            .task(vec![Dim::new("goal", -0.1, f64::MAX)])
            .solved_at(-3.5)
            .plane(1, 0)
            .legend("green: the goal");
        spec.course = Some(3);
        spec.goal = Some(Goal { achieved: 0..1, desired: 1..2, tolerance: 0.25 });
        let scene = Scene::new([-1.0, 1.0, 0.0, 2.0])
            .with(Shape::line([0.0, 0.5], [1.0, 1.5], 0.25, Color::rgb(1, 2, 3)))
            .with(Shape::circle([0.5, 0.25], 2.0, Color::rgb(255, 254, 253)))
            .with(Shape::polygon(vec![[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], Color::INK))
            .with(Shape::polyline(vec![[0.0, 0.0], [1.0, 0.0]], 0.5, Color::INK))
            .with(Shape::text([0.5, 1.0], 0.25, "aθ", Color::BLUE));
        let mut words = WordWriter::default();
        words.spec(&spec);
        words.scene(&scene);
        let boxes = EnvSpec { action: ActionSpace::continuous(vec![Dim::new("u", -1.0, 1.0)]), ..spec.clone() };
        words.spec(&boxes);
        let several =
            ActionSpace::multi_discrete(vec![Choice::new("gear", &["1", "2", "zurück"]), Choice::new("", &["on"])]);
        let classes = Classes { names: vec!["reach".to_owned()], held_out: 1 };
        let several = EnvSpec { action: several, ..spec.clone() }.classes(classes);
        words.spec(&several);
        let mut read = WordReader::new(&words.0);
        assert_eq!((read.spec(), read.scene(), read.spec(), read.spec()), (spec, scene, boxes, several));
        assert!(read.sound());
        let mut read = WordReader::new(&words.0[..words.0.len() - 1]);
        read.spec();
        read.scene();
        assert!(!read.sound(), "something is left");
        read.spec();
        read.spec();
        assert!(!read.sound(), "the last word is missing");
        assert_eq!(WordReader::new(&[u32::MAX, 1]).list(WordReader::word), [1], "a length that cannot be");
    }
}
