//! Sites of a Caddyfile: their addresses, and which of them a measurement asks.
//!
//! Measuring side, cold, pure.

use super::application;
use super::tree::{Placed, Statement, Tree, with_arguments};
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::Entrance;
use std::path::{Path, PathBuf};

/// An address of a site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub(super) tls: bool,
    pub(super) port: u16,
    /// As it is written, imports' arguments in it; empty: any.
    pub(super) written_host: String,
    /// With the arguments.
    host: String,
    path: String,
}

impl Address {
    /// The address on another port.
    pub(super) fn at(&self, port: u16) -> String {
        let scheme = if self.tls { "https" } else { "http" };
        format!("{scheme}://{}:{port}{}", self.written_host, self.path)
    }
}

/// A site with its block.
#[derive(Debug)]
pub(super) struct Site<'t> {
    pub(super) placed: Placed<'t>,
    pub(super) addresses: Vec<Address>,
    /// A statement for TLS stands in it.
    pub(super) has_tls: bool,
    serves: bool,
}

/// Options that say what an address means.
#[derive(Clone, Copy, Debug)]
struct Usual {
    http: u16,
    https: u16,
    tls_by_name: bool,
}

/// Directives that answer with something of the site or of what is behind it.
const SERVING: [&str; 5] = ["file_server", "reverse_proxy", "php_fastcgi", "respond", "templates"];

/// Directives whose blocks hold directives.
pub(super) fn holds_directives(name: &str) -> bool {
    ["handle", "handle_path", "handle_errors", "handle_response", "route", "intercept"].contains(&name)
        || is_proxy(name)
}

/// Directives that ask a server behind.
pub(super) fn is_proxy(name: &str) -> bool {
    ["reverse_proxy", "php_fastcgi", "forward_auth"].contains(&name)
}

/// Whether the statements are those of a site; else they are global options or a named route.
pub(super) fn is_site(one: &Statement) -> bool {
    one.block.is_some() && !one.words.is_empty() && !one.name().starts_with("&(")
}

/// Words of addresses; a comma stands behind one, or between two.
fn written(one: &Statement) -> impl Iterator<Item = &str> {
    one.words.iter().flat_map(|word| word.text.split([',', ' '])).filter(|word| !word.is_empty())
}

/// Whether an address is one that bakeoff fills in.
pub(super) fn has_port_name(statements: &[Statement]) -> bool {
    statements.iter().filter(|one| is_site(one)).flat_map(written).any(|address| address.contains("{port}"))
}

/// All sites, in their order.
///
/// # Errors
/// An address whose port cannot be known.
pub(super) fn sites(tree: &Tree) -> Result<Vec<Site<'_>>, AdoptError> {
    let all = tree.statements();
    let usual = usual(tree, &all);
    let (mut sites, mut refused) = (Vec::new(), Vec::new());
    for placed in all.into_iter().filter(|placed| is_site(placed.one)) {
        match site(tree, placed, usual) {
            Ok(site) => sites.push(site),
            Err(one) => refused.push(one),
        }
    }
    if refused.is_empty() { Ok(sites) } else { Err(AdoptError::Refused(refused)) }
}

fn usual(tree: &Tree, all: &[Placed<'_>]) -> Usual {
    let mut usual = Usual { http: 80, https: 443, tls_by_name: true };
    let globals = all.iter().filter(|placed| placed.one.words.is_empty());
    for option in globals.flat_map(|placed| tree.flat(placed.one.inner(), &placed.arguments)) {
        let value = option.one.arguments().first().map(|word| word.text.as_str());
        let port = value.and_then(|value| value.parse().ok());
        match option.one.name() {
            "http_port" => usual.http = port.unwrap_or(usual.http),
            "https_port" => usual.https = port.unwrap_or(usual.https),
            "auto_https" => usual.tls_by_name = value != Some("off"),
            _ => {}
        }
    }
    usual
}

fn site<'t>(tree: &'t Tree, placed: Placed<'t>, usual: Usual) -> Result<Site<'t>, Refused> {
    let inner = tree.flat(placed.one.inner(), &placed.arguments);
    let has_tls = inner.iter().any(|placed| placed.one.name() == "tls");
    let read = |word: &str| {
        address(word, &placed.arguments, usual, has_tls).ok_or_else(|| {
            let reason = Reason::Address { address: word.to_owned() };
            tree.refused(placed.one.file, placed.one.span.start, reason)
        })
    };
    let addresses = written(placed.one).map(read).collect::<Result<_, _>>()?;
    let serves = serves(tree, &inner);
    Ok(Site { placed, addresses, has_tls, serves })
}

fn serves(tree: &Tree, inner: &[Placed<'_>]) -> bool {
    inner.iter().any(|placed| {
        let name = placed.one.name();
        SERVING.contains(&name)
            || holds_directives(name) && serves(tree, &tree.flat(placed.one.inner(), &placed.arguments))
    })
}

/// An address as Caddy reads it. None: its port is not known before Caddy runs.
fn address(word: &str, arguments: &[String], usual: Usual, has_tls: bool) -> Option<Address> {
    let (scheme, rest) = word.split_once("://").map_or((None, word), |(scheme, rest)| (Some(scheme), rest));
    let (place, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let colon = place.rfind(':').filter(|at| !place[*at..].contains(']'));
    let (host, port) = colon.map_or((place, None), |at| (&place[..at], Some(&place[at + 1..])));
    let port: Option<u16> = match port {
        None | Some("") => None,
        Some(port) => Some(with_arguments(port, arguments).parse().ok()?),
    };
    let real = with_arguments(host, arguments);
    let is_known = !real.contains('{') && (real == host || !real.contains(':'));
    if !is_known {
        return None;
    }
    let tls = match (scheme, port) {
        (Some("https"), _) => true,
        (Some("http"), _) => false,
        (Some(_), _) => return None,
        (None, Some(port)) if port == usual.http => false,
        (None, Some(port)) => port == usual.https || has_tls || usual.tls_by_name && !host.is_empty(),
        (None, None) => true,
    };
    let port = port.unwrap_or(if tls { usual.https } else { usual.http });
    // All hosts.
    let written_host = if host == "*" { "" } else { host };
    let host = if host == "*" { String::new() } else { real };
    Some(Address { tls, port, written_host: written_host.to_owned(), host, path: path.to_owned() })
}

/// The site for `host`, or the first that serves something, one with TLS before others.
///
/// `tls`: only where it speaks TLS, or only where it does not.
pub(super) fn entrance(
    tree: &Tree,
    sites: &[Site<'_>],
    tls: Option<bool>,
    host: Option<&str>,
) -> Result<Entrance, AdoptError> {
    let refused = |reason| AdoptError::Refused(vec![tree.refused(0, 0, reason)]);
    let doors = sites.iter().flat_map(|site| site.addresses.iter().map(move |address| (site, address)));
    let all: Vec<_> = doors.filter(|(_, address)| tls.is_none_or(|tls| tls == address.tls)).collect();
    if sites.is_empty() {
        return Err(refused(Reason::NoSite));
    }
    let misses = |address: &Address| match host {
        Some(host) if is_for(&address.host, host) => 0,
        Some(_) if address.host.is_empty() => 1,
        Some(_) => 2,
        None => 0,
    };
    let found = all.into_iter().min_by_key(|(site, address)| (misses(address), !site.serves, !address.tls));
    let (site, address) = found.ok_or_else(|| refused(Reason::NoListen { tls: tls == Some(true) }))?;
    Ok(Entrance {
        port: address.port,
        tls: address.tls,
        host: if host.is_some() { None } else { usable(&address.host) },
        place: tree.place(site.placed.one),
        certificates: certificates(tree, &site.placed),
        application: application::of(tree, &site.placed),
    })
}

/// Files of `tls CERTIFICATE KEY`; others Caddy gets by itself.
fn certificates(tree: &Tree, site: &Placed<'_>) -> Vec<PathBuf> {
    let home = tree.sources[0].path.parent().unwrap_or(Path::new("/"));
    let inner = tree.flat(site.one.inner(), &site.arguments);
    let files = inner.iter().filter(|placed| placed.one.name() == "tls" && placed.one.arguments().len() == 2);
    files
        .map(|placed| home.join(with_arguments(&placed.one.arguments()[0].text, &placed.arguments)))
        .collect()
}

fn is_for(name: &str, host: &str) -> bool {
    let behind_star = name.strip_prefix("*.").and_then(|rest| host.strip_suffix(rest));
    name.eq_ignore_ascii_case(host)
        || behind_star.and_then(|label| label.strip_suffix('.')).is_some_and(|label| !label.contains('.'))
}

/// A `Host` that the name stands for.
fn usable(name: &str) -> Option<String> {
    (!name.is_empty()).then(|| name.replace('*', "www"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_that_caddy_reads() {
        let usual = Usual { http: 80, https: 443, tls_by_name: true };
        for (word, private) in [
            ("example.com", "https://example.com:443"),
            ("http://example.com", "http://example.com:80"),
            ("example.com:80", "http://example.com:80"),
            ("example.com:8443", "https://example.com:8443"),
            (":80", "http://:80"),
            (":443", "https://:443"),
            (":8080", "http://:8080"),
            ("localhost", "https://localhost:443"),
            ("*.example.com", "https://*.example.com:443"),
            ("http://*", "http://:80"),
            ("http://", "http://:80"),
            ("[::1]:8080", "https://[::1]:8080"),
            ("{args[0]}.example.com/x", "https://{args[0]}.example.com:443/x"),
        ] {
            let address = address(word, &["a".into()], usual, false).unwrap();
            assert_eq!(address.at(address.port), private, "{word}");
        }
        for word in ["{$SITE}", ":{$PORT}", "a:b", "ftp://a", "{args[1]}"] {
            assert_eq!(address(word, &["a".into()], usual, false), None, "{word}");
        }
        assert!(address(":8080", &[], usual, true).unwrap().tls, "a tls line decides");
        let off = Usual { http: 8080, https: 8443, tls_by_name: false };
        assert!(!address("a.com:81", &[], off, false).unwrap().tls);
        assert_eq!(address("http://a.com", &[], off, false).unwrap().port, 8080);
    }

    #[test]
    fn a_star_stands_for_one_label() {
        assert!(is_for("*.example.com", "a.example.com") && !is_for("*.example.com", "a.b.example.com"));
        assert!(!is_for("*.example.com", "example.com") && is_for("Example.com", "example.com"));
        assert_eq!(usable("*.example.com").as_deref(), Some("www.example.com"));
    }
}
