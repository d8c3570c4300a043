//! Settings on the command line in place of a plan's own values: `--set experiment.budget=30s`.
//!
//! Cold, pure. The plan's text itself is changed, and everything after that reads the text. So the plan that is
//! checked, run, stored and reported is one, and the changes need no second place.

use super::PlanError;
use std::str::FromStr;
use toml_edit::{DocumentMut, Item, Key, Table, Value};

/// `KEY=VALUE`.
#[derive(Clone, Debug)]
pub struct Setting {
    /// From the outermost table to the key.
    path: Vec<Key>,
    value: Value,
    /// As it was typed, on one line.
    typed: String,
}

/// Error for a text that is no setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}; write it as experiment.budget=30s or workload.urls='[\"/a\", \"/b\"]'")]
pub struct SettingError {
    what: String,
}

impl FromStr for Setting {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let wrong = |what: String| SettingError { what };
        let (key, value) =
            text.split_once('=').ok_or_else(|| wrong("there is no `=` behind the key".to_owned()))?;
        let path = Key::parse(key.trim()).map_err(|_| wrong(format!("`{key}` is no key of a plan")))?;
        let value = read(value.trim()).map_err(|why| wrong(format!("the value is no TOML: {why}")))?;
        let typed = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Ok(Self { path, value, typed })
    }
}

/// A TOML value. A text that is none and does not begin like one is a string: shells take quotes away.
fn read(text: &str) -> Result<Value, String> {
    match text.parse::<Value>() {
        Ok(value) => Ok(value),
        Err(why) if text.is_empty() || text.starts_with(['[', '{', '"', '\'']) => {
            Err(why.to_string().lines().last().unwrap_or_default().to_owned())
        }
        Err(_) => Ok(Value::from(text)),
    }
}

impl Setting {
    /// `experiment.budget`.
    pub fn budget(time: &str) -> Self {
        let path = ["experiment", "budget"].map(Key::new).to_vec();
        Self { path, value: Value::from(time), typed: format!("experiment.budget={time}") }
    }

    /// As it was typed, on one line.
    pub fn typed(&self) -> &str {
        &self.typed
    }

    /// The outermost word, and the setting without it if anything is left.
    pub fn below(&self) -> (&str, Option<Self>) {
        let Some((first, rest)) = self.path.split_first() else { return ("", None) };
        // The words before the value are keys, which have no `=` but in quotes.
        let typed = self.typed.split_once('.').map_or("", |(_, rest)| rest).to_owned();
        let below = Self { path: rest.to_vec(), value: self.value.clone(), typed };
        (first.get(), (!rest.is_empty()).then_some(below))
    }
}

/// Applies settings to a text: returns its new name in messages, and the text with the values replaced and a comment at
/// its end that lists them. A text that is no TOML stays as it is: its next reader reports the error.
///
/// # Errors
/// A key lies below a value that has no keys.
pub fn changed(origin: &str, text: &str, settings: &[Setting]) -> Result<(String, String), PlanError> {
    let mut document = match text.parse::<DocumentMut>() {
        Ok(document) if !settings.is_empty() => document,
        _ => return Ok((origin.to_owned(), text.to_owned())),
    };
    for setting in settings {
        put(document.as_item_mut(), setting).map_err(|above| {
            let above = if above.is_empty() { "it" } else { &above };
            PlanError::Wrong(format!(
                "--set {}: in {origin}, {above} is no table that has such a key",
                setting.typed
            ))
        })?;
    }
    let mut text = document.to_string();
    for setting in settings {
        text += &format!("# --set {}\n", setting.typed);
    }
    Ok((format!("{origin}, with --set"), text))
}

/// `Err`: the part of the path that is no table.
fn put(mut item: &mut Item, setting: &Setting) -> Result<(), String> {
    let mut above: Vec<&str> = Vec::new();
    for key in &setting.path {
        item = below(item, key).ok_or_else(|| above.join("."))?;
        above.push(key.get());
    }
    let mut value = setting.value.clone();
    // The comment behind the old value stays.
    *value.decor_mut() = item.as_value().map_or_else(Default::default, |old| old.decor().clone());
    *item = Item::Value(value);
    Ok(())
}

/// The item at a key, or an empty place for it; in a list by its number.
fn below<'a>(item: &'a mut Item, key: &Key) -> Option<&'a mut Item> {
    if item.is_none() {
        let mut table = Table::new();
        table.set_implicit(true);
        *item = Item::Table(table);
    }
    match item {
        Item::ArrayOfTables(_) => item.get_mut(key.get().parse::<usize>().ok()?),
        _ => Some(item.as_table_like_mut()?.entry_format(key).or_insert(Item::None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "# What it is about.\n[experiment]\nbudget = \"5min\" # as ever\n\n[arm.a]\nserver = \"origin\"\n\n[[cell]]\nx = 1\n";

    fn with(settings: &[&str]) -> Result<String, String> {
        let settings: Vec<Setting> = settings.iter().map(|text| text.parse().unwrap()).collect();
        changed("p.toml", PLAN, &settings).map(|(_, text)| text).map_err(|why| why.to_string())
    }

    #[test]
    fn values_take_the_place_of_the_plans_own_and_comments_stay() {
        let text =
            with(&["experiment.budget=30s", "arm.\"b.c\".tls=true", "experiment.margin='2%'", "cell.0.x=3"]);
        let text = text.unwrap();
        assert!(
            text.starts_with(
                "# What it is about.\n[experiment]\nbudget = \"30s\" # as ever\nmargin = '2%'\n"
            ),
            "{text}"
        );
        assert!(text.contains("[arm.\"b.c\"]\ntls = true\n") && text.contains("[[cell]]\nx = 3\n"), "{text}");
        assert!(
            text.ends_with("# --set cell.0.x=3\n") && text.contains("# --set experiment.budget=30s\n"),
            "{text}"
        );
        assert!(text.parse::<DocumentMut>().is_ok(), "{text}");
        assert_eq!(with(&[]).unwrap(), PLAN);
    }

    #[test]
    fn what_has_no_keys_takes_none() {
        let error = with(&["experiment.budget.full=1h"]).unwrap_err();
        assert!(
            error.contains("--set experiment.budget.full=1h: in p.toml, experiment.budget is no table"),
            "{error}"
        );
        assert!(with(&["cell.7.x=1"]).unwrap_err().contains("cell"), "no eighth cell");
    }

    #[test]
    fn what_is_no_setting_is_told_with_an_example() {
        for (typed, word) in [
            ("budget", "no `=`"),
            ("=3", "no key"),
            ("a=[1,", "no TOML"),
            ("a=", "no TOML"),
            ("a b=1", "no key"),
        ] {
            let error = typed.parse::<Setting>().unwrap_err().to_string();
            assert!(error.contains(word) && error.contains("experiment.budget=30s"), "{typed}: {error}");
        }
        assert_eq!("a=100/s".parse::<Setting>().unwrap().value.as_str(), Some("100/s"));
        assert_eq!("a=[1, 2]".parse::<Setting>().unwrap().value.as_array().map(|list| list.len()), Some(2));
    }
}
