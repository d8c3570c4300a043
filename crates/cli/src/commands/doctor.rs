//! `bakeoff doctor`: what on this machine spoils measurements, and what the network between two hosts
//! does. Changes nothing.

use crate::args::DoctorArgs;
use crate::exit::Exit;
use crate::{Failure, signals, terminal};
use bakeoff_experiment::environment::{self, Level, Need};
use bakeoff_experiment::network::{self, Carrying, Likeness, Listener, NetworkError};
use bakeoff_units::Nanos;
use serde_json::json;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// The `schema` of what `--json` prints.
const SCHEMA: &str = "bakeoff-doctor/1";
/// For so long the machine is watched: on two cores a tick of the kernel's clock is half a percent.
const WATCHED: Duration = Duration::from_secs(1);
/// Three parts of less would tell nothing.
const SHORTEST: Nanos = Nanos::from_millis(100);

/// Looks at the machine, or at the network.
pub(crate) fn doctor(args: &DoctorArgs) -> Result<Exit, Failure> {
    match (args.listen, &args.to) {
        (Some(address), _) => listen(args, address),
        (None, Some(host)) => ask(args, host),
        (None, None) => machine(args),
    }
}

fn machine(args: &DoctorArgs) -> Result<Exit, Failure> {
    let allowed = bakeoff_sys::affinity::allowed().map_err(Failure::failed)?;
    let placement =
        environment::placement(None, None, &allowed, &environment::siblings(), 0).map_err(Failure::failed)?;
    let seen = environment::watched(WATCHED);
    let need = Need { connections: args.connections, connection_rate: args.rate, loopback: true };
    let findings = environment::findings(&seen, &placement, &need);
    let spoilt = findings.iter().any(|finding| finding.level == Level::Spoils);
    terminal::say(&match args.json {
        true => pretty(&json!({ "schema": SCHEMA, "spoilt": spoilt, "findings": findings }))?,
        false => bakeoff_report::doctor(&findings, terminal::width(), terminal::colour()),
    });
    Ok(if spoilt { Exit::Invalid } else { Exit::Verdicts })
}

fn listen(args: &DoctorArgs, address: SocketAddr) -> Result<Exit, Failure> {
    let interrupted = signals::interrupted();
    let listener = Listener::bind(address).map_err(failed)?;
    terminal::say(&format!("listening: {}", listener.address()));
    let served = listener.serve(args.wait, &interrupted).map_err(failed)?;
    terminal::say(&format!(
        "served: {}, {} received, {} sent, {} strangers turned away",
        served.client, served.received, served.sent, served.strangers
    ));
    Ok(Exit::Verdicts)
}

fn ask(args: &DoctorArgs, host: &str) -> Result<Exit, Failure> {
    if !(SHORTEST..=network::LONGEST).contains(&args.time) {
        return Err(Failure::usage(format!("--time goes from {SHORTEST} to {}", network::LONGEST)));
    }
    let interrupted = signals::interrupted();
    let answer = network::ask(resolve(host)?, args.time, &interrupted).map_err(failed)?;
    let load = args.rate.zip(args.size).and_then(|(rate, size)| {
        let words = format!("{rate} of {size}");
        network::carrying(&answer, rate, size).map(|carrying| (words, carrying))
    });
    let carrying: Option<Carrying> = load.as_ref().map(|(_, carrying)| *carrying);
    terminal::say(&match args.json {
        true => {
            let looks_like = Likeness::of(&answer).in_words();
            pretty(
                &json!({ "schema": SCHEMA, "network": answer, "looks_like": looks_like, "load": carrying }),
            )?
        }
        false => {
            let load = load.as_ref().map(|(words, carrying)| (words.as_str(), *carrying));
            bakeoff_report::network(&answer, load, terminal::width(), terminal::colour())
        }
    });
    Ok(if carrying.is_some_and(|carrying| !carrying.fits) { Exit::Invalid } else { Exit::Verdicts })
}

fn resolve(host: &str) -> Result<SocketAddr, Failure> {
    let wrong =
        |why: String| Failure::usage(format!("--to {host}: {why}; give ADDR:PORT, such as 10.0.0.2:9000"));
    let mut found = host.to_socket_addrs().map_err(|why| wrong(why.to_string()))?;
    found.next().ok_or_else(|| wrong("this name has no address".to_owned()))
}

fn failed(why: NetworkError) -> Failure {
    match why {
        NetworkError::Interrupted => Failure::interrupted(),
        other => Failure::failed(other),
    }
}

fn pretty(value: &serde_json::Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::failed)
}
