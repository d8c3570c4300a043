//! Reader of a results directory.

use super::{
    Digests, DirectoryError, EXPERIMENT, PLAN, SLICES, StopReason, StoppedBy, TRIALS, end, needed, records,
};
use crate::{Setup, SliceRecord, TrialRecord};
use std::path::Path;

/// An experiment's results directory.
#[derive(Clone, Debug)]
pub struct StoredExperiment {
    /// The plan's text.
    pub plan: String,
    /// What was fixed before the first slice; its warnings name also the runs that came beside it later.
    pub setup: Setup,
    /// Slices in the order they were measured.
    pub slices: Vec<SliceRecord>,
    /// Trials of a search for peaks, in the order they were run.
    pub trials: Vec<TrialRecord>,
    /// How the run ended; a run that was killed counts as interrupted.
    pub stopped_by: StoppedBy,
    /// What the files were when they were read.
    pub digests: Digests,
}

/// Reads a results directory. Says nothing of whether it is as it was written; `verify` does.
///
/// # Errors
/// A file is missing, damaged, or of another version; the error says which and where.
pub fn load(path: &Path) -> Result<StoredExperiment, DirectoryError> {
    // A damaged one is found by `verify`; the figures do not need it.
    let end = end::<StopReason>(path).unwrap_or(None).map(|end| end.how);
    let mut setup: Setup = EXPERIMENT.setup(path)?;
    let warnings = &mut setup.environment.warnings;
    let others = end.as_ref().map_or(Vec::new(), |end| end.others.clone());
    // Those at the end are all, and those at the start are among them.
    warnings.retain(|warning| !others.iter().any(|other| other.label == warning.label));
    warnings.splice(0..0, others);
    Ok(StoredExperiment {
        plan: needed(path, PLAN)?,
        setup,
        slices: records(path, SLICES)?,
        trials: records(path, TRIALS)?,
        stopped_by: end.map_or(StoppedBy::Interrupted, |end| end.stopped_by),
        digests: EXPERIMENT.digests(path)?,
    })
}
