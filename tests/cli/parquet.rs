//! `bakeoff report --parquet`: the file as a third-party program reads it.

use crate::support::{GET, ORIGINS, Yard, plan};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter with DuckDB that tests/prepare makes; the rule of skipped tests.
pub(crate) fn duckdb(test: &str) -> Option<PathBuf> {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/python/bin/python");
    let there =
        Command::new(&python).args(["-c", "import duckdb"]).status().is_ok_and(|status| status.success());
    if !there {
        let reason = "there is no DuckDB in target/python (tests/prepare puts it there)";
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    there.then_some(python)
}

#[test]
fn the_parquet_file_holds_what_the_csv_holds() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    assert!(!yard.path("out/slices.parquet").exists(), "only who asks gets it");
    yard.run(&["report", "out", "--parquet"]).exits(0);
    let said = yard.run(&["verify", "out"]).exits(0);
    assert!(said.stdout.contains("slices.parquet"), "{}", said.stdout);
    let mut bytes = std::fs::read(yard.path("out/slices.parquet")).unwrap();
    assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
    let Some(python) = duckdb("the_parquet_file_holds_what_the_csv_holds") else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cli/read_parquet.py");
    let output = Command::new(python).arg(script).arg(yard.path("out")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["rows"], 9);
    for (column, kind) in [
        ("round", "BIGINT"),
        ("arm", "VARCHAR"),
        ("complete", "BOOLEAN"),
        ("subject_cpu_per_request", "DOUBLE"),
        ("response_p999", "BIGINT"),
    ] {
        assert_eq!(found["types"][column], kind, "{found}");
    }
    for (column, unit) in [("wall_ns", "ns"), ("reply_bytes", "B"), ("replies_per_second", "1/s")] {
        assert_eq!(found["units"][column], unit, "{found}");
    }
    assert!(found["units"].get("arm").is_none());
    assert_eq!(found["bakeoff"], env!("CARGO_PKG_VERSION"));
    bytes[40] ^= 1;
    yard.write("out/slices.parquet", bytes);
    let said = yard.run(&["verify", "out"]).exits(7);
    assert!(said.stdout.contains("slices.parquet: is not what"), "{}", said.stdout);
}
