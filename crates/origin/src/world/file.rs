//! World file: TOML with `[[content]]`, `[origin]` and `names`, the number from which its names are drawn.
//!
//! Cold. Owns `names` and the keys of `[origin]`; those of `[[content]]` are the model's.

use super::World;
use bakeoff_content::Distribution;
use bakeoff_content::world::{Model, ModelError, TypedKind};
use bakeoff_units::Nanos;
use serde::Deserialize;
use toml::{Table, Value};

/// The keys of `[origin]`.
const KEYS: &str = "`think`, `requests_per_connection`, `idle_timeout`, `keep_alive` and `http`";

/// Error in the text of a world.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// It is no TOML, or a `[[content]]` is malformed.
    #[error("line {line}: {why}")]
    Syntax {
        /// The line, from 1.
        line: usize,
        /// The reader's word.
        why: String,
    },
    /// The objects.
    #[error(transparent)]
    Content(#[from] ModelError),
    /// An unknown key.
    #[error("`{key}` in [origin] is not known; allowed are {KEYS}")]
    Key {
        /// Its name.
        key: String,
    },
    /// A value that is none of its key.
    #[error("`{key}` in [origin]: {found}; allowed is {allowed}")]
    Value {
        /// The key.
        key: &'static str,
        /// The fault.
        found: String,
        /// The values that are allowed.
        allowed: &'static str,
    },
}

/// The keys as typed.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    names: Option<u64>,
    #[serde(default)]
    content: Vec<TypedKind>,
    #[serde(default)]
    origin: Table,
}

impl World {
    /// Reads a file's text.
    ///
    /// # Errors
    ///
    /// One line on the first fault.
    pub fn from_toml(text: &str) -> Result<Self, WorldError> {
        let file: File = toml::from_str(text).map_err(|error| WorldError::Syntax {
            line: error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1),
            why: error.message().replace('\n', "; "),
        })?;
        let model = Model::new(&file.content)?;
        let mut world = Self::with_defaults(match file.names {
            Some(number) => model.named(number),
            None => model,
        });
        for (key, value) in &file.origin {
            world.set(key, value)?;
        }
        Ok(world)
    }

    /// Replies at once, on connections that stay.
    const fn with_defaults(model: Model) -> Self {
        Self { model, think: None, requests_per_connection: None, idle_timeout: None, keep_alive: true }
    }

    fn set(&mut self, key: &str, value: &Value) -> Result<(), WorldError> {
        match key {
            "think" => self.think = Some(read("think", THINK, value, Distribution::parse_seconds)?),
            "requests_per_connection" => {
                const KEY: &str = "requests_per_connection";
                // A number may stand without quotes.
                let value = match value {
                    Value::Integer(number) => &Value::String(format!("const:{number}")),
                    other => other,
                };
                self.requests_per_connection = Some(read(KEY, REQUESTS, value, Distribution::parse_count)?);
            }
            "idle_timeout" => {
                let timeout = read("idle_timeout", IDLE, value, str::parse::<Nanos>)?;
                if timeout == Nanos::ZERO {
                    return Err(wrong("idle_timeout", value, IDLE));
                }
                self.idle_timeout = Some(timeout);
            }
            "keep_alive" => {
                self.keep_alive =
                    value.as_bool().ok_or_else(|| wrong("keep_alive", value, "true or false"))?;
            }
            "http" if value.as_str() == Some("1.1") => {}
            "http" => return Err(wrong("http", value, "\"1.1\": worlds are served over HTTP/1.1 only")),
            other => return Err(WorldError::Key { key: other.to_owned() }),
        }
        Ok(())
    }
}

const THINK: &str = "a distribution of times such as \"norm:3s,1.5s\" or \"const:200ms\"";
const REQUESTS: &str = "a distribution of counts such as \"zipf:16\" or \"const:100\", or a number from 0";
const IDLE: &str = "a time above 0 such as \"15s\"";

/// The value of a key that is a text.
fn read<T, E: std::fmt::Display>(
    key: &'static str,
    allowed: &'static str,
    value: &Value,
    parse: impl FnOnce(&str) -> Result<T, E>,
) -> Result<T, WorldError> {
    let text = value.as_str().ok_or_else(|| wrong(key, value, allowed))?;
    parse(text).map_err(|error| WorldError::Value { key, found: error.to_string(), allowed })
}

fn wrong(key: &'static str, value: &Value, allowed: &'static str) -> WorldError {
    WorldError::Value { key, found: format!("`{value}` will not do"), allowed }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTENT: &str =
        "[[content]]\nname = \"any\"\nsize = \"const:1KB\"\ncachable = \"80%\"\nshare = \"100%\"\n";

    fn world(origin: &str) -> Result<World, String> {
        World::from_toml(&format!("{CONTENT}{origin}")).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_left_out_is_not_done() {
        for text in ["", "[origin]\n"] {
            let world = world(text).unwrap();
            assert_eq!(world.model.kinds().len(), 1);
            assert!(world.think.is_none() && world.requests_per_connection.is_none());
            assert!(world.idle_timeout.is_none() && world.keep_alive);
        }
    }

    #[test]
    fn every_key_is_read() {
        let text = "[origin]\nthink = \"const:2s\"\nrequests_per_connection = 3\nidle_timeout = \"15s\"\n\
            keep_alive = false\nhttp = \"1.1\"\n";
        let world = world(text).unwrap();
        assert_eq!(world.think_time(0, 1), Nanos::from_secs(2));
        assert_eq!(world.idle_timeout, Some(Nanos::from_secs(15)));
        assert!(!world.keep_alive);
        assert!((world.requests_per_connection.unwrap().mean() - 3.0).abs() < 1e-9);
    }

    #[test]
    fn errors_are_one_line_with_the_key_and_what_is_allowed() {
        for (text, words) in [
            ("[origin]\nthink = \"slow\"", &["`think`", "slow", "norm:3s,1.5s"][..]),
            ("[origin]\nthink = 3", &["`think`", "`3`", "norm:3s,1.5s"]),
            ("[origin]\nrequests_per_connection = -1", &["`requests_per_connection`", "zipf:16"]),
            ("[origin]\nrequests_per_connection = true", &["`requests_per_connection`", "true"]),
            ("[origin]\nidle_timeout = \"0s\"", &["`idle_timeout`", "above 0"]),
            ("[origin]\nidle_timeout = \"long\"", &["`idle_timeout`", "long", "15s"]),
            ("[origin]\nkeep_alive = \"yes\"", &["`keep_alive`", "true or false"]),
            ("[origin]\nhttp = \"2\"", &["`http`", "1.1"]),
            ("[origin]\nthinks = \"1s\"", &["`thinks`", "`think`", "`idle_timeout`"]),
            ("[robots]\nx = 1", &["line 6", "`robots`", "`origin`"]),
            ("[[content]]\nname = \"b\"", &["line 6", "`size`"]),
            ("[origin]\nthink = ", &["line 7"]),
        ] {
            let said = world(text).unwrap_err();
            assert!(!said.contains('\n'), "{said}");
            for word in words {
                assert!(said.contains(word), "{text}: {said}");
            }
        }
        assert!(World::from_toml("").is_err(), "a world without objects");
    }
}
