//! A plan as typed: every key, nothing decided. The published JSON schema comes from here.

mod arm;
mod client;
mod clock;
mod directory;
mod experiment;
mod extent;
mod factors;
mod front;
mod keys;
mod loads;
mod population;
mod spanned;
mod workload;
mod wrap;

pub(super) use arm::{
    ArmGroups, ArmSection, ArmWhat, AskedSection, DirectorySection, LayerSection, LimitsSection, RunSection,
    StandSection, StartSection, ToldSection, UnderSection,
};
pub(super) use client::{Http2Entry, Http2Section, TlsClientSection, Words};
pub(super) use clock::{BurstSection, ClockSection, RateSection, RobotsSection, SearchedSection, Whole};
pub(super) use experiment::{BaselineEntry, ExperimentSection, PeakSection, ViolationsSection};
pub(super) use extent::Extents;
pub(super) use factors::FactorLevel;
pub(super) use front::{FrontSection, FrontWhat, ProductFront, RulesFront};
pub(super) use keys::TableKeys;
pub(super) use loads::Loads;
pub(super) use population::PopulationOf;
use population::PopulationSection;
pub(super) use spanned::{Spanned, is_on, place_of};
pub(super) use workload::*;
pub(super) use wrap::{FileSection, WrapSection};

use super::PlanError;
use super::error::Faults;
use arm::AnyArm;
use keys::{Named, Text};
use schemars::JsonSchema;
use std::collections::BTreeMap;

/// A plan file.
#[derive(Debug, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PlanFile<'t> {
    /// How to experiment.
    pub experiment: ExperimentSection,
    /// What to ask for, or to run.
    pub workload: WorkloadSection,
    /// Both as they stand, for arms that are asked in ways of their own.
    #[schemars(skip)]
    pub loads: Loads<'t>,
    /// Clients that ask side by side in one slice: keys of `[workload]`, in place of those.
    #[schemars(with = "Option<BTreeMap<String, PopulationSection>>")]
    pub population: Vec<PopulationOf>,
    /// `kind = "peak"`: what a rate must hold to be sustained.
    pub peak: Option<PeakSection>,
    /// Factors: names, each with its levels; every arm is run at every combination.
    #[schemars(with = "Option<BTreeMap<String, Vec<FactorLevel>>>")]
    pub factors: Vec<(Spanned<String>, Vec<Spanned<FactorLevel>>)>,
    /// What an arm has at a level of a factor: `[level.FACTOR.LEVEL]` with the keys of an arm.
    #[schemars(with = "Option<BTreeMap<String, BTreeMap<String, AnyArm>>>")]
    pub level: Named<Named<TableKeys<'t>>>,
    /// The combinations of levels that are run, where it is not all of them. One stands for all
    /// levels of the factors that it leaves out.
    #[schemars(with = "Option<Vec<BTreeMap<String, FactorLevel>>>")]
    pub cell: Vec<Spanned<BTreeMap<Spanned<String>, Spanned<FactorLevel>>>>,
    /// Violations that a layer must notice.
    pub violations: Option<ViolationsSection>,
    /// Layers of your own, by name.
    #[schemars(with = "Option<BTreeMap<String, LayerSection>>")]
    pub layer: BTreeMap<Spanned<String>, LayerSection>,
    /// What may stand before servers, by name; products that bakeoff knows need no section.
    #[schemars(with = "Option<BTreeMap<String, FrontSection>>")]
    pub front: Named<FrontSection>,
    /// What servers and commands may be started through, by name.
    #[schemars(with = "Option<BTreeMap<String, WrapSection>>")]
    pub wrap: BTreeMap<Spanned<String>, WrapSection>,
    /// Texts that lie in every arm's private directory, by name.
    #[schemars(with = "Option<BTreeMap<String, FileSection>>")]
    pub file: BTreeMap<Spanned<String>, FileSection>,
    /// The arms, by name.
    #[schemars(with = "BTreeMap<String, AnyArm>")]
    pub arm: Named<TableKeys<'t>>,
}

impl<'t> PlanFile<'t> {
    /// Reads the text; checks form and names of keys only.
    pub(super) fn parse(origin: &'t str, text: &'t str) -> Result<Self, PlanError> {
        let mut keys = TableKeys::of_plan(Text { origin, text })?;
        let faults = Faults::default();
        let kind =
            keys.clone().table("experiment").ok().flatten().and_then(|own| own.word("kind").ok().flatten());
        let peak = kind.is_some_and(|kind| kind.as_ref() == "peak");
        let experiment = faults.keep(keys.required::<ExperimentSection>("experiment"));
        let typed = keys.table("workload").and_then(|typed| typed.ok_or_else(|| keys.missing("workload")));
        let typed = faults.keep(typed);
        let factors = faults.keep(keys.entries("factors")).unwrap_or_default();
        let populations = faults.keep(keys.tables("population")).unwrap_or_default();
        let loads = typed.map(|workload| Loads { workload, population: populations, peak });
        let read = loads.as_ref().and_then(|loads| faults.keep(loads.at(&first_levels(&factors))));
        let arm = faults.keep(keys.tables("arm")).unwrap_or_default();
        arm.iter().for_each(|(_, arm)| {
            faults.keep(AnyArm::check(arm));
        });
        let (Some(experiment), Some(loads), Some((workload, population)), true) =
            (experiment, loads, read, faults.is_empty())
        else {
            return Err(faults.into_one());
        };
        let levels = |(factor, levels): (_, TableKeys<'t>)| Ok((factor, levels.all()?));
        let file = Self {
            workload,
            population,
            loads,
            peak: keys.optional("peak")?,
            factors,
            level: keys.tables("level")?.into_iter().map(levels).collect::<Result<_, _>>()?,
            cell: keys.optional("cell")?.unwrap_or_default(),
            violations: keys.optional("violations")?,
            layer: keys.optional("layer")?.unwrap_or_default(),
            front: keys.tables("front")?.into_iter().map(FrontSection::read).collect::<Result<_, _>>()?,
            wrap: keys.optional("wrap")?.unwrap_or_default(),
            file: keys.optional("file")?.unwrap_or_default(),
            arm,
            experiment,
        };
        if file.arm.is_empty() {
            return Err(keys.missing("arm"));
        }
        keys.none_left("here", &[])?;
        file.arms_and_levels().try_for_each(AnyArm::check)?;
        Ok(file)
    }

    /// Whether any key has two values.
    pub(super) fn has_extents(&self) -> bool {
        fn is_two<T>(key: &Option<Spanned<Extents<T>>>) -> bool {
            key.as_ref().is_some_and(|key| matches!(key.as_ref(), Extents::Two(_)))
        }
        let e = &self.experiment;
        is_two(&e.budget)
            || is_two(&e.max_rounds)
            || is_two(&e.slice_requests)
            || self.loads.workload.has_table("sizes")
            || self.arms_and_levels().any(|keys| keys.has_table("slice_requests"))
    }

    /// The tables with keys of arms.
    fn arms_and_levels(&self) -> impl Iterator<Item = &TableKeys<'_>> {
        let levels = self.level.iter().flat_map(|(_, levels)| levels);
        self.arm.iter().chain(levels).map(|(_, keys)| keys)
    }
}

/// The reference levels: if arms have loads of their own, settings of the whole are read at these.
fn first_levels(factors: &[(Spanned<String>, Vec<Spanned<FactorLevel>>)]) -> BTreeMap<String, String> {
    let first = |(name, levels): &(Spanned<String>, Vec<Spanned<FactorLevel>>)| {
        Some((name.as_ref().clone(), levels.first()?.as_ref().to_string()))
    };
    factors.iter().filter_map(first).collect()
}
