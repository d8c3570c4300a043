//! `bakeoff schema`, `bakeoff meters`, completions and manual: documents that the program makes of itself.

use crate::args::{Cli, CompletionsArgs, ManualArgs, MetersArgs, SchemaArgs};
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_meter::{CATALOGUE, catalogue};
use bakeoff_plan::PlanFile;
use clap::CommandFactory;

/// Prints a JSON schema.
pub(crate) fn schema(args: &SchemaArgs) -> Result<Exit, Failure> {
    let text = match args.what.as_str() {
        "plan" => serde_json::to_string_pretty(&schemars::schema_for!(PlanFile)).map_err(Failure::failed)?,
        _ => bakeoff_report::results_schema(),
    };
    terminal::say(&text);
    Ok(Exit::Verdicts)
}

/// Prints the catalogue of meters.
pub(crate) fn meters(args: &MetersArgs) -> Result<Exit, Failure> {
    if args.markdown {
        terminal::say(&catalogue::markdown());
        return Ok(Exit::Verdicts);
    }
    let lines =
        CATALOGUE.iter().map(|meter| format!("{:<30}{:<7}{}", meter.name, meter.unit.as_str(), meter.help));
    terminal::say(&lines.collect::<Vec<_>>().join("\n"));
    Ok(Exit::Verdicts)
}

/// Prints what a shell completes commands and flags by.
pub(crate) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "bakeoff", &mut script);
    terminal::say(&String::from_utf8_lossy(&script));
    Ok(Exit::Verdicts)
}

/// Writes a page of the manual for each command.
pub(crate) fn manual(args: &ManualArgs) -> Result<Exit, Failure> {
    let dir = &args.dir;
    std::fs::create_dir_all(dir).and_then(|()| clap_mangen::generate_to(Cli::command(), dir)).map_err(
        |error| {
            Failure::failed(format!("{}: {error}; name a directory that can be written to", dir.display()))
        },
    )?;
    Ok(Exit::Verdicts)
}

/// Prints the version.
pub(crate) fn version() -> Exit {
    terminal::say(&Cli::command().render_version());
    Exit::Verdicts
}
