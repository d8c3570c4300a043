//! A server that runs already: used by its URL, never started, never stopped.
//!
//! With a `pid` its CPU is that of the process and everything below it, by CPU clocks; without one, or where `/proc`
//! hides it, there is no CPU figure and the reading says why.

use crate::SubjectError;
use crate::cgroup::HitMeter;
use crate::config::Substitutions;
use crate::context::Context;
use crate::cpu::Account;
use crate::running::Running;
use bakeoff_units::{Clock, MonotonicClock};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::time::Duration;

/// Time that one connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) fn attach(url: &str, pid: Option<u32>, context: &Context<'_>) -> Result<Running, SubjectError> {
    let failed = |reason: String| SubjectError::Url { arm: context.arm.clone(), url: url.to_owned(), reason };
    if !context.limits.is_none() || !context.prepare.is_empty() {
        let reason =
            "bakeoff neither starts nor limits a server that runs already; leave out `limits` and `prepare`";
        return Err(failed(reason.to_owned()));
    }
    let clock = MonotonicClock::new();
    let target = parse(url).map_err(failed)?;
    let addresses = (target.host.as_str(), target.port).to_socket_addrs();
    let addresses: Vec<SocketAddr> = addresses
        .map_err(|error| failed(format!("the name {} cannot be resolved ({error})", target.host)))?
        .collect();
    let address = reached(&addresses, context).map_err(failed)?;
    if let Some(pid) = pid
        && bakeoff_sys::cpu_clock::process(pid).is_err()
    {
        return Err(failed(format!("there is no process {pid}; give the server's, or leave `pid` out")));
    }
    Ok(Running {
        arm: context.arm.clone(),
        kind: "url",
        address,
        tls: target.tls,
        server_name: target.host.clone(),
        version: None,
        command_line: Vec::new(),
        config: None,
        dir: None,
        user: None,
        start_time: clock.now(),
        limits: context.limits,
        substitutions: Substitutions {
            host: target.host,
            port: target.port,
            root: context.root.display().to_string(),
            values: context.values.clone(),
            ..Substitutions::default()
        },
        hits: HitMeter::default(),
        logs: Vec::new(),
        supervisor: None,
        again: None,
        layers: Vec::new(),
        account: pid.map_or(Account::None, Account::Process),
        pid,
    })
}

/// The first address that accepts a connection.
fn reached(addresses: &[SocketAddr], context: &Context<'_>) -> Result<SocketAddr, String> {
    let mut last = "it has no address".to_owned();
    for address in addresses {
        if context.is_interrupted() {
            break;
        }
        match TcpStream::connect_timeout(address, CONNECT_TIMEOUT) {
            Ok(_) => return Ok(*address),
            Err(error) => last = format!("nobody answers on {address} ({error}); start the server first"),
        }
    }
    Err(last)
}

#[derive(Debug, PartialEq, Eq)]
struct Target {
    tls: bool,
    host: String,
    port: u16,
}

/// `http://host[:port][/]`; an IPv6 address stands in brackets.
fn parse(url: &str) -> Result<Target, String> {
    let (tls, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
        (Some(rest), _) => (false, rest),
        (_, Some(rest)) => (true, rest),
        _ => return Err("a URL begins with http:// or https://".to_owned()),
    };
    let authority = rest.strip_suffix('/').unwrap_or(rest);
    if authority.contains(['/', '?', '#', '@']) {
        return Err("only scheme, host and port stand here; paths come from the workload".to_owned());
    }
    let (host, port) = match authority.strip_prefix('[').map(|inside| inside.split_once(']')) {
        Some(Some((host, rest))) => (host, rest.strip_prefix(':')),
        Some(None) => return Err("the bracket of the address is not closed".to_owned()),
        None => authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port))),
    };
    if host.is_empty() {
        return Err("the host is missing".to_owned());
    }
    let default = if tls { 443 } else { 80 };
    let port = port.map_or(Ok(default), |port| port.parse().map_err(|_| format!("`{port}` is no port")))?;
    Ok(Target { tls, host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scheme_host_and_port_are_told_apart() {
        let target = |tls, host: &str, port| Ok(Target { tls, host: host.to_owned(), port });
        assert_eq!(parse("http://127.0.0.1:8080"), target(false, "127.0.0.1", 8080));
        assert_eq!(parse("https://example.org/"), target(true, "example.org", 443));
        assert_eq!(parse("http://[::1]:81/"), target(false, "::1", 81));
        assert_eq!(parse("http://[::1]"), target(false, "::1", 80));
        for wrong in [
            "ftp://x",
            "x:80",
            "http://",
            "http://x:y",
            "http://x:70000",
            "http://x/y",
            "http://[::1",
            "http://u@x",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
