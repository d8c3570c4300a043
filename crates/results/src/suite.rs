//! Suites: several plans that are run one after the other, from one file of `[[part]]`s.
//!
//! Measuring side, cold, pure. Owns the file's form and the places in which a part's plan is
//! looked for. It does not know what a plan is, in which of the plans' languages it is written and how it is run.

use crate::directory::Layout;
use bakeoff_plan::{Need, PlanError, PlanSource, Setting, suggestion};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use toml::Spanned;

/// The `schema` of a stored [`SuiteStart`].
pub const BEGUN_SCHEMA: &str = "bakeoff-suite-begun/1";
/// Its text, in its results directory.
pub const TEXT: &str = "suite.toml";

/// Results directories of suites.
pub const SUITE: Layout = Layout { setup: "suite.json", form: BEGUN_SCHEMA, growing: &[] };

/// Plans that are run one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suite {
    /// The file's stem or the shipped suite's name.
    pub name: String,
    /// Name of the text in messages.
    pub origin: String,
    /// The text it came from.
    pub text: String,
    /// Its subject: the comment on its first line.
    pub summary: String,
    /// At least one, names that differ.
    pub parts: Vec<SuitePart>,
}

/// A plan of a suite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuitePart {
    /// Its name, and that of its directory.
    pub name: String,
    /// A plan's file, or the name of a shipped plan.
    pub plan: String,
    /// Programs without which it is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
}

/// Record of a suite's start, needed to resume it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SuiteStart {
    /// [`BEGUN_SCHEMA`].
    pub schema: String,
    /// Name of the suite.
    pub name: String,
    /// Its subject.
    pub summary: String,
    /// Version of bakeoff that began it.
    pub bakeoff: String,
    /// Whether its plans are run as a whole if they state a sample.
    pub full: bool,
    /// The parts that are run, in their order, each with the settings for its plan.
    pub parts: Vec<BegunPart>,
}

/// A part as it was begun.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BegunPart {
    /// Name and plan.
    #[serde(flatten)]
    pub part: SuitePart,
    /// `KEY=VALUE` of its plan.
    pub set: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SuiteFile {
    part: Spanned<Vec<PartFile>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PartFile {
    name: Spanned<String>,
    plan: Spanned<String>,
    #[serde(default)]
    needs: Vec<Need>,
}

impl Suite {
    /// Whether a text is one: it has `[[part]]`s.
    pub fn is_one(source: &PlanSource) -> bool {
        source.has("part")
    }

    /// Reads a suite. Plans that lie beside its file are meant before shipped ones.
    ///
    /// # Errors
    /// The text is no suite; the message shows where and why.
    pub fn of(source: &PlanSource) -> Result<Self, PlanError> {
        let PlanSource { name, origin, text, base_dir, .. } = source;
        let base = base_dir.as_deref();
        let wrong = |at: std::ops::Range<usize>, what: &str, help: &str| {
            Err(PlanError::at(origin, text, at, what, Some(help)))
        };
        let file: SuiteFile = toml::from_str(text).map_err(|why| {
            let help =
                "a suite has a [[part]] with `name`, `plan` and perhaps `needs` for each of its plans, and nothing else";
            PlanError::at(origin, text, why.span().unwrap_or(0..0), why.message(), Some(help))
        })?;
        if file.part.get_ref().is_empty() {
            return wrong(file.part.span(), "there is no part", "add a [[part]] with `name` and `plan`");
        }
        let mut parts: Vec<SuitePart> = Vec::new();
        for part in file.part.get_ref() {
            let own = part.name.get_ref();
            if !is_name(own) {
                let what = format!("`{own}` is no name of a part");
                return wrong(
                    part.name.span(),
                    &what,
                    "use letters, digits, - and _: it is a directory's name too",
                );
            }
            if parts.iter().any(|other| other.name == *own) {
                return wrong(part.name.span(), &format!("two parts are called `{own}`"), "rename one");
            }
            let (plan, needs) = (found(part.plan.get_ref(), base), part.needs.clone());
            parts.push(SuitePart { name: own.clone(), plan, needs });
        }
        let summary = source.summary().to_owned();
        let (name, origin, text) = (name.to_owned(), origin.to_owned(), text.to_owned());
        Ok(Self { name, origin, text, summary, parts })
    }

    /// Names of its parts.
    pub fn names(&self) -> Vec<&str> {
        self.parts.iter().map(|part| part.name.as_str()).collect()
    }

    /// The settings of each part; each setting's first word is the name of one.
    ///
    /// # Errors
    /// The first word names no part, in words.
    pub fn settings(&self, all: &[Setting]) -> Result<Vec<Vec<Setting>>, String> {
        let mut own = vec![Vec::new(); self.parts.len()];
        for setting in all {
            let (word, rest) = setting.below();
            let at = self.parts.iter().position(|part| part.name == word);
            match (at, rest) {
                (Some(at), Some(rest)) => own[at].push(rest),
                _ => {
                    let help = suggestion(word, &self.names());
                    return Err(format!(
                        "--set {}: of a suite the name of a part comes first, as in {}.experiment.max_rounds=20; {help}",
                        setting.typed(),
                        self.parts[0].name
                    ));
                }
            }
        }
        Ok(own)
    }
}

impl SuiteStart {
    /// Where a part's results are.
    pub fn directory(dir: &Path, part: &BegunPart) -> PathBuf {
        dir.join(&part.part.name)
    }
}

/// The file beside the suite, with or without `.toml`, if it exists or a path is given; else the name of a shipped plan.
fn found(plan: &str, base: Option<&Path>) -> String {
    let is_path = plan.contains('/') || plan.ends_with(".toml");
    let beside = |file: &str| Some(base?.join(file));
    let meant = beside(plan)
        .filter(|path| is_path || path.is_file())
        .or_else(|| beside(&format!("{plan}.toml")).filter(|path| path.is_file()));
    meant.map_or_else(|| plan.to_owned(), |path| path.display().to_string())
}

/// Whether it can be a directory's name and the first word of a setting.
fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !name.is_empty() && name.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "# Two of them\n[[part]]\nname = \"a\"\nplan = \"quickstart\"\n\n[[part]]\nname = \"b\"\nplan = \"b.toml\"\n";

    fn parse(text: &str, base: Option<&Path>) -> Result<Suite, String> {
        Suite::of(&PlanSource::new("s", "s.toml", text.to_owned(), base.map(Path::to_owned)))
            .map_err(|why| why.to_string())
    }

    #[test]
    fn a_plan_beside_the_file_is_meant_before_a_shipped_one() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("b.toml"), "").unwrap();
        let suite = parse(TWO, Some(dir.path())).unwrap();
        assert_eq!(suite.summary, "Two of them");
        assert_eq!(suite.parts[0].plan, "quickstart");
        assert_eq!(Path::new(&suite.parts[1].plan), dir.path().join("b.toml"));
        assert_eq!(parse(TWO, None).unwrap().parts[1].plan, "b.toml");
        std::fs::write(dir.path().join("quickstart.toml"), "").unwrap();
        let beside = parse(TWO, Some(dir.path())).unwrap().parts[0].plan.clone();
        assert_eq!(Path::new(&beside), dir.path().join("quickstart.toml"));
    }

    #[test]
    fn what_is_no_suite_is_shown_at_its_place() {
        for (from, to, word) in [
            ("name = \"b\"", "name = \"a\"", "two parts are called `a`"),
            ("name = \"b\"", "name = \"../b\"", "`../b` is no name of a part"),
            ("plan = \"quickstart\"", "paln = \"quickstart\"", "paln"),
        ] {
            let error = parse(&TWO.replace(from, to), None).unwrap_err();
            assert!(error.contains(word) && error.contains("s.toml:"), "{error}");
        }
        assert!(parse("part = []\n", None).unwrap_err().contains("there is no part"));
    }

    #[test]
    fn settings_go_to_their_parts() {
        let suite = parse(TWO, None).unwrap();
        let of = |typed: &[&str]| {
            let all: Vec<Setting> = typed.iter().map(|text| text.parse().unwrap()).collect();
            suite.settings(&all).map(|parts| -> Vec<Vec<String>> {
                parts.iter().map(|own| own.iter().map(|one| one.typed().to_owned()).collect()).collect()
            })
        };
        assert_eq!(
            of(&["a.experiment.seed=1", "b.arm.x.burn=2us"]).unwrap(),
            [["experiment.seed=1"], ["arm.x.burn=2us"]]
        );
        let error = of(&["experiment.seed=1"]).unwrap_err();
        assert!(error.contains("as in a.experiment") && error.contains("known are `a`, `b`"), "{error}");
        assert!(of(&["a=1"]).is_err(), "a part is no key");
    }
}
