//! JSON and CSV.

use crate::terminal::golden;
use crate::{fixture, schema};
use bakeoff_report::{csv, json, results_schema, trials_csv};
use bakeoff_results::Results;

#[test]
fn json_is_stable_and_reads_back() {
    let results = fixture::quickstart().results;
    let text = json(&results);
    golden("quickstart.json", &text);
    assert_eq!(serde_json::from_str::<Results>(&text).unwrap(), results);
    assert!(text.ends_with("}\n"));
}

#[test]
fn json_keeps_to_its_schema() {
    let schema = serde_json::from_str(&results_schema()).unwrap();
    let bundles = [
        fixture::ordinary(),
        fixture::no_cpu(),
        fixture::zero_replies(),
        fixture::interrupted(),
        fixture::command(),
        fixture::studied(),
        fixture::peaks(),
        fixture::peaks_interrupted(),
    ];
    for bundle in bundles {
        let value = serde_json::from_str(&json(&bundle.results)).unwrap();
        schema::check(&schema, &value);
    }
}

#[test]
#[should_panic(expected = "seed")]
fn the_schema_check_can_fail() {
    let schema = serde_json::from_str(&results_schema()).unwrap();
    let mut value = serde_json::to_value(fixture::interrupted().results).unwrap();
    value["seed"] = "seven".into();
    schema::check(&schema, &value);
}

#[test]
fn csv_has_a_row_a_slice() {
    let bundle = fixture::interrupted();
    golden("interrupted.csv", &csv(&bundle));
    let bundle = fixture::ordinary();
    let text = csv(&bundle);
    let mut reader = ::csv::Reader::from_reader(text.as_bytes());
    let head = reader.headers().unwrap().clone();
    let column = |name: &str| head.iter().position(|have| have == name).unwrap();
    let rows: Vec<_> = reader.records().map(Result::unwrap).collect();
    assert_eq!(rows.len(), bundle.slices.len());
    for (row, slice) in rows.iter().zip(&bundle.slices) {
        assert_eq!(&row[column("arm")], slice.arm);
        assert_eq!(&row[column("complete")], "1");
        let cost: f64 = row[column("subject_cpu_per_request")].parse().unwrap();
        let (cpu, requests) = (slice.counters.subject_cpu_ns.unwrap() as f64, slice.counters.requests as f64);
        assert!((cost * requests / cpu - 1.0).abs() < 1e-9);
        let times = slice.times.decode().unwrap();
        let wanted = [(&times.response, "response_p99", 0.99), (&times.service, "service_p50", 0.5)];
        for (histogram, name, q) in wanted {
            assert_eq!(row[column(name)], histogram.quantile(q).get().to_string(), "{name}");
        }
    }
    assert!(rows.iter().any(|row| row[column("failed_by_class")].starts_with("reset=")));
}

#[test]
fn csv_of_a_search_has_a_row_a_trial() {
    let bundle = fixture::peaks_interrupted();
    let peak = bundle.results.peak.unwrap();
    golden("peaks_interrupted.csv", &trials_csv(&peak));
}
