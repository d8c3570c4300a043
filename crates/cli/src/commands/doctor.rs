//! `bakeoff doctor`: what on this machine spoils measurements. Changes nothing.

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::{Failure, terminal};
use bakeoff_experiment::environment::{self, Level, Need};
use serde_json::json;
use std::time::Duration;

/// The `schema` of what `--json` prints.
const SCHEMA: &str = "bakeoff-doctor/1";
/// For so long the machine is watched: on two cores a tick of the kernel's clock is half a percent.
const WATCHED: Duration = Duration::from_secs(1);

/// Looks at the machine.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    let allowed = bakeoff_sys::affinity::allowed().map_err(Failure::failed)?;
    let placement =
        environment::placement(None, None, &allowed, &environment::siblings(), 0).map_err(Failure::failed)?;
    let seen = environment::watched(WATCHED);
    let need = Need { connections: args.connections, connection_rate: args.rate, loopback: true };
    let mut findings = environment::findings(&seen, &placement, &need);
    findings.push(crate::kinds::guest::finding());
    let spoilt = findings.iter().any(|finding| finding.level == Level::Spoils);
    terminal::say(&match args.json {
        true => pretty(&json!({ "schema": SCHEMA, "spoilt": spoilt, "findings": findings }))?,
        false => bakeoff_report::doctor(&findings, terminal::width(), terminal::colour()),
    });
    Ok(if spoilt { Exit::Invalid } else { Exit::Verdicts })
}

fn pretty(value: &serde_json::Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::failed)
}
