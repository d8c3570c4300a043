//! `bakeoff generator`: lanes of a run on another host.
//!
//! Glue. Nothing but messages may go to standard output.

use crate::Failure;
use crate::args::GeneratorOfferArgs;
use crate::exit::Exit;
use bakeoff_experiment::run::{self, Offer};
use bakeoff_loadgen::LocalAddresses;

/// Exit code of a generator that had to be ended; nobody looks at it.
const STUCK: i32 = 3;

/// Works until the run ends it.
pub(crate) fn generator(args: &GeneratorOfferArgs) -> Result<Exit, Failure> {
    let lanes = args.threads.map(usize::from);
    let stuck = || std::process::exit(STUCK);
    let offer = Offer { lanes, only: LocalAddresses::of(&args.only), stuck };
    let ended = run::generator(std::io::stdin(), std::io::stdout(), offer);
    ended.map(|()| Exit::Verdicts).map_err(|why| Failure::failed(format!("generator: {why}")))
}
