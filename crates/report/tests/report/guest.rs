//! The report of what a guest counted, from made-up results.

use bakeoff_guest::BootMode;
use bakeoff_guest::results::{
    Compared, CountedInstructions, GuestResults, GuestTable, Published, Resolved, RowResult, SCHEMA,
    STATEMENT,
};
use bakeoff_report::{Document, guest};

fn counted(median: f64) -> CountedInstructions {
    CountedInstructions { median, low: median, high: median * 1.01 }
}

/// Of 1,000 instructions in the baseline.
fn row(name: &str, resolved: Resolved, change: f64, published: &[&str]) -> RowResult {
    let compared = |mode| Compared {
        mode,
        counted: counted(1_000.0 * (1.0 + change)),
        more: 1_000.0 * change,
        change,
        change_low: change - 0.01,
        change_high: change + 0.01,
        resolved,
    };
    let published = published.iter().map(|text| Published {
        table: "Microbenchmarks".to_owned(),
        row: name.to_owned(),
        column: "overhead".to_owned(),
        text: (*text).to_owned(),
        percent: text.trim_end_matches(" %").parse().unwrap(),
    });
    RowResult {
        name: name.to_owned(),
        baseline: counted(1_000.0),
        modes: vec![compared(BootMode::Permissive), compared(BootMode::Enforcing)],
        published: published.collect(),
        within: 0.001,
    }
}

fn results(rows: Vec<RowResult>) -> GuestResults {
    let table = GuestTable {
        mitigations: true,
        baseline: BootMode::Off,
        modes: vec![BootMode::Permissive, BootMode::Enforcing],
        boots: 3,
        rows,
    };
    GuestResults {
        schema: SCHEMA,
        bakeoff: "0.1.0",
        name: "selinux".to_owned(),
        title: "What does SELinux cost?".to_owned(),
        statement: STATEMENT,
        started: "2026-11-22T12:00:00Z".to_owned(),
        extent: None,
        planned: 9,
        ended: 8,
        tables: vec![table],
        repeats: Vec::new(),
        invalid: None,
        planted: Vec::new(),
        server_domain: None,
        packages: Vec::new(),
        kernel_sha256: "b2b9".to_owned(),
        policy_sha256: "0933".to_owned(),
        qemu: "QEMU 7.2".to_owned(),
        cpu_ns: 51_000_000_000,
        sources: vec!["FREENIX 2001".to_owned()],
        differs: Vec::new(),
    }
}

/// With mitigations and without.
fn document() -> Document {
    let rows = vec![
        row("stat", Resolved::More, 0.409, &["28 %"]),
        row("<open>", Resolved::More, 0.2, &["27 %"]),
        row("http-mix", Resolved::No, 0.07, &["0 %", "7 %"]),
        row("pipe", Resolved::Equal, 0.0, &[]),
    ];
    let mut results = results(rows);
    let without = GuestTable { mitigations: false, ..results.tables[0].clone() };
    results.tables.push(without);
    guest(&results, "[guest]")
}

pub(crate) fn page() -> String {
    document().html()
}

#[test]
fn a_sentence_answers_first_and_what_was_counted_stands_beside_what_was_published() {
    let page = page();
    let answer = "needs more instructions in 2 of 4 operations, mitigations on";
    let range = "by +20.0 % (&lt;open&gt;) to +40.9 % (stat)";
    let place = |words: &str| page.find(words).unwrap_or_else(|| panic!("`{words}` is not there:\n{page}"));
    assert!(place(answer) < place(range) && place(range) < place("class=\"forest\""));
    assert!(page.contains("<strong>Partial results:</strong> 8 of 9 boots."), "{page}");
    assert_eq!(page.matches("class=\"beside\"").count(), 2 * 4, "each published figure");
    assert!(!page.contains("<open>") && !page.contains("<script"));
    assert!(place("class=\"forest\"") < place("<td>0&#x2f;7 %</td>"));
    for width in [80, 40] {
        let text = document().text(width, false);
        assert!(
            !text.contains("needs more instructions in"),
            "the terminal says it above each table: {text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

#[test]
fn without_a_change_that_is_told_the_answer_is_open() {
    let open = guest(&results(vec![row("stat", Resolved::No, 0.1, &[])]), "").html();
    assert!(open.contains("</span> not resolved</p>") && open.contains("in 1 of 1 operations"), "{open}");
    let mut invalid = results(vec![row("stat", Resolved::More, 0.1, &[])]);
    invalid.invalid = Some("a repeat differs".to_owned());
    let invalid = guest(&invalid, "").html();
    assert!(
        invalid.contains("</span> invalid</p>") && invalid.contains("<strong>Invalid:</strong> a repeat")
    );
    assert!(guest(&results(Vec::new()), "").html().contains("</html>"), "nothing was counted");
}
