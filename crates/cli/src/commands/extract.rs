//! `bakeoff extract`: the figures of a bake-off's phases under the names that Polygraph's `lx` has for them.

use crate::args::ExtractArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_caches::{Selection, choose, directory};
use bakeoff_robots::extract;

/// Prints a block of lines a phase, each below a line that says whose it is.
pub(crate) fn extract(args: &ExtractArgs) -> Result<Exit, Failure> {
    let shown = args.dir.display();
    if !args.dir.is_dir() {
        return Err(Failure::usage(format!("{shown}: there is no such directory")));
    }
    if !directory::BAKEOFF.owns(&args.dir) {
        return Err(Failure::usage(format!("{shown}: is no results directory of a bake-off of caches")));
    }
    let stored = directory::load(&args.dir).map_err(Failure::failed)?;
    let wanted = Selection {
        run: args.run,
        entrant: args.entrant.clone(),
        rate: args.rate,
        phase: args.phase.clone(),
    };
    let chosen = choose(&stored, &wanted).map_err(|why| Failure::usage(format!("{shown}: {why}")))?;
    let blocks = chosen.iter().map(|chosen| {
        let head = format!("# {}, phase {}\n", chosen.headline(), chosen.line.phase.phase);
        head + &extract::text(&chosen.line.phase)
    });
    terminal::say(&blocks.collect::<Vec<_>>().join("\n"));
    Ok(Exit::Verdicts)
}
