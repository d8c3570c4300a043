//! The model as a plan types it, and back.
//!
//! Cold. Two types, as for plans: the kind as typed ([`TypedKind`], texts) and the checked one ([`ContentKind`]). Every error
//! names the content and the key.

use super::{Base, ContentKind, Embeds, Expiry, LifeCycle, Model, shares};
use crate::Distribution;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use thiserror::Error;

/// Most kinds a model has: a name has 8 bits for them.
const KINDS_AT_MOST: usize = 256;
/// The media type of a kind without one.
const PLAIN_BYTES: &str = "application/octet-stream";

/// Error in the text of a model.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ModelError {
    /// No TOML, or keys that do not exist: with the line, in the TOML library's words.
    #[error("{0}")]
    Toml(String),
    /// No kinds, or too many.
    #[error("{0} [[content]] tables; there must be 1 to {KINDS_AT_MOST}")]
    Count(usize),
    /// The shares of the kinds.
    #[error("`share` of [[content]]: {0}")]
    Shares(String),
    /// One key of one kind.
    #[error("content `{content}`, key `{key}`: {why}")]
    Key {
        /// The kind's name.
        content: String,
        /// The key.
        key: &'static str,
        /// The typed text, and what is allowed.
        why: String,
    },
}

/// A `[[content]]` table as typed.
///
/// ```toml
/// [[content]]
/// name = "html"
/// size = "exp:8.5KB"
/// cachable = "90%"                          # left out: 100%
/// life = { length = "logn:7day,1day", variance = "33%", last_modified = "100%", expires = "nmt+0s" }
/// share = "15%"                             # of what is asked directly; left out: an equal part of the rest
/// media_type = "text/html"
/// extensions = [".html 60%", ".htm"]
/// embeds = { kind = "image", count = "zipf:13" }
/// compressibility = "60%"                   # left out: 0%
/// gzip = true                               # in gzip, too, for who asks for that; left out: false
/// think = "const:0s"                        # left out: as the origin thinks of all
/// ```
///
/// Of `life`, `variance` left out is 0%, `last_modified` 100%, and without `expires` there is no
/// Expires. `expires` is an entry or a list of entries with shares: `nmt+0s`, `now+unif:0,1day 10%`,
/// `lmt-1hour`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TypedKind {
    name: String,
    size: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cachable: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    media_type: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    extensions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compressibility: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    gzip: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    think: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    life: Option<TypedLife>,
    #[serde(skip_serializing_if = "Option::is_none")]
    embeds: Option<TypedEmbeds>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TypedLife {
    length: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    variance: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_modified: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<OneOrMore>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(untagged, expecting = "expected a text such as \"nmt+0s\", or a list of such texts")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct TypedEmbeds {
    kind: String,
    count: String,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct File {
    content: Vec<TypedKind>,
}

pub(super) fn read(text: &str) -> Result<Model, ModelError> {
    let file: File = toml::from_str(text).map_err(|error| ModelError::Toml(error.to_string()))?;
    check(&file.content)
}

pub(super) fn check(typed: &[TypedKind]) -> Result<Model, ModelError> {
    counted(typed.len())?;
    let mut kinds = typed.iter().map(|kind| kind.check(typed)).collect::<Result<Vec<_>, _>>()?;
    let given = typed.iter().map(TypedKind::share).collect::<Result<Vec<_>, _>>()?;
    let filled = shares::filled(&given).map_err(ModelError::Shares)?;
    for (kind, share) in kinds.iter_mut().zip(filled) {
        kind.share = share;
    }
    Model::with(kinds)
}

fn counted(kinds: usize) -> Result<(), ModelError> {
    if (1..=KINDS_AT_MOST).contains(&kinds) { Ok(()) } else { Err(ModelError::Count(kinds)) }
}

/// Checks the kinds together, wherever they come from.
pub(super) fn check_all(kinds: &[ContentKind]) -> Result<(), ModelError> {
    counted(kinds.len())?;
    let mut names = HashSet::new();
    let mut containers: Vec<&ContentKind> = Vec::new();
    for kind in kinds {
        let wrong = |key, why| Err(ModelError::Key { content: kind.name.clone(), key, why });
        if !names.insert(&kind.name) {
            return wrong("name", "another content has this name".to_owned());
        }
        let Some(embeds) = &kind.embeds else { continue };
        let Some(part) = kinds.get(embeds.kind) else {
            return wrong("embeds.kind", format!("there is no content with the number {}", embeds.kind));
        };
        if part.embeds.is_some() {
            let why = format!("`{}` embeds objects itself, and may not be embedded", part.name);
            return wrong("embeds.kind", why);
        }
        let same =
            |other: &&&ContentKind| other.embeds.as_ref().is_some_and(|other| other.kind == embeds.kind);
        if let Some(other) = containers.iter().find(same) {
            // The names of embedded objects tell their pages apart by number, not by kind.
            let why = format!("`{}` embeds `{}` already; give each a kind of its own", other.name, part.name);
            return wrong("embeds.kind", why);
        }
        containers.push(kind);
    }
    Ok(())
}

impl TypedKind {
    fn wrong(&self, key: &'static str, why: impl ToString) -> ModelError {
        ModelError::Key { content: self.name.clone(), key, why: why.to_string() }
    }

    /// The share, where one is given.
    fn share(&self) -> Result<Option<f64>, ModelError> {
        self.share
            .as_ref()
            .map(|text| shares::share(text).map_err(|why| self.wrong("share", why)))
            .transpose()
    }

    /// Checks the kind, its share still open.
    fn check(&self, all: &[Self]) -> Result<ContentKind, ModelError> {
        if self.name.is_empty() {
            return Err(self.wrong("name", "must not be empty"));
        }
        let size = Distribution::parse_bytes(&self.size).map_err(|why| self.wrong("size", why))?;
        let cachable = or_else(&self.cachable, 1.0).map_err(|why| self.wrong("cachable", why))?;
        Ok(ContentKind {
            name: self.name.clone(),
            share: 0.0,
            size,
            cachable,
            life: self.life.as_ref().map(|life| life.check(self)).transpose()?,
            media_type: self.media_type()?,
            extensions: self.extensions().map_err(|why| self.wrong("extensions", why))?,
            embeds: self.embeds.as_ref().map(|embeds| embeds.check(self, all)).transpose()?,
            compressibility: self.compressibility().map_err(|why| self.wrong("compressibility", why))?,
            gzip: self.gzip,
            think: (self.think.as_deref().map(Distribution::parse_seconds).transpose())
                .map_err(|why| self.wrong("think", why))?,
        })
    }

    fn media_type(&self) -> Result<String, ModelError> {
        let text = self.media_type.as_deref().unwrap_or(PLAIN_BYTES);
        let header = |b: u8| b == b' ' || b.is_ascii_graphic();
        if text.contains('/') && text.trim() == text && text.bytes().all(header) {
            return Ok(text.to_owned());
        }
        Err(self.wrong("media_type", format!("`{text}` is not a media type such as text/html")))
    }

    fn extensions(&self) -> Result<Vec<(String, f64)>, String> {
        let typed = self.extensions.iter().map(|text| with_share(text)).collect::<Result<Vec<_>, _>>()?;
        let free = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let right = |text: &str| {
            text.strip_prefix('.').is_some_and(|rest| !rest.is_empty() && rest.bytes().all(free))
        };
        if let Some((wrong, _)) = typed.iter().find(|(text, _)| !right(text)) {
            return Err(format!("`{wrong}` is not an extension such as .html, of letters and digits"));
        }
        if typed.is_empty() {
            return Ok(Vec::new());
        }
        let filled = shares::filled(&typed.iter().map(|(_, share)| *share).collect::<Vec<_>>())?;
        Ok(typed.iter().zip(filled).map(|((text, _), share)| ((*text).to_owned(), share)).collect())
    }

    fn compressibility(&self) -> Result<f64, String> {
        let share = or_else(&self.compressibility, 0.0)?;
        let percent = (share * 100.0).round();
        if (share * 100.0 - percent).abs() < 1e-9 {
            Ok(percent / 100.0)
        } else {
            Err("must be a whole number of percent".to_owned())
        }
    }
}

impl TypedLife {
    fn check(&self, kind: &TypedKind) -> Result<LifeCycle, ModelError> {
        let length = Distribution::parse_seconds(&self.length);
        Ok(LifeCycle {
            length: length.map_err(|why| kind.wrong("life.length", why))?,
            variance: or_else(&self.variance, 0.0).map_err(|why| kind.wrong("life.variance", why))?,
            last_modified: or_else(&self.last_modified, 1.0)
                .map_err(|why| kind.wrong("life.last_modified", why))?,
            expires: self.expires().map_err(|why| kind.wrong("life.expires", why))?,
        })
    }

    fn expires(&self) -> Result<Vec<Expiry>, String> {
        let texts = match &self.expires {
            None => return Ok(Vec::new()),
            Some(OneOrMore::One(text)) => std::slice::from_ref(text),
            Some(OneOrMore::More(texts)) if texts.is_empty() => return Ok(Vec::new()),
            Some(OneOrMore::More(texts)) => texts,
        };
        let typed = texts.iter().map(|text| with_share(text)).collect::<Result<Vec<_>, _>>()?;
        let filled = shares::filled(&typed.iter().map(|(_, share)| *share).collect::<Vec<_>>())?;
        typed.iter().zip(filled).map(|((text, _), share)| expiry(text, share)).collect()
    }
}

impl TypedEmbeds {
    fn check(&self, kind: &TypedKind, all: &[TypedKind]) -> Result<Embeds, ModelError> {
        let Some(index) = all.iter().position(|other| other.name == self.kind) else {
            return Err(kind.wrong("embeds.kind", format!("there is no content `{}`", self.kind)));
        };
        let count = Distribution::parse_count(&self.count).map_err(|why| kind.wrong("embeds.count", why))?;
        Ok(Embeds { kind: index, count })
    }
}

/// The share that is typed, or `default`.
fn or_else(text: &Option<String>, default: f64) -> Result<f64, String> {
    text.as_ref().map_or(Ok(default), |text| shares::share(text))
}

/// Splits `.html 60%` into text and share; the share may be left out, and ends in %.
fn with_share(text: &str) -> Result<(&str, Option<f64>), String> {
    match text.trim().rsplit_once(' ') {
        Some((first, share)) if share.ends_with('%') => Ok((first.trim_end(), Some(shares::share(share)?))),
        _ => Ok((text.trim(), None)),
    }
}

/// `nmt+0s`, `now+unif:0,1day`, `lmt-1hour`.
fn expiry(text: &str, share: f64) -> Result<Expiry, String> {
    let form = || format!("`{text}` is not lmt, nmt or now, then + or -, then a time or a distribution");
    let at = text.find(['+', '-']).ok_or_else(form)?;
    let base = match &text[..at] {
        "lmt" => Base::LastChange,
        "nmt" => Base::NextChange,
        "now" => Base::Now,
        _ => return Err(form()),
    };
    let offset = text[at + 1..].to_owned();
    let offset = if offset.contains(':') { offset } else { format!("const:{offset}") };
    let offset = Distribution::parse_seconds(&offset).map_err(|why| format!("`{text}`: {why}"))?;
    Ok(Expiry { base, early: text.as_bytes()[at] == b'-', offset, share })
}

pub(super) fn write(model: &Model) -> String {
    // Texts and lists of them only: TOML has a form for all of it.
    toml::to_string(&File { content: kinds(model) }).unwrap_or_default()
}

pub(super) fn kinds(model: &Model) -> Vec<TypedKind> {
    model.kinds().iter().map(|kind| typed(kind, model)).collect()
}

fn typed(kind: &ContentKind, model: &Model) -> TypedKind {
    let embeds = kind.embeds.as_ref().map(|embeds| TypedEmbeds {
        kind: model.kinds().get(embeds.kind).map(|kind| kind.name.clone()).unwrap_or_default(),
        count: embeds.count.to_string(),
    });
    let extensions = &kind.extensions;
    TypedKind {
        name: kind.name.clone(),
        size: kind.size.to_string(),
        cachable: Some(shares::text(kind.cachable)),
        share: Some(shares::text(kind.share)),
        media_type: Some(kind.media_type.clone()),
        extensions: extensions
            .iter()
            .map(|(text, share)| format!("{text} {}", shares::text(*share)))
            .collect(),
        compressibility: Some(shares::text(kind.compressibility)),
        gzip: kind.gzip,
        think: kind.think.as_ref().map(Distribution::to_string),
        life: kind.life.as_ref().map(typed_life),
        embeds,
    }
}

fn typed_life(life: &LifeCycle) -> TypedLife {
    let text = |expiry: &Expiry| {
        let base = match expiry.base {
            Base::LastChange => "lmt",
            Base::NextChange => "nmt",
            Base::Now => "now",
        };
        let sign = if expiry.early { '-' } else { '+' };
        let offset = expiry.offset.to_string();
        let offset = offset.strip_prefix("const:").unwrap_or(&offset);
        format!("{base}{sign}{offset} {}", shares::text(expiry.share))
    };
    TypedLife {
        length: life.length.to_string(),
        variance: Some(shares::text(life.variance)),
        last_modified: Some(shares::text(life.last_modified)),
        expires: Some(OneOrMore::More(life.expires.iter().map(text).collect())),
    }
}
