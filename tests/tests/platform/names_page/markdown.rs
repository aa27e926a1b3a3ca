//! The page as sections with rows of tables and paragraphs, and the names in code style that these have.

/// A section of the page.
#[derive(Default)]
pub struct Section {
    /// The heading.
    pub title: String,
    /// Paragraphs, all of whose names in code style are ours.
    pub paragraphs: Vec<Text>,
    /// Rows of tables.
    pub rows: Vec<Row>,
}

/// A row of a table.
pub struct Row {
    /// The columns of the originals.
    pub theirs: Vec<String>,
    /// The last column.
    pub ours: Text,
    /// True if the last column is of defaults.
    pub defaults: bool,
}

/// A text with the number of its first line, from 1.
pub struct Text {
    pub line: usize,
    pub text: String,
}

/// A name in code style.
pub struct Name {
    /// The text between the name before and this one.
    pub gap: String,
    /// The name itself.
    pub code: String,
    /// The path of a Rust name: of a field or a method with the type before it.
    pub path: Option<String>,
}

/// The head of the columns of defaults.
const DEFAULTS: &str = "our default";

/// Gaps between the names of a list.
pub const LISTING: [&str; 3] = [", ", " and ", ", and "];

/// The sections of a page. Text before the first heading of the second level is of the first one.
pub fn sections(page: &str) -> Vec<Section> {
    let mut sections = vec![Section::default()];
    let (mut defaults, mut before) = (false, "");
    let lines: Vec<&str> = page.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let line_number = at + 1;
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title: title.to_owned(), ..Section::default() });
        } else if line.starts_with('|') {
            let mut cells: Vec<String> = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            let ours = cells.pop().unwrap_or_default();
            let is_head = lines.get(at + 1).is_some_and(|next| is_rule(next));
            if is_head {
                defaults = ours == DEFAULTS;
            } else if !is_rule(line) {
                let row = Row { theirs: cells, ours: Text { line: line_number, text: ours }, defaults };
                last(&mut sections).rows.push(row);
            }
        } else if !line.is_empty() && !line.starts_with('#') {
            let paragraphs = &mut last(&mut sections).paragraphs;
            match paragraphs.last_mut().filter(|_| !before.is_empty()) {
                Some(paragraph) => paragraph.text += &format!(" {line}"),
                None => paragraphs.push(Text { line: line_number, text: (*line).to_owned() }),
            }
        }
        before = if line.starts_with(['|', '#']) { "" } else { line };
    }
    sections
}

fn last(sections: &mut [Section]) -> &mut Section {
    sections.last_mut().expect("there is a first section")
}

/// The line below the head of a table.
fn is_rule(line: &str) -> bool {
    line.starts_with("|-") && line.chars().all(|c| "|-".contains(c))
}

impl Section {
    /// The texts of which every name in code style is ours.
    pub fn ours(&self) -> impl Iterator<Item = &Text> {
        self.paragraphs.iter().chain(self.rows.iter().map(|row| &row.ours))
    }
}

/// The names of a text in code style.
pub fn names(text: &str) -> Vec<Name> {
    let parts: Vec<&str> = text.split('`').collect();
    let mut names: Vec<Name> = Vec::new();
    // The type whose fields and methods are listed.
    let mut owner: Option<String> = None;
    let mut listing = false;
    for pair in parts.chunks_exact(2) {
        let (gap, code) = (pair[0], pair[1]);
        listing = owner.is_some() && (!listing && gap == ": " || listing && LISTING.contains(&gap));
        let path = match &owner {
            Some(of) if listing => Some(format!("{of}::{code}")),
            _ => is_path(code).then(|| code.to_owned()),
        };
        if !listing {
            owner.clone_from(&path);
        }
        names.push(Name { gap: gap.to_owned(), code: code.to_owned(), path });
    }
    names
}

/// Tells whether a name is a path of Rust, or one of the crate's root.
fn is_path(code: &str) -> bool {
    let is_word = code.chars().all(|c| c.is_alphanumeric() || c == '_' || c == ':');
    is_word && (code.contains("::") || code.starts_with(|c: char| c.is_ascii_uppercase()))
}

#[test]
fn names_of_fields_are_those_of_the_type_before_a_colon() {
    let paths = |text: &str| names(text).into_iter().filter_map(|name| name.path).collect::<Vec<_>>();
    assert_eq!(paths("`a::B`: `c`, `d` and `e`; of `f` `g`"), ["a::B", "a::B::c", "a::B::d", "a::B::e"]);
    assert_eq!(paths("`a::B`, `c`; `d`: `e`; `Device`"), ["a::B", "Device"]);
    assert_eq!(paths("`a::B`: `c`: as `d`"), ["a::B", "a::B::c"]);
}

#[test]
fn a_page_has_sections_of_paragraphs_and_rows() {
    let page = "# A\n\nOne `x`\ntwo.\n\n## B\n\nThree.\n\n| t | u | our default |\n|---|---|---|\n| `a` | b | `c` |\n\n\
                Four.\n";
    let all = sections(page);
    let texts = |at: usize| all[at].paragraphs.iter().map(|text| text.text.as_str()).collect::<Vec<_>>();
    assert_eq!((all.len(), texts(0), texts(1)), (2, vec!["One `x` two."], vec!["Three.", "Four."]));
    let row = &all[1].rows[0];
    assert_eq!((&row.theirs[..], row.ours.text.as_str(), row.ours.line), (&["`a`".into(), "b".into()][..], "`c`", 12));
    assert!(all[1].title == "B" && all[1].rows.len() == 1 && row.defaults);
}
