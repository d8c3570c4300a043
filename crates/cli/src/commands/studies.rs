//! `bakeoff studies`: the classic studies, every figure that they published, and this project's runs beside them.

mod keep;

use crate::args::StudiesArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_analysis::join::kept;
use bakeoff_plan::study::{self, Study};
use bakeoff_report::KeptStudy;

/// Lists the studies, prints the tables of one, or keeps a run beside one.
pub(crate) fn studies(args: &StudiesArgs) -> Result<Exit, Failure> {
    if let Some(dir) = &args.keep {
        return keep::keep(dir);
    }
    let Some(name) = &args.name else {
        let all = study::all().map_err(Failure::failed)?;
        let all = all.into_iter().map(with_runs).collect::<Result<Vec<_>, _>>()?;
        terminal::say(&if args.json { json(&all)? } else { bakeoff_report::studies(&all) });
        return Ok(Exit::Verdicts);
    };
    let study = with_runs(find(name)?)?;
    let text = match args.json {
        true => json(&study)?,
        false => bakeoff_report::study(&study, terminal::width(), terminal::colour()),
    };
    terminal::say(&text);
    Ok(Exit::Verdicts)
}

fn with_runs(study: Study) -> Result<KeptStudy, Failure> {
    let runs = kept(&study.name).map_err(Failure::failed)?;
    Ok(KeptStudy { study, runs })
}

fn find(name: &str) -> Result<Study, Failure> {
    let known = || study::names().collect::<Vec<_>>().join(", ");
    let found = study::find(name).map_err(Failure::failed)?;
    found.ok_or_else(|| Failure::usage(format!("there is no study `{name}`; there are {}", known())))
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::failed)
}
