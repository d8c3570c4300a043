//! `remotefs why`: explains the access decisions on a path.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_remotefs::client::why as ask;
use clap::Args;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// A path in a mount, which need not be there
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(super) fn why(args: &WhyArgs) -> Result<Exit, Failure> {
    let failed = |error: std::io::Error| {
        let path = args.path.display();
        Failure::failed(format!(
            "cannot ask about {path}: {error}; it must lie in a mount with credentials, below a directory that may be looked into"
        ))
    };
    ask(&args.path).map_err(failed)?.lines().for_each(terminal::say);
    Ok(Exit::Done)
}
