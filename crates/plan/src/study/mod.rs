//! Classic studies: every figure that they published, once, and links to the figures of a run.
//!
//! Measuring side, cold, pure. The texts are `studies/*.toml`, inside the program; nothing else in the tree repeats a
//! figure of theirs. `analysis` puts a run beside a study. No verdict depends on what others measured.

mod file;
mod grid;
mod link;
mod unit;

pub use file::StudyError;
pub use link::{Condition, FigureLink, Measure};
pub use unit::{PrintedUnit, Quantity};

use serde::{Deserialize, Serialize};

/// The studies' texts by name, in the order in which they are listed.
const TEXTS: [(&str, &str); 5] = [
    ("enforcer", include_str!("../../../../studies/enforcer.toml")),
    ("selinux", include_str!("../../../../studies/selinux.toml")),
    ("crisis", include_str!("../../../../studies/crisis.toml")),
    ("polygraph", include_str!("../../../../studies/polygraph.toml")),
    ("afpa", include_str!("../../../../studies/afpa.toml")),
];

/// A study: its question, and every figure that it gives.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// Name on the command line and in plans.
    pub name: String,
    /// One line: the first of the file.
    pub summary: String,
    /// The subject of the study.
    pub title: String,
    /// The question of the study.
    pub question: String,
    /// How it stands on the page of studies.
    pub page: StudyPage,
    /// The published figures that stand for it where there is room for a line, the first for all of it.
    pub headlines: Vec<Headline>,
    /// Publications.
    pub sources: Vec<Publication>,
    /// Tables, in the order of the file.
    pub tables: Vec<PublishedTable>,
    /// Columns of tables that are drawn as curves, a line a table.
    pub curves: Vec<StudyCurve>,
    /// Published figures that are left out, with the reason.
    pub missing: Vec<String>,
    /// Links to figures of a run.
    #[serde(skip)]
    pub links: Vec<FigureLink>,
    /// Links to rows of a guest.
    #[serde(skip)]
    pub counted: Vec<CountedOverhead>,
}

/// Texts of a study that have no figure of a run in them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyPage {
    /// Its head: name and year.
    pub head: String,
    /// The commands that measure it again.
    pub run: Vec<String>,
    /// Time that a sample takes, and its needs.
    pub needs: String,
    /// The subject of the study, and how it measured.
    pub story: String,
    /// What the plans keep of it.
    pub kept: String,
    /// What they have in place of the rest.
    pub modernised: String,
    /// Remarks on how it is run, each a paragraph.
    #[serde(default)]
    pub remarks: Vec<String>,
    /// What has changed since, and why: two sentences.
    #[serde(default)]
    pub changed: Option<String>,
}

/// A published figure that stands for its study.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// What costs, in words.
    pub says: String,
    /// Title of its table.
    pub table: String,
    /// Row of the table.
    pub row: String,
    /// Column of the table.
    pub column: String,
    /// What is published, with its unit.
    pub published: String,
    /// Name of the plan whose run stands beside it.
    pub plan: String,
    /// The operation, where the run has several of this figure.
    pub operation: Option<String>,
    /// The arm, where the run has several of this figure.
    pub arm: Option<String>,
}

/// Published curves of several products, each a table with a point a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyCurve {
    /// What is drawn, in words.
    pub title: String,
    /// The column with the figures.
    pub column: String,
    /// The column with the rates. The highest rate of a table is the one that the others are shares of.
    pub against: String,
    /// Ids of the tables; runs stand beside the first.
    pub tables: Vec<String>,
}

/// A published overhead, and the row of a guest that counts the same.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedOverhead {
    /// Title of the table.
    pub table: String,
    /// Row of the table.
    pub row: String,
    /// Column of the table.
    pub column: String,
    /// Row of the guest.
    pub counted: String,
    /// The published figure.
    pub published: Figure,
}

/// A publication.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Publication {
    /// Id by which tables refer to it.
    pub id: String,
    /// Authors, title, place, year.
    pub text: String,
    /// Address of its text.
    pub url: Option<String>,
}

/// A table of figures that were taken under the same conditions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedTable {
    /// Id by which links refer to it.
    pub id: String,
    /// Its subject.
    pub title: String,
    /// Its place in the publication, such as `Table 5`; `None`: from the running text.
    pub place: Option<String>,
    /// Id of the publication.
    pub source: String,
    /// Conditions of the measurement.
    pub conditions: String,
    /// Kind of the rows: head of the first column.
    pub rows_are: String,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Rows, each with a cell a column.
    pub rows: Vec<PublishedRow>,
    /// Remarks that a reader must know.
    pub notes: Vec<String>,
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublishedRow {
    /// Its name.
    pub name: String,
    /// A figure a column; `None` if none was published.
    pub cells: Vec<Option<Figure>>,
}

/// A published figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// As it was published, without its unit: `12.0`, `~140`, `<1`.
    pub text: String,
    /// Its value in its unit.
    pub value: f64,
    /// Whether it is a value or a bound of one.
    pub bound: FigureBound,
    /// Its unit.
    pub unit: PrintedUnit,
    /// Whether it is certain that the study found this.
    pub certain: bool,
    /// The reason for doubt, if it is not.
    pub doubt: Option<String>,
}

/// Relation of a published number to the true one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureBound {
    /// The number itself.
    Exact,
    /// Somewhere about (`~`).
    About,
    /// Less (`<`).
    Under,
    /// More (`>`).
    Over,
}

impl Figure {
    /// Its value in the base unit of its quantity.
    pub fn base(&self) -> f64 {
        self.value * self.unit.scale
    }

    /// With its unit, as people write it: `about 140 conn/s`, `932940`.
    pub fn in_words(&self) -> String {
        let number = self.text.trim_start_matches(['~', '<', '>']);
        let bound = match self.bound {
            FigureBound::Exact => "",
            FigureBound::About => "about ",
            FigureBound::Under => "under ",
            FigureBound::Over => "over ",
        };
        match self.unit.quantity {
            Quantity::Count => format!("{bound}{number}"),
            _ => format!("{bound}{number} {}", self.unit.label),
        }
    }
}

/// Names of the studies.
pub fn names() -> impl Iterator<Item = &'static str> {
    TEXTS.iter().map(|(name, _)| *name)
}

/// All studies.
///
/// # Errors
/// A text inside the program is no study; a test sees to it that none is.
pub fn all() -> Result<Vec<Study>, StudyError> {
    TEXTS.iter().map(|(name, text)| file::parse(name, text)).collect()
}

/// The study of this name; `None` if there is none.
///
/// # Errors
/// As [`all`].
pub fn find(name: &str) -> Result<Option<Study>, StudyError> {
    TEXTS.iter().find(|(known, _)| *known == name).map(|(name, text)| file::parse(name, text)).transpose()
}

impl PublishedTable {
    /// A figure; `None` if there is no such column, or none was published.
    pub fn figure<'r>(&self, row: &'r PublishedRow, column: &str) -> Option<&'r Figure> {
        let at = self.columns.iter().position(|name| name == column)?;
        row.cells.get(at)?.as_ref()
    }

    /// The same in the base unit of its quantity.
    pub fn base(&self, row: &PublishedRow, column: &str) -> Option<f64> {
        self.figure(row, column).map(Figure::base)
    }

    /// The highest figure of a column, in the base unit of its quantity.
    pub fn highest(&self, column: &str) -> Option<f64> {
        self.rows.iter().filter_map(|row| self.base(row, column)).max_by(f64::total_cmp)
    }
}

impl Study {
    /// The table of this id.
    pub fn table(&self, id: &str) -> Option<&PublishedTable> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The publication of this id.
    pub fn source(&self, id: &str) -> Option<&Publication> {
        self.sources.iter().find(|source| source.id == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_stats::{DesignLevel, FactorialDesign, Level};

    fn figure(study: &str, table: &str, row: &str, column: &str) -> Figure {
        let study = find(study).unwrap().unwrap();
        let table = study.tables.iter().find(|known| known.id == table).unwrap();
        let at = table.columns.iter().position(|known| known == column).unwrap();
        let row = table.rows.iter().find(|known| known.name == row).unwrap();
        row.cells[at].clone().unwrap()
    }

    #[test]
    fn every_text_is_a_study_with_its_sources() {
        let studies = all().unwrap();
        assert_eq!(studies.len(), TEXTS.len());
        for study in studies {
            assert!(study.summary.ends_with(')') && !study.tables.is_empty(), "{}", study.name);
            for source in &study.sources {
                assert!(
                    study.tables.iter().any(|table| table.source == source.id),
                    "{}: nothing is from {}",
                    study.name,
                    source.id
                );
            }
        }
        assert!(find("nobody").unwrap().is_none());
    }

    /// Overheads that a study prints follow from the two figures beside them, but for rounding: a
    /// slip of the pen in one of the three shows here.
    #[test]
    fn printed_overheads_follow_from_the_figures_beside_them() {
        let study = find("selinux").unwrap().unwrap();
        let mut checked = 0;
        for table in study.tables.iter().filter(|table| table.columns.len() == 3) {
            for row in &table.rows {
                let cells: Vec<&Figure> = row.cells.iter().flatten().collect();
                let [base, with, overhead] = cells[..] else { panic!("{} has a gap", row.name) };
                let longer = with.value / base.value;
                // Of copies and throughput more is better: the time goes the other way.
                let change = if base.unit.quantity == Quantity::Flow { 1.0 / longer } else { longer } - 1.0;
                assert!((change * 100.0 - overhead.value).abs() <= 1.0, "{}: {change}", row.name);
                checked += 1;
            }
        }
        assert_eq!(checked, 4 + 8 + 15);
    }

    #[test]
    fn figures_are_as_they_were_published() {
        let both = figure("enforcer", "slowdown", "enforcer+loopback", "http");
        assert_eq!((both.value, both.in_words().as_str(), both.certain), (48.5, "48.5 %", true));
        let unsure = figure("enforcer", "slowdown", "enforcer", "https");
        assert!(!unsure.certain && unsure.doubt.unwrap().contains("1.2 %"));
        assert_eq!(figure("crisis", "access", "write 10 MB", "WebFS with CRISIS").in_words(), "14.0 s");
        assert_eq!(figure("afpa", "cache", "cache hits", "throughput").in_words(), "over 800 conn/s");
        assert_eq!(figure("afpa", "burst", "5", "preferred").in_words(), "about 140 conn/s");
        assert_eq!(figure("enforcer", "load", "files", "http").in_words(), "19623");
    }

    /// Rate, mean response time and hit ratio of each point, as they were printed.
    #[test]
    fn all_35_points_of_1999_are_here_from_the_lowest_rate_to_the_highest() {
        let tasksmart = "25 1.37 55.16, 50 1.39 55.22, 80 1.40 55.26, 100 1.40 55.19, 130 1.41 55.14, \
                         160 1.42 55.09, 180 1.43 55.08, 200 1.45 55.09, 225 1.67 55.11, 250 1.72 55.12";
        let squid = "14 1.37 55.1, 40 1.43 55.2, 62 1.46 55.1, 65 1.49 55.1, 70 1.60 55.2, 72 1.48 55.1, \
                     74 1.78 54.8, 75 3.64 51.1, 76 1.94 54.3, 78 2.42 53.5, 80 3.02 51.4, 84 3.63 49.9, \
                     88 4.44 46.8, 96 6.05 39.3";
        let dynacache = "80 1.41 55.1, 150 1.43 55.1, 200 1.45 55.0, 260 1.56 55.0, 300 3.53 48.5, \
                         360 3.58 36.2, 450 3.70 22.3, 520 3.72 16.6, 590 3.66 13.4, 630 3.64 12.0, 690 3.73 9.3";
        let study = find("polygraph").unwrap().unwrap();
        let points = |id: &str| {
            let table = study.tables.iter().find(|table| table.id == id).unwrap();
            let labels = table.rows.iter().flat_map(|row| &row.cells).flatten().map(|of| of.unit.label);
            assert!(labels.eq(["req/s", "s", "%"].into_iter().cycle().take(3 * table.rows.len())), "{id}");
            let texts = |row: &PublishedRow| {
                row.cells.iter().flatten().map(|of| of.text.as_str()).collect::<Vec<_>>().join(" ")
            };
            let is_named = |row: &PublishedRow| {
                Some(row.name.as_str())
                    == row.cells[0].as_ref().map(|rate| format!("{}/s", rate.text)).as_deref()
            };
            assert!(table.rows.iter().all(is_named), "{id}");
            table.rows.iter().map(texts).collect::<Vec<_>>().join(", ")
        };
        assert_eq!(points("tasksmart"), tasksmart);
        assert_eq!(points("squid"), squid);
        assert_eq!(points("dynacache"), dynacache);
    }

    #[test]
    fn the_hits_of_the_enforcer_contradict_its_log() {
        let hits = |column| figure("enforcer", "load", "hits of a run", column).value;
        assert_eq!((hits("http") / 45.0, hits("https") / 15.0), (20_732.0, 20_732.0));
        assert_eq!(figure("enforcer", "load", "URLs in the log", "http").value, 20_741.0);
    }

    /// The study's two layers cost more together than the product of the two alone: our interaction,
    /// from its figures.
    #[test]
    fn the_layers_of_the_enforcer_are_dearer_together() {
        let left = |row| 1.0 - figure("enforcer", "slowdown", row, "http").value / 100.0;
        let throughput = [1.0, left("loopback"), left("enforcer"), left("enforcer+loopback")];
        let rounds: Vec<Vec<f64>> = throughput
            .iter()
            .map(|rate: &f64| [0.1, 0.0, -0.1].map(|noise| rate.ln() + noise).to_vec())
            .collect();
        let at = |factor| DesignLevel { factor, level: 1 };
        let square = FactorialDesign::crossed(vec![2, 2]).unwrap().square(at(0), at(1)).unwrap();
        let series: Vec<&[f64]> = rounds.iter().map(Vec::as_slice).collect();
        let together = square.together(&series, Level::new(0.95).unwrap()).unwrap();
        assert!((together.expected.effect - (left("enforcer") * left("loopback") - 1.0)).abs() < 1e-9);
        assert!((-0.09..-0.08).contains(&together.difference.effect), "{:?}", together.difference);
    }
}
