//! `bakeoff studies`: the classic studies and every figure that they published.

use crate::args::StudiesArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_plan::study::{self, Study};

/// Lists the studies, or prints the tables of one.
pub(crate) fn studies(args: &StudiesArgs) -> Result<Exit, Failure> {
    let Some(name) = &args.name else {
        let all = study::all().map_err(Failure::failed)?;
        terminal::say(&if args.json { json(&all)? } else { bakeoff_report::studies(&all) });
        return Ok(Exit::Verdicts);
    };
    let study = find(name)?;
    let text = match args.json {
        true => json(&study)?,
        false => bakeoff_report::study(&study, terminal::width(), terminal::colour()),
    };
    terminal::say(&text);
    Ok(Exit::Verdicts)
}

fn find(name: &str) -> Result<Study, Failure> {
    let known = || study::names().collect::<Vec<_>>().join(", ");
    let found = study::find(name).map_err(Failure::failed)?;
    found.ok_or_else(|| Failure::usage(format!("there is no study `{name}`; there are {}", known())))
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::failed)
}
