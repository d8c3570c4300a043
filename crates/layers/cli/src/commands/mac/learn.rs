//! `mac learn`: writes a policy from a program's observed accesses.

use super::run::command;
use crate::exit::{Exit, Failure};
use crate::terminal;
use clap::Args;
use std::ffi::OsString;
use std::path::Path;

#[derive(Args, Debug)]
pub(crate) struct LearnArgs {
    /// Name of the domain [default: that of the program]
    #[arg(long, value_name = "NAME")]
    domain: Option<String>,
    /// The program and its arguments; what it prints goes to standard error
    #[arg(last = true, value_name = "PROGRAM", required = true)]
    program: Vec<OsString>,
}

pub(crate) fn learn(args: &LearnArgs) -> Result<Exit, Failure> {
    let command = command(&args.program)?;
    let named = || {
        let name =
            Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
        name.replace(|c: char| !c.is_ascii_alphanumeric(), "-")
    };
    let domain = args.domain.clone().unwrap_or_else(named);
    let learnt = bakeoff_layers_mac::watch::learn(command, &domain)
        .map_err(|why| Failure::failed(format!("{why}; nothing was learnt")))?;
    terminal::say(&learnt.policy);
    if let Some(how) = learnt.ended {
        terminal::note(&format!("the program ended with {how}: the policy is of what it did until then"));
    }
    terminal::note(&format!("{} calls were looked at", learnt.calls));
    Ok(Exit::Done)
}
