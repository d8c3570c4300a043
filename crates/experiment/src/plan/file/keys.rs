//! The keys of a table of a plan, taken group by group until none is left.
//!
//! Measuring side, cold. What a section may say depends on its kind, and some keys are those of several kinds: each group is a
//! struct, a kind is the groups that are taken for it, and what nobody took is an error at its place. (serde's own tagged
//! enums and `flatten` forget where values stand.)

use super::Spanned;
use crate::plan::PlanError;
use crate::plan::error::suggestion;
use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserializer, forward_to_deserialize_any};
use std::borrow::Cow;
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

/// A table, and which of its keys were taken.
#[derive(Clone, Debug)]
pub(super) struct Keys<'t> {
    at: Text<'t>,
    /// Where the table is named.
    span: Range<usize>,
    table: DeTable<'t>,
    known: Vec<&'static str>,
}

impl<'t> Keys<'t> {
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

    /// The first of these that is there and was not taken.
    pub(super) fn first_of(&self, names: &[&str]) -> Option<(String, Range<usize>)> {
        let key = self.table.keys().find(|key| names.contains(&key.as_ref().as_ref()))?;
        Some((key.as_ref().clone().into_owned(), key.span()))
    }

    /// What a key says, which stays to be taken.
    pub(super) fn word(&self, key: &str) -> Result<Option<Spanned<String>>, PlanError> {
        let value = self.table.get(key).cloned();
        value.map(|value| self.typed(value)).transpose()
    }

    fn typed<T: DeserializeOwned>(&self, value: toml::Spanned<DeValue<'t>>) -> Result<T, PlanError> {
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
        self.known.extend(names);
        let mut group = DeTable::new();
        for name in names {
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
        self.table.remove_entry(key).map(|(key, value)| self.under(&key, value)).transpose()
    }

    /// Every table of a table under this one, in the order of the file.
    pub(super) fn tables(&mut self, key: &'static str) -> Result<Vec<(Spanned<String>, Self)>, PlanError> {
        let Some(all) = self.table(key)? else { return Ok(Vec::new()) };
        let of = |(name, value): (toml::Spanned<Cow<'t, str>>, _)| {
            let keys = all.under(&name, value)?;
            Ok((Spanned::new(name.span(), name.into_inner().into_owned()), keys))
        };
        all.table.clone().into_iter().map(of).collect()
    }

    /// All that is left, each under its name, in the order of the file.
    pub(super) fn entries<T: DeserializeOwned>(
        &mut self,
        key: &'static str,
    ) -> Result<Vec<(Spanned<String>, T)>, PlanError> {
        let Some(all) = self.table(key)? else { return Ok(Vec::new()) };
        let of = |(name, value): (toml::Spanned<Cow<'t, str>>, toml::Spanned<DeValue<'t>>)| {
            let typed = self.typed(value)?;
            Ok((Spanned::new(name.span(), name.into_inner().into_owned()), typed))
        };
        all.table.into_iter().map(of).collect()
    }

    fn under(
        &self,
        name: &toml::Spanned<Cow<'t, str>>,
        value: toml::Spanned<DeValue<'t>>,
    ) -> Result<Self, PlanError> {
        let (at, span) = (self.at, name.span());
        match value.into_inner() {
            DeValue::Table(table) => Ok(Self { at, span, table, known: Vec::new() }),
            _ => Err(at.wrong(span, &format!("`{}` is a table", name.as_ref()), "see docs/plans.md")),
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    /// As if this had been typed where the table is named.
    pub(super) fn say(&mut self, key: &'static str, word: &'static str) {
        let spanned = |text| toml::Spanned::new(self.span(), text);
        let value = toml::Spanned::new(self.span(), DeValue::String(Cow::Borrowed(word)));
        self.table.insert(spanned(Cow::Borrowed(key)), value);
    }

    /// These keys, and of another table those that are not here.
    pub(super) fn over(mut self, under: &Self) -> Self {
        for (key, value) in &under.table {
            if !self.table.contains_key(&**key.as_ref()) {
                self.table.insert(key.clone(), value.clone());
            }
        }
        self
    }

    /// Takes keys out, whatever they hold.
    pub(super) fn without(mut self, keys: &[&str]) -> Self {
        let all = std::mem::take(&mut self.table).into_iter();
        self.table = all.filter(|(key, _)| !keys.contains(&&**key.as_ref())).collect();
        self
    }

    /// What nobody took has no place here. `place`: "in a `get` workload"; `elsewhere`: keys that mean something in other
    /// sections of this kind.
    pub(super) fn none_left(self, place: &str, elsewhere: &[&str]) -> Result<(), PlanError> {
        let Some(stranger) = self.table.keys().next() else { return Ok(()) };
        let (name, span) = (stranger.as_ref().as_ref(), stranger.span());
        if elsewhere.contains(&name) {
            return Err(self.at.wrong(
                span,
                &format!("`{name}` has no meaning {place}"),
                "take the line out",
            ));
        }
        let what = format!("there is no key `{name}` here");
        Err(self.at.wrong(span, &what, &suggestion(name, &self.known)))
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
