//! Scores of a suite's run, from its output: each test's outcome, and how many of a kind passed.
//!
//! Measuring side, cold, pure. The rules are the suite's own (`determineTestResult` in its `results.mjs`), so that
//! these figures are those that its web page would show.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Purpose of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestKind {
    /// The standard requires it.
    Required,
    /// Optional: a cache that does it is more useful, and one that does not is right all the same.
    Optimal,
    /// For information only: passed is yes, failed is no.
    Check,
}

/// Outcome of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TestOutcome {
    /// The cache did it.
    Passed,
    /// It did not.
    Failed,
    /// A precondition of the test did not occur, so that it shows nothing.
    SetupFailed,
    /// A request came to the origin twice: the suite cannot interpret that.
    Retried,
    /// A test that this one builds on did not pass.
    DependencyFailed,
    /// The suite gave up on a request.
    HarnessFailed,
    /// The suite gave no result.
    Untested,
}

impl TestOutcome {
    /// Its name in files.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::SetupFailed => "setup-failed",
            Self::Retried => "retried",
            Self::DependencyFailed => "dependency-failed",
            Self::HarnessFailed => "harness-failed",
            Self::Untested => "untested",
        }
    }
}

/// A test, as the suite describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Test {
    pub(super) id: String,
    /// The set that it is one of.
    pub(super) set: String,
    /// Its question, in a line.
    pub(super) name: String,
    pub(super) kind: TestKind,
    /// Tests that must pass for this one to mean anything.
    pub(super) depends_on: Vec<String>,
    /// The suite's client leaves it out unless the cache is its own.
    pub(super) browser_only: bool,
}

/// The client's result of a test.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Printed")]
pub(super) enum Said {
    Passed,
    /// Name and message of a thrown error.
    Threw(String, String),
}

/// `true`, or name and message of a thrown error.
#[derive(Deserialize)]
#[serde(untagged)]
enum Printed {
    Flag(bool),
    Thrown(String, Option<String>),
}

impl Said {
    fn thrown(&self) -> Option<(String, String)> {
        match self {
            Self::Passed => None,
            Self::Threw(name, message) => Some((name.clone(), message.clone())),
        }
    }
}

impl From<Printed> for Said {
    fn from(printed: Printed) -> Self {
        match printed {
            Printed::Flag(true) => Self::Passed,
            Printed::Flag(false) => Self::Threw("unknown".to_owned(), String::new()),
            Printed::Thrown(name, message) => Self::Threw(name, message.unwrap_or_default()),
        }
    }
}

/// Parses the client's output: an object with a member a test. Other lines may stand before it.
pub(super) fn parse(printed: &str) -> Result<BTreeMap<String, Said>, String> {
    let begins = if printed.starts_with('{') { Some(0) } else { printed.find("\n{").map(|at| at + 1) };
    let begins = begins.ok_or("there is no JSON object in it")?;
    serde_json::from_str(&printed[begins..]).map_err(|why| why.to_string())
}

/// A test and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scored {
    /// Its name in the suite.
    pub id: String,
    /// The set that it is one of.
    pub set: String,
    /// Its question, in a line.
    pub name: String,
    /// Its purpose.
    pub kind: TestKind,
    /// Its outcome.
    pub outcome: TestOutcome,
    /// Name and message of the thrown error, if it did not pass: as the suite printed them.
    pub said: Option<(String, String)>,
}

impl Scored {
    /// The suite's message. Its own errors explain themselves; of other errors the name matters, too.
    pub fn words(&self) -> Option<String> {
        let (name, message) = self.said.as_ref()?;
        Some(if name == "Assertion" { message.clone() } else { format!("{name}: {message}") })
    }
}

/// Counts of a kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestCounts {
    /// All tests to be run.
    pub all: u64,
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Tests without a judgement, by the reason.
    pub unjudged: BTreeMap<String, u64>,
}

impl TestCounts {
    fn of(kind: TestKind, tests: &[Scored]) -> Self {
        let mut tally = Self::default();
        for test in tests.iter().filter(|test| test.kind == kind) {
            tally.all += 1;
            match test.outcome {
                TestOutcome::Passed => tally.passed += 1,
                TestOutcome::Failed => tally.failed += 1,
                other => *tally.unjudged.entry(other.label().to_owned()).or_default() += 1,
            }
        }
        tally
    }

    /// Number of tests without a judgement.
    pub fn not_judged(&self) -> u64 {
        self.unjudged.values().sum()
    }
}

/// Score of a product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Score {
    /// Required by the standard.
    pub required: TestCounts,
    /// Optional.
    pub optimal: TestCounts,
    /// For information.
    pub check: TestCounts,
    /// Each test, in the suite's order.
    pub tests: Vec<Scored>,
}

/// The score of the tests, from the client's results.
pub(super) fn score(tests: &[Test], said: &BTreeMap<String, Said>) -> Score {
    let by_id = tests.iter().map(|test| (test.id.as_str(), test)).collect();
    let judge = Judge { tests: by_id, said };
    let scored = tests.iter().filter(|test| !test.browser_only).map(|test| Scored {
        id: test.id.clone(),
        set: test.set.clone(),
        name: test.name.clone(),
        kind: test.kind,
        outcome: judge.outcome(test, &mut Vec::new()),
        said: said.get(&test.id).and_then(Said::thrown),
    });
    let tests: Vec<Scored> = scored.collect();
    Score {
        required: TestCounts::of(TestKind::Required, &tests),
        optimal: TestCounts::of(TestKind::Optimal, &tests),
        check: TestCounts::of(TestKind::Check, &tests),
        tests,
    }
}

struct Judge<'s> {
    tests: BTreeMap<&'s str, &'s Test>,
    said: &'s BTreeMap<String, Said>,
}

impl<'s> Judge<'s> {
    /// `above`: the tests that wait for this one's outcome. A test that waits for itself has none.
    fn outcome(&self, test: &'s Test, above: &mut Vec<&'s str>) -> TestOutcome {
        let Some(said) = self.said.get(&test.id) else { return TestOutcome::Untested };
        above.push(&test.id);
        let holds = |id: &'s String| {
            let found = self.tests.get(id.as_str()).filter(|test| !above.contains(&test.id.as_str()));
            found.is_some_and(|test| self.outcome(test, above) == TestOutcome::Passed)
        };
        let builds_on_sand = !test.depends_on.iter().all(holds);
        above.pop();
        if builds_on_sand {
            return TestOutcome::DependencyFailed;
        }
        match said {
            Said::Passed => TestOutcome::Passed,
            Said::Threw(name, message) => match (name.as_str(), message.as_str()) {
                ("Setup", "retry") => TestOutcome::Retried,
                ("Setup", _) => TestOutcome::SetupFailed,
                ("AbortError", _) => TestOutcome::HarnessFailed,
                _ => TestOutcome::Failed,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Synthetic, in the form of the files in `results/` of <https://github.com/http-tests/cache-tests>, which its
    /// client prints.
    const PRINTED: &str = r#"Listening on nothing
{
  "fresh": true,
  "fresh-more": [
    "Assertion",
    "Response 2 does not come from cache"
  ],
  "head": [
    "Setup",
    "Response 1 status is 405, not 200"
  ],
  "late": [
    "AbortError",
    "This operation was aborted"
  ],
  "lost": [
    "TypeError",
    "fetch failed"
  ],
  "on-head": true,
  "on-more": true,
  "twice": [
    "Setup",
    "retry"
  ],
  "why": [
    "Error",
    null
  ]
}
"#;

    fn test(id: &str, kind: TestKind, depends_on: &[&str]) -> Test {
        Test {
            id: id.to_owned(),
            set: "Made up".to_owned(),
            name: format!("Does it {id}?"),
            kind,
            depends_on: depends_on.iter().map(|&id| id.to_owned()).collect(),
            browser_only: false,
        }
    }

    fn outcomes(score: &Score) -> Vec<(&str, TestOutcome)> {
        score.tests.iter().map(|test| (test.id.as_str(), test.outcome)).collect()
    }

    #[test]
    fn every_answer_of_the_suite_has_its_outcome() {
        use TestKind::{Check, Optimal, Required};
        let browsers = Test { browser_only: true, ..test("browser", Required, &[]) };
        let tests = [
            test("fresh", Required, &[]),
            test("fresh-more", Optimal, &["fresh"]),
            test("on-more", Required, &["fresh-more"]),
            test("on-head", Check, &["fresh", "head"]),
            test("head", Optimal, &[]),
            test("late", Required, &[]),
            test("lost", Required, &["fresh"]),
            test("twice", Required, &[]),
            test("why", Check, &[]),
            test("silent", Required, &["fresh"]),
            browsers,
        ];
        let score = score(&tests, &parse(PRINTED).unwrap());
        assert_eq!(
            outcomes(&score),
            [
                ("fresh", TestOutcome::Passed),
                ("fresh-more", TestOutcome::Failed),
                ("on-more", TestOutcome::DependencyFailed),
                ("on-head", TestOutcome::DependencyFailed),
                ("head", TestOutcome::SetupFailed),
                ("late", TestOutcome::HarnessFailed),
                ("lost", TestOutcome::Failed),
                ("twice", TestOutcome::Retried),
                ("why", TestOutcome::Failed),
                ("silent", TestOutcome::Untested),
            ]
        );
        let of = |tally: &TestCounts| (tally.all, tally.passed, tally.failed, tally.not_judged());
        assert_eq!(of(&score.required), (6, 1, 1, 4));
        assert_eq!(of(&score.optimal), (2, 0, 1, 1));
        assert_eq!(of(&score.check), (2, 0, 1, 1));
        assert_eq!(score.optimal.unjudged.get("setup-failed"), Some(&1));
        let said = |id: &str| score.tests.iter().find(|test| test.id == id).unwrap().words();
        assert_eq!(said("fresh"), None);
        assert_eq!(said("fresh-more").as_deref(), Some("Response 2 does not come from cache"));
        assert_eq!(said("lost").as_deref(), Some("TypeError: fetch failed"));
    }

    #[test]
    fn tests_that_wait_for_each_other_have_no_outcome() {
        let tests = [test("a", TestKind::Required, &["b"]), test("b", TestKind::Required, &["a"])];
        let said = parse(r#"{"a": true, "b": true}"#).unwrap();
        let expected = [("a", TestOutcome::DependencyFailed), ("b", TestOutcome::DependencyFailed)];
        assert_eq!(outcomes(&score(&tests, &said)), expected);
    }

    #[test]
    fn what_is_no_result_is_refused() {
        for printed in ["", "Running undefined\n", "{\"a\": 1}", "{\"a\": [\"x\"]}", "{\"a\": true"] {
            assert!(parse(printed).is_err(), "{printed}");
        }
        assert!(parse("{}\n").unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn whatever_is_said_every_test_is_in_one_tally(
            edges in prop::collection::vec((0usize..8, 0usize..10), 0..16),
            said in prop::collection::btree_map("t[0-9]", prop_oneof![
                Just(Said::Passed),
                ("Setup|Assertion|AbortError|x", "retry|y").prop_map(|(name, why)| Said::Threw(name, why)),
            ], 0..10),
        ) {
            let kinds = [TestKind::Required, TestKind::Optimal, TestKind::Check];
            let mut tests: Vec<Test> = (0..8).map(|n| test(&format!("t{n}"), kinds[n % 3], &[])).collect();
            for (from, to) in edges {
                tests[from].depends_on.push(format!("t{to}"));
            }
            let score = score(&tests, &said);
            let tallies = [&score.required, &score.optimal, &score.check];
            prop_assert_eq!(tallies.map(|tally| tally.all).iter().sum::<u64>(), 8);
            for tally in tallies {
                prop_assert_eq!(tally.all, tally.passed + tally.failed + tally.not_judged());
            }
            for test in &score.tests {
                let passed = said.get(&test.id) == Some(&Said::Passed);
                prop_assert!(test.outcome != TestOutcome::Passed || passed);
            }
        }

        #[test]
        fn no_text_is_too_odd_to_be_parsed_or_refused(text in "\\PC*|[{}\\[\\]\",:a-z\n]*") {
            let _ = parse(&text);
        }
    }
}
