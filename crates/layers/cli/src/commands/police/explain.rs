//! `police explain`: the rule that decides about a client or a request.

use super::RulesArgs;
use crate::exit::{Exit, Failure};
use crate::terminal;
use bakeoff_layers_police::explain::{connection, request};
use clap::Args;
use std::net::{IpAddr, SocketAddr};

#[derive(Args, Debug)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    rules: RulesArgs,
    /// The client's address
    #[arg(long, value_name = "ADDRESS", required_unless_present = "head")]
    from: Option<IpAddr>,
    /// What it connects to, as 192.0.2.1:80 or :80. Without: the first port of the rules, at no address that a rule names
    #[arg(long, value_name = "[ADDRESS]:PORT", value_parser = to, requires = "from")]
    to: Option<To>,
    /// The first line of a request, or its whole head with CRLF
    #[arg(long, value_name = "TEXT")]
    head: Option<String>,
}

/// Destination of a connection.
#[derive(Clone, Copy, Debug)]
struct To {
    address: Option<IpAddr>,
    port: u16,
}

fn to(text: &str) -> Result<To, String> {
    let port = text.strip_prefix(':').and_then(|port| port.parse().ok());
    let whole = text.parse::<SocketAddr>().ok().map(|to| (Some(to.ip()), to.port()));
    let found = port.map(|port| (None, port)).or(whole);
    let (address, port) = found.ok_or("write :80, 192.0.2.1:80 or [2001:db8::1]:80")?;
    Ok(To { address, port })
}

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let rules = args.rules.read()?;
    let mut told = Vec::new();
    if let Some(from) = args.from {
        let first = rules.table.ports.first().copied().unwrap_or(0);
        let To { address, port } = args.to.unwrap_or(To { address: None, port: first });
        if address.is_some_and(|to| to.is_ipv4() != from.is_ipv4()) {
            return Err(Failure::usage("--from and --to are not of one family, so no packet has both"));
        }
        told.push(("connection", connection(&rules, from, address, port)));
    }
    told.extend(args.head.as_ref().map(|head| ("request", request(&rules, head))));
    for (what, because) in &told {
        let verdict = if because.refused { "refused" } else { "passes" };
        terminal::say(&format!("{what} {verdict}: {}", because.reason));
    }
    Ok(if told.iter().any(|(_, because)| because.refused) { Exit::Refused } else { Exit::Done })
}
