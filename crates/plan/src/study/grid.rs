//! Tables of a study as typed: a line of heads, then a line a row, cells between `|`.
//!
//! A unit stands behind its number, or in brackets behind the head of the column or the row.

use super::{Figure, FigureBound, PrintedUnit, PublishedRow};

/// Heads and rows.
pub(super) struct Grid {
    pub(super) rows_are: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<PublishedRow>,
}

/// Fault of a table, in words.
pub(super) type Wrong = String;

/// Reads a table.
pub(super) fn parse(text: &str) -> Result<Grid, Wrong> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut heads = cells(lines.next().ok_or("there is no line of heads")?);
    let (rows_are, _) = heads.next().map(head).ok_or("there is no line of heads")??;
    let columns: Vec<(String, Option<PrintedUnit>)> = heads.map(head).collect::<Result<_, _>>()?;
    let rows: Vec<PublishedRow> = lines.map(|line| row(line, &columns)).collect::<Result<_, _>>()?;
    let columns: Vec<String> = columns.into_iter().map(|(name, _)| name).collect();
    if columns.is_empty() || rows.is_empty() {
        return Err("it needs a column and a row at least".to_owned());
    }
    no_twins("columns", columns.iter().map(String::as_str))?;
    no_twins("rows", rows.iter().map(|row| row.name.as_str()))?;
    Ok(Grid { rows_are, columns, rows })
}

fn cells(line: &str) -> impl Iterator<Item = &str> {
    line.split('|').map(str::trim)
}

/// `throughput [Mbit/s]` is a name and a unit.
fn head(text: &str) -> Result<(String, Option<PrintedUnit>), Wrong> {
    let (name, unit) = match text.strip_suffix(']').and_then(|text| text.rsplit_once('[')) {
        Some((name, unit)) => (name.trim(), Some(find(unit.trim())?)),
        None => (text, None),
    };
    if name.is_empty() {
        Err("a row or a column has no name".to_owned())
    } else {
        Ok((name.to_owned(), unit))
    }
}

fn row(line: &str, columns: &[(String, Option<PrintedUnit>)]) -> Result<PublishedRow, Wrong> {
    let mut values = cells(line);
    let (name, of_row) = head(values.next().unwrap_or_default())?;
    let values: Vec<&str> = values.collect();
    if values.len() != columns.len() {
        return Err(format!("`{name}` has {} values for {} columns", values.len(), columns.len()));
    }
    let figures = values.iter().zip(columns).map(|(text, (column, of_column))| {
        figure(text, of_column.or(of_row)).map_err(|why| format!("`{name}`, `{column}`: {why}"))
    });
    Ok(PublishedRow { cells: figures.collect::<Result<_, _>>()?, name })
}

/// `12.0`, `~140 conn/s`, `-` for nothing.
fn figure(text: &str, around: Option<PrintedUnit>) -> Result<Option<Figure>, Wrong> {
    if text == "-" {
        return Ok(None);
    }
    let (text, unit) = match text.split_once(' ') {
        Some((number, unit)) => (number, find(unit.trim())?),
        None => (text, around.ok_or_else(|| format!("`{text}` has no unit"))?),
    };
    let (bound, number) = match text.split_at_checked(1) {
        Some(("~", number)) => (FigureBound::About, number),
        Some(("<", number)) => (FigureBound::Under, number),
        Some((">", number)) => (FigureBound::Over, number),
        _ => (FigureBound::Exact, text),
    };
    let value: f64 = number.parse().map_err(|_| format!("`{text}` is no number"))?;
    if !value.is_finite() {
        return Err(format!("`{text}` is no number"));
    }
    Ok(Some(Figure { text: text.to_owned(), value, bound, unit, certain: true, doubt: None }))
}

fn find(unit: &str) -> Result<PrintedUnit, Wrong> {
    PrintedUnit::find(unit).ok_or_else(|| format!("`{unit}` is no known unit"))
}

fn no_twins<'n>(what: &str, names: impl Iterator<Item = &'n str>) -> Result<(), Wrong> {
    let mut seen = std::collections::BTreeSet::new();
    for name in names {
        if !seen.insert(name) {
            return Err(format!("two {what} are called `{name}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_from_the_cell_the_column_or_the_row() {
        let grid = parse("what | a | b [%]\nx [s] | 1.50 | 3\ny | ~7 ms | -\n").unwrap();
        assert_eq!(
            (grid.rows_are.as_str(), grid.columns.as_slice()),
            ("what", &["a".into(), "b".into()][..])
        );
        let x = &grid.rows[0];
        let told: Vec<String> = x.cells.iter().flatten().map(Figure::in_words).collect();
        assert_eq!((x.name.as_str(), told), ("x", vec!["1.50 s".to_owned(), "3 %".to_owned()]));
        let y = &grid.rows[1];
        assert_eq!(
            y.cells[0].as_ref().map(|figure| (figure.value, figure.bound)),
            Some((7.0, FigureBound::About))
        );
        assert_eq!(y.cells[1], None);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("", "no line of heads"),
            ("what", "a column and a row"),
            ("what | a [s]", "a column and a row"),
            ("what | a [s]\nx | 1 | 2", "2 values for 1 columns"),
            ("what | a [s]\nx | ", "`` is no number"),
            ("what | a\nx | 1", "no unit"),
            ("what | a [stone]\nx | 1", "`stone` is no known unit"),
            ("what | a [s]\nx | 1 stone", "`stone` is no known unit"),
            ("what | a [s]\nx | one", "`one` is no number"),
            ("what | a [s]\nx | inf", "`inf` is no number"),
            ("what | a [s]\n | 1", "no name"),
            ("what | a [s]\nx | 1\nx | 2", "two rows are called `x`"),
            ("what | a [s] | a [ms]\nx | 1 | 2", "two columns are called `a`"),
        ] {
            let said = parse(text).err().unwrap_or_default();
            assert!(said.contains(word), "{text:?}: {said}");
        }
    }
}
