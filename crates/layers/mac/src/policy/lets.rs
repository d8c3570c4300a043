//! Variables of a policy, set from outside by `--let NAME=VALUE`.
//!
//! Measured side, pure.

use bakeoff_layers_base::word::is_name;
use std::collections::BTreeMap;

/// Values of `{NAME}` in paths and ports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lets(BTreeMap<String, String>);

impl Lets {
    /// From words `NAME=VALUE`.
    ///
    /// # Errors
    /// A word of another form, or a name that is given twice.
    pub fn of_words(words: &[String]) -> Result<Self, String> {
        let mut lets = BTreeMap::new();
        for word in words {
            let pair = word.split_once('=').filter(|(name, value)| is_name(name) && !value.is_empty());
            let (name, value) =
                pair.ok_or_else(|| format!("--let {word}: write --let NAME=VALUE, with a value"))?;
            if lets.insert(name.to_owned(), value.to_owned()).is_some() {
                return Err(format!("--let {word}: {name} is given twice"));
            }
        }
        Ok(Self(lets))
    }

    /// The value of a name.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// All of them, sorted by name.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}
