//! Rates of a plan: one, shares of a peak, or none at all.
//!
//! Measuring side, cold, pure.

use super::PlanError;
use super::file::BakeoffSection;
use super::reader::Reader;
use crate::scale::TimeScale;
use bakeoff_units::{Nanos, PerSecond, Ratio};

/// The rates of a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum RateSchedule {
    /// One rate.
    Single(PerSecond),
    /// No rate: robots ask as fast as replies come.
    BestEffort,
    /// Several rates, as shares of the peak.
    Shares {
        /// In the order of the runs.
        shares: Vec<Ratio>,
        /// The peak.
        peak: PeakSource,
        /// Time without requests between two rates, already scaled.
        idle: Nanos,
    },
}

impl RateSchedule {
    /// The lowest rate, of this peak if they are shares of one.
    pub(crate) fn lowest(&self, peak: PerSecond) -> Option<PerSecond> {
        match self {
            Self::Single(rate) => Some(*rate),
            Self::BestEffort => None,
            Self::Shares { shares, .. } => {
                let least = shares.iter().map(|share| share.get()).fold(f64::INFINITY, f64::min);
                PerSecond::new(peak.get() * least)
            }
        }
    }

    /// The highest rate, if it is known beforehand: a peak that is searched for is not.
    pub(crate) fn known_highest(&self) -> Option<PerSecond> {
        match self {
            Self::Single(rate) => Some(*rate),
            Self::Shares { shares, peak: PeakSource::Given(peak), .. } => {
                let most = shares.iter().map(|share| share.get()).fold(0.0, f64::max);
                PerSecond::new(peak.get() * most)
            }
            Self::Shares { peak: PeakSource::Searched { .. }, .. } | Self::BestEffort => None,
        }
    }

    /// In words, for previews of a plan.
    pub(super) fn in_words(&self) -> String {
        match self {
            Self::Single(rate) => rate.to_string(),
            Self::BestEffort => "none; robots ask as fast as replies come".to_owned(),
            Self::Shares { shares, peak, idle } => {
                let of = match peak {
                    PeakSource::Given(rate) => format!("{rate}, given"),
                    PeakSource::Searched { first, trials } => {
                        format!(
                            "the peak, searched for from {first} in at most {trials} trials and then held for a minute"
                        )
                    }
                };
                format!("{} shares of {of}; {idle} idle between them", shares.len())
            }
        }
    }

    /// The lowest rate, if it is known beforehand.
    pub(crate) fn known_lowest(&self) -> Option<PerSecond> {
        match self {
            Self::Single(rate) => Some(*rate),
            Self::Shares { peak: PeakSource::Given(peak), .. } => self.lowest(*peak),
            Self::Shares { peak: PeakSource::Searched { .. }, .. } | Self::BestEffort => None,
        }
    }
}

/// Source of the peak.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PeakSource {
    /// The plan gives it.
    Given(PerSecond),
    /// It is searched for.
    Searched {
        /// The first trial's rate.
        first: PerSecond,
        /// Most trials.
        trials: u32,
    },
}

/// Value of `rate` if requests follow replies and no clock.
const BEST_EFFORT: &str = "best effort";

/// `changed`: a flag's value in place of the rate.
pub(super) fn schedule(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    scale: TimeScale,
    changed: Option<PerSecond>,
) -> Result<RateSchedule, PlanError> {
    match (section.rate.as_deref(), &section.rates) {
        (Some(BEST_EFFORT), None) => best_effort(reader, section, changed),
        (rate, None) if rate.is_some() || changed.is_some() => {
            let typed = || reader.value("rate", rate.unwrap_or_default());
            Ok(RateSchedule::Single(changed.map_or_else(typed, Ok)?))
        }
        (None, Some(shares)) => {
            let peak = changed.map_or_else(|| peak(reader, section), |rate| Ok(PeakSource::Given(rate)))?;
            let (shares, idle) = (shares_of(reader, shares)?, idle(reader, section, scale)?);
            Ok(RateSchedule::Shares { shares, peak, idle })
        }
        _ => {
            let why = "give either `rate`, for one run, or `rates`, as shares of the peak; `rate = \"best effort\"` \
                       asks as fast as replies come";
            Err(reader.wrong("rate", why))
        }
    }
}

fn best_effort(
    reader: &Reader<'_>,
    section: &BakeoffSection,
    changed: Option<PerSecond>,
) -> Result<RateSchedule, PlanError> {
    if changed.is_some() {
        let why = "this plan's robots ask as fast as replies come, at no rate; take --rate out, or write a rate in \
                   the place of \"best effort\"";
        return Err(reader.wrong("rate", why));
    }
    if section.hit_ratio.is_some() {
        let why = "it is for the rule of 1999, which holds a run against its rate, and \"best effort\" has none; take \
                   it out";
        return Err(reader.wrong("hit_ratio", why));
    }
    Ok(RateSchedule::BestEffort)
}

fn peak(reader: &Reader<'_>, section: &BakeoffSection) -> Result<PeakSource, PlanError> {
    if let Some(peak) = &section.peak {
        return Ok(PeakSource::Given(reader.value("peak", peak)?));
    }
    let first = section.first_trial.as_deref().unwrap_or("100/s");
    Ok(PeakSource::Searched {
        first: reader.value("first_trial", first)?,
        trials: section.trials.unwrap_or(8).max(1),
    })
}

fn shares_of(reader: &Reader<'_>, shares: &[String]) -> Result<Vec<Ratio>, PlanError> {
    let shares: Vec<Ratio> =
        shares.iter().map(|share| reader.value("rates", share)).collect::<Result<_, _>>()?;
    if shares.is_empty() || shares.iter().any(|share| share.get() <= 0.0) {
        return Err(reader.wrong("rates", "each is a share of the peak above 0 %, such as \"80%\""));
    }
    Ok(shares)
}

fn idle(reader: &Reader<'_>, section: &BakeoffSection, scale: TimeScale) -> Result<Nanos, PlanError> {
    Ok(scale.of(reader.or("idle", section.idle.as_ref(), Nanos::from_secs(600))?))
}
