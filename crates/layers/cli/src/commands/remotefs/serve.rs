//! `remotefs serve`: the server in the foreground.

use super::PlainArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_remotefs::server::{self, Options, ServeError};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// The directory
    #[arg(value_name = "DIR")]
    export: PathBuf,
    #[command(flatten)]
    plain: PlainArgs,
    /// Where to listen; port 0 is any that is free
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: SocketAddr,
    /// File for the counters, written again within 0.1 s of every change
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// How long a client may believe what it was told without being heard of, 1 to 60. Changes wait so long for one that is gone,
    /// and the first after a start do
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    term: u64,
}

pub(super) fn serve(args: ServeArgs) -> Result<Exit, Failure> {
    args.plain.look()?;
    let options = Options {
        export: args.export,
        listen: args.listen,
        status: args.status,
        term: Duration::from_secs(args.term),
    };
    let ready = |address| terminal::say(&format!("listening on {address}: {}", options.export.display()));
    server::serve(&options, ready).map(|()| Exit::Done).map_err(|error| match error {
        ServeError::OpenNetwork(_) | ServeError::Term => Failure::usage(error),
        error => Failure::failed(error),
    })
}
