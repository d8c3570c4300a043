//! Comparison of two runs: a stored one, and a newer one.
//!
//! Cold, pure. Their rounds are not pairs, so differences between the runs as a whole (the hour, the machine, the
//! processes) are in every change, and in no interval. Owns which runs may be compared at all, and the list of their
//! differences. An arm's cost is compared as each run found it against its own baseline, which takes most of the
//! machine out; plain figures are compared too, without such protection.

mod differs;
pub(crate) mod result;
mod rows;

use crate::analyse::{AnalyseError, analyse};
use crate::join::{join_between, meters_between};
use bakeoff_meter::{Meter, catalogue};
use bakeoff_plan::study;
use bakeoff_plan::suggestion;
use bakeoff_results::Results;
use bakeoff_results::directory::StoredExperiment;
pub use result::{BETWEEN_SCHEMA, Between, Changed, ComparisonRow, Differs, RunNamed};

/// The requested comparison.
#[derive(Clone, Debug, Default)]
pub struct RequestedComparison {
    /// One arm; all that both runs have when `None`.
    pub arm: Option<String>,
    /// Meters; the figure that the verdicts stand on when empty.
    pub meters: Vec<String>,
    /// Compare although workload or load differ.
    pub anyway: bool,
}

/// Reasons why two runs are not compared.
#[derive(Debug, thiserror::Error)]
pub enum BetweenError {
    /// Their work is not the same.
    #[error(
        "the runs did not do the same: {what} was {old}, and is {new}; what they differ by would be that. Add --anyway to see the figures"
    )]
    NotTheSame {
        /// The setting that differs.
        what: String,
        /// Its value in the old run.
        old: String,
        /// Its value in the new run.
        new: String,
    },
    /// One was loaded from other hosts.
    #[error(
        "the {with} run was loaded from other hosts (--generator), the {without} one by threads of the servers' machine: there \
         the sender's call runs the receiver's TCP, and from other hosts packets are received in interrupts, mostly charged to \
         no process, so their costs are not of the same work. Add --anyway to see the figures"
    )]
    OtherReceivers {
        /// `old` or `new`.
        with: &'static str,
        /// The other.
        without: &'static str,
    },
    /// No such arm.
    #[error("the {which} run has no arm `{arm}`; {help}")]
    NoArm {
        /// `old` or `new`.
        which: &'static str,
        /// The arm that was asked for.
        arm: String,
        /// A similar name, as a hint.
        help: String,
    },
    /// No arm in common.
    #[error("the runs have no arm in common")]
    NothingInCommon,
    /// No such meter.
    #[error("`{0}` is no meter; `bakeoff meters` lists them")]
    NoMeter(String),
    /// Slices that cannot be read.
    #[error(transparent)]
    Analyse(#[from] AnalyseError),
}

/// Both runs with their figures.
struct Runs<'a> {
    old: &'a StoredExperiment,
    new: &'a StoredExperiment,
    old_results: Results,
    new_results: Results,
}

/// Compares a new run with an old one.
///
/// # Errors
/// They cannot be compared, or what is asked for is in neither.
pub fn between(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Between, BetweenError> {
    let mut meters = meters(old, new, wanted)?;
    if !wanted.anyway {
        differs::ensure_the_same(&old.setup, &new.setup, wanted.meters.is_empty())?;
    }
    let arms = arms(old, new, wanted)?;
    let runs = Runs { old, new, old_results: analyse(old)?, new_results: analyse(new)? };
    let study =
        new.setup.study.as_deref().map(study::find).transpose().map_err(AnalyseError::from)?.flatten();
    if wanted.meters.is_empty() {
        let published = study.iter().flat_map(|study| meters_between(study, &runs.new_results));
        meters.extend(published.filter_map(catalogue::find));
        let mut seen = Vec::new();
        meters.retain(|meter| {
            !seen.contains(&meter.name) && {
                seen.push(meter.name);
                true
            }
        });
    }
    let rows = rows::all(&runs, &arms, &meters, wanted.meters.is_empty())?;
    Ok(Between {
        schema: BETWEEN_SCHEMA.to_owned(),
        old: named(&runs.old_results),
        new: named(&runs.new_results),
        differs: differs::list(old, new, &arms),
        study: study.and_then(|study| join_between(&study, &runs.new_results, &rows)),
        rows,
    })
}

fn named(results: &Results) -> RunNamed {
    RunNamed {
        name: results.name.clone(),
        machine: results.environment.machine(),
        started: results.started.clone(),
        bakeoff: results.bakeoff.clone(),
        workload: results.workload.kind.clone(),
        rounds: results.rounds,
    }
}

fn meters(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Vec<&'static Meter>, BetweenError> {
    let find = |name: &String| catalogue::find(name).ok_or_else(|| BetweenError::NoMeter(name.clone()));
    match wanted.meters.as_slice() {
        [] => {
            let mut own: Vec<&String> = vec![&old.setup.primary, &new.setup.primary];
            own.dedup();
            own.into_iter().map(find).collect()
        }
        names => names.iter().map(find).collect(),
    }
}

/// Arms of both runs in the old plan's order, without the second processes of baselines.
fn arms(
    old: &StoredExperiment,
    new: &StoredExperiment,
    wanted: &RequestedComparison,
) -> Result<Vec<String>, BetweenError> {
    let own = |stored: &StoredExperiment| {
        stored.setup.arms.iter().filter(|arm| !stored.setup.is_second(arm)).cloned().collect::<Vec<String>>()
    };
    let (theirs, ours) = (own(old), own(new));
    let Some(arm) = &wanted.arm else {
        let common: Vec<String> = theirs.into_iter().filter(|arm| ours.contains(arm)).collect();
        return if common.is_empty() { Err(BetweenError::NothingInCommon) } else { Ok(common) };
    };
    for (which, arms) in [("old", theirs), ("new", ours)] {
        if !arms.contains(arm) {
            let known: Vec<&str> = arms.iter().map(String::as_str).collect();
            return Err(BetweenError::NoArm { which, arm: arm.clone(), help: suggestion(arm, &known) });
        }
    }
    Ok(vec![arm.clone()])
}
