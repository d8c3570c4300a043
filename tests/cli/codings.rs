//! Bake-offs of caches in which some robots accept gzip, with real caches.

use crate::caches;
use crate::support::{Yard, has};

/// Half of ten robots accept it, and their objects exist in it.
fn plan() -> String {
    caches::plan("400/s", 600)
        .replace("[robots]", "[robots]\nrobots = 10\naccept_gzip = \"50%\"")
        .replace("size = ", "gzip = true\ncompressibility = \"60%\"\nsize = ")
}

#[test]
fn caches_give_each_robot_the_form_that_it_accepts() {
    let name = "caches_give_each_robot_the_form_that_it_accepts";
    let products: Vec<&str> = [("nginx", "nginx"), ("varnish", "varnishd")]
        .iter()
        .filter(|known| has(known.1, name))
        .map(|known| known.0)
        .collect();
    let yard = Yard::new();
    yard.write("tiny.toml", plan());
    let mut args = vec!["run", "tiny.toml", "--out", "out", "--product", "none"];
    products.iter().for_each(|product| args.extend(["--product", product]));
    let said = yard.run(&args).exits(0);
    caches::prints(&said, &["asked in gzip"]);
    let results = yard.results("out");
    for entrant in results["entrants"].as_array().unwrap() {
        let point = &entrant["points"][0];
        caches::answers_all_that_was_asked(entrant);
        let wrong =
            entrant["faults"].as_array().unwrap().iter().filter(|fault| fault["only_counted"] == false);
        assert_eq!(wrong.count(), 0, "{entrant}");
        let [asked, came] = ["asked", "came"].map(|key| point["gzip"][key].as_u64().unwrap());
        assert!(came == asked && (150..450).contains(&asked), "{came} of {asked}: {entrant}");
        assert!(
            entrant["name"].as_str().unwrap().starts_with("none") || point["hit_ratio"].as_f64() > Some(0.1),
            "{entrant}"
        );
    }
    assert_eq!(results["entrants"].as_array().unwrap().len(), 2 + products.len(), "the baseline twice");
}

#[test]
fn who_accepts_what_nobody_has_is_told() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan().replace("gzip = true", ""));
    yard.run(&["check", "tiny.toml"]).exits(2).says(&["tiny.toml", "accept_gzip", "gzip = true"]);
}
