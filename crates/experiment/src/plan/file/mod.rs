//! A plan as it is typed: every key, nothing decided. The published JSON schema comes from here.

mod arm;
mod client;
mod experiment;
mod extent;
mod factors;
mod front;
mod spanned;
mod workload;
mod wrap;

pub(super) use arm::{ArmSection, LayerSection, LimitsSection};
pub(super) use client::{Http2Entry, Http2Section, TlsClientSection, Words};
pub(super) use experiment::{BaselineEntry, ExperimentSection, PeakSection, ViolationsSection};
pub(super) use extent::Extents;
pub(super) use factors::FactorLevel;
pub(super) use front::FrontSection;
pub(super) use spanned::Spanned;
pub(super) use workload::{OneOrMany, RefusedEntry, TreeSection, UrlEntry, WorkloadSection};
pub(super) use wrap::WrapSection;

use super::PlanError;
use schemars::JsonSchema;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

/// A plan file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// How to experiment.
    pub experiment: ExperimentSection,
    /// What to ask for, or to run.
    pub workload: WorkloadSection,
    /// `kind = "peak"`: what a rate must hold to be sustained.
    pub peak: Option<PeakSection>,
    /// Factors: names, each with its levels; every arm is run at every combination.
    #[serde(default, deserialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, Vec<FactorLevel>>")]
    pub factors: Vec<(Spanned<String>, Vec<Spanned<FactorLevel>>)>,
    /// What an arm has at a level of a factor: `[level.FACTOR.LEVEL]` with the keys of an arm.
    #[serde(default)]
    pub level: BTreeMap<Spanned<String>, BTreeMap<Spanned<String>, ArmSection>>,
    /// The combinations of levels that are run, where it is not all of them. One stands for all
    /// levels of the factors that it leaves out.
    #[serde(default)]
    pub cell: Vec<Spanned<BTreeMap<Spanned<String>, Spanned<FactorLevel>>>>,
    /// Violations that a layer must notice.
    pub violations: Option<ViolationsSection>,
    /// Layers of your own, by name.
    #[serde(default)]
    pub layer: BTreeMap<Spanned<String>, LayerSection>,
    /// What may stand before servers, by name; products that bakeoff knows need no section.
    #[serde(default)]
    pub front: BTreeMap<Spanned<String>, FrontSection>,
    /// What servers and commands may be started through, by name.
    #[serde(default)]
    pub wrap: BTreeMap<Spanned<String>, WrapSection>,
    /// The arms, by name.
    #[serde(deserialize_with = "in_order")]
    #[schemars(with = "BTreeMap<String, ArmSection>")]
    pub arm: Vec<(Spanned<String>, ArmSection)>,
}

impl PlanFile {
    /// Reads the text; checks form and names of keys only.
    pub(super) fn parse(origin: &str, text: &str) -> Result<Self, PlanError> {
        toml::from_str(text).map_err(|error| {
            let span = error.span().unwrap_or(0..text.len().min(1));
            PlanError::of_toml(origin, text, span, error.message())
        })
    }
}

/// The entries of a map in the order of the file.
fn in_order<'de, D: Deserializer<'de>, V: Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<(Spanned<String>, V)>, D::Error> {
    struct InOrder<V>(PhantomData<V>);
    impl<'de, V: Deserialize<'de>> Visitor<'de> for InOrder<V> {
        type Value = Vec<(Spanned<String>, V)>;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a table")
        }
        fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
            let mut entries = Vec::new();
            while let Some(entry) = map.next_entry()? {
                entries.push(entry);
            }
            Ok(entries)
        }
    }
    deserializer.deserialize_map(InOrder(PhantomData))
}
