//! Comparison of two JSON values, with the path of every difference.

use serde_json::Value;

/// Longest text of a value in a message, in characters.
const SHOWN: usize = 60;
/// Numbers that differ by less, relative to the larger one, come from another machine's arithmetic.
/// A logarithm's last bit is 2e-16, and nothing in the analysis magnifies it so much.
const LAST_DIGITS: f64 = 1e-9;

/// Outcome of a comparison.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Values compared: numbers, texts, booleans, nulls.
    pub(super) values: usize,
    /// Path, and the difference.
    pub(super) differences: Vec<(String, String)>,
    /// Numbers that differ by an insignificant amount.
    pub(super) last_digits: usize,
}

/// `there` is the value in the file, `fresh` the expected one.
pub(super) fn compare(there: &Value, fresh: &Value) -> Compared {
    let mut compared = Compared::default();
    compared.at(&mut String::new(), Some(there), Some(fresh));
    compared
}

impl Compared {
    fn at(&mut self, path: &mut String, there: Option<&Value>, fresh: Option<&Value>) {
        match (there, fresh) {
            (Some(Value::Object(a)), Some(Value::Object(b))) => {
                let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
                for key in keys {
                    self.below(path, &member(path, key), a.get(key), b.get(key));
                }
            }
            (Some(Value::Array(a)), Some(Value::Array(b))) => {
                for index in 0..a.len().max(b.len()) {
                    self.below(path, &format!("[{index}]"), a.get(index), b.get(index));
                }
            }
            _ => self.value(path, there, fresh),
        }
    }

    fn below(&mut self, path: &mut String, step: &str, there: Option<&Value>, fresh: Option<&Value>) {
        let length = path.len();
        path.push_str(step);
        self.at(path, there, fresh);
        path.truncate(length);
    }

    fn value(&mut self, path: &str, there: Option<&Value>, fresh: Option<&Value>) {
        self.values += 1;
        if there == fresh {
            return;
        }
        if let (Some(a), Some(b)) = (there.and_then(Value::as_f64), fresh.and_then(Value::as_f64))
            && (a - b).abs() <= LAST_DIGITS * a.abs().max(b.abs())
        {
            self.last_digits += 1;
            return;
        }
        let what = match (there, fresh) {
            (Some(a), Some(b)) => format!("is {}, the slices give {}", shown(a), shown(b)),
            (Some(a), None) => format!("is {}, the slices give no such thing", shown(a)),
            (None, b) => format!("is missing, the slices give {}", b.map_or_else(String::new, shown)),
        };
        self.differences.push((path.to_owned(), what));
    }
}

/// `.key`, or `["a key"]` if it is not a plain word.
fn member(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match (plain, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!(".{key}"),
        (false, _) => format!("[{}]", Value::from(key)),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn differences_are_named_by_their_path() {
        let there = json!({ "a": [{ "b": 0.0141 }, 2], "c'": { "d": "x" }, "e": null, "f": 1, "same": true });
        let fresh = json!({ "a": [{ "b": 0.0138 }], "c'": { "d": "y" }, "e": 1, "g": [1], "same": true });
        let compared = compare(&there, &fresh);
        let lines: Vec<String> =
            compared.differences.iter().map(|(path, what)| format!("{path} {what}")).collect();
        assert_eq!(
            lines,
            [
                "a[0].b is 0.0141, the slices give 0.0138",
                "a[1] is 2, the slices give no such thing",
                "[\"c'\"].d is \"x\", the slices give \"y\"",
                "e is null, the slices give 1",
                "f is 1, the slices give no such thing",
                "g is missing, the slices give [1]",
            ]
        );
        assert_eq!((compared.values, compared.last_digits), (7, 0));
    }

    #[test]
    fn last_digits_are_another_machine_s_and_more_is_a_difference() {
        let other = |x: f64| compare(&json!([0.1]), &json!([x]));
        assert_eq!(other(0.1), Compared { values: 1, ..Compared::default() });
        assert_eq!(other(0.1 + 2e-17).last_digits, 1);
        assert_eq!(other(0.100_000_001).differences.len(), 1);
        assert_eq!(compare(&json!(0.0), &json!(1e-300)).differences.len(), 1);
        assert_eq!(compare(&json!(3), &json!(4)).differences.len(), 1);
    }

    #[test]
    fn long_values_are_cut() {
        let long = "x".repeat(200);
        let (_, what) = compare(&json!(long), &json!("")).differences.remove(0);
        assert!(what.starts_with("is \"xxx") && what.ends_with("x..., the slices give \"\""), "{what}");
    }
}
