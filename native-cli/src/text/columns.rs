//! Rows of text in columns of equal width, for terminals.

/// The lines of a table, with two spaces between columns. The columns of which `right` is true end at the right, the
/// others begin at the left.
pub(crate) fn aligned(rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|text| text.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let cell = |(column, text): (usize, &String)| match right(column) {
        true => format!("{text:>width$}", width = widths[column]),
        false => format!("{text:<width$}", width = widths[column]),
    };
    let line = |row: &Vec<String>| row.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ");
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn columns_are_as_wide_as_their_longest_text() {
        let row = |texts: [&str; 3]| texts.map(str::to_owned).to_vec();
        let lines =
            aligned(&[row(["a", "bc", "1"]), row(["γδε", "f", "10"]), row(["g", "h", ""])], |column| column == 2);
        assert_eq!(lines, ["a    bc   1", "γδε  f   10", "g    h"]);
        assert!(aligned(&[], |_| false).is_empty());
    }
}
