//! `remotefs why`: explains the access decisions on a path.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_remotefs::client::why as ask;
use clap::Args;
use std::io;
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// A path in a mount, which need not be there
    #[arg(value_name = "PATH")]
    path: PathBuf,
}

pub(super) fn why(args: &WhyArgs) -> Result<Exit, Failure> {
    let failed = |error: io::Error| {
        let path = args.path.display();
        Failure::failed(format!(
            "cannot ask about {path}: {error}; it must lie in a mount with credentials, whose status says why if its session has \
             ended"
        ))
    };
    // Below a directory that may not be looked into, the reason is there.
    let is_hidden = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let text = ask(&args.path).or_else(|error| {
        let above = || args.path.ancestors().skip(1).find_map(|above| Some((above, ask(above).ok()?)));
        let (above, text) = Some(()).filter(|()| is_hidden(&error)).and_then(|()| above()).ok_or(error)?;
        Ok(format!("{} may not be looked into; of that:\n{text}", above.display()))
    });
    text.map_err(failed)?.lines().for_each(terminal::say);
    Ok(Exit::Done)
}
