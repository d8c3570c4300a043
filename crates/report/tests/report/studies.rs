//! The page of studies: what the tree has is what the kept runs give, and a row says what it says.

use bakeoff_analysis::join::kept;
use bakeoff_plan::study;
use bakeoff_report::{KeptStudy, studies, studies_page, study_plot};
use bakeoff_results::{KeptRun, Standing, StudyRow};
use std::path::{Path, PathBuf};

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
}

/// As in the tree; UPDATE_GOLDEN=1 writes it, and removes what is there too much.
fn is_as_in(path: &Path, wanted: Option<&str>) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        match wanted {
            Some(text) => {
                std::fs::create_dir_all(path.parent().unwrap()).and_then(|()| std::fs::write(path, text))
            }
            None => std::fs::remove_file(path).or(Ok(())),
        }
        .unwrap();
    }
    let found = std::fs::read_to_string(path).ok();
    assert!(
        found.as_deref() == wanted,
        "{} is not what the kept runs give; UPDATE_GOLDEN=1 writes it",
        path.display()
    );
}

#[test]
fn the_page_and_its_drawings_are_what_the_kept_runs_give() {
    let with_runs = |study: study::Study| KeptStudy { runs: kept(&study.name).unwrap(), study };
    let all: Vec<KeptStudy> = study::all().unwrap().into_iter().map(with_runs).collect();
    is_as_in(&docs("studies.md"), Some(&studies_page(&all)));
    for kept in &all {
        is_as_in(&docs(&format!("studies/{}.svg", kept.study.name)), study_plot(kept).as_deref());
    }
}

/// A row beside a cell of the enforcer's first table.
fn row(row: &str, column: &str, published: f64, ours: [f64; 3], standing: Standing) -> StudyRow {
    let [value, low, high] = ours.map(Some);
    StudyRow {
        table: "Slowdown of hits per second against the plain server".to_owned(),
        row: row.to_owned(),
        column: column.to_owned(),
        statement: None,
        operation: None,
        population: None,
        published: format!("{published} %"),
        published_value: published,
        unit: "%".to_owned(),
        doubt: None,
        taken_from: None,
        arm: "apache.checked".to_owned(),
        baseline: "apache".to_owned(),
        meter: "elapsed".to_owned(),
        figure: "loss of throughput".to_owned(),
        value,
        low,
        high,
        standing,
        said: standing.in_words().to_owned(),
    }
}

fn enforcer(rows: Vec<StudyRow>) -> KeptStudy {
    let run = KeptRun {
        plan: "enforcer".to_owned(),
        command: "bakeoff run enforcer".to_owned(),
        day: "2026-11-28".to_owned(),
        bakeoff: "0.1.0".to_owned(),
        machine: "a made-up machine".to_owned(),
        warnings: vec!["busy".to_owned()],
        results_sha256: String::new(),
        rows,
    };
    KeptStudy { study: study::find("enforcer").unwrap().unwrap(), runs: vec![run] }
}

#[test]
fn a_kept_run_stands_beside_its_figures_everywhere() {
    let kept = enforcer(vec![
        row("enforcer", "http", 1.5, [3.0, 1.0, 5.0], Standing::Inside),
        row("loopback", "https", 3.7, [30.0, 29.0, 31.0], Standing::Higher),
        row("enforcer", "https", 1.3, [1.2, -21.7, 19.7], Standing::Inside),
    ]);
    let page = studies_page(std::slice::from_ref(&kept));
    for said in [
        "| Enforcer, disk-bound HTTP | 1.5 % | 3.00 % (1.00..5.00 %) | 2.00 |",
        "| enforcer, http | 1.5 % | 3.00 % | 1.00..5.00 % | inside |",
        "| loopback, https | 3.7 % | 30.0 % | 29.0..31.0 % | higher |",
        "| enforcer, https | 1.3 % | 1.20 % | -21.7..19.7 % | inside or none (1100 x) |",
        "Measured on 2026-11-28 with `bakeoff run enforcer`: a made-up machine; warnings of the run: busy.",
        "![Published and measured](studies/enforcer.svg)",
    ] {
        assert!(page.contains(said), "{said} is not in:\n{page}");
    }
    let list = studies(std::slice::from_ref(&kept));
    assert!(list.contains("published 1.5 %; loss of throughput 3.00 % (1.00..5.00 %), 2026-11-28"), "{list}");
    let terminal = bakeoff_report::study(&kept, 100, false);
    assert!(terminal.contains("made-up machine") && terminal.contains("29.0..31.0 %"), "{terminal}");
    let drawn = study_plot(&kept).unwrap();
    for row in drawn.split("<g transform").skip(1) {
        assert_eq!(
            (row.matches("<circle").count(), row.matches("class=\"published\"").count()),
            (1, 1),
            "{row}"
        );
    }
    assert_eq!(drawn.matches("<g transform").count(), 3);
    assert!(drawn.contains("prefers-color-scheme: dark"));
}

#[test]
fn figures_that_have_no_scale_in_common_are_not_drawn() {
    let mut time = row("enforcer", "http", 1.5, [3.0, 1.0, 5.0], Standing::NotComparable);
    time.unit = "ms".to_owned();
    let mut open = row("enforcer", "http", 1.5, [3.0, 1.0, 5.0], Standing::Inside);
    open.high = None;
    assert_eq!(study_plot(&enforcer(vec![time, open])), None);
}
