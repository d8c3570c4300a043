//! Variables of Apache's configuration: those that `Define` sets, and those of Debian's `envvars`.
//!
//! Measuring side, cold. Reads `envvars` as lines of `export NAME=value`; runs no shell.

use std::collections::BTreeMap;
use std::path::Path;

/// Name of Debian's file, beside the main one.
const ENVVARS: &str = "envvars";

/// Its usual place.
const USUAL: &str = "/etc/apache2";

/// Variables that the environment of a copy has, with values of its own.
const PRIVATE: [&str; 6] = [
    "APACHE_RUN_DIR",
    "APACHE_LOCK_DIR",
    "APACHE_LOG_DIR",
    "APACHE_PID_FILE",
    "APACHE_RUN_USER",
    "APACHE_RUN_GROUP",
];

/// Values by name.
#[derive(Debug, Default)]
pub(super) struct Variables {
    defined: BTreeMap<String, String>,
    environment: BTreeMap<String, String>,
}

impl Variables {
    /// The variables that Debian's start script exports.
    pub(super) fn of_environment(home: &Path) -> Self {
        let places = [home.join(ENVVARS), Path::new(USUAL).join(ENVVARS)];
        let text = places.iter().find_map(|path| std::fs::read_to_string(path).ok()).unwrap_or_default();
        let mut all = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.trim().strip_prefix("export ").and_then(|one| one.split_once('='))
            else {
                continue;
            };
            let value = value.trim().trim_matches(['"', '\'']).replace("$SUFFIX", "");
            if !value.contains(['$', '`']) {
                all.environment.insert(name.trim().to_owned(), value);
            }
        }
        all
    }

    pub(super) fn define(&mut self, name: &str, value: Option<&str>) {
        self.defined.insert(name.to_owned(), value.unwrap_or_default().to_owned());
    }

    pub(super) fn undefine(&mut self, name: &str) {
        self.defined.remove(name);
    }

    /// Whether the condition of an `IfDefine` holds: a name, or `!` and a name.
    pub(super) fn allow(&self, condition: &str) -> bool {
        match condition.strip_prefix('!') {
            Some(name) => !self.defined.contains_key(name),
            None => self.defined.contains_key(condition),
        }
    }

    /// The text with `${NAME}` replaced by its value; an unknown one stays.
    pub(super) fn resolved(&self, text: &str) -> String {
        replaced(text, |name| self.defined.get(name).or_else(|| self.environment.get(name)))
    }

    /// The same for what the environment of a copy does not have.
    pub(super) fn without_environment(&self, text: &str) -> String {
        replaced(text, |name| self.environment.get(name).filter(|_| !PRIVATE.contains(&name)))
    }
}

fn replaced<'v>(text: &str, value: impl Fn(&str) -> Option<&'v String>) -> String {
    let (mut done, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once("${") {
        done += before;
        match behind.split_once('}').and_then(|(name, after)| Some((value(name)?, after))) {
            Some((value, after)) => {
                done += value;
                rest = after;
            }
            None => {
                done += "${";
                rest = behind;
            }
        }
    }
    done + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_others_stay() {
        let mut variables = Variables::default();
        variables.define("port", Some("81"));
        assert_eq!(variables.resolved("a:${port}/${map:${x}}${"), "a:81/${map:${x}}${");
    }
}
