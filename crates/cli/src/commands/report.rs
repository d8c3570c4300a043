//! `bakeoff report`: every output again, from what is stored.

use crate::Failure;
use crate::args::ReportArgs;
use crate::exit::Exit;
use crate::kinds::{self, ReportRequest};

/// Makes `results.json`, `report.html` and what else the kind writes again, and prints the report.
pub(crate) fn report(args: &ReportArgs) -> Result<Exit, Failure> {
    kinds::remake(kinds::of_directory(&args.dir)?, &args.dir, &ReportRequest::of_args(args))
}
