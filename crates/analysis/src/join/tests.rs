//! Runs whose relation to a study follows by arithmetic.

use super::*;
use crate::between::result::Changed;
use bakeoff_plan::study::find as study;
use bakeoff_results::Comparison;
use bakeoff_stats::Verdict;

fn comparison(arm: &str, baseline: &str, meter: &str, (low, effect, high): (f64, f64, f64)) -> Comparison {
    Comparison {
        arm: arm.to_owned(),
        baseline: baseline.to_owned(),
        meter: meter.to_owned(),
        unit: "1/s".to_owned(),
        value: 100.0,
        baseline_value: 200.0,
        effect: Some(effect),
        low: Some(low),
        high: Some(high),
        level: 0.9875,
        rounds: 10,
        verdict: Verdict::Costs,
        ..Comparison::default()
    }
}

fn run(order: &[&str], comparisons: Vec<Comparison>) -> Results {
    let order = order.iter().map(|arm| (*arm).to_owned()).collect();
    Results { order, comparisons, ..Results::default() }
}

fn beside(results: &Results, arm: &str, meter: &str) -> StudyRow {
    let section = join(&study("enforcer").unwrap().unwrap(), results);
    section.rows.into_iter().find(|row| row.arm == arm && row.meter == meter).unwrap()
}

const RATE: &str = "replies_per_second";

#[test]
fn a_slowdown_is_a_loss_of_throughput() {
    let arms = ["apache.files.unchecked.http", "apache.store.unchecked.http"];
    for ((low, point, high), standing) in [
        ((-0.45, -0.40, -0.35), Standing::Inside),
        ((-0.30, -0.25, -0.20), Standing::Lower),
        ((-0.60, -0.55, -0.50), Standing::Higher),
        ((-0.394, -0.2, 0.1), Standing::Inside),
    ] {
        let results = run(
            &arms,
            vec![comparison(
                "apache.store.unchecked.http",
                "apache.files.unchecked.http",
                RATE,
                (low, point, high),
            )],
        );
        let row = beside(&results, "apache.store.unchecked.http", RATE);
        assert_eq!(row.standing, standing, "{row:?}");
        let expected = (-point * 100.0, -high * 100.0, -low * 100.0);
        let found = (row.value.unwrap(), row.low.unwrap(), row.high.unwrap());
        for (a, b) in [(expected.0, found.0), (expected.1, found.1), (expected.2, found.2)] {
            assert!((a - b).abs() < 1e-9, "{row:?}");
        }
        assert_eq!((row.published.as_str(), row.figure.as_str()), ("39.4 %", "loss of replies per second"));
    }
}

#[test]
fn what_cannot_be_compared_has_its_reason() {
    let of = |order: &[&str], comparisons, arm, meter| {
        let row = beside(&run(order, comparisons), arm, meter);
        assert_eq!(row.standing, Standing::NotComparable);
        (row.said, row.value)
    };
    let effect = (-0.1, 0.0, 0.1);
    let both = ["apache.files.unchecked.http", "apache.store.checked.http"];
    let with = |baseline, meter| vec![comparison("apache.store.checked.http", baseline, meter, effect)];
    let said = |text: &str| format!("not comparable: {text}");
    assert_eq!(
        of(&["apache.files.unchecked.http"], Vec::new(), "apache.store.checked.http", RATE),
        (said("this run has no arm `apache.store.checked.http`"), None)
    );
    assert_eq!(
        of(&["apache.store.checked.http"], with("http.x", RATE), "apache.store.checked.http", RATE),
        (said("this run has no arm `apache.files.unchecked.http`"), None)
    );
    assert_eq!(
        of(&both, with("http.x", RATE), "apache.store.checked.http", RATE).0,
        said("this run compares apache.store.checked.http with http.x, not with apache.files.unchecked.http")
    );
    assert_eq!(
        of(&both, Vec::new(), "apache.store.checked.http", RATE).0,
        said("this run did not compare replies per second")
    );
    let cpu = of(
        &both,
        with("apache.files.unchecked.http", "subject_cpu_per_request"),
        "apache.store.checked.http",
        "subject_cpu_per_request",
    );
    assert!(cpu.0.contains("has no CPU per request") && cpu.1 == Some(0.0), "{cpu:?}");
    let mut invalid = with("apache.files.unchecked.http", RATE);
    invalid[0].verdict = Verdict::Invalid;
    assert_eq!(of(&both, invalid, "apache.store.checked.http", RATE).0, said("this run's figure is invalid"));
    let mut open = with("apache.files.unchecked.http", RATE);
    (open[0].low, open[0].high) = (None, None);
    assert_eq!(
        of(&both, open, "apache.store.checked.http", RATE).0,
        said("this run's figure has no interval")
    );
}

#[test]
fn arms_with_a_common_baseline_are_compared_round_by_round() {
    let arms =
        ["apache.files.unchecked.http", "apache.files.unchecked.https", "apache.store.unchecked.https"];
    let with = |arm, differences: [f64; 5]| Comparison {
        differences: differences.to_vec(),
        ..comparison(arm, "apache.files.unchecked.http", RATE, (-0.9, -0.8, -0.7))
    };
    // Each round's throughput with both is 0.963 of that with TLS alone, whatever TLS did.
    let tls = [-1.0, -1.1, -0.9, -1.2, -1.0];
    let found = vec![
        with("apache.files.unchecked.https", tls),
        with("apache.store.unchecked.https", tls.map(|x| x + 0.963_f64.ln())),
    ];
    let row = beside(&run(&arms, found), "apache.store.unchecked.https", RATE);
    assert_eq!((row.standing, row.baseline.as_str()), (Standing::Inside, "apache.files.unchecked.https"));
    assert!((row.value.unwrap() - 3.7).abs() < 1e-9, "{row:?}");
    let few = vec![
        with("apache.files.unchecked.https", tls),
        comparison("apache.store.unchecked.https", "apache.files.unchecked.http", RATE, (0.0, 0.0, 0.0)),
    ];
    assert_eq!(
        beside(&run(&arms, few), "apache.store.unchecked.https", RATE).standing,
        Standing::NotComparable
    );
}

/// The baseline of a run stands beside a study that compared the other way round.
#[test]
fn a_comparison_is_read_the_other_way_round_where_the_study_did_so() {
    let arms = ["apache.store.unchecked.http", "apache.files.unchecked.http"];
    let results = run(&arms, vec![comparison(arms[1], arms[0], RATE, (0.25, 1.0, 1.5))]);
    let row = beside(&results, arms[0], RATE);
    assert_eq!([row.value, row.low, row.high].map(|x| x.map(f64::round)), [50.0, 20.0, 60.0].map(Some));
    assert_eq!(row.standing, Standing::Inside, "the study has 39.4 %");
}

/// Table 3 has a figure of each class of clients: those of the population, and of no other plan.
#[test]
fn a_population_has_its_own_figure() {
    let of = |high: f64| {
        let meters = [("replies_per_second".to_owned(), high)].into();
        let own = bakeoff_results::OwnFigure { value: high, low: high - 1.0, high: high + 1.0 };
        let estimates = [("replies_per_second".to_owned(), own)].into();
        let figures = bakeoff_results::PopulationFigures { meters, estimates, ..Default::default() };
        bakeoff_results::PopulationResult {
            population: "high".to_owned(),
            arms: [("nothing.none".to_owned(), figures)].into(),
            ..Default::default()
        }
    };
    let arms = [("nothing.none".to_owned(), bakeoff_results::ArmResult::default())].into();
    let name = "afpa-classes".to_owned();
    let results = Results { name, arms, populations: vec![of(381.5)], ..run(&["nothing.none"], Vec::new()) };
    let afpa = study("afpa").unwrap().unwrap();
    let section = join(&afpa, &results);
    let row = |name: &str| {
        let found =
            section.rows.iter().find(|row| (row.row.as_str(), row.arm.as_str()) == (name, "nothing.none"));
        found.unwrap()
    };
    let high = row("high");
    assert_eq!(
        (high.value, high.low, high.high, high.published.as_str(), high.standing),
        (Some(381.5), Some(380.5), Some(382.5), "381 conn/s", Standing::NotComparable)
    );
    assert_eq!((high.population.as_deref(), high.statement.as_deref()), (Some("high"), None));
    assert_eq!(row("low").value, None, "no such population");
    assert!(section.rows.iter().all(|row| row.table == "A limit on the highest of three classes"));
    let elsewhere = Results { name: "other".to_owned(), ..results };
    assert!(join(&afpa, &elsewhere).rows.is_empty());
}

/// Table 6: what a rule takes more than the parse is the difference of both to what is attached and off, round by round.
#[test]
fn what_one_takes_more_than_another_is_told_in_the_units_of_the_study() {
    let with = |arm, amounts: [f64; 3]| Comparison {
        amounts: amounts.to_vec(),
        differences: vec![0.5, 0.6, 0.7],
        amount: Some(100.0),
        amount_low: Some(90.0),
        amount_high: Some(110.0),
        ..comparison(arm, "attached", "program_ns", (0.1, 0.2, 0.3))
    };
    let found = vec![with("parse", [90.0, 100.0, 110.0]), with("rate-1", [120.0, 130.0, 140.0])];
    let results = Results { name: "afpa-rules".to_owned(), ..run(&["attached", "parse", "rate-1"], found) };
    let section = join(&study("afpa").unwrap().unwrap(), &results);
    let row = |arm: &str| section.rows.iter().find(|row| row.arm == arm).unwrap();
    let close =
        |found: Option<f64>, expected: f64| assert!((found.unwrap() - expected).abs() < 1e-9, "{found:?}");
    let (parse, rate) = (row("parse"), row("rate-1"));
    close(parse.value, 0.1);
    close(parse.low, 0.09);
    close(rate.value, 0.03);
    close(rate.high, 0.03);
    assert_eq!(
        (rate.baseline.as_str(), rate.unit.as_str(), rate.standing),
        ("parse", "us", Standing::NotComparable)
    );
    assert!(rate.said.contains("another machine"), "{}", rate.said);
}

/// Every arm that a join names is one of its plan's, and every plan of the study stands in the suite.
#[test]
fn the_arms_beside_afpa_are_those_of_its_plans() {
    let suite = bakeoff_plan::shipped::suite("afpa").unwrap();
    for link in study("afpa").unwrap().unwrap().links {
        let name = link.of.plan.unwrap();
        assert!(suite.text.contains(&format!("plan = \"{name}\"")), "{name}");
        let text = bakeoff_plan::shipped::plan(&name).unwrap().text;
        let plan = bakeoff_plan::Plan::parse(&name, &name, text, std::path::Path::new("/")).unwrap();
        for arm in [&link.arm, &link.baseline] {
            assert!(plan.arm_of(arm).is_some(), "{name} has no arm {arm}");
        }
        let bakeoff_plan::Work::Requests(work) = &plan.work else { panic!("{name}") };
        let known = |of: &String| work.populations.iter().any(|own| own.name == *of);
        assert!(link.population.iter().all(known), "{name}: {:?}", link.population);
    }
}

#[test]
fn each_measure_is_its_formula() {
    for (measure, change, expected) in [
        (Measure::Change, 0.25, 0.25),
        (Measure::Loss, -0.25, 0.25),
        (Measure::LossOfRate, 1.0, 0.5),
        (Measure::Ratio, 0.25, 1.25),
    ] {
        assert_eq!(measured(measure, change), expected, "{measure:?}");
    }
}

fn selinux(kind: &str, results: Results) -> (Study, Results) {
    let workload = bakeoff_results::WorkloadResult { kind: kind.to_owned(), ..Default::default() };
    (study("selinux").unwrap().unwrap(), Results { workload, ..results })
}

#[test]
fn a_run_has_only_the_rows_of_its_kind_and_of_an_operation_its_own_figure() {
    let mac = |low, effect, high| comparison("mac", "nothing", "operation_time", (low, effect, high));
    let operation = bakeoff_results::OperationResult {
        operation: "open-close".to_owned(),
        comparisons: vec![mac(0.14, 0.15, 0.16)],
        ..Default::default()
    };
    let results = run(&["nothing", "mac"], vec![mac(0.0, 0.01, 0.02)]);
    let (study, results) = selinux("calls", Results { operations: vec![operation], ..results });
    let section = join(&study, &results);
    assert!(section.rows.iter().all(|row| row.meter == "operation_time" && row.operation.is_some()));
    let row = |name: &str| section.rows.iter().find(|row| row.row == name && row.arm == "mac").unwrap();
    let open = row("open/close");
    assert_eq!((open.value.unwrap().round(), open.standing), (15.0, Standing::Lower), "{open:?}");
    assert!(open.statement.as_deref().unwrap().contains("the layer mac"));
    assert!(row("stat").said.contains("did not measure `stat`"));
    assert!(section.rows.iter().all(|row| row.arm != "here"), "that is no single run's");
}

#[test]
fn a_newer_run_against_an_older_one_is_a_statement_of_its_own() {
    let (study, results) = selinux("command", run(&["here", "here'"], Vec::new()));
    let changed = |change: f64| Changed {
        old: 100.0,
        old_low: 99.0,
        old_high: 101.0,
        new: 100.0 * (1.0 + change),
        new_low: 0.0,
        new_high: 0.0,
        change,
        change_low: change - 0.01,
        change_high: change + 0.01,
        level: 0.95,
    };
    let row = ComparisonRow {
        arm: "here".to_owned(),
        operation: None,
        meter: "system_cpu".to_owned(),
        unit: "ns".to_owned(),
        cost: None,
        amount: None,
        figure: Some(changed(0.045)),
        invalid: None,
    };
    assert_eq!(meters_between(&study, &results).collect::<Vec<_>>(), ["elapsed", "system_cpu"]);
    let section = join_between(&study, &results, &[row]).unwrap();
    let told: Vec<_> = section.rows.iter().map(|row| (row.row.as_str(), row.standing)).collect();
    assert_eq!(told, [("elapsed", Standing::NotComparable), ("system", Standing::Inside)]);
    let (enforcer, results) = (bakeoff_plan::study::find("enforcer").unwrap().unwrap(), results);
    assert!(join_between(&enforcer, &results, &[]).is_none());
}

#[test]
fn an_operation_has_its_own_value_and_its_own_ratio_to_another_arm() {
    use bakeoff_results::{OperationFigures, OperationResult};
    let against_native = |arm: &str, times: f64| Comparison {
        differences: vec![times.ln(); 10],
        ..comparison(arm, "native", "operation_time", (times - 1.0, times - 1.0, times - 1.0))
    };
    let figures = OperationFigures {
        meters: [("operation_time".to_owned(), 58_000.0)].into(),
        ..OperationFigures::default()
    };
    let read = OperationResult {
        operation: "read 1 B".to_owned(),
        comparisons: vec![against_native("webfs", 2.0), against_native("sshfs", 8.0)],
        arms: [("webfs".to_owned(), figures)].into(),
        ..OperationResult::default()
    };
    let arms = [("webfs".to_owned(), bakeoff_results::ArmResult::default())].into();
    let results = Results {
        name: "webfs-10mbit".to_owned(),
        operations: vec![read],
        arms,
        ..run(&["native", "webfs", "sshfs"], Vec::new())
    };
    let section = join(&study("crisis").unwrap().unwrap(), &results);
    let row = |baseline: &str| {
        let mut rows = section.rows.iter().filter(|row| row.operation.as_deref() == Some("read 1 B"));
        rows.find(|row| row.arm == "webfs" && row.baseline == baseline).unwrap()
    };
    let own = row("webfs");
    assert!((own.value.unwrap() - 0.058).abs() < 1e-9 && own.published == "47 ms", "{own:?}");
    // Of an arm that is invalid there is no figure, and the row says why.
    let mut invalid = results.clone();
    invalid.arms.get_mut("webfs").unwrap().invalid = Some("starved".to_owned());
    let told = join(&study("crisis").unwrap().unwrap(), &invalid);
    let is_own = |row: &&StudyRow| {
        (row.arm.as_str(), row.baseline.as_str()) == ("webfs", "webfs")
            && row.operation.as_deref() == Some("read 1 B")
    };
    let told = told.rows.iter().find(is_own).unwrap();
    assert!(told.value.is_none() && told.said.contains("invalid"), "{told:?}");
    let ratio = row("sshfs");
    assert!(
        (ratio.value.unwrap() - 0.25).abs() < 1e-9 && ratio.said.contains("stands here for NFS"),
        "{ratio:?}"
    );
    let is_missing = |row: &&StudyRow| row.arm == "webfs" && row.operation.as_deref() == Some("write 1 B");
    let missing = section.rows.iter().find(is_missing).unwrap();
    assert!(missing.said.contains("did not measure"), "{missing:?}");
    let other = Results { name: "files".to_owned(), ..results };
    assert!(join(&study("crisis").unwrap().unwrap(), &other).rows.is_empty());
}
