//! Recorded runs, analysed again: every version must find what a quiet machine showed, on machines that are not quiet.
//!
//! `tests/recorded` has an archive a run; its README says how each was made. A version that can no longer read them can
//! read no results of its users either: then they are recorded anew, with the reason in CHANGELOG.md.

use crate::goldens::unpack;
use crate::support::Yard;
use serde_json::Value;

/// CPU that the origin of `flat` burned for a request, by its last lines.
const PLANTED_NS: f64 = 20_900.0;
const CPU: &str = "subject_cpu_per_request";

/// The report of a recorded run, and its results.
fn report(name: &str) -> (String, Value) {
    let yard = Yard::new();
    unpack(&yard, name);
    let said = yard.run(&["report", name, "--verbose"]).exits(0);
    let page = yard.read(&format!("{name}/report.html"));
    assert!(page.contains("open loop, poisson"), "its head tells the load that the verdict stands on");
    (said.stdout.clone(), yard.results(name))
}

fn rows<'r>(results: &'r Value, arm: &'r str) -> impl Iterator<Item = &'r Value> {
    let rows = results["comparisons"].as_array().unwrap().iter();
    rows.filter(move |row| row["arm"] == arm && row["meter"] == CPU)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn a_quickstart_ends_in_costs() {
    let (said, results) = report("quickstart");
    let primary = rows(&results, "https").find(|row| row["primary"] == true).unwrap();
    assert_eq!((&primary["verdict"], &primary["contradiction"]), (&"costs".into(), &Value::Null));
    assert!(said.contains("CPU/request, full speed"), "{said}");
}

/// Another amount at full speed once removed the verdict.
#[test]
fn a_cost_that_is_another_at_full_speed_is_said_with_both() {
    let (said, results) = report("apart");
    let primary = rows(&results, "burns").find(|row| row["primary"] == true).unwrap();
    assert_eq!((&primary["verdict"], &primary["contradiction"]), (&"costs".into(), &Value::Null));
    let full = rows(&results, "burns").find(|row| row["at"] == "full speed").unwrap();
    let apart = number(&full["amount_high"]) < number(&primary["amount_low"]);
    assert!(apart, "it was recorded since the two are apart: {primary} {full}");
    assert!(primary["sentence"].as_str().unwrap().contains("what it costs depends on the load"), "{primary}");
    assert!(said.contains("CPU/request, full speed"), "{said}");
}

/// The amounts of a recorded curve, ns; checks that it has this word.
fn amounts_of(name: &str, word: &str) -> Vec<f64> {
    let (said, results) = report(name);
    let curve = &results["curve"]["arms"][0];
    assert_eq!(curve["trend"], word, "{curve}");
    assert!(said.contains("Cost over the load"), "{said}");
    let at = |load: usize| {
        rows(&results, "burns").find(|row| row["load"] == load && row["design"] == "duet").unwrap()
    };
    (0..3).map(|load| number(&at(load)["amount"])).collect()
}

#[test]
fn a_planted_cost_that_grows_is_said_to_grow() {
    let amounts = amounts_of("growing", "grows");
    assert!(amounts[2] > 1.5 * amounts[0], "{amounts:?}");
}

#[test]
fn a_planted_cost_that_is_flat_is_said_to_be_flat_and_as_large_as_it_is() {
    let amounts = amounts_of("flat", "flat");
    assert!(amounts.iter().all(|amount| (amount / PLANTED_NS - 1.0).abs() < 0.1), "{amounts:?}");
}

/// The page of studies says what a directory says that anybody can verify: the one that its run beside SELinux is from.
#[test]
fn a_run_is_kept_beside_its_study_as_the_tree_has_it() {
    let yard = Yard::new();
    unpack(&yard, "selinux");
    yard.run(&["studies", "--keep", "selinux"])
        .exits(2)
        .says(&["studies/runs/selinux.json", "root of bakeoff's source"]);
    std::fs::create_dir_all(yard.path("studies/runs")).unwrap();
    yard.write("studies/runs/selinux.json", "[]\n");
    let said = yard.run(&["studies", "--keep", "selinux"]).exits(0).stdout;
    assert!(said.contains("studies/runs/selinux.json: selinux, 27 rows"), "{said}");
    let found: Value = serde_json::from_str(&yard.read("studies/runs/selinux.json")).unwrap();
    let kept: Value = serde_json::from_str(include_str!("../../studies/runs/selinux.json")).unwrap();
    let kept = kept.as_array().unwrap().iter().find(|run| run["plan"] == "selinux");
    assert_eq!(found.as_array().unwrap().iter().collect::<Vec<_>>(), kept.into_iter().collect::<Vec<_>>());
}

#[test]
fn what_nobody_could_measure_again_is_not_kept() {
    let yard = Yard::new();
    std::fs::create_dir_all(yard.path("studies/runs")).unwrap();
    yard.write("studies/runs/selinux.json", "[]\n");
    for (name, exit, why) in
        [("guest", 2, "its plan is not one that comes along"), ("quickstart", 2, "its plan names no study")]
    {
        unpack(&yard, name);
        yard.run(&["studies", "--keep", name]).exits(exit).says(&[name, why]);
    }
    unpack(&yard, "selinux");
    let results = yard.read("selinux/results.json").replacen("\"boots\": ", "\"boots\": 1", 1);
    yard.write("selinux/results.json", &results);
    let said = yard.run(&["studies", "--keep", "selinux"]).exits(7).stdout;
    assert!(said.contains("not as it was written"), "{said}");
    assert_eq!(yard.read("studies/runs/selinux.json"), "[]\n");
}
