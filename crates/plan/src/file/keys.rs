//! Keys of a table of a plan, taken group by group until none is left.
//!
//! Measuring side, cold. The keys of a section depend on its kind, and some keys belong to several kinds. Each group is
//! a struct, a kind is the groups that are taken for it, and a key that remains is an error at its place. (serde's own
//! tagged enums and `flatten` forget the places of values.)

use super::spanned::Spanned;
use crate::PlanError;
use crate::error::suggestion;
use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A plan's text, for errors that point into it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'t> {
    pub(super) origin: &'t str,
    pub(super) text: &'t str,
}

impl Text<'_> {
    pub(super) fn wrong(self, span: Range<usize>, what: &str, help: &str) -> PlanError {
        PlanError::at(self.origin, self.text, span, what, Some(help))
    }

    fn of_toml(self, error: &toml::de::Error, place: Range<usize>) -> PlanError {
        PlanError::of_toml(self.origin, self.text, error.span().unwrap_or(place), error.message())
    }
}

/// Values under their names, in the order of the file.
pub(super) type Named<T> = Vec<(Spanned<String>, T)>;

/// A value as it was parsed.
type Value<'t> = toml::Spanned<DeValue<'t>>;

/// A table, with a record of the keys that were taken.
#[derive(Clone, Debug)]
pub struct TableKeys<'t> {
    at: Text<'t>,
    /// Place of the table's name.
    span: Range<usize>,
    table: DeTable<'t>,
    known: Vec<&'static str>,
}

impl<'t> TableKeys<'t> {
    /// The whole plan.
    pub(super) fn of_plan(at: Text<'t>) -> Result<Self, PlanError> {
        let whole = DeTable::parse(at.text).map_err(|error| at.of_toml(&error, 0..at.text.len().min(1)))?;
        Ok(Self { at, span: 0..at.text.len().min(1), table: whole.into_inner(), known: Vec::new() })
    }

    fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub(super) fn wrong(&self, span: Range<usize>, what: &str, help: &str) -> PlanError {
        self.at.wrong(span, what, help)
    }

    /// The first of these keys that is there and was not taken.
    pub(super) fn first_of(&self, names: &[&str]) -> Option<(String, Range<usize>)> {
        let key = self.table.keys().find(|key| names.contains(&key.as_ref().as_ref()))?;
        Some((key.as_ref().clone().into_owned(), key.span()))
    }

    /// The word under a key, which stays to be taken.
    pub(super) fn word(&self, key: &str) -> Result<Option<Spanned<String>>, PlanError> {
        let value = self.table.get(key).cloned();
        value.map(|value| self.typed(value)).transpose()
    }

    fn typed<T: DeserializeOwned>(&self, value: Value<'t>) -> Result<T, PlanError> {
        let place = value.span();
        let typed = T::deserialize(toml::de::ValueDeserializer::from(value));
        typed.map_err(|error| self.at.of_toml(&error, place))
    }

    /// One key.
    pub(super) fn optional<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
    ) -> Result<Option<T>, PlanError> {
        self.known.push(key);
        let value = self.table.remove(key);
        value.map(|value| self.typed(value)).transpose()
    }

    /// One key that must be there.
    pub(super) fn required<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<T, PlanError> {
        self.optional(key)?.ok_or_else(|| self.missing(key))
    }

    pub(super) fn missing(&self, key: &str) -> PlanError {
        PlanError::of_toml(self.at.origin, self.at.text, self.span(), &format!("missing field `{key}`"))
    }

    /// The keys that a struct has fields for.
    pub(super) fn group<T: DeserializeOwned>(&mut self) -> Result<T, PlanError> {
        let names = names_of::<T>();
        let mut group = DeTable::new();
        for name in names {
            if !self.known.contains(name) {
                self.known.push(name);
            }
            if let Some((key, value)) = self.table.remove_entry(*name) {
                group.insert(key, value);
            }
        }
        let group = toml::Spanned::new(self.span(), group);
        T::deserialize(toml::de::Deserializer::from(group))
            .map_err(|error| self.at.of_toml(&error, self.span()))
    }

    /// A table under this one.
    pub(super) fn table(&mut self, key: &'static str) -> Result<Option<Self>, PlanError> {
        self.known.push(key);
        self.table.remove_entry(key).map(|(key, value)| Self::under(self.at, &key, value)).transpose()
    }

    /// Every table of a table under this one, in the order of the file.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Named<Self>, PlanError> {
        self.table(key)?.map_or(Ok(Vec::new()), Self::all)
    }

    /// Every table of this one.
    pub(super) fn all(self) -> Result<Named<Self>, PlanError> {
        let of = |(name, value): (toml::Spanned<Cow<'t, str>>, _)| {
            let keys = Self::under(self.at, &name, value)?;
            Ok((Spanned::new(name.span(), name.into_inner().into_owned()), keys))
        };
        self.table.into_iter().map(of).collect()
    }

    /// All keys that are left, each under its name, in the order of the file.
    pub(super) fn entries<T: DeserializeOwned>(&mut self, key: &'static str) -> Result<Named<T>, PlanError> {
        let Some(all) = self.table(key)? else { return Ok(Vec::new()) };
        let of = |(name, value): (toml::Spanned<Cow<'t, str>>, Value<'t>)| {
            let typed = self.typed(value)?;
            Ok((Spanned::new(name.span(), name.into_inner().into_owned()), typed))
        };
        all.table.into_iter().map(of).collect()
    }

    fn under(at: Text<'t>, name: &toml::Spanned<Cow<'t, str>>, value: Value<'t>) -> Result<Self, PlanError> {
        let span = name.span();
        match value.into_inner() {
            DeValue::Table(table) => Ok(Self { at, span, table, known: Vec::new() }),
            _ => Err(at.wrong(span, &format!("`{}` is a table", name.as_ref()), "see docs/plans.md")),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// Adds a key as if it had been typed at the table's name.
    pub(super) fn say(&mut self, key: &'static str, word: &'static str) {
        let spanned = |text| toml::Spanned::new(self.span(), text);
        let value = toml::Spanned::new(self.span(), DeValue::String(Cow::Borrowed(word)));
        self.table.insert(spanned(Cow::Borrowed(key)), value);
    }

    /// These keys, and those of another table that are missing here.
    pub(super) fn over(mut self, under: &Self) -> Self {
        put_under(&mut self.table, &under.table);
        self
    }

    /// An arm's keys with those of a level put over them: its layers go on top, its fronts and wraps outside. Its TLS
    /// settings replace the arm's key by key, and all else replaces the arm's.
    pub(crate) fn at_level(self, level: &Self) -> Self {
        let mut both = level.clone();
        for (key, over) in &mut both.table {
            if let Some(own) = self.table.get(key) {
                add_up(key.as_ref(), own.as_ref(), over.get_mut());
            }
        }
        both.over(&self)
    }

    /// Replaces `{name}` by its value in every text.
    pub(crate) fn fill(&mut self, values: &BTreeMap<String, String>) {
        self.table.iter_mut().for_each(|(_, value)| fill(value.get_mut(), values));
    }

    /// The same in some keys alone.
    pub(super) fn fill_only(&mut self, keys: &[&str], values: &BTreeMap<String, String>) {
        let some = self.table.iter_mut().filter(|(key, _)| keys.contains(&&**key.as_ref()));
        some.for_each(|(_, value)| fill(value.get_mut(), values));
    }

    /// The text under a key, and its place.
    pub(super) fn text_of(&self, key: &str) -> Option<(&str, Range<usize>)> {
        let value = self.table.get(key)?;
        Some((value.as_ref().as_str()?, value.span()))
    }

    /// Whether a table stands there.
    pub(super) fn has_table(&self, key: &str) -> bool {
        self.table.get(key).is_some_and(|value| value.as_ref().is_table())
    }

    /// The first key that was not taken.
    pub(super) fn left(&self) -> Option<(&str, Range<usize>)> {
        self.table.keys().next().map(|key| (&**key.as_ref(), key.span()))
    }

    /// Takes keys out, with any value.
    pub(super) fn without(mut self, keys: &[&str]) -> Self {
        let all = std::mem::take(&mut self.table).into_iter();
        self.table = all.filter(|(key, _)| !keys.contains(&&**key.as_ref())).collect();
        self
    }

    /// Refuses a key that remains. `place`: "in a `get` workload"; `elsewhere`: keys that mean something in other
    /// sections of this kind.
    pub(super) fn none_left(self, place: &str, elsewhere: &[&str]) -> Result<(), PlanError> {
        let Some((name, span)) = self.left() else { return Ok(()) };
        if elsewhere.contains(&name) {
            return Err(self.at.wrong(
                span,
                &format!("`{name}` has no meaning {place}"),
                "take the line out",
            ));
        }
        let what = format!("there is no key `{name}` here");
        Err(self.at.wrong(span, &what, &suggestion(name, &[&self.known, elsewhere].concat())))
    }
}

/// Adds an arm's value under a key to that of a level.
fn add_up<'t>(key: &str, own: &DeValue<'t>, over: &mut DeValue<'t>) {
    match (key, own, over) {
        ("layers" | "needs", DeValue::Array(own), DeValue::Array(over)) => {
            *over = own.iter().chain(over.iter()).cloned().collect();
        }
        ("front" | "wraps", DeValue::Array(own), DeValue::Array(over)) => {
            own.iter().cloned().for_each(|word| over.push(word));
        }
        ("tls_client", DeValue::Table(own), DeValue::Table(over)) => put_under(over, own),
        _ => {}
    }
}

fn put_under<'t>(over: &mut DeTable<'t>, under: &DeTable<'t>) {
    for (key, value) in under {
        if !over.contains_key(key) {
            over.insert(key.clone(), value.clone());
        }
    }
}

fn fill(value: &mut DeValue<'_>, values: &BTreeMap<String, String>) {
    match value {
        DeValue::String(text) => {
            for (name, level) in values {
                *text = Cow::Owned(text.replace(&format!("{{{name}}}"), level));
            }
        }
        DeValue::Array(list) => list.iter_mut().for_each(|value| fill(value.get_mut(), values)),
        DeValue::Table(table) => table.iter_mut().for_each(|(_, value)| fill(value.get_mut(), values)),
        DeValue::Integer(_) | DeValue::Float(_) | DeValue::Boolean(_) | DeValue::Datetime(_) => {}
    }
}

/// The names of a struct's fields, as serde knows them.
pub(super) fn names_of<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Fields<'a>(&'a mut &'static [&'static str]);
    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = NoValue;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, NoValue> {
            Err(NoValue::custom("only its fields were asked for"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, NoValue> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut names: &'static [&'static str] = &[];
    let _ = T::deserialize(Fields(&mut names));
    names
}
