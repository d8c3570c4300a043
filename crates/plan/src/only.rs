//! Some levels of a factor alone, on the command line: `--only FACTOR=LEVEL,...`.
//!
//! Cold, pure. It is told as a setting of `cell`, the list of combinations that are run, so a run keeps, stores and
//! resumes it as any other value in place of the plan's own. The level that the plan's baseline has stays.

use super::error::suggestion;
use super::{PlanError, Setting};
use std::fmt;
use std::str::FromStr;
use toml::{Table, Value};

/// `FACTOR=LEVEL,...`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Only {
    factor: String,
    levels: Vec<String>,
}

impl FromStr for Only {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (factor, levels) = text.split_once('=').unwrap_or((text, ""));
        let levels: Vec<String> = levels.split(',').map(|level| level.trim().to_owned()).collect();
        if factor.trim().is_empty() || levels.iter().any(String::is_empty) {
            return Err("write it as FACTOR=LEVEL,LEVEL, such as server=nginx,apache".to_owned());
        }
        Ok(Self { factor: factor.trim().to_owned(), levels })
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.factor, self.levels.join(","))
    }
}

impl Only {
    /// Whether a plan's text has the factor.
    pub fn is_about(&self, text: &str) -> bool {
        text.parse::<Table>().is_ok_and(|plan| table(&plan, "factors").contains_key(&self.factor))
    }

    fn wrong(&self, what: &str) -> PlanError {
        PlanError::Wrong(format!("--only {self}: {what}"))
    }

    /// The levels as the plan has them.
    fn of(&self, plan: &Table) -> Result<Vec<Value>, PlanError> {
        let factors = table(plan, "factors");
        let Some(all) = factors.get(&self.factor).and_then(Value::as_array) else {
            let known: Vec<&str> = factors.keys().map(String::as_str).collect();
            let help =
                if known.is_empty() { "it has none".to_owned() } else { suggestion(&self.factor, &known) };
            return Err(self.wrong(&format!("the plan has no such factor; {help}")));
        };
        let names: Vec<String> = all.iter().map(in_words).collect();
        if let Some(other) = self.levels.iter().find(|level| !names.contains(level)) {
            let known: Vec<&str> = names.iter().map(String::as_str).collect();
            let help = suggestion(other, &known);
            return Err(self.wrong(&format!("the factor has no level `{other}`; {help}")));
        }
        let of_baseline = plan
            .get("experiment")
            .and_then(|experiment| experiment.get("baseline")?.get(&self.factor))
            .map(in_words);
        let is_wanted = |level: &&Value| {
            let name = in_words(level);
            self.levels.contains(&name) || of_baseline.as_ref() == Some(&name)
        };
        Ok(all.iter().filter(is_wanted).cloned().collect())
    }
}

/// The combinations that are left of a plan's, as a setting; `None` where nothing is asked for.
///
/// # Errors
/// The plan has no such factor, or level, or none of its combinations has what is asked for.
pub fn only(text: &str, wanted: &[Only]) -> Result<Option<Setting>, PlanError> {
    // A text that is no TOML is told by its next reader.
    let Ok(plan) = text.parse::<Table>() else { return Ok(None) };
    let Some(last) = wanted.last() else { return Ok(None) };
    let typed = plan.get("cell").and_then(Value::as_array);
    let mut cells: Vec<Table> = match typed {
        Some(cells) => cells.iter().filter_map(Value::as_table).cloned().collect(),
        None => vec![Table::new()],
    };
    for one in wanted {
        let levels = one.of(&plan)?;
        cells = cells.into_iter().flat_map(|cell| narrowed(&cell, &one.factor, &levels)).collect();
    }
    if cells.is_empty() {
        return Err(last.wrong("the plan runs no combination with these levels"));
    }
    let cells = Value::Array(cells.into_iter().map(Value::Table).collect());
    format!("cell={cells}").parse().map(Some).map_err(|_| last.wrong("its levels cannot be written down"))
}

/// A combination at each of these levels, or at its own if that is one of them.
fn narrowed(cell: &Table, factor: &str, levels: &[Value]) -> Vec<Table> {
    let at = |level: &Value| {
        let mut cell = cell.clone();
        cell.insert(factor.to_owned(), level.clone());
        cell
    };
    match cell.get(factor).map(in_words) {
        Some(own) if levels.iter().any(|level| in_words(level) == own) => vec![cell.clone()],
        Some(_) => Vec::new(),
        None => levels.iter().map(at).collect(),
    }
}

fn table<'a>(plan: &'a Table, key: &str) -> std::borrow::Cow<'a, Table> {
    plan.get(key).and_then(Value::as_table).map_or_else(Default::default, std::borrow::Cow::Borrowed)
}

/// A level as it is named.
fn in_words(level: &Value) -> String {
    level.as_str().map_or_else(|| level.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Plan, changed};
    use std::path::Path;

    const PLAN: &str = "[experiment]\nbaseline = { kib = 1 }\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n\
        [factors]\nserver = [\"x\", \"y\", \"z\"]\nkib = [1, 16, 256]\n\
        [level.server.x]\nburn = \"1us\"\n[level.server.y]\nburn = \"2us\"\n[level.server.z]\nburn = \"3us\"\n\
        [level.kib.1]\nurls = [\"/1\"]\n[level.kib.16]\nurls = [\"/16\"]\n[level.kib.256]\nurls = [\"/256\"]\n\
        [arm.a]\nserver = \"origin\"\n";

    fn arms(text: &str, wanted: &[&str]) -> Result<Vec<String>, String> {
        let wanted: Vec<Only> = wanted.iter().map(|text| text.parse().unwrap()).collect();
        let setting = only(text, &wanted).map_err(|why| why.to_string())?;
        let (origin, text) = changed("p.toml", text, setting.as_slice()).unwrap();
        let plan = Plan::parse("p", &origin, &text, Path::new("/")).map_err(|why| why.to_string())?;
        Ok(plan.arms.iter().map(|arm| arm.name.clone()).collect())
    }

    #[test]
    fn some_levels_are_left_with_those_of_the_baseline() {
        assert_eq!(arms(PLAN, &["kib=16"]).unwrap().len(), 6, "1 stays as the baseline's");
        assert_eq!(
            arms(PLAN, &["server=y,x", "kib=256"]).unwrap(),
            ["x.kib-1", "x.kib-256", "y.kib-1", "y.kib-256"]
        );
        assert_eq!(arms(PLAN, &[]).unwrap().len(), 9);
    }

    #[test]
    fn listed_combinations_are_narrowed_and_stay_narrow() {
        let listed = format!(
            "{PLAN}[[cell]]\nserver = \"x\"\n[[cell]]\nserver = \"y\"\nkib = 1\n[[cell]]\nserver = \"y\"\nkib = 16\n"
        );
        assert_eq!(arms(&listed, &["kib=16"]).unwrap(), ["x.kib-1", "x.kib-16", "y.kib-1", "y.kib-16"]);
        assert_eq!(arms(&listed, &["server=y"]).unwrap(), ["y.kib-1", "y.kib-16"]);
        let none = arms(&listed, &["server=z"]).unwrap_err();
        assert!(none.contains("--only server=z: the plan runs no combination"), "{none}");
    }

    #[test]
    fn what_the_plan_does_not_have_is_told_with_what_it_has() {
        for (typed, words) in [
            ("sever=x", "no such factor; did you mean `server`?"),
            ("server=q", "the factor has no level `q`"),
            ("kib=2", "no level `2`"),
        ] {
            let said = arms(PLAN, &[typed]).unwrap_err();
            assert!(said.contains(&format!("--only {typed}: ")) && said.contains(words), "{said}");
        }
        for typed in ["server", "server=", "=x", "server=x,,y"] {
            assert!(typed.parse::<Only>().is_err(), "{typed}");
        }
    }
}
