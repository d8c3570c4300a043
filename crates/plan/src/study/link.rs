//! Links from published figures to figures of a run.
//!
//! A `[[join]]` names a table, a meter and how the meter's comparison becomes the study's figure; its cells name arms.
//! `{row}` and `{column}` in an arm's name stand for those of the table; a cell that names no row or no column means
//! all of them. Several statements on a layer may have to be kept apart, each with arms of its own. Then a join names
//! its `[[statement]]`s, and its figures appear once for each; `{cell}` in the arms of a statement stands for what a
//! cell has in place of an arm's name.

use super::grid::Wrong;
use super::{Figure, FigureBound, PrintedUnit, PublishedTable};
use bakeoff_meter::{Meter, catalogue};
use serde::Deserialize;

/// Conversion of an arm's comparison with its baseline into a figure like the study's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Increase, in percent.
    Change,
    /// Decrease, in percent: of a rate, the slowdown.
    Loss,
    /// Decrease of the amount in the same time when each takes longer, in percent: 1 - 1/(1 + change).
    LossOfRate,
    /// Factor.
    Ratio,
    /// Increase, in the meter's unit. Never comparable: it is another machine's.
    More,
    /// The arm's own value, without a baseline. Never comparable: it is another machine's.
    Value,
}

/// In the arms of a statement: the text that a cell has in place of an arm's name.
const CELL: &str = "{cell}";

/// Runs that a link applies to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Name of the plan; `None`: any.
    pub plan: Option<String>,
    /// Kind of the workload; `None`: any.
    pub workload: Option<String>,
    /// Over a link of a given rate, or not; `None`: either.
    pub link: Option<bool>,
    /// The figure is the change from an older run to a newer one.
    pub between: bool,
}

/// A published figure and its place in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureLink {
    /// The runs that have it.
    pub of: Condition,
    /// Subject and method of the statement, if a study has several such statements.
    pub statement: Option<String>,
    /// The operation that the figure is of; `None`: of the whole slice.
    pub operation: Option<String>,
    /// The step of its first contact that the figure is of; `None`: of all of it.
    pub step: Option<String>,
    /// The population that the figure is of; `None`: of all clients.
    pub population: Option<String>,
    /// Title of the table.
    pub table: String,
    /// Row.
    pub row: String,
    /// Column.
    pub column: String,
    /// The published figure, in the unit that this run's figure will have.
    pub published: Figure,
    /// The two published figures it was calculated from, if it was.
    pub taken_from: Option<String>,
    /// The arm.
    pub arm: String,
    /// The arm it is compared with; for a value the arm itself.
    pub baseline: String,
    /// The meter.
    pub meter: &'static str,
    /// Conversion of the comparison into the figure.
    pub measure: Measure,
    /// Reason why the two are not of the same kind, if they are not.
    pub differs: Option<String>,
}

/// `[[join]]`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct JoinFile {
    table: String,
    meter: String,
    #[serde(rename = "as")]
    measure: Measure,
    /// Column by which the figure is divided.
    over: Option<String>,
    differs: Option<String>,
    /// Name of the plan that a run must be of.
    plan: Option<String>,
    /// Kind of the workload that a run must have.
    workload: Option<String>,
    /// Whether a run must be over a link of a given rate.
    link: Option<bool>,
    /// Ids of those whose arms the cells are of.
    #[serde(default)]
    statements: Vec<String>,
    cells: Vec<JoinCell>,
}

/// `[[statement]]`: a cost that is reported by itself.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatementFile {
    id: String,
    says: String,
    /// The figure is the change from an older run to a newer one.
    #[serde(default)]
    between: bool,
    arm: String,
    baseline: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinCell {
    row: Option<String>,
    column: Option<String>,
    operation: Option<String>,
    step: Option<String>,
    population: Option<String>,
    /// If the join names statements, the text for `{cell}` in their arms.
    #[serde(default)]
    arm: String,
    /// Unless the join names statements, or the figure is a value.
    #[serde(default)]
    baseline: String,
}

/// All links of a study.
pub(super) fn expand(
    joins: &[JoinFile],
    statements: &[StatementFile],
    tables: &[PublishedTable],
) -> Result<Vec<FigureLink>, Wrong> {
    let mut links = Vec::new();
    for join in joins {
        let table = tables.iter().find(|table| table.id == join.table);
        let table =
            table.ok_or_else(|| format!("a join names the table `{}`, which is not there", join.table))?;
        let meter = catalogue::find(&join.meter);
        let meter =
            meter.ok_or_else(|| format!("a join names the meter `{}`, which is not there", join.meter))?;
        for statement in said(join, statements)? {
            for cell in &join.cells {
                links.extend(links_of(join, &statement, cell, table, meter)?);
            }
        }
    }
    Ok(links)
}

/// The statements that a join names; a single empty one if it names none.
fn said(join: &JoinFile, all: &[StatementFile]) -> Result<Vec<Option<StatementFile>>, Wrong> {
    let find = |id: &String| {
        let found = all.iter().find(|statement| statement.id == *id).cloned();
        found.map(Some).ok_or_else(|| format!("a join names the statement `{id}`, which is not there"))
    };
    let said: Vec<Option<StatementFile>> = match join.statements.as_slice() {
        [] => vec![None],
        ids => ids.iter().map(find).collect::<Result<_, _>>()?,
    };
    let fits = |cell: &JoinCell, of: &Option<StatementFile>| match of {
        Some(of) => cell.baseline.is_empty() && of.arm.contains(CELL) != cell.arm.is_empty(),
        None => !cell.arm.is_empty() && cell.baseline.is_empty() == (join.measure == Measure::Value),
    };
    if join.cells.iter().all(|cell| said.iter().all(|of| fits(cell, of))) {
        return Ok(said);
    }
    Err(format!(
        "a join of table `{}`: arms stand in its cells, or in the statements that it names, whose `{CELL}` is then in the \
         cells; a value has no baseline",
        join.table
    ))
}

fn links_of(
    join: &JoinFile,
    statement: &Option<StatementFile>,
    cell: &JoinCell,
    table: &PublishedTable,
    meter: &Meter,
) -> Result<Vec<FigureLink>, Wrong> {
    let (arm, baseline) = match statement {
        Some(of) => (of.arm.replace(CELL, &cell.arm), of.baseline.replace(CELL, &cell.arm)),
        None => (cell.arm.clone(), cell.baseline.clone()),
    };
    let baseline = if join.measure == Measure::Value { arm.clone() } else { baseline };
    let rows = match &cell.row {
        Some(name) => vec![table.row(name)?],
        None => (0..table.rows.len()).collect(),
    };
    let over = join.over.as_deref().map(|name| table.column(name)).transpose()?;
    let columns = match &cell.column {
        Some(name) => vec![table.column(name)?],
        None => (0..table.columns.len()).filter(|column| Some(*column) != over).collect(),
    };
    let named = cell.row.is_some() && cell.column.is_some();
    let mut links = Vec::new();
    for (row, column) in rows.iter().flat_map(|row| columns.iter().map(|column| (*row, *column))) {
        let (row_name, column_name) = (&table.rows[row].name, &table.columns[column]);
        let at = |why: Wrong| format!("a join of table `{}`, `{row_name}`, `{column_name}`: {why}", table.id);
        match published(join.measure, meter, table, row, column, over).map_err(at)? {
            None if named => return Err(at("no figure was published".to_owned())),
            None => {}
            Some((published, taken_from)) => {
                let name =
                    |pattern: &str| pattern.replace("{row}", row_name).replace("{column}", column_name);
                links.push(FigureLink {
                    of: Condition {
                        plan: join.plan.clone(),
                        workload: join.workload.clone(),
                        link: join.link,
                        between: statement.as_ref().is_some_and(|statement| statement.between),
                    },
                    statement: statement.as_ref().map(|statement| statement.says.clone()),
                    operation: cell.operation.clone(),
                    step: cell.step.clone(),
                    population: cell.population.clone(),
                    table: table.title.clone(),
                    row: row_name.clone(),
                    column: column_name.clone(),
                    published,
                    taken_from,
                    arm: name(&arm),
                    baseline: name(&baseline),
                    meter: meter.name,
                    measure: join.measure,
                    differs: join.differs.clone(),
                });
            }
        }
    }
    Ok(links)
}

type Published = Option<(Figure, Option<String>)>;

/// The published figure, and the figures it was calculated from.
fn published(
    measure: Measure,
    meter: &Meter,
    table: &PublishedTable,
    row: usize,
    column: usize,
    over: Option<usize>,
) -> Result<Published, Wrong> {
    let cells = &table.rows[row].cells;
    let Some(figure) = &cells[column] else { return Ok(None) };
    if let Some(over) = over {
        let Some(base) = &cells[over] else { return Ok(None) };
        return quotient(measure, figure, base).map(Some);
    }
    let fits = match measure {
        Measure::Change | Measure::Loss | Measure::LossOfRate => figure.unit == PrintedUnit::PERCENT,
        Measure::Ratio => figure.unit == PrintedUnit::TIMES,
        Measure::More | Measure::Value => figure.unit.of_meter(meter.unit, 1.0).is_some(),
    };
    if fits {
        Ok(Some((figure.clone(), None)))
    } else {
        Err(format!("`{}` is no unit for this measure of {}", figure.unit.label, meter.noun))
    }
}

fn quotient(measure: Measure, figure: &Figure, base: &Figure) -> Result<(Figure, Option<String>), Wrong> {
    if figure.unit.quantity != base.unit.quantity {
        return Err("the two figures measure different things".to_owned());
    }
    let times = figure.value * figure.unit.scale / (base.value * base.unit.scale);
    let (value, unit, decimals) = match measure {
        Measure::Change => ((times - 1.0) * 100.0, PrintedUnit::PERCENT, 1),
        Measure::Loss | Measure::LossOfRate => ((1.0 - times) * 100.0, PrintedUnit::PERCENT, 1),
        Measure::Ratio => (times, PrintedUnit::TIMES, 2),
        Measure::More | Measure::Value => return Err("this measure takes no `over`".to_owned()),
    };
    let bound = match (figure.bound, base.bound) {
        (FigureBound::Exact, FigureBound::Exact) => FigureBound::Exact,
        (FigureBound::Exact | FigureBound::About, FigureBound::Exact | FigureBound::About) => {
            FigureBound::About
        }
        _ => return Err("a bound has no quotient".to_owned()),
    };
    if !value.is_finite() {
        return Err("the divisor is zero".to_owned());
    }
    let taken = Figure {
        text: format!("{value:.decimals$}"),
        value,
        bound,
        unit,
        certain: figure.certain && base.certain,
        doubt: figure.doubt.clone().or_else(|| base.doubt.clone()),
    };
    Ok((taken, Some(format!("{} against {}", figure.in_words(), base.in_words()))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::{file, find};

    const TABLE: &str = r#"# What it is (2001)
title = "T"
question = "Q?"
page = { head = "T", run = [], needs = "", story = "", kept = "", modernised = "" }
[[source]]
id = "p"
text = "Paper"
[[table]]
id = "t"
title = "T"
source = "p"
conditions = "C"
cells = """
what | off [conn/s] | on [conn/s] | extra [%] | time [ms]
x    | 400          | ~340        | 3         | 7
y    | 200          | 100         | -         | -
z    | >200         | 100         | -         | -
"""
"#;

    fn links(join: &str) -> Result<Vec<FigureLink>, String> {
        file::parse("s", &format!("{TABLE}[[join]]\ntable = \"t\"\n{join}"))
            .map(|study| study.links)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn names_are_filled_in_and_gaps_left_out() {
        let join = "meter = \"elapsed\"\nas = \"change\"\n\
                    cells = [{ column = \"extra\", arm = \"{column}.{row}\", baseline = \"b\" }]";
        let found = links(join).unwrap();
        let [only] = &found[..] else { panic!("{found:?}") };
        assert_eq!((only.arm.as_str(), only.baseline.as_str(), only.meter), ("extra.x", "b", "elapsed"));
        assert_eq!(only.published.in_words(), "3 %");
    }

    #[test]
    fn two_columns_give_a_loss_or_a_ratio() {
        let join = |measure: &str, row: &str| {
            links(&format!(
                "meter = \"replies_per_second\"\nas = \"{measure}\"\nover = \"off\"\n\
                 cells = [{{ row = \"{row}\", column = \"on\", arm = \"a\", baseline = \"b\" }}]"
            ))
        };
        let told = |measure, row| {
            let link = join(measure, row).unwrap().remove(0);
            (link.published.in_words(), link.taken_from.unwrap())
        };
        let from = "about 340 conn/s against 400 conn/s".to_owned();
        assert_eq!(told("loss", "x"), ("about 15.0 %".to_owned(), from));
        assert_eq!(told("ratio", "y").0, "0.50 x");
        assert!(join("loss", "z").unwrap_err().contains("a bound has no quotient"));
        assert!(join("more", "y").unwrap_err().contains("takes no `over`"));
    }

    #[test]
    fn a_join_that_means_nothing_is_refused() {
        for (join, word) in [
            ("meter = \"speed\"\nas = \"change\"\ncells = []", "the meter `speed`"),
            ("meter = \"elapsed\"\nas = \"less\"\ncells = []", "less"),
            (
                "meter = \"elapsed\"\nas = \"change\"\ncells = [{ row = \"y\", column = \"extra\", arm = \"a\", baseline = \"b\" }]",
                "no figure was published",
            ),
            (
                "meter = \"elapsed\"\nas = \"change\"\ncells = [{ column = \"off\", arm = \"a\", baseline = \"b\" }]",
                "`conn/s` is no unit for this measure",
            ),
            (
                "meter = \"replies_per_second\"\nas = \"value\"\ncells = [{ column = \"time\", arm = \"a\" }]",
                "`ms` is no unit",
            ),
            (
                "meter = \"elapsed\"\nas = \"change\"\ncells = [{ row = \"w\", arm = \"a\", baseline = \"b\" }]",
                "no row `w`",
            ),
        ] {
            let said = links(join).unwrap_err();
            assert!(said.contains(word), "{join}: {said}");
        }
    }

    #[test]
    fn statements_bring_arms_and_every_cell_stands_once_for_each() {
        let said = "[[statement]]\nid = \"m\"\nsays = \"M\"\narm = \"on\"\nbaseline = \"off\"\n\
                    [[statement]]\nid = \"h\"\nsays = \"H\"\nbetween = true\narm = \"here\"\nbaseline = \"here\"\n";
        let with = |statements: &str, cell: &str| {
            let join = format!(
                "[[join]]\ntable = \"t\"\nmeter = \"operation_time\"\nas = \"change\"\nworkload = \"calls\"\n\
                 statements = {statements}\ncells = [{{ row = \"x\", column = \"extra\", {cell} }}]"
            );
            let found = file::parse("s", &format!("{TABLE}{said}{join}"));
            found.map(|study| study.links).map_err(|error| error.to_string())
        };
        let found = with("[\"m\", \"h\"]", "operation = \"stat\"").unwrap();
        let told: Vec<_> = found
            .iter()
            .map(|link| (link.statement.as_deref(), link.arm.as_str(), link.of.between))
            .collect();
        assert_eq!(told, [(Some("M"), "on", false), (Some("H"), "here", true)]);
        assert!(found.iter().all(|link| link.operation.as_deref() == Some("stat")));
        for (statements, cell, word) in [
            ("[\"n\"]", "operation = \"stat\"", "the statement `n`"),
            ("[\"m\"]", "arm = \"a\", baseline = \"b\"", "or in the statements"),
            ("[]", "operation = \"stat\"", "arms stand in its cells"),
        ] {
            let said = with(statements, cell).unwrap_err();
            assert!(said.contains(word), "{said}");
        }
    }

    #[test]
    fn a_statement_has_arms_of_each_cell_and_a_value_no_baseline() {
        let said = "[[statement]]\nid = \"m\"\nsays = \"M\"\narm = \"m.{cell}\"\nbaseline = \"off.{cell}\"\n";
        let with = |head: &str, cell: &str| {
            let join = format!("[[join]]\ntable = \"t\"\nplan = \"p\"\n{head}\ncells = [{{ {cell} }}]");
            let found = file::parse("s", &format!("{TABLE}{said}{join}"));
            found.map(|study| study.links).map_err(|error| error.to_string())
        };
        let loss =
            "statements = [\"m\"]\nmeter = \"path_cpu_per_request\"\nas = \"loss-of-rate\"\nover = \"off\"";
        let link = with(loss, "row = \"y\", column = \"on\", arm = \"long\"").unwrap().remove(0);
        assert_eq!((link.arm.as_str(), link.baseline.as_str()), ("m.long", "off.long"));
        assert_eq!(
            (link.published.in_words().as_str(), link.of.plan.as_deref()),
            ("50.0 %", Some("p")),
            "half of the rate is lost"
        );
        let value = "meter = \"replies_per_second\"\nas = \"value\"";
        let cell = "row = \"y\", column = \"on\", population = \"few\", arm = \"a\"";
        let link = with(value, cell).unwrap().remove(0);
        assert_eq!((link.baseline.as_str(), link.population.as_deref()), ("a", Some("few")));
        for (head, cell) in [
            (loss, "row = \"y\", column = \"on\""),
            (loss, "row = \"y\", column = \"on\", arm = \"a\", baseline = \"b\""),
            (value, "row = \"y\", column = \"on\", arm = \"a\", baseline = \"b\""),
        ] {
            let said = with(head, cell).unwrap_err();
            assert!(said.contains("a value has no baseline"), "{said}");
        }
    }

    #[test]
    fn every_row_of_the_selinux_study_has_its_operation() {
        let study = find("selinux").unwrap().unwrap();
        let of_calls = study.links.iter().filter(|link| link.of.workload.as_deref() == Some("calls"));
        let mut rows = std::collections::BTreeSet::new();
        for link in of_calls {
            let word = link.operation.as_deref().unwrap();
            assert!(bakeoff_calls::CallOperation::of_word(word).is_some(), "{word}");
            rows.insert((&link.table, &link.row));
        }
        assert_eq!(rows.len(), 8 + 15, "UnixBench and lmbench");
        assert!(study.links.iter().all(|link| link.statement.is_some()));
    }

    #[test]
    fn the_enforcer_is_linked_to_six_arms_of_each_server() {
        let study = find("enforcer").unwrap().unwrap();
        let slowdown: Vec<(&str, &str, &str)> = study
            .links
            .iter()
            .filter(|link| link.meter == "replies_per_second" && link.arm.starts_with("apache"))
            .map(|link| (link.arm.as_str(), link.baseline.as_str(), link.published.text.as_str()))
            .collect();
        assert_eq!(
            slowdown,
            [
                ("apache.files.checked.http", "apache.files.unchecked.http", "1.5"),
                ("apache.files.checked.https", "apache.files.unchecked.https", "1.3"),
                ("apache.store.unchecked.http", "apache.files.unchecked.http", "39.4"),
                ("apache.store.unchecked.https", "apache.files.unchecked.https", "3.7"),
                ("apache.store.checked.http", "apache.files.unchecked.http", "48.5"),
                ("apache.store.checked.https", "apache.files.unchecked.https", "6.8"),
            ]
        );
        let of_nginx = study.links.iter().filter(|link| link.arm.starts_with("nginx"));
        assert!(of_nginx.clone().all(|link| link.differs.is_some()));
        assert_eq!(of_nginx.count(), 12);
    }
}
