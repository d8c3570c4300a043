//! A study's file: form and checks.

use super::grid::{self, Wrong};
use super::link::{self, JoinFile, StatementFile};
use super::{CountedOverhead, Headline, Publication, PublishedTable, Study, StudyCurve, StudyPage};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Error for a text that is no study.
#[derive(Debug, thiserror::Error)]
#[error("studies/{study}.toml: {wrong}")]
pub struct StudyError {
    study: String,
    wrong: Wrong,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StudyFile {
    title: String,
    question: String,
    page: StudyPage,
    #[serde(default)]
    headline: Vec<HeadlineFile>,
    #[serde(default)]
    missing: Vec<String>,
    source: Vec<SourceFile>,
    table: Vec<TableFile>,
    #[serde(default)]
    curve: Vec<StudyCurve>,
    #[serde(default)]
    statement: Vec<StatementFile>,
    #[serde(default)]
    join: Vec<JoinFile>,
    #[serde(default)]
    counted: Vec<CountedFile>,
}

/// A figure that stands for the study.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HeadlineFile {
    says: String,
    table: String,
    row: String,
    column: String,
    plan: String,
    operation: Option<String>,
    arm: Option<String>,
}

/// Links between rows of a table and rows of a guest.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CountedFile {
    table: String,
    column: String,
    /// The guest's row by the table's.
    rows: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceFile {
    id: String,
    text: String,
    url: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    id: String,
    title: String,
    place: Option<String>,
    source: String,
    conditions: String,
    cells: String,
    #[serde(default)]
    notes: Vec<String>,
    #[serde(default)]
    doubt: Vec<DoubtFile>,
}

/// A figure that is not certain, and why.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DoubtFile {
    row: String,
    column: String,
    why: String,
}

/// Reads a study.
pub(super) fn parse(name: &str, text: &str) -> Result<Study, StudyError> {
    study(name, text).map_err(|wrong| StudyError { study: name.to_owned(), wrong })
}

fn study(name: &str, text: &str) -> Result<Study, Wrong> {
    let summary = text.lines().next().and_then(|line| line.strip_prefix("# "));
    let summary = summary.ok_or("the first line is no comment that says what it is")?.to_owned();
    let file: StudyFile = toml::from_str(text).map_err(|why| why.to_string())?;
    let sources = file.source.into_iter().map(|source| Publication {
        id: source.id,
        text: source.text,
        url: source.url,
    });
    let sources: Vec<Publication> = sources.collect();
    let mut tables: Vec<PublishedTable> = Vec::new();
    for form in file.table {
        let id = form.id.clone();
        let table = table(form).map_err(|why| format!("table `{id}`: {why}"))?;
        if tables.iter().any(|other| other.id == table.id) {
            return Err(format!("two tables are called `{id}`"));
        }
        if !sources.iter().any(|source| source.id == table.source) {
            return Err(format!("table `{id}`: there is no source `{}`", table.source));
        }
        tables.push(table);
    }
    let links = link::expand(&file.join, &file.statement, &tables)?;
    let counted = counted(&file.counted, &tables)?;
    file.curve.iter().try_for_each(|curve| curve_is_there(curve, &tables))?;
    let headlines =
        file.headline.into_iter().map(|form| headline(form, &tables)).collect::<Result<_, _>>()?;
    Ok(Study {
        name: name.to_owned(),
        summary,
        title: file.title,
        question: file.question,
        page: file.page,
        headlines,
        sources,
        tables,
        curves: file.curve,
        missing: file.missing,
        links,
        counted,
    })
}

/// The table of this id, which a part of the file names.
fn known<'t>(part: &str, id: &str, tables: &'t [PublishedTable]) -> Result<&'t PublishedTable, Wrong> {
    let found = tables.iter().find(|table| table.id == id);
    found.ok_or_else(|| format!("`{part}` names the table `{id}`, which is not there"))
}

fn curve_is_there(curve: &StudyCurve, tables: &[PublishedTable]) -> Result<(), Wrong> {
    for id in &curve.tables {
        let table = known("curve", id, tables)?;
        table.column(&curve.column).and_then(|_| table.column(&curve.against))?;
    }
    Ok(())
}

fn headline(form: HeadlineFile, tables: &[PublishedTable]) -> Result<Headline, Wrong> {
    let table = known("headline", &form.table, tables)?;
    let (row, column) = (table.row(&form.row)?, table.column(&form.column)?);
    let figure = table.rows[row].cells[column].as_ref();
    let figure = figure.ok_or_else(|| format!("`headline`: no figure was published of `{}`", form.row))?;
    Ok(Headline {
        says: form.says,
        table: table.title.clone(),
        row: form.row,
        column: form.column,
        published: figure.in_words(),
        plan: form.plan,
        operation: form.operation,
        arm: form.arm,
    })
}

fn counted(forms: &[CountedFile], tables: &[PublishedTable]) -> Result<Vec<CountedOverhead>, Wrong> {
    let mut all = Vec::new();
    for form in forms {
        let table = known("counted", &form.table, tables)?;
        let column = table.column(&form.column)?;
        for (row, counted) in &form.rows {
            let found = &table.rows[table.row(row)?];
            let published =
                found.cells[column].clone().ok_or_else(|| format!("`{row}`: no figure was published"))?;
            all.push(CountedOverhead {
                table: table.title.clone(),
                row: row.clone(),
                column: form.column.clone(),
                counted: counted.clone(),
                published,
            });
        }
    }
    Ok(all)
}

fn table(form: TableFile) -> Result<PublishedTable, Wrong> {
    let grid = grid::parse(&form.cells)?;
    let mut table = PublishedTable {
        id: form.id,
        title: form.title,
        place: form.place,
        source: form.source,
        conditions: form.conditions,
        rows_are: grid.rows_are,
        columns: grid.columns,
        rows: grid.rows,
        notes: form.notes,
    };
    for DoubtFile { row, column, why } in form.doubt {
        let (row, column) = (table.row(&row)?, table.column(&column)?);
        let figure = table.rows[row].cells[column].as_mut().ok_or("there is a doubt about no figure")?;
        (figure.certain, figure.doubt) = (false, Some(why));
    }
    Ok(table)
}

impl PublishedTable {
    /// Index of the row with this name.
    pub(super) fn row(&self, name: &str) -> Result<usize, Wrong> {
        let found = self.rows.iter().position(|row| row.name == name);
        found.ok_or_else(|| format!("table `{}` has no row `{name}`", self.id))
    }

    /// Index of the column with this name.
    pub(super) fn column(&self, name: &str) -> Result<usize, Wrong> {
        let found = self.columns.iter().position(|column| column == name);
        found.ok_or_else(|| format!("table `{}` has no column `{name}`", self.id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"# What it is (2001)
title = "T"
question = "Q?"
[page]
head = "T, 2001"
run = ["`bakeoff run t`"]
needs = "a minute"
story = "S."
kept = "K."
modernised = "M."
[[source]]
id = "p"
text = "Paper"
[[table]]
id = "t"
title = "T"
source = "p"
conditions = "C"
cells = """
what | a [%] | b [%]
x    | 1     | -
"""
"#;

    fn wrong(text: &str) -> String {
        parse("s", text).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn a_file_is_checked_as_a_whole() {
        assert_eq!(wrong(GOOD), "");
        for (from, to, word) in [
            ("# What", "What", "first line"),
            ("title = \"T\"\nquestion", "question", "title"),
            ("question", "questoin", "questoin"),
            ("source = \"p\"", "source = \"q\"", "no source `q`"),
            ("what |", "what", "table `t`: `x` has 2 values for 1 columns"),
        ] {
            let text = GOOD.replacen(from, to, 1);
            assert!(text != GOOD && wrong(&text).contains(word), "{from}: {}", wrong(&text));
        }
        let twice = format!("{GOOD}{}", &GOOD[GOOD.find("[[table]]").unwrap()..]);
        assert!(wrong(&twice).contains("two tables are called `t`"));
    }

    #[test]
    fn a_doubt_is_about_a_figure() {
        let with = |row, column| {
            format!("{GOOD}[[table.doubt]]\nrow = \"{row}\"\ncolumn = \"{column}\"\nwhy = \"W\"\n")
        };
        let study = parse("s", &with("x", "a")).unwrap();
        let figure = study.tables[0].rows[0].cells[0].clone().unwrap();
        assert_eq!((figure.certain, figure.doubt.as_deref()), (false, Some("W")));
        assert!(wrong(&with("y", "a")).contains("no row `y`"));
        assert!(wrong(&with("x", "c")).contains("no column `c`"));
        assert!(wrong(&with("x", "b")).contains("no figure"));
    }
}
