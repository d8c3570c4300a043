//! A value of a plan with its place in the text, for errors that point at it.
//!
//! Measuring side, cold. Wraps the TOML library's type, which cannot describe itself in a schema: there it is the
//! value.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::ops::Range;

/// A value and its place.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spanned<T>(toml::Spanned<T>);

impl<T> Spanned<T> {
    /// A value from elsewhere, at this place.
    pub(crate) fn new(span: Range<usize>, value: T) -> Self {
        Self(toml::Spanned::new(span, value))
    }

    /// Its place, in bytes of the text.
    pub fn span(&self) -> Range<usize> {
        self.0.span()
    }

    /// Itself, if something is so.
    pub(crate) fn when(&self, so: bool) -> Option<&Self> {
        so.then_some(self)
    }

    /// The value alone.
    pub fn get_ref(&self) -> &T {
        self.0.get_ref()
    }

    /// The same, taken out.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}

/// Place of a key; the beginning of the text where it was not typed.
pub(crate) fn place_of<T>(key: &Option<Spanned<T>>) -> Range<usize> {
    key.as_ref().map_or(0..0, Spanned::span)
}

/// Whether a switch was typed, and is on.
pub(crate) fn is_on(key: &Option<Spanned<bool>>) -> bool {
    key.as_ref().is_some_and(|on| *on.as_ref())
}

impl<T> AsRef<T> for Spanned<T> {
    fn as_ref(&self) -> &T {
        self.0.get_ref()
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Spanned<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        toml::Spanned::deserialize(deserializer).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for Spanned<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
