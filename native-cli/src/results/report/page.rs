//! The frame of a page, and what its sections are made of.

use crate::curve;
use crate::text::program::VERSION;
use crate::text::quote::markup;

/// The page's own looks, after the tokens that other pages share.
const STYLE: &str =
    concat!(include_str!("../../../assets/page/tokens.css"), include_str!("../../../assets/page/report.css"));
/// The SHA-256 of [`STYLE`], by which the page's policy knows it; a test says what it has to be.
const STYLE_HASH: &str = "sha256-px3xKCwm7VzTqBLaKlLpNjRF2NETg4jeNj2SO7Nl4Ik=";

/// A page of sections.
pub(super) fn page(title: &str, lead: &str, sections: &[String]) -> String {
    let (title, lead, version) = (markup(title), markup(lead), markup(VERSION));
    let sections = sections.concat();
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src '{STYLE_HASH}'; \
         base-uri 'none'; form-action 'none'\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <header class=\"top\"><span class=\"brand\"><svg class=\"mark\" viewBox=\"0 0 36 36\" aria-hidden=\"true\">\
         <rect width=\"36\" height=\"36\" rx=\"9\"/><path d=\"M8 25c6 0 6-14 11-14s4 9 9 9\"/></svg>\
         <strong>quickstudy</strong></span></header>\n\
         <main>\n<div class=\"intro\"><h1>{title}</h1>\n<p class=\"lead\">{lead}</p></div>\n{sections}</main>\n\
         <footer class=\"foot\"><span>Made by quickstudy {version}.</span> <span>This page loads nothing and runs no \
         script.</span></footer>\n</body>\n</html>\n"
    )
}

/// A section with its heading; nothing without a body.
pub(super) fn section(heading: &str, body: &str) -> String {
    match body.is_empty() {
        true => String::new(),
        false => format!("<section>\n<h2>{}</h2>\n{body}</section>\n", markup(heading)),
    }
}

/// A part of a section that is folded until it is asked for. `body` is HTML.
pub(super) fn folded(summary: &str, body: &str) -> String {
    format!("<details>\n<summary>{}</summary>\n{body}</details>\n", markup(summary))
}

/// A cell of a table: its HTML, and whether it is a number.
pub(super) struct Cell {
    html: String,
    number: bool,
}

impl Cell {
    /// A cell of text.
    pub(super) fn text(text: &str) -> Self {
        Self { html: markup(text), number: false }
    }

    /// A number.
    pub(super) fn number(text: &str) -> Self {
        Self { html: markup(text), number: true }
    }

    /// Text in the letters of code.
    pub(super) fn code(text: &str) -> Self {
        Self { html: format!("<code>{}</code>", markup(text)), number: false }
    }

    /// The name of a method, after a piece of its line.
    pub(super) fn method(label: &str, number: usize) -> Self {
        Self { html: format!("{}{}", key(number), markup(label)), number: false }
    }
}

/// A table, which scrolls by itself where it is wider than the page. The first cell of a row is its heading.
pub(super) fn table(caption: &str, head: &[Cell], rows: &[Vec<Cell>]) -> String {
    let class = |cell: &Cell| if cell.number { " class=\"n\"" } else { "" };
    let heads: String =
        head.iter().map(|cell| format!("<th scope=\"col\"{}>{}</th>", class(cell), cell.html)).collect();
    let row = |cells: &Vec<Cell>| {
        let cell = |(i, cell): (usize, &Cell)| match i {
            0 => format!("<th scope=\"row\"{}>{}</th>", class(cell), cell.html),
            _ => format!("<td{}>{}</td>", class(cell), cell.html),
        };
        format!("<tr>{}</tr>\n", cells.iter().enumerate().map(cell).collect::<String>())
    };
    let caption = markup(caption);
    format!(
        "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{caption}\"><table>\n\
         <caption><span>{caption}</span></caption>\n\
         <thead><tr>{heads}</tr></thead>\n<tbody>\n{}</tbody></table></div>\n",
        rows.iter().map(row).collect::<String>()
    )
}

/// A piece of the line of a method.
pub(super) fn key(number: usize) -> String {
    let drawn = curve::swatch(number).svg_in_page("", "");
    format!("<span class=\"key\" aria-hidden=\"true\">{}</span>", drawn.trim_end().replace('\n', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_text() {
        let evil = "</title><script>alert(1)</script>";
        let cells = vec![vec![Cell::text(evil), Cell::code(evil), Cell::method(evil, 9), Cell::number(evil)]];
        let body = table(evil, &[Cell::text(evil)], &cells) + &folded(evil, "");
        let page = page(evil, evil, &[section(evil, &body)]);
        assert!(!page.contains("<script") && page.matches("&lt;script&gt;").count() >= 10, "{page}");
        assert_eq!(section("empty", ""), "");
    }
}
