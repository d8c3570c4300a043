//! `police run`: the daemon before a running server, until SIGTERM.

use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_police::daemon::{self, DaemonError, DaemonSettings};
use bakeoff_layers_police::kernel::PoliceMode;
use bakeoff_layers_police::rules::RulesError;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// The rules; SIGHUP reads them again
    #[arg(long, value_name = "FILE")]
    rules: PathBuf,
    /// The server's first process: it and those below it are the server
    #[arg(long, value_name = "PID")]
    server_pid: u32,
    /// File for status and counters, as lines of text
    #[arg(long, value_name = "FILE")]
    status: Option<PathBuf>,
    /// What is done with what is decided: log only counts it, off attaches and looks at nothing
    #[arg(long, value_enum, value_name = "enforce|log|off", default_value_t = Typed::Enforce)]
    mode: Typed,
    /// Interface through which clients come; may be given more than once [default: all of the server's network]
    #[arg(long = "interface", value_name = "NAME")]
    interfaces: Vec<String>,
    /// Refuse SYNs in the driver (native XDP), on all interfaces but loopback
    #[arg(long)]
    xdp: bool,
    /// Have the kernel measure how long its BPF programs run, all of the machine: `runs` and `run-ns` in the status. That
    /// costs some 50 ns a run
    #[arg(long)]
    count_time: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Typed {
    Enforce,
    Log,
    Off,
}

pub(crate) fn run(args: RunArgs) -> Result<Exit, Failure> {
    let settings = DaemonSettings {
        rules: args.rules,
        server_pid: args.server_pid,
        status: args.status,
        mode: match args.mode {
            Typed::Enforce => PoliceMode::Enforce,
            Typed::Log => PoliceMode::Log,
            Typed::Off => PoliceMode::Off,
        },
        interfaces: args.interfaces,
        xdp: args.xdp,
        count_time: args.count_time,
    };
    let ended = daemon::run(&settings, terminal::say, terminal::note);
    ended.map(|()| Exit::Done).map_err(|error| match error {
        DaemonError::Rules(RulesError::Wrong(_)) => Failure::usage(error),
        error => Failure::failed(format!("{error}. Nothing is attached")),
    })
}
