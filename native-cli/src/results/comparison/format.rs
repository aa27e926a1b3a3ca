//! Formats of comparisons, by their names and those of files.

use super::document::Document;
use super::{Comparison, figures, latex, markdown, picture, text};
use crate::outcome::Stop;
use crate::pictures::format::{Format, expect_extension};
use std::path::Path;

/// A format of comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ReportFormat {
    /// Tables for a terminal
    Text,
    /// Tables in Markdown
    Markdown,
    /// A number on each line
    Csv,
    /// Tables in LaTeX
    Latex,
    /// A picture of lines and text
    Svg,
    /// A picture of pixels
    Png,
    /// A JSON object on each line
    Json,
}

/// Extensions of files, and their formats.
const EXTENSIONS: [(&str, ReportFormat); 8] = [
    ("md", ReportFormat::Markdown),
    ("csv", ReportFormat::Csv),
    ("tex", ReportFormat::Latex),
    ("svg", ReportFormat::Svg),
    ("png", ReportFormat::Png),
    ("json", ReportFormat::Json),
    ("jsonl", ReportFormat::Json),
    ("txt", ReportFormat::Text),
];

impl ReportFormat {
    /// The format that was asked for, by its name or by that of the file `out`.
    pub(crate) fn of(out: Option<&Path>, asked: Option<Self>) -> Result<Self, Stop> {
        let Some(path) = out else { return Ok(asked.unwrap_or(Self::Text)) };
        let known = EXTENSIONS.map(|(extension, _)| extension);
        let extension = expect_extension("--out", path, "a comparison", &known)?;
        let named =
            extension.and_then(|name| EXTENSIONS.into_iter().find(|(known, _)| *known == name)).map(|(_, of)| of);
        match (named, asked) {
            (Some(named), Some(format)) if named != format => {
                let message = format!("--out {} and --format name different formats", path.display());
                Err(Stop::user(message).hint("leave --format out; the extension decides"))
            }
            (Some(format), _) | (None, Some(format)) => Ok(format),
            (None, None) => {
                let message = format!("--out {}: its name says no format", path.display());
                Err(Stop::user(message)
                    .hint("end it with .md, .csv, .tex, .svg, .png, .json or .txt, or give --format"))
            }
        }
    }

    /// A comparison in this format.
    pub(crate) fn encode(self, comparison: &Comparison) -> Result<Vec<u8>, Stop> {
        let document = Document::of(comparison);
        Ok(match self {
            Self::Text => (text::text(&document).join("\n") + "\n").into_bytes(),
            Self::Markdown => markdown::markdown(&document).into_bytes(),
            Self::Csv => figures::csv(comparison).into_bytes(),
            Self::Latex => latex::latex(&document).into_bytes(),
            Self::Json => figures::json(comparison)?.into_bytes(),
            Self::Svg => picture::draw(comparison)?.encode(Format::Svg)?,
            Self::Png => picture::draw(comparison)?.encode(Format::Png)?,
        })
    }
}
