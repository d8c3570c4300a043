//! Runs that are kept beside a study, in `studies/runs`: a list a study, an element a plan.
//!
//! Measuring side, cold, pure: the texts are inside the program. Only `bakeoff studies --keep` writes them.

use bakeoff_results::KeptRun;

const TEXTS: [(&str, &str); 5] = [
    ("enforcer", include_str!("../../../../studies/runs/enforcer.json")),
    ("selinux", include_str!("../../../../studies/runs/selinux.json")),
    ("crisis", include_str!("../../../../studies/runs/crisis.json")),
    ("polygraph", include_str!("../../../../studies/runs/polygraph.json")),
    ("afpa", include_str!("../../../../studies/runs/afpa.json")),
];

/// Runs kept beside this study, in the order of their plans' names.
///
/// # Errors
/// A text inside the program is no such list; a test sees to it that none is.
pub fn kept(study: &str) -> Result<Vec<KeptRun>, serde_json::Error> {
    TEXTS
        .iter()
        .find(|(name, _)| *name == study)
        .map_or(Ok(Vec::new()), |(_, text)| serde_json::from_str(text))
}

/// A list with one more run; an older one of the same plan leaves it.
pub fn keep(mut runs: Vec<KeptRun>, new: KeptRun) -> Vec<KeptRun> {
    runs.retain(|old| old.plan != new.plan);
    runs.push(new);
    runs.sort_by(|a, b| a.plan.cmp(&b.plan));
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_plan::study;

    fn run(plan: &str, day: &str) -> KeptRun {
        KeptRun {
            plan: plan.to_owned(),
            command: format!("bakeoff run {plan}"),
            day: day.to_owned(),
            bakeoff: "0.1.0".to_owned(),
            machine: "2 cores".to_owned(),
            warnings: Vec::new(),
            results_sha256: String::new(),
            rows: Vec::new(),
        }
    }

    /// A study that is renamed or retold leaves no row behind that has lost its figure.
    #[test]
    fn every_study_has_its_list_and_every_row_its_published_figure() {
        let names: Vec<&str> = TEXTS.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, study::names().collect::<Vec<_>>());
        for study in study::all().unwrap() {
            for run in kept(&study.name).unwrap() {
                for row in &run.rows {
                    let table = study.tables.iter().find(|table| table.title == row.table).unwrap();
                    let column = table.columns.iter().position(|column| *column == row.column).unwrap();
                    let found = table.rows.iter().find(|found| found.name == row.row).unwrap();
                    let figure = found.cells[column].as_ref().unwrap();
                    let same = row.taken_from.is_some() || figure.value == row.published_value;
                    assert!(same, "{}: {}, {} is {figure:?} now", run.plan, row.row, row.column);
                }
            }
        }
    }

    #[test]
    fn a_newer_run_takes_the_place_of_an_older_one_of_its_plan() {
        let runs = ["b", "a"].into_iter().fold(Vec::new(), |runs, plan| keep(runs, run(plan, "2026-11-01")));
        let runs = keep(runs, run("b", "2026-12-01"));
        let said: Vec<(&str, &str)> = runs.iter().map(|run| (run.plan.as_str(), run.day.as_str())).collect();
        assert_eq!(said, [("a", "2026-11-01"), ("b", "2026-12-01")]);
    }
}
