//! Directories of the HTTP cache suite alone.
//!
//! Glue. `bakeoff conformance` writes them; here they are shown again.

use super::{Around, Checked, Ended, Flags, Outputs, Planned, ReportRequest, RunKind, shell};
use crate::Failure;
use crate::exit::Exit;
use bakeoff_caches::conformance::{
    self, CONFORMANCE, FILE, ProductOutcome, StoredRecord, SuiteRecord, shown,
};
use bakeoff_plan::PlanSource;
use bakeoff_results::directory::{Layout, ResultsDir};
use std::path::Path;

/// Runs of the HTTP cache suite.
pub(super) struct Conformance;

impl RunKind for Conformance {
    fn noun(&self) -> &'static str {
        "a run of the HTTP cache suite"
    }

    fn layout(&self) -> &'static Layout {
        &CONFORMANCE
    }

    fn owns_plan(&self, _source: &PlanSource) -> bool {
        false
    }

    fn plan(&self, _source: &PlanSource, _flags: &Flags<'_>) -> Result<Box<dyn Planned>, Failure> {
        Err(Failure::usage("the HTTP cache suite has no plan: `bakeoff conformance` runs it"))
    }

    fn resume(&self, dir: &ResultsDir, _around: &Around<'_>) -> Result<Option<Ended>, Failure> {
        Err(Failure::usage(format!(
            "{}: {} cannot be gone on with: `bakeoff conformance` runs it anew",
            dir.path().display(),
            self.noun()
        )))
    }

    fn outputs(&self, dir: &ResultsDir, asked: &ReportRequest<'_>) -> Result<Outputs, Failure> {
        shell::demand_plain(asked, self.noun())?;
        let kept = alone(dir.path())?;
        let (exit, lines) = exit(&kept.record);
        Ok(Outputs {
            document: bakeoff_report::conformance(&shown(&kept, None)),
            exit,
            lines,
            files: Vec::new(),
        })
    }

    fn verified(&self, dir: &Path) -> Result<Checked, Failure> {
        Err(Failure::usage(format!("{}: {} has no chain of checks", dir.display(), self.noun())))
    }
}

/// What the suite said in a directory of its own.
pub(crate) fn alone(path: &Path) -> Result<StoredRecord, Failure> {
    let kept = conformance::load(path, std::iter::empty()).map_err(Failure::failed)?;
    kept.ok_or_else(|| gone(path))
}

/// The suite's record is not there any more.
pub(crate) fn gone(path: &Path) -> Failure {
    Failure::failed(format!("{}: {FILE} is gone; run the suite again", path.display()))
}

/// That a cache fails tests is no failure of the run; that it could not be examined is, with a line that says so.
pub(crate) fn exit(record: &SuiteRecord) -> (Exit, Vec<String>) {
    let failed = |product: &&conformance::Examined| matches!(product.came_to, ProductOutcome::Failed(_));
    let (failed, all) = (record.products.iter().filter(failed).count(), record.products.len());
    if failed == 0 {
        return (Exit::Verdicts, Vec::new());
    }
    let line = format!("bakeoff: the suite did not come to its end with {failed} of {all} products");
    (if failed == all { Exit::Failed } else { Exit::Invalid }, vec![line])
}
