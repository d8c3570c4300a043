//! TOML that somebody wrote for a layer: tables, lists and texts with their lines, and what is said where something else stands.
//!
//! Measured side, pure. Goes on after a fault, so that all are told at once. Which keys there are is the layer's.

use crate::fault::Faults;
use crate::word::is_name;
use std::collections::BTreeSet;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value, and where it stands.
pub type Value<'t> = Spanned<DeValue<'t>>;

/// A layer's language: its keys, and its names for faults of form.
pub trait Language: Copy + Eq {
    /// Keys with what they are. A key that is something else elsewhere has more words behind it: `domain of never`.
    const KEYS: &'static [(&'static str, &'static str)];
    /// The text is no TOML.
    const NOT_TOML: Self;
    /// A key or word that there is not.
    const UNKNOWN: Self;
    /// A value of another type than its key's.
    const OF_ANOTHER_TYPE: Self;
    /// A key that must be there.
    const KEY_MISSING: Self;
    /// A name that cannot stand in a line of words.
    const ODD_NAME: Self;

    /// A word that there is not, with what was meant, in a sentence.
    fn unknown(what: &str, word: &str, known: &[&str]) -> String;
}

/// What a key is.
fn wanted<W: Language>(key: &str) -> &'static str {
    W::KEYS.iter().find(|(known, _)| *known == key).map_or("something else", |(_, wanted)| wanted)
}

/// A key as it is written.
fn plain(key: &str) -> &str {
    key.split(' ').next().unwrap_or(key)
}

/// Reads a text by `file`, which gets its entries; nothing where it is no TOML: what is missing after a mistake of form
/// would be told as missing from the file.
pub fn read<'f, W: Language, T: Default>(
    text: &str,
    faults: &'f mut Faults<W>,
    file: impl FnOnce(ValueReader<'f, W>, Vec<(&str, usize, &Value<'_>)>) -> T,
) -> T {
    let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect();
    let mut reader = ValueReader { starts, faults };
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut lines = BTreeSet::new();
    for error in &errors {
        let line = reader.line_at(error.span().unwrap_or_default().start);
        // The reader's next guesses on a line follow from the first.
        if lines.insert(line) {
            reader.fault(line, W::NOT_TOML, error.message());
        }
    }
    if !errors.is_empty() {
        return T::default();
    }
    let entries = reader.entries(table.get_ref());
    file(reader, entries)
}

/// Takes values for what they should be.
#[derive(Debug)]
pub struct ValueReader<'f, W> {
    /// Where lines end.
    starts: Vec<usize>,
    faults: &'f mut Faults<W>,
}

impl<W: Language> ValueReader<'_, W> {
    fn line_at(&self, at: usize) -> usize {
        self.starts.partition_point(|end| *end < at) + 1
    }

    fn entries<'v, 't>(&self, table: &'v DeTable<'t>) -> Vec<(&'v str, usize, &'v Value<'t>)> {
        table
            .iter()
            .map(|(name, value)| (&**name.get_ref(), self.line_at(name.span().start), value))
            .collect()
    }

    /// The line of a value.
    pub fn line(&self, value: &Value<'_>) -> usize {
        self.line_at(value.span().start)
    }

    /// Something is wrong.
    pub fn fault(&mut self, line: usize, wrong: W, sentence: impl Into<String>) {
        self.faults.add(line, wrong, sentence);
    }

    /// The entries of a table, each with its line; none where it is no table, which is said.
    pub fn table<'v, 't>(&mut self, key: &str, value: &'v Value<'t>) -> Vec<(&'v str, usize, &'v Value<'t>)> {
        match value.get_ref().as_table() {
            Some(table) => self.entries(table),
            None => self.odd(key, value, Vec::new()),
        }
    }

    /// The elements of a list; none where it is no list, which is said.
    pub fn list<'v, 't>(&mut self, key: &str, value: &'v Value<'t>) -> &'v [Value<'t>] {
        match value.get_ref().as_array() {
            Some(list) => list,
            None => self.odd(key, value, &[]),
        }
    }

    /// A text.
    pub fn text(&mut self, key: &str, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(ToOwned::to_owned);
        text.or_else(|| self.odd(key, value, None))
    }

    /// True or false.
    pub fn flag(&mut self, key: &str, value: &Value<'_>) -> bool {
        value.get_ref().as_bool().unwrap_or_else(|| self.odd(key, value, false))
    }

    /// A whole number, in decimal digits.
    pub fn number(&mut self, key: &str, value: &Value<'_>) -> Option<i64> {
        let number = match value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str().replace('_', "").parse().ok(),
            _ => None,
        };
        number.or_else(|| self.odd(key, value, None))
    }

    /// Says that a name is none, if it is none.
    pub fn name(&mut self, name: &str, line: usize) {
        if !is_name(name) {
            let sentence = format!("`{}` is no name: letters, digits, - and _ make one", name.escape_debug());
            self.fault(line, W::ODD_NAME, sentence);
        }
    }

    /// Says what a key is, of which this value is not; what is taken instead.
    pub fn odd<T>(&mut self, key: &str, value: &Value<'_>, instead: T) -> T {
        let line = self.line(value);
        self.fault(line, W::OF_ANOTHER_TYPE, format!("`{}` is {}", plain(key), wanted::<W>(key)));
        instead
    }

    /// A key is missing from what begins at this line.
    pub fn missing(&mut self, key: &str, line: usize) {
        let sentence = format!("`{}` is missing: it is {}", plain(key), wanted::<W>(key));
        self.fault(line, W::KEY_MISSING, sentence);
    }

    /// There is no such key.
    pub fn unknown_key(&mut self, key: &str, line: usize, known: &[&str]) {
        self.fault(line, W::UNKNOWN, W::unknown("key", key, known));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::FaultLines;

    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Odd;

    impl Language for Odd {
        const KEYS: &'static [(&'static str, &'static str)] =
            &[("on", "true or false"), ("on of shop", "a number: write on = 1")];
        const NOT_TOML: Self = Self;
        const UNKNOWN: Self = Self;
        const OF_ANOTHER_TYPE: Self = Self;
        const KEY_MISSING: Self = Self;
        const ODD_NAME: Self = Self;

        fn unknown(what: &str, word: &str, _: &[&str]) -> String {
            format!("no {what} {word}")
        }
    }

    fn said(text: &str) -> String {
        let mut faults = Faults::<Odd>::of("f".to_owned());
        read(text, &mut faults, |mut reader, entries| {
            let mut numbers = Vec::new();
            for (key, line, value) in entries {
                match key {
                    "on" => numbers.push(i64::from(reader.flag("on", value))),
                    "shop" => {
                        reader.name("a b", line);
                        let list = reader.list("on", value).iter();
                        numbers.extend(list.filter_map(|value| reader.number("on of shop", value)));
                        reader.missing("on of shop", line);
                    }
                    other => reader.unknown_key(other, line, &[]),
                }
            }
            assert!(numbers.iter().all(|number| [0, 1, 10].contains(number)), "{numbers:?}");
        });
        FaultLines(&faults.into_warnings(|_| false).err().unwrap_or_default()).to_string()
    }

    #[test]
    fn every_fault_is_told_with_its_line_and_what_the_key_is() {
        assert_eq!(said("on = true\nshop = []\n").lines().count(), 2);
        let shop = "f:2: `a b` is no name: letters, digits, - and _ make one";
        let rest = "f:2: `on` is missing: it is a number: write on = 1\nf:3: `on` is a number: write on = 1";
        assert_eq!(
            said("on = 1\nshop = [1_0,\n0x1]\nx = 1\n"),
            format!("f:1: `on` is true or false\n{shop}\n{rest}\nf:4: no key x")
        );
        assert_eq!(said("on = \nx = 1\n").lines().count(), 1, "what is no TOML has no keys");
    }
}
