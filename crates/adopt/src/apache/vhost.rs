//! Virtual hosts of a configuration: where they listen, for which names, and which of them a measurement asks.
//!
//! Measuring side, cold, pure.

use super::application;
use super::tree::{Statement, Tree, each, flat};
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::Entrance;
use crate::text::usable_host;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The port of TLS: Apache speaks it there where nothing else is said.
pub(super) const TLS_PORT: u16 = 443;

/// A `VirtualHost` section, or the main server.
#[derive(Debug)]
pub(super) struct VirtualHost {
    /// `FILE:LINE`.
    place: String,
    /// The listened ones of its ports.
    ports: Vec<u16>,
    tls: bool,
    names: Vec<String>,
    /// It redirects every request.
    redirects: bool,
    /// It stands in a condition that does not hold.
    is_idle: bool,
    /// As they are written.
    certificates: Vec<String>,
}

/// Port of an address as `Listen` and `VirtualHost` take it.
pub(super) fn port_of(address: &str) -> Option<u16> {
    let behind = match address.rsplit_once(']') {
        Some((_, behind)) => behind.strip_prefix(':')?,
        None => address.rsplit_once(':').map_or(address, |(_, port)| port),
    };
    behind.parse().ok()
}

/// All virtual hosts in their order, then the main server where it is asked.
pub(super) fn hosts(tree: &Tree) -> Vec<VirtualHost> {
    let listened: BTreeSet<u16> = listens(tree).filter_map(|one| one.argument(0).and_then(port_of)).collect();
    let main_tls = tls_of(flat(&tree.statements));
    let loaded = loaded(tree);
    let mut all = Vec::new();
    each(&tree.statements, &mut Vec::new(), &mut |one, around| {
        if one.key == "virtualhost" {
            let is_idle = around
                .iter()
                .any(|section| is_unmet(section, &loaded) || section.is_undefined(&tree.variables));
            let host = VirtualHost {
                place: tree.place(one),
                ports: ports_of(one, &listened),
                tls: tls_of(one.inner()).or(main_tls).unwrap_or(false),
                names: names_of(one.inner()),
                redirects: redirects_all(one.inner()),
                is_idle,
                certificates: certificates_of(one.inner()),
            };
            all.push(host);
        }
    });
    let covered: BTreeSet<u16> = all.iter().flat_map(|host| host.ports.iter().copied()).collect();
    let rest: Vec<u16> = listened.difference(&covered).copied().collect();
    if let Some(first) = listens(tree).next().filter(|_| !rest.is_empty()) {
        all.push(VirtualHost {
            place: tree.place(first),
            ports: rest,
            tls: main_tls == Some(true),
            names: names_of(flat(&tree.statements)),
            redirects: redirects_all(flat(&tree.statements)),
            is_idle: false,
            certificates: Vec::new(),
        });
    }
    all
}

/// All `Listen` lines.
pub(super) fn listens(tree: &Tree) -> impl Iterator<Item = &Statement> {
    flat(&tree.statements).filter(|one| one.key == "listen")
}

/// The host for this name, or the first that does not only redirect, one with TLS before others.
///
/// `tls`: only where it speaks TLS, or only where it does not.
pub(super) fn entrance(
    tree: &Tree,
    hosts: &[VirtualHost],
    tls: Option<bool>,
    name: Option<&str>,
) -> Result<Entrance, AdoptError> {
    let refused =
        |reason| AdoptError::Refused(vec![Refused { path: tree.sources[0].path.clone(), line: 1, reason }]);
    if hosts.iter().all(|host| host.ports.is_empty()) {
        return Err(refused(Reason::NoServer));
    }
    let fits = |host: &&VirtualHost| !host.ports.is_empty() && tls.is_none_or(|tls| tls == host.tls);
    let fitting = || hosts.iter().filter(fits);
    let named = fitting().filter(|host| name.is_some_and(|name| host.is_for(name)));
    let best = |host: &&VirtualHost| (host.is_idle, host.redirects, !host.tls);
    let host = named
        .min_by_key(best)
        .or_else(|| fitting().min_by_key(best))
        .ok_or_else(|| refused(Reason::NoListen { tls: tls == Some(true) }))?;
    let usual = host.ports.iter().find(|port| host.tls == (**port == TLS_PORT));
    Ok(Entrance {
        port: usual.or(host.ports.first()).copied().unwrap_or_default(),
        tls: host.tls,
        host: if name.is_some() { None } else { host.names.iter().find_map(|name| usable_host(name)) },
        place: host.place.clone(),
        certificates: certificates(tree, host),
        application: application::of(tree, &host.place),
    })
}

/// Files of the host's certificates, else of the main server's.
fn certificates(tree: &Tree, host: &VirtualHost) -> Vec<PathBuf> {
    let own = Some(host.certificates.clone()).filter(|own| !own.is_empty());
    let all = own.unwrap_or_else(|| certificates_of(flat(&tree.statements)));
    all.into_iter().map(|path| tree.homes.find(&path).unwrap_or_else(|| PathBuf::from(path))).collect()
}

fn certificates_of<'t>(statements: impl Iterator<Item = &'t Statement>) -> Vec<String> {
    let lines = statements.filter(|one| one.key == "sslcertificatefile");
    lines.filter_map(|one| one.argument(0).map(str::to_owned)).collect()
}

impl VirtualHost {
    fn is_for(&self, host: &str) -> bool {
        self.names.iter().any(|name| {
            name.eq_ignore_ascii_case(host)
                || glob::Pattern::new(name).is_ok_and(|pattern| pattern.matches(host))
        })
    }
}

/// Listened ports of a section's addresses; one without a port is there for all.
fn ports_of(section: &Statement, listened: &BTreeSet<u16>) -> Vec<u16> {
    let mut all = Vec::new();
    for word in &section.words {
        let found: Vec<u16> = match port_of(&word.text) {
            Some(port) => listened.get(&port).copied().into_iter().collect(),
            None => listened.iter().copied().collect(),
        };
        for port in found {
            if !all.contains(&port) {
                all.push(port);
            }
        }
    }
    all
}

fn tls_of<'t>(statements: impl Iterator<Item = &'t Statement>) -> Option<bool> {
    let engine = statements.filter(|one| one.key == "sslengine").last()?;
    Some(engine.argument(0)?.eq_ignore_ascii_case("on"))
}

/// `ServerName` first, without its scheme and port.
fn names_of<'t>(statements: impl Iterator<Item = &'t Statement>) -> Vec<String> {
    let (mut names, mut aliases) = (Vec::new(), Vec::new());
    for one in statements {
        let all = || one.words.iter().map(|word| word.text.clone());
        match one.key.as_str() {
            "servername" => names.extend(all().map(|name| {
                let name = name.rsplit_once("//").map_or(name.as_str(), |(_, name)| name).to_owned();
                name.split(':').next().unwrap_or_default().to_owned()
            })),
            "serveralias" => aliases.extend(all()),
            _ => {}
        }
    }
    names.extend(aliases);
    names
}

/// Whether every request is redirected to another server. A rule for some names of `Host` alone leaves the others.
fn redirects_all<'t>(statements: impl Iterator<Item = &'t Statement>) -> bool {
    let mut is_for_some = false;
    for one in statements {
        let words: Vec<&str> = one.words.iter().map(|word| word.text.as_str()).collect();
        let is_all = words.windows(2).any(|pair| is_everything(pair[0]) && pair[1].contains("://"));
        match one.key.as_str() {
            "redirect" | "redirectpermanent" | "redirecttemp" | "redirectmatch" if is_all => return true,
            "rewritecond" => is_for_some |= one.argument(0).is_some_and(|what| what.contains("HTTP_HOST")),
            "rewriterule" => {
                if is_all && !is_for_some && one.argument(2).is_some_and(is_redirection) {
                    return true;
                }
                is_for_some = false;
            }
            _ => {}
        }
    }
    false
}

/// Whether a pattern or a path is that of every request.
fn is_everything(pattern: &str) -> bool {
    let behind = pattern.trim_start_matches('^').trim_start_matches("/?").trim_start_matches('/');
    ["", "(.*)", "(.*)$", ".*", ".*$"].contains(&behind)
}

fn is_redirection(flags: &str) -> bool {
    let mut flags = flags.trim_matches(['[', ']']).split(',').map(|flag| flag.trim().to_ascii_lowercase());
    flags.any(|flag| flag == "r" || flag.starts_with("r=") || flag.starts_with("redirect"))
}

/// Names of the modules that are loaded, as conditions write them. `None`: all are built in.
fn loaded(tree: &Tree) -> Option<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    each(&tree.statements, &mut Vec::new(), &mut |one, _| {
        if one.key == "loadmodule" {
            all.extend(one.argument(0).map(str::to_owned));
            let file = one.argument(1).and_then(|path| path.rsplit('/').next());
            all.extend(file.and_then(|file| file.strip_suffix(".so")).map(|stem| format!("{stem}.c")));
        }
    });
    (!all.is_empty()).then_some(all)
}

/// Whether this is a condition for a module that is not loaded.
fn is_unmet(section: &Statement, loaded: &Option<BTreeSet<String>>) -> bool {
    let (Some(loaded), Some(name)) = (loaded, section.argument(0)) else { return false };
    let is_there = |name: &str| loaded.contains(name);
    section.key == "ifmodule"
        && match name.strip_prefix('!') {
            Some(name) => is_there(name),
            None => !is_there(name),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_every_request() {
        for all in ["/", "^", "^/", "^(.*)$", "^/?(.*)", "(.*)", "^/(.*)$", ".*"] {
            assert!(is_everything(all), "{all}");
        }
        for some in ["^/$", "^$", "^/a", "/old", "^/?$", "!^/x"] {
            assert!(!is_everything(some), "{some}");
        }
    }

    #[test]
    fn ports_are_those_that_apache_reads() {
        for (address, port) in [
            ("80", Some(80)),
            ("*:443", Some(443)),
            ("_default_:443", Some(443)),
            ("[::]:443", Some(443)),
            ("[::1]", None),
            ("10.0.0.1", None),
            ("*", None),
            ("*:*", None),
            ("${PORT}", None),
        ] {
            assert_eq!(port_of(address), port, "{address}");
        }
    }
}
