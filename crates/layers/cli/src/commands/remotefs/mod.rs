//! `bakeoff layer remotefs ...`: serving a directory, and mounting it elsewhere.
//!
//! Glue. Owns the flags and the output, and the way from a session directory and agents to credentials;
//! `bakeoff-layers-remotefs` owns the protocol, the server and the mount.

mod mount;
mod serve;
mod why;

use super::login::SessionArgs;
use super::mounted::{KeeperArgs, keeper};
use crate::exit::{Exit, Failure};
use bakeoff_layers_agent::session::{AgentSession, SessionOf};
use bakeoff_layers_agent::trust::LiveBundles;
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve a directory until Ctrl-C or SIGTERM
    Serve(serve::ServeArgs),
    /// Mount a served directory until Ctrl-C or SIGTERM
    Mount(mount::MountArgs),
    /// Tell what decides about a path in a mount, a line for each operation
    Why(why::WhyArgs),
    /// Not for people: unmounts when the daemon was killed
    #[command(hide = true)]
    Keeper(KeeperArgs),
}

/// As whom it is done; that there are no credentials is said by whoever starts it.
#[derive(Args, Debug)]
pub(crate) struct AsArgs {
    /// The session, as `login` began it: whose, or its directory [default: the only one of a node
    /// for `serve`, of a user or role for `mount`]
    #[arg(long, value_name = "NAME|DIR", conflicts_with = "plain")]
    session: Option<PathBuf>,
    /// The trust bundles [default: those that the session was begun with]
    #[arg(long, value_name = "DIR", conflicts_with = "plain")]
    trust: Option<PathBuf>,
    /// Without credentials: whoever reaches the server may do everything. For this machine and networks made for a
    /// test (198.18.0.0/15) alone
    #[arg(long)]
    plain: bool,
}

/// A session, its directory, and the trusted bundles.
struct As {
    session: AgentSession,
    trust: PathBuf,
    bundles: LiveBundles,
}

impl AsArgs {
    /// Opens the session; key and leaf are read again whenever they are shown.
    fn open(&self, whose: SessionOf) -> Result<As, Failure> {
        let session = SessionArgs { session: self.session.clone() }.open(whose)?;
        let trust = self.trust.clone().unwrap_or_else(|| session.trust().to_owned());
        let bundles = LiveBundles::open(&trust).map_err(Failure::failed)?;
        Ok(As { session, trust, bundles })
    }
}

/// Error for missing credentials without `--plain`.
fn missing(what: &str) -> Failure {
    Failure::usage(format!("say {what}; or --plain, where whoever reaches the server may do everything"))
}

/// Runs the command.
pub(crate) fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Serve(args) => serve::serve(args),
        Command::Mount(args) => mount::mount(args),
        Command::Why(args) => why::why(&args),
        Command::Keeper(args) => keeper(&args),
    }
}
