//! Model of a world's objects: kinds of content, their sizes, their life.
//!
//! Made once from a plan, then only read: hot. All shares and probabilities run from 0 to 1.

use super::object::Object;
use super::typed::{self, ModelError, TypedKind};
use super::words::{self, Words};
use super::{ObjectName, purpose, shares};
use crate::{Body, Distribution, SplitMix64};

/// The kinds of content of a world, checked together.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    kinds: Vec<ContentKind>,
    /// See [`Self::named`].
    number: Option<u64>,
    words: Words,
}

/// A kind of content, such as images.
#[derive(Clone, Debug, PartialEq)]
pub struct ContentKind {
    /// Its name in the plan.
    pub name: String,
    /// Share of the requests that are asked directly, not as part of another object.
    pub share: f64,
    /// Size of the body in bytes; rounded up.
    pub size: Distribution,
    /// The probability that an object may be cached.
    pub cachable: f64,
    /// Changes of objects; without it they never change, and show neither Last-Modified nor Expires.
    pub life: Option<LifeCycle>,
    /// Content-Type.
    pub media_type: String,
    /// The endings of paths, point and all, each with its share. Empty: none.
    pub extensions: Vec<(String, f64)>,
    /// The objects that each object embeds.
    pub embeds: Option<Embeds>,
    /// Think time of the origin, in seconds, where it is another than for the other kinds.
    pub think: Option<Distribution>,
    /// Share of the bytes that are filler, in whole percent; 0: random bytes, which do not compress.
    pub compressibility: f64,
    /// Whether its objects exist in gzip, too, as far as they are no longer than
    /// [`GZIP_AT_MOST_BYTES`](crate::GZIP_AT_MOST_BYTES).
    pub gzip: bool,
}

/// Embedded objects: their kind and number.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeds {
    /// Their kind, as its index.
    pub kind: usize,
    /// Their number; rounded, at most [`ObjectName::EMBEDDED_AT_MOST`].
    pub count: Distribution,
}

/// Changes of objects: once a cycle, as in Web Polygraph.
#[derive(Clone, Debug, PartialEq)]
pub struct LifeCycle {
    /// Length of an object's cycle in seconds, at least 1; each object has one of its own.
    pub length: Distribution,
    /// A change comes up to this share of half a cycle early or late.
    pub variance: f64,
    /// The share of objects that show Last-Modified.
    pub last_modified: f64,
    /// The rules for Expires, each for its share of the objects. Empty: there is no Expires.
    pub expires: Vec<Expiry>,
}

/// A rule for Expires: a moment, and a time before or after it.
#[derive(Clone, Debug, PartialEq)]
pub struct Expiry {
    /// The moment.
    pub base: Base,
    /// Whether the offset is taken off.
    pub early: bool,
    /// The offset in seconds, drawn once an object.
    pub offset: Distribution,
    /// The share of objects for which this holds.
    pub share: f64,
}

/// The moment that Expires counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// `lmt`: the last change.
    LastChange,
    /// `nmt`: the next change. With no offset the truth: a cache that obeys it never is stale.
    NextChange,
    /// `now`: the moment of the reply.
    Now,
}

impl Model {
    /// The model of a TOML text with `[[content]]` tables and nothing else. A caller with such tables in a file of
    /// other things reads them as `Vec<TypedKind>`, for [`Self::new`].
    ///
    /// # Errors
    ///
    /// The fault, with the content's name and the key.
    pub fn from_toml(text: &str) -> Result<Self, ModelError> {
        typed::read(text)
    }

    /// The model of these kinds.
    ///
    /// # Errors
    ///
    /// The fault, with the content's name and the key.
    pub fn new(kinds: &[TypedKind]) -> Result<Self, ModelError> {
        typed::check(kinds)
    }

    /// The model of kinds that are changed ones of another model's.
    ///
    /// # Errors
    ///
    /// The contradiction, with the content's name and the key.
    pub fn with(kinds: Vec<ContentKind>) -> Result<Self, ModelError> {
        typed::check_all(&kinds)?;
        Ok(Self { kinds, number: None, words: Words::plain() })
    }

    /// The same with names drawn from this number, by which no cache knows the run. The objects are the same.
    #[must_use]
    pub fn named(self, number: u64) -> Self {
        Self { number: Some(number), words: Words::drawn(number), ..self }
    }

    /// The number from which its names are drawn, if they are.
    pub const fn number(&self) -> Option<u64> {
        self.number
    }

    /// Draws further names of the same run, each of so many letters, in the same order at both ends; `None`: it has the
    /// names that every run has.
    pub fn further_names(&self) -> Option<impl FnMut(usize) -> String + use<>> {
        self.number.map(words::of_messages)
    }

    /// The words of names.
    pub(super) const fn words(&self) -> &Words {
        &self.words
    }

    /// The kinds; a [`ObjectName`] has the index of its own.
    pub fn kinds(&self) -> &[ContentKind] {
        &self.kinds
    }

    /// The text from which [`Self::from_toml`] makes the same model.
    pub fn to_toml(&self) -> String {
        typed::write(self)
    }

    /// The kinds as they are typed, for files that hold more than a model.
    pub fn typed(&self) -> Vec<TypedKind> {
        typed::kinds(self)
    }

    /// The object of this name; `None` when the model has no such kind.
    pub fn object(&self, name: &ObjectName) -> Option<Object> {
        let kind = self.kinds.get(usize::from(name.kind))?;
        Some(Object::new(name, kind))
    }

    /// The ending of the object's path; none where the kind has no extensions, or is none of the model's.
    pub fn extension(&self, name: &ObjectName) -> &str {
        let extensions = self.kinds.get(usize::from(name.kind)).map_or(&[][..], |kind| &kind.extensions);
        let at = match extensions {
            [] => return "",
            [_] => Some(0),
            many => {
                let unit = purpose::random(name, purpose::EXTENSION).unit();
                shares::pick(many.iter().map(|(_, share)| *share), unit)
            }
        };
        at.map_or("", |at| &extensions[at].0)
    }

    /// The kind of a request that is asked directly, as an index.
    pub fn draw_kind(&self, random: &mut SplitMix64) -> u8 {
        let unit = random.unit();
        let at = shares::pick(self.kinds.iter().map(|kind| kind.share), unit);
        at.unwrap_or(0) as u8 // a model has at most 256 kinds
    }

    /// Builds the data for bodies now, so that no first request pays for it.
    pub fn prepare(&self) {
        let id = ObjectName { world: 0, server: 0, kind: 0, number: 0 }.object_id();
        for kind in &self.kinds {
            Body::compressible(id, 0, kind.filler_percent()).prepare();
        }
    }
}

impl ContentKind {
    /// The compressibility as bodies have it.
    pub(super) fn filler_percent(&self) -> u8 {
        (self.compressibility * 100.0).round() as u8
    }
}
