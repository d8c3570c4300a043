//! Rules and the reference model from outside: each fault by itself, the table, and properties against independent
//! definitions.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

mod buckets;
mod connections;
mod decisions;
mod faults;
mod heads;
mod sources;
mod table;

use bakeoff_layers_police::reference::{Flow, Fragment, Police, Syn, TcpSegment};
use bakeoff_layers_police::rules::table::RuleTable;
use bakeoff_layers_police::rules::{RuleFault, Rules, RulesError};
use std::net::IpAddr;

/// A server section with classes, without faults.
const SERVER: &str = "[server]\nlisten = 80\nclasses = { high = 8200, low = 8201 }\n";

fn rules(text: &str) -> Rules {
    Rules::of_text(text, "r.toml").unwrap_or_else(|error| panic!("{text}\n{error}"))
}

fn table(text: &str) -> RuleTable {
    rules(&format!("{SERVER}{text}")).table
}

fn faults(text: &str) -> Vec<RuleFault> {
    match Rules::of_text(text, "r.toml") {
        Ok(_) => Vec::new(),
        Err(RulesError::Wrong(faults)) => faults,
        Err(other) => panic!("{other}"),
    }
}

fn flow(source: &str) -> Flow {
    let source: IpAddr = source.parse().unwrap();
    let destination = if source.is_ipv4() { "192.0.2.1" } else { "2001:db8:ffff::1" };
    Flow { source, source_port: 40_000, destination: destination.parse().unwrap(), port: 80 }
}

fn syn(source: &str) -> Syn {
    Syn { flow: flow(source), fragment: Fragment::Whole, data: false }
}

/// The next one that the server's kernel waits for.
fn segment(sequence: u32, payload: &[u8]) -> TcpSegment<'_> {
    TcpSegment { flow: flow("198.51.100.7"), sequence, payload, next: Some(sequence) }
}

fn police(text: &str) -> Police {
    Police::new(&table(text))
}
