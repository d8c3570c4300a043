//! Differences between two runs: those that forbid a comparison, and those that the reader should know.

use super::BetweenError;
use super::result::Differs;
use bakeoff_plan::Extent;
use bakeoff_results::directory::StoredExperiment;
use bakeoff_results::{Fact, Setup, SubjectSetup};
use std::collections::BTreeMap;

/// Refuses runs with different work. Without a named meter the verdicts' own figures must be one figure.
pub(super) fn ensure_the_same(old: &Setup, new: &Setup, of_verdicts: bool) -> Result<(), BetweenError> {
    if old.places.is_empty() != new.places.is_empty() {
        let (with, without) = if new.places.is_empty() { ("old", "new") } else { ("new", "old") };
        return Err(BetweenError::OtherReceivers { with, without });
    }
    let log = |setup: &Setup| setup.workload.log_sha256.clone().unwrap_or_else(|| "none".to_owned());
    let mut asked = vec![
        ("the workload", old.workload.kind.clone(), new.workload.kind.clone()),
        ("the log (SHA-256)", log(old), log(new)),
        ("what is asked for", old.workload.description.clone(), new.workload.description.clone()),
        ("the load", old.load.clone(), new.load.clone()),
        ("the baseline", baselines(old), baselines(new)),
    ];
    if of_verdicts {
        asked.push(("the figure that verdicts stand on", old.primary.clone(), new.primary.clone()));
    }
    match asked.into_iter().find(|(_, old, new)| old != new) {
        Some((what, old, new)) => Err(BetweenError::NotTheSame { what: what.to_owned(), old, new }),
        None => Ok(()),
    }
}

/// All recorded differences: of the runs, then the machines, then the servers.
pub(super) fn list(old: &StoredExperiment, new: &StoredExperiment, arms: &[String]) -> Vec<Differs> {
    let mut found = Vec::new();
    let mut add = |what: &str, old: String, new: String| {
        if old != new {
            found.push(Differs { what: what.to_owned(), old, new });
        }
    };
    of_runs(&old.setup, &new.setup, &mut add);
    let (a, b) = (&old.setup.environment, &new.setup.environment);
    of_facts(&a.facts, &b.facts, &mut add);
    add("generator cores", format!("{:?}", a.generator_cores), format!("{:?}", b.generator_cores));
    add("subject cores", format!("{:?}", a.subject_cores), format!("{:?}", b.subject_cores));
    for arm in arms {
        if let (Some(a), Some(b)) = (old.setup.subjects.get(arm), new.setup.subjects.get(arm)) {
            of_servers(arm, a, b, &mut add);
        }
    }
    found
}

fn baselines(setup: &Setup) -> String {
    setup.baselines().collect::<Vec<_>>().join(", ")
}

fn of_runs(old: &Setup, new: &Setup, add: &mut impl FnMut(&str, String, String)) {
    add("bakeoff", old.bakeoff.clone(), new.bakeoff.clone());
    add("plan (SHA-256)", short(&old.plan_sha256), short(&new.plan_sha256));
    let extent = |setup: &Setup| setup.extent.map_or("as the plan says", Extent::as_str).to_owned();
    add("how much of the plan", extent(old), extent(new));
    add("workload", old.workload.description.clone(), new.workload.description.clone());
    add("load", old.load.clone(), new.load.clone());
    add("primary figure", old.primary.clone(), new.primary.clone());
    add("design", old.design.design.as_str().to_owned(), new.design.design.as_str().to_owned());
    add("baseline", baselines(old), baselines(new));
    add("seed", old.seed.to_string(), new.seed.to_string());
    add("requests a slice", slices(old), slices(new));
    add("arms", old.arms.join(", "), new.arms.join(", "));
    let places = |setup: &Setup| {
        let of = setup.places.iter().map(|place| format!("{} ({} lanes)", place.host, place.lanes));
        of.collect::<Vec<_>>().join(", ")
    };
    add("generators on other hosts", places(old), places(new));
    add("restarts", old.restarts.every.to_string(), new.restarts.every.to_string());
}

/// `6000, c 3000`: requests of all arms, and of those with a number of their own.
fn slices(setup: &Setup) -> String {
    let own = setup.workload.requests_of.iter().map(|(arm, count)| format!(", {arm} {count}"));
    setup.workload.slice_requests.to_string() + &own.collect::<String>()
}

fn of_facts(old: &[Fact], new: &[Fact], add: &mut impl FnMut(&str, String, String)) {
    let by_name = |facts: &[Fact]| -> BTreeMap<String, String> {
        facts.iter().map(|fact| (fact.name.clone(), fact.value.clone())).collect()
    };
    let (theirs, ours) = (by_name(old), by_name(new));
    let names = old.iter().chain(new.iter().filter(|fact| !theirs.contains_key(&fact.name)));
    let value = |facts: &BTreeMap<String, String>, name: &str| {
        facts.get(name).cloned().unwrap_or_else(|| "not recorded".to_owned())
    };
    for fact in names {
        add(&fact.name, value(&theirs, &fact.name), value(&ours, &fact.name));
    }
}

fn of_servers(arm: &str, old: &SubjectSetup, new: &SubjectSetup, add: &mut impl FnMut(&str, String, String)) {
    let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut of = |what: &str, old: String, new: String| add(&format!("{arm}: {what}"), old, new);
    of("server", old.server.clone(), new.server.clone());
    of("version", text(&old.version), text(&new.version));
    of("executable (SHA-256)", short(&text(&old.binary_sha256)), short(&text(&new.binary_sha256)));
    let client = |subject: &SubjectSetup| {
        subject.client.as_ref().map_or_else(|| "default".to_owned(), |client| client.words.clone())
    };
    of("client", client(old), client(new));
    of("TLS", text(&old.tls), text(&new.tls));
    of("CPU read from", text(&old.cpu_source), text(&new.cpu_source));
}

/// Enough of a hash to tell two apart.
fn short(hash: &str) -> String {
    hash.chars().take(12).collect()
}
