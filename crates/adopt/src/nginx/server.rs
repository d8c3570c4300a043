//! Servers of a configuration: where they listen, for which names, and which of them a measurement asks.
//!
//! Measuring side, cold, pure.

use super::application;
use super::tree::{Statement, Tree, flat};
use crate::application::Application;
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::Entrance;
use crate::text::usable_host;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A `server` block.
#[derive(Debug)]
pub(super) struct ServerBlock {
    /// `FILE:LINE`.
    pub(super) place: String,
    pub(super) file: usize,
    /// Byte behind its `{`.
    pub(super) open: usize,
    pub(super) listens: Vec<Listen>,
    names: Vec<String>,
    /// It answers every request by itself: a redirection, mostly.
    answers_all: bool,
    application: Option<Application>,
    certificates: Vec<PathBuf>,
}

/// A `listen` line.
#[derive(Clone, Debug)]
pub(super) struct Listen {
    pub(super) file: usize,
    pub(super) span: Range<usize>,
    /// `None`: no TCP port, such as a socket of the file system or QUIC.
    pub(super) port: Option<u16>,
    pub(super) ssl: bool,
    pub(super) is_default: bool,
    /// What stands behind the address.
    pub(super) options: Vec<String>,
}

/// The port of a server without a `listen` line.
pub(super) const USUAL_PORT: u16 = 80;

impl Listen {
    fn of(statement: &Statement) -> Option<Self> {
        let options: Vec<String> =
            statement.arguments().iter().skip(1).map(|word| word.text.clone()).collect();
        let has = |word: &str| options.iter().any(|option| option == word);
        let port = port_of(statement.argument(0)?).filter(|_| !has("quic"));
        let (ssl, is_default) = (has("ssl"), has("default_server") || has("default"));
        Some(Self { file: statement.file, span: statement.span.clone(), port, ssl, is_default, options })
    }
}

/// Port of an address as `listen` takes it.
fn port_of(address: &str) -> Option<u16> {
    if address.starts_with("unix:") {
        return None;
    }
    let behind = match address.rsplit_once(']') {
        Some((_, behind)) => behind.strip_prefix(':'),
        None => address
            .rsplit_once(':')
            .map(|(_, port)| port)
            .or_else(|| address.parse::<u16>().ok().map(|_| address)),
    };
    behind.map_or(Some(USUAL_PORT), |port| port.parse().ok())
}

/// All servers of `http` blocks, in their order.
pub(super) fn servers(tree: &Tree) -> Vec<ServerBlock> {
    let https = flat(&tree.statements).filter(|one| one.name() == "http");
    https.flat_map(Statement::inner).filter(|one| one.name() == "server").map(|one| of(tree, one)).collect()
}

fn of(tree: &Tree, server: &Statement) -> ServerBlock {
    let named = |name: &'static str| server.inner().filter(move |one| one.name() == name);
    let names = named("server_name").flat_map(|one| one.arguments().iter().map(|word| word.text.clone()));
    let root = named("location").filter(|one| one.arguments().len() == 1 && one.argument(0) == Some("/"));
    let answers_all =
        named("return").next().is_some() || root.flat_map(Statement::inner).any(|one| one.name() == "return");
    ServerBlock {
        place: tree.place(server),
        file: server.file,
        open: server.span.end,
        listens: named("listen").filter_map(Listen::of).collect(),
        names: names.collect(),
        answers_all,
        application: application::of(tree, server),
        certificates: certificates(tree, server),
    }
}

/// Files of the server's certificates, else of all servers'. One that a variable names is known to nginx alone.
fn certificates(tree: &Tree, server: &Statement) -> Vec<PathBuf> {
    let home = tree.sources[0].path.parent().unwrap_or(Path::new("/"));
    let of = |block: &Statement| -> Vec<PathBuf> {
        let lines = block.inner().filter(|one| one.name() == "ssl_certificate");
        lines.filter_map(|one| one.argument(0)).map(|path| home.join(path)).collect()
    };
    let everywhere = || flat(&tree.statements).filter(|one| one.name() == "http").flat_map(of).collect();
    Some(of(server)).filter(|own| !own.is_empty()).unwrap_or_else(everywhere)
}

/// The server for `host`, or the first that does not answer all by itself, one with TLS before others.
///
/// `tls`: only where it speaks TLS, or only where it does not.
pub(super) fn entrance(
    tree: &Tree,
    servers: &[ServerBlock],
    tls: Option<bool>,
    host: Option<&str>,
) -> Result<Entrance, AdoptError> {
    let refused =
        |reason| AdoptError::Refused(vec![Refused { path: tree.sources[0].path.clone(), line: 1, reason }]);
    if servers.is_empty() {
        return Err(refused(Reason::NoServer));
    }
    let of_host = |server: &&ServerBlock| host.is_none_or(|host| server.is_for(host));
    let all = |server| {
        doors(server).filter(|door| tls.is_none_or(|tls| tls == door.ssl)).map(move |door| (server, door))
    };
    let mut found: Vec<(&ServerBlock, Listen)> = servers.iter().filter(of_host).flat_map(all).collect();
    if found.is_empty() {
        found = servers.iter().flat_map(all).collect();
    }
    let (server, door) = found
        .into_iter()
        .min_by_key(|(server, door)| (server.answers_all, !door.ssl, !door.is_default))
        .ok_or_else(|| refused(Reason::NoListen { tls: tls == Some(true) }))?;
    Ok(Entrance {
        port: door.port.unwrap_or(USUAL_PORT),
        tls: door.ssl,
        host: if host.is_some() { None } else { server.names.iter().find_map(|name| usable_host(name)) },
        place: server.place.clone(),
        certificates: server.certificates.clone(),
        application: server.application.clone(),
    })
}

/// Its listening ports; one that says none has the usual one.
fn doors(server: &ServerBlock) -> impl Iterator<Item = Listen> {
    let usual = Listen {
        file: server.file,
        span: 0..0,
        port: Some(USUAL_PORT),
        ssl: false,
        is_default: false,
        options: Vec::new(),
    };
    let usual = server.listens.is_empty().then_some(usual);
    server.listens.iter().filter(|listen| listen.port.is_some()).cloned().chain(usual)
}

impl ServerBlock {
    fn is_for(&self, host: &str) -> bool {
        self.names.iter().any(|name| {
            let tail = name.strip_prefix('*').or_else(|| name.strip_prefix('.').map(|_| name.as_str()));
            name == host
                || tail.is_some_and(|tail| host.ends_with(tail) || host == tail.trim_start_matches('.'))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_that_nginx_reads() {
        for (address, port) in [
            ("80", Some(80)),
            ("[::]:443", Some(443)),
            ("[::1]", Some(80)),
            ("10.0.0.1", Some(80)),
            ("*:8080", Some(8080)),
            ("localhost:81", Some(81)),
            ("unix:/run/x.sock", None),
        ] {
            assert_eq!(port_of(address), port, "{address}");
        }
    }
}
