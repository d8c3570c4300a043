//! `bakeoff report`: every output again.

use crate::support::{GET, ORIGINS, Yard, plan};

#[test]
fn every_output_is_made_again_byte_for_byte() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    let first = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0);
    let outputs = ["results.json", "slices.csv", "report.html"];
    let before: Vec<String> = outputs.iter().map(|name| yard.read(&format!("out/{name}"))).collect();
    for name in outputs {
        std::fs::remove_file(yard.path("out").join(name)).unwrap();
    }
    let again = yard.run(&["report", "out"]).exits(0);
    assert_eq!(again.stdout, first.stdout);
    for (name, before) in outputs.iter().zip(before) {
        assert!(yard.read(&format!("out/{name}")) == before, "{name} differs");
    }
    // Once the run is complete, going on means making the report.
    let resumed = yard.run(&["run", "--resume", "out"]).exits(0).says(&["complete"]);
    assert_eq!(resumed.stdout, first.stdout);
}

#[test]
fn a_damaged_directory_is_named_with_the_line() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", GET, ORIGINS));
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(0);
    let slices = yard.read("out/slices.jsonl");
    yard.write("out/slices.jsonl", slices.replacen("{\"round\"", "{\"ruond\"", 1));
    yard.run(&["report", "out"]).exits(2).says(&["slices.jsonl", "line 1"]);
    yard.write("out/slices.jsonl", slices);
    let setup = yard.read("out/setup.json");
    yard.write("out/setup.json", setup.replacen("bakeoff-setup/2", "bakeoff-setup/0", 1));
    yard.run(&["report", "out"]).exits(2).says(&["setup.json", "bakeoff-setup/0", "bakeoff-setup/2"]);
}
