//! Report of a suite's run, with differences between the examined products and the measured ones.
//!
//! Measuring side, cold, pure. Two starts of one product have other ports and other directories; nothing else of a
//! configuration may differ.

use super::record::{Examined, ProductOutcome, StoredRecord};
use super::score::{TestCounts, TestKind, TestOutcome};
use crate::records::EntrantRecord;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Hexadecimal digits of a digest that tell it from others.
const DIGITS: usize = 12;

/// Results of products in the public HTTP cache suite.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conformance {
    /// The suite and what ran it, in words.
    pub suite: String,
    /// Time of the run, RFC 9557.
    pub started: String,
    /// The examined products, in order.
    pub products: Vec<Conforms>,
}

/// Results of one product.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conforms {
    /// Its name, as an entrant.
    pub name: String,
    /// The version that the program reports.
    pub version: Option<String>,
    /// File with the configuration it was examined with.
    pub config: Option<String>,
    /// Duration of the suite, in seconds.
    pub seconds: f64,
    /// Tests that the standard requires; all zero if the suite did not come to its end.
    pub required: TestCounts,
    /// Tests of optional features that make a cache more useful.
    pub optimal: TestCounts,
    /// Tests that only gather information: passed is yes, failed is no.
    pub check: TestCounts,
    /// The failed tests of those that the standard requires.
    pub failed_tests: Vec<FailedTest>,
    /// Differences between the examined product and the measured one, in words.
    pub differs: Vec<String>,
    /// Reason why the suite did not come to its end, if it did not.
    pub failed: Option<String>,
}

/// A test that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedTest {
    /// Its name in the suite.
    pub id: String,
    /// Its question, in a line.
    pub name: String,
    /// The message of the suite.
    pub said: Option<String>,
}

/// The report. `measured`: the entrants of the bake-off beside which it stands, if it stands beside one.
pub fn shown(kept: &StoredRecord, measured: Option<&[&EntrantRecord]>) -> Conformance {
    let suite = &kept.record.suite;
    let digest: String = suite.digest.chars().take(DIGITS).collect();
    Conformance {
        suite: format!(
            "{} {} (code {digest}, {} tests) on node {}",
            suite.package,
            suite.version,
            suite.tests,
            suite.node.trim_start_matches('v')
        ),
        started: kept.record.started.clone(),
        products: kept.record.products.iter().map(|examined| one(examined, measured, &kept.texts)).collect(),
    }
}

fn one(
    examined: &Examined,
    measured: Option<&[&EntrantRecord]>,
    texts: &BTreeMap<String, String>,
) -> Conforms {
    let EntrantRecord { name, version, config, .. } = &examined.entrant;
    let differs = measured.map_or_else(Vec::new, |measured| differences(examined, measured, texts));
    let mut conforms = Conforms {
        name: name.clone(),
        version: version.clone(),
        config: config.clone(),
        seconds: examined.seconds,
        required: TestCounts::default(),
        optimal: TestCounts::default(),
        check: TestCounts::default(),
        failed_tests: Vec::new(),
        differs,
        failed: None,
    };
    match &examined.came_to {
        ProductOutcome::Failed(why) => conforms.failed = Some(why.clone()),
        ProductOutcome::Scored(score) => {
            conforms.required.clone_from(&score.required);
            conforms.optimal.clone_from(&score.optimal);
            conforms.check.clone_from(&score.check);
            let failed = score
                .tests
                .iter()
                .filter(|test| test.kind == TestKind::Required && test.outcome == TestOutcome::Failed);
            conforms.failed_tests = failed
                .map(|test| FailedTest { id: test.id.clone(), name: test.name.clone(), said: test.words() })
                .collect();
        }
    }
    conforms
}

/// Differences in words. A start that failed has neither version nor configuration to compare.
fn differences(
    examined: &Examined,
    measured: &[&EntrantRecord],
    texts: &BTreeMap<String, String>,
) -> Vec<String> {
    let ours = &examined.entrant;
    let Some(ours_file) = &ours.config else { return Vec::new() };
    let of_name = || measured.iter().filter(|entrant| entrant.name == ours.name);
    let Some(theirs) = of_name().find(|entrant| entrant.config.is_some()) else {
        let why = if of_name().next().is_some() { "it was not started there" } else { "it took no part" };
        return vec![format!("nothing of the bake-off stands beside it: {why}")];
    };
    let mut differs = Vec::new();
    if ours.version != theirs.version {
        let said = |version: &Option<String>| version.clone().unwrap_or_else(|| "an unknown one".to_owned());
        differs.push(format!(
            "another version: {} was examined, {} measured",
            said(&ours.version),
            said(&theirs.version)
        ));
    }
    let theirs_file = theirs.config.as_deref().unwrap_or_default();
    let ports: Vec<u16> = examined.port.into_iter().chain([examined.origin_port]).collect();
    match (texts.get(ours_file), texts.get(theirs_file)) {
        (Some(ours), Some(theirs)) if is_same(ours, theirs, &ports) => (),
        (Some(_), Some(_)) => {
            differs.push(format!("another configuration: {ours_file} was examined, {theirs_file} measured"));
        }
        (ours, _) => {
            let gone = if ours.is_none() { ours_file } else { theirs_file };
            differs
                .push(format!("whether the configuration is the same cannot be told: {gone} cannot be read"));
        }
    }
    differs
}

/// Whether two configurations are the same but for the directories of their runs and for these ports of ours, each of
/// which has one counterpart in the other.
fn is_same(ours: &str, theirs: &str, ports: &[u16]) -> bool {
    let (ours, theirs) = (without_run(ours), without_run(theirs));
    let (ours, theirs) = (pieces(&ours), pieces(&theirs));
    let mut counterparts: BTreeMap<u16, &str> = BTreeMap::new();
    ours.len() == theirs.len()
        && ours.iter().zip(&theirs).all(|(ours, theirs)| {
            let port = ours.parse().ok().filter(|number| ports.contains(number));
            let Some(port) = port else { return ours == theirs };
            let is_port = theirs.parse::<u16>().is_ok();
            match counterparts.entry(port) {
                Entry::Vacant(entry) => {
                    entry.insert(theirs);
                    is_port
                }
                Entry::Occupied(entry) => entry.get() == theirs,
            }
        })
}

/// Whole numbers, and the texts between them.
fn pieces(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    bytes
        .chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit())
        .scan(0, |at, piece| {
            let from = *at;
            *at += piece.len();
            text.get(from..*at)
        })
        .collect()
}

/// The text without the path of its run's directory, `/tmp/bakeoff-4711/`.
fn without_run(text: &str) -> String {
    const OWN: &str = "/bakeoff-";
    let (mut done, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(OWN) {
        let behind = &rest[at + OWN.len()..];
        let inside = behind.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_run = inside.len() < behind.len() && inside.starts_with('/');
        let ends = at + OWN.len();
        if is_run {
            // The path begins behind the last character that can precede one.
            let begins = rest[..at].rfind(|c: char| c.is_ascii_whitespace() || "\"'=:,".contains(c));
            done.push_str(&rest[..begins.map_or(0, |begins| begins + 1)]);
            rest = inside;
        } else {
            done.push_str(&rest[..ends]);
            rest = behind;
        }
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::super::record::{SuiteFacts, SuiteRecord};
    use super::super::score::Score;
    use super::*;

    const OURS: &str =
        "listen 127.0.0.1:40001;\npid \"/tmp/bakeoff-17/squid/x.pid\";\nserver 127.0.0.1:40002;\nsize 4096\n";

    fn entrant(version: &str, config: &str) -> EntrantRecord {
        EntrantRecord {
            name: "squid".to_owned(),
            version: Some(version.to_owned()),
            config: Some(config.to_owned()),
            stale_by: None,
        }
    }

    fn differs(theirs: &str, version: &str) -> Vec<String> {
        let score = Score {
            required: TestCounts::default(),
            optimal: TestCounts::default(),
            check: TestCounts::default(),
            tests: Vec::new(),
        };
        let examined = Examined {
            entrant: entrant("squid/5.7", "conformance-squid.conf"),
            port: Some(40001),
            origin_port: 40002,
            seconds: 60.0,
            came_to: ProductOutcome::Scored(score),
        };
        let texts = [("conformance-squid.conf", OURS), ("squid.conf", theirs)];
        let kept = StoredRecord {
            record: SuiteRecord {
                format: 1,
                bakeoff: "0.1.0".to_owned(),
                started: "2026-11-22T12:00:00Z".to_owned(),
                suite: SuiteFacts {
                    package: "http-cache-tests".to_owned(),
                    version: "0.4.5".to_owned(),
                    digest: "0123456789abcdef".to_owned(),
                    tests: 2,
                    node: "v20.1.2".to_owned(),
                },
                plan: "polymix-1".to_owned(),
                memory_bytes: 1,
                disk_bytes: None,
                products: vec![examined],
            },
            texts: texts.map(|(file, text)| (file.to_owned(), text.to_owned())).into(),
        };
        let theirs = entrant(version, "squid.conf");
        let shown = shown(&kept, Some(&[&theirs]));
        assert_eq!(shown.suite, "http-cache-tests 0.4.5 (code 0123456789ab, 2 tests) on node 20.1.2");
        shown.products[0].differs.clone()
    }

    #[test]
    fn only_ports_and_directories_of_a_start_may_differ() {
        let other = OURS.replace("40001", "50001").replace("40002", "50002");
        let other = other.replace("/tmp/bakeoff-17/", "/var/tmp/bakeoff-4711/");
        assert_eq!(differs(&other, "squid/5.7"), [""; 0]);
        for (from, to) in [
            ("4096", "8192"),       // a number that is no port
            ("50002", "50003 \n"),  // more text
            ("50002", "x"),         // no port
            ("/squid/", "/other/"), // a path inside
            ("pid", "log"),
        ] {
            let said = differs(&other.replacen(from, to, 1), "squid/5.7");
            assert_eq!(
                said,
                ["another configuration: conformance-squid.conf was examined, squid.conf measured"],
                "{from}"
            );
        }
    }

    #[test]
    fn a_port_has_one_counterpart() {
        assert!(is_same("a 1 b 1 c 2", "a 7 b 7 c 8", &[1, 2]));
        assert!(!is_same("a 1 b 1", "a 7 b 8", &[1]));
        assert!(!is_same("a 1", "a 70000", &[1]));
        assert!(!is_same("a 1", "a 7", &[]));
    }

    #[test]
    fn another_version_is_said() {
        let said = differs(OURS, "squid/6.1");
        assert_eq!(said, ["another version: squid/5.7 was examined, squid/6.1 measured"]);
    }

    #[test]
    fn a_directory_that_is_no_runs_stays() {
        assert_eq!(without_run("x /tmp/bakeoff-results/a"), "x /tmp/bakeoff-results/a");
        assert_eq!(without_run("x=/tmp/bakeoff-1/a \"/t/bakeoff-22/b\""), "x=/a \"/b\"");
    }
}
