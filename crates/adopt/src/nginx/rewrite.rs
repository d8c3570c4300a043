//! Changes in the copy of a configuration: nothing that it writes, asks or listens on stays outside.
//!
//! Measuring side, cold, pure. One match over directives; what is not named here stays as it is. A change keeps the
//! number of lines.

use super::server::{Listen, ServerBlock, USUAL_PORT};
use super::tree::{Statement, Tree, flat, included};
use crate::copies::Change;
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::{Setting, StandIns};
use crate::text::{edited, one_line, quoted};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Protocol behind the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spoken {
    Http,
    Https,
    FastCgi,
    /// One without a stand-in.
    Other,
}

pub(super) struct Rewriter<'a> {
    tree: &'a Tree,
    setting: &'a Setting<'a>,
    home: PathBuf,
    /// Names of `upstream` blocks, and what is spoken with each.
    upstreams: BTreeMap<String, Spoken>,
    /// Private port of each original one.
    ports: BTreeMap<u16, u16>,
    /// Bytes of a file, and what stands there.
    edits: BTreeMap<(usize, usize), (Range<usize>, String)>,
    pub(super) changes: Vec<Change>,
    pub(super) used: StandIns<bool>,
    /// Addresses for which a stand-in answers, and their places.
    pub(super) played: Vec<(String, String)>,
    logs: Vec<String>,
    /// Directories of caches.
    pub(super) caches: Vec<PathBuf>,
    refused: Vec<Refused>,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(tree: &'a Tree, setting: &'a Setting<'a>) -> Self {
        let home = tree.sources[0].path.parent().unwrap_or(Path::new("/")).to_owned();
        let mut upstreams = BTreeMap::new();
        spoken_with(&tree.statements, &mut upstreams);
        Self {
            tree,
            setting,
            home,
            upstreams,
            ports: BTreeMap::from([(setting.entrance, setting.port)]),
            edits: BTreeMap::new(),
            changes: Vec::new(),
            used: StandIns::default(),
            played: Vec::new(),
            logs: Vec::new(),
            caches: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// All changes; every statement that stands against it at once.
    pub(super) fn run(&mut self, servers: &[ServerBlock]) -> Result<(), AdoptError> {
        self.listens(servers);
        let tree = self.tree;
        self.block(&tree.statements, &[]);
        match std::mem::take(&mut self.refused) {
            refused if refused.is_empty() => Ok(()),
            refused => Err(AdoptError::Refused(refused)),
        }
    }

    /// The text of a file's copy.
    pub(super) fn text(&self, file: usize) -> String {
        let edits = self.edits.range((file, 0)..(file + 1, 0)).map(|(_, edit)| edit);
        edited(&self.tree.sources[file].text, edits)
    }

    fn block(&mut self, statements: &'a [Statement], around: &[&str]) {
        for one in statements {
            self.statement(one, around);
        }
    }

    fn statement(&mut self, one: &'a Statement, around: &[&str]) {
        let name = one.name();
        if let Some((inner, close)) = &one.block {
            if around.is_empty() && ["stream", "mail", "rtmp"].contains(&name) || name == "otel_exporter" {
                let span = one.span.start..close + 1;
                return self.replace_span(one, span, String::new(), format!("{name} {{ ... }}"));
            }
            if around.is_empty() && name == "http" {
                let at = one.span.end;
                let mut lines = format!(" {}", self.setting.lines.trim());
                if !one.inner().any(|one| one.name() == "access_log") {
                    // The program's own is outside.
                    let log = self.setting.dir.join("access.log");
                    lines += &format!(" access_log {};", quoted(&log));
                }
                self.edits.insert((one.file, at), (at..at, lines));
            }
            // Lists of words, not of directives.
            if ["types", "map", "geo", "split_clients", "charset_map"].contains(&name) {
                return self.words_of_files(inner);
            }
            let around: Vec<&str> = around.iter().copied().chain([name]).collect();
            return self.block(inner, &around);
        }
        match name {
            "include" => self.include(one, around),
            "server" if around.last() == Some(&"upstream") => self.upstream_server(one, around),
            _ if name.ends_with("_pass") => self.pass(one),
            _ if is_dropped(name) => self.replace(one, String::new()),
            "load_module" => self.path_from(one, self.setting.prefix),
            "error_log" => {
                let level = one.arguments().iter().skip(1).map(|word| word.text.as_str());
                let file = quoted(&self.setting.dir.join("error.log"));
                self.replace(one, line(["error_log", &file].into_iter().chain(level)));
            }
            "access_log" => self.access_log(one),
            "root" | "alias" => {
                if let Some(site) = self.setting.site {
                    self.replace(one, format!("root {};", quoted(site)));
                }
            }
            // Its directories have this page.
            "index"
                if self.setting.site.is_some() && !one.arguments().iter().any(|word| word.text == PAGE) =>
            {
                let names = one.arguments().iter().map(|word| word.text.as_str());
                self.replace(one, line(["index"].into_iter().chain(names).chain([PAGE])));
            }
            "ssl_certificate" => self.replace(one, format!("{name} {};", quoted(self.setting.certificate.0))),
            "ssl_certificate_key" => {
                self.replace(one, format!("{name} {};", quoted(self.setting.certificate.1)));
            }
            "ssl_dhparam" | "ssl_trusted_certificate" | "ssl_client_certificate" | "ssl_crl" => {
                let there = one.argument(0).is_some_and(|path| self.home.join(path).is_file());
                if !there {
                    self.replace(one, String::new());
                }
            }
            _ if name.ends_with("_cache_path") => self.cache_path(one),
            "proxy_store" | "fastcgi_store" | "uwsgi_store" | "scgi_store"
                if one.argument(0) != Some("off") =>
            {
                self.refuse(one, Reason::Writes { directive: name.to_owned() });
            }
            _ if asks_others(name) => self.refuse(one, Reason::Leaves { directive: name.to_owned() }),
            _ => {}
        }
    }

    /// Includes in a list of words.
    fn words_of_files(&mut self, inner: &'a [Statement]) {
        inner.iter().filter(|one| one.name() == "include").for_each(|one| {
            self.point_at_copy(one);
            self.words_of_files(&one.included);
        });
    }

    fn include(&mut self, one: &'a Statement, around: &[&str]) {
        self.point_at_copy(one);
        self.block(&one.included, around);
    }

    fn point_at_copy(&mut self, one: &Statement) {
        let Some((pattern, _)) = one.argument(0).and_then(|pattern| included(&self.home, pattern)) else {
            return;
        };
        let copy = self.setting.copy_of(&pattern);
        // Not a change that anybody wants to read of.
        self.edits
            .insert((one.file, one.span.start), (one.span.clone(), format!("include {};", quoted(&copy))));
    }

    /// A relative path, from where nginx itself begins it.
    fn path_from(&mut self, one: &Statement, base: &Path) {
        let Some(path) = one.argument(0).filter(|path| !path.starts_with('/')) else { return };
        let now = format!("{} {};", one.name(), quoted(&base.join(path)));
        self.edits.insert((one.file, one.span.start), (one.span.clone(), now));
    }

    fn access_log(&mut self, one: &Statement) {
        let Some(path) = one.argument(0).filter(|path| *path != "off") else { return };
        let at = self.logs.iter().position(|known| known == path).unwrap_or_else(|| {
            self.logs.push(path.to_owned());
            self.logs.len() - 1
        });
        let name = if at == 0 { "access.log".to_owned() } else { format!("access-{}.log", at + 1) };
        let file = quoted(&self.setting.dir.join(name));
        let rest = one.arguments().iter().skip(1).map(|word| word.text.as_str());
        self.replace(one, line(["access_log", &file].into_iter().chain(rest)));
    }

    fn cache_path(&mut self, one: &Statement) {
        let dir = self.setting.dir.join(format!("cache-{}", self.caches.len() + 1));
        let rest = one.arguments().iter().skip(1).map(|word| word.text.as_str());
        self.replace(one, line([one.name(), &quoted(&dir)].into_iter().chain(rest)));
        self.caches.push(dir);
    }

    /// Ports of all servers, each once in a server.
    fn listens(&mut self, servers: &[ServerBlock]) {
        let mut defaults = BTreeSet::new();
        let mut tuned = BTreeSet::new();
        for server in servers {
            let mut own = BTreeSet::new();
            for listen in &server.listens {
                let now = match listen.port {
                    Some(port) if own.insert(port) => {
                        self.listen_line(server, listen, port, (&mut defaults, &mut tuned))
                    }
                    _ => String::new(),
                };
                self.change_listen(listen, now);
            }
            if own.is_empty() {
                // nginx would take the usual port of the machine.
                let port = self.private_port(server, USUAL_PORT);
                let at = server.open;
                let line = format!(" listen {}:{port};", self.setting.address);
                self.edits.insert((server.file, at), (at..at, line));
            }
        }
    }

    fn listen_line(
        &mut self,
        server: &ServerBlock,
        listen: &Listen,
        port: u16,
        (defaults, tuned): (&mut BTreeSet<u16>, &mut BTreeSet<u16>),
    ) -> String {
        let private = self.private_port(server, port);
        let mut words = vec!["listen".to_owned(), format!("{}:{private}", self.setting.address)];
        // Options of the socket stand on one of its lines.
        let is_tuning =
            |option: &str| option.contains('=') || ["reuseport", "deferred", "bind"].contains(&option);
        let tunes = listen.options.iter().any(|option| is_tuning(option)) && tuned.insert(port);
        for option in &listen.options {
            let kept = match option.as_str() {
                "default_server" | "default" => defaults.insert(port),
                "proxy_protocol" => false,
                option if option.starts_with("ipv6only=") || option.starts_with("setfib=") => false,
                option if is_tuning(option) => tunes,
                _ => true,
            };
            if kept {
                words.push(option.clone());
            }
        }
        words.join(" ") + ";"
    }

    fn private_port(&mut self, server: &ServerBlock, port: u16) -> u16 {
        if let Some(private) = self.ports.get(&port) {
            return *private;
        }
        let Some(private) = self.setting.further.get(self.ports.len() - 1).copied() else {
            let (path, line) = self.place_of(server.file, server.open);
            self.refused.push(Refused { path, line, reason: Reason::Ports });
            return self.setting.port;
        };
        self.ports.insert(port, private);
        private
    }

    fn change_listen(&mut self, listen: &Listen, now: String) {
        let source = &self.tree.sources[listen.file];
        let was = one_line(&source.text[listen.span.clone()]);
        let place = format!("{}:{}", source.path.display(), source.line(listen.span.start));
        self.changes.push(Change { place, was, now: now.clone() });
        self.edits.insert((listen.file, listen.span.start), (listen.span.clone(), now));
    }

    /// `proxy_pass`, `fastcgi_pass` and their kind.
    fn pass(&mut self, one: &Statement) {
        let Some(target) = one.argument(0).map(str::to_owned) else { return };
        let spoken = spoken_by(one.name(), &target);
        let (scheme, address, uri) = taken_apart(&target, spoken);
        if self.upstreams.contains_key(address) || self.setting.allows(address, spoken == Spoken::Https) {
            return;
        }
        match self.stand_in(spoken) {
            Some(stand_in) => {
                self.played.push((address.to_owned(), self.tree.place(one)));
                self.replace(one, format!("{} {scheme}{stand_in}{uri};", one.name()));
            }
            None => self.refuse(one, Reason::Upstream { directive: one.name().to_owned(), address: target }),
        }
    }

    /// A server of an `upstream` block.
    fn upstream_server(&mut self, one: &Statement, around: &[&str]) {
        let Some(address) = one.argument(0).map(str::to_owned) else { return };
        let of = flat_upstream_of(self.tree, one).and_then(|name| self.upstreams.get(&name).copied());
        let spoken = of.unwrap_or(Spoken::Http);
        debug_assert!(around.contains(&"upstream"));
        if self.setting.allows(&address, spoken == Spoken::Https) {
            return;
        }
        let Some(stand_in) = self.stand_in(spoken) else {
            return self.refuse(one, Reason::Upstream { directive: "server".to_owned(), address });
        };
        self.played.push((address, self.tree.place(one)));
        let rest = one.arguments().iter().skip(1).map(|word| word.text.as_str());
        let rest = rest.filter(|option| *option != "resolve" && !option.starts_with("service="));
        let stand_in = stand_in.to_string();
        self.replace(one, line(["server", &stand_in].into_iter().chain(rest)));
    }

    fn stand_in(&mut self, spoken: Spoken) -> Option<SocketAddr> {
        let of = &self.setting.stand_ins;
        let (used, at) = match spoken {
            Spoken::Http => (&mut self.used.http, of.http),
            Spoken::Https => (&mut self.used.https, of.https),
            Spoken::FastCgi => (&mut self.used.fastcgi, of.fastcgi),
            Spoken::Other => return None,
        };
        *used = true;
        Some(at)
    }

    fn replace(&mut self, one: &Statement, now: String) {
        let was = one_line(&self.tree.sources[one.file].text[one.span.clone()]);
        self.replace_span(one, one.span.clone(), now, was);
    }

    fn replace_span(&mut self, one: &Statement, span: Range<usize>, now: String, was: String) {
        let change = Change { place: self.tree.place(one), was, now: now.clone() };
        if self.edits.insert((one.file, span.start), (span, now)).is_none() {
            self.changes.push(change);
        }
    }

    fn refuse(&mut self, one: &Statement, reason: Reason) {
        let (path, line) = self.place_of(one.file, one.span.start);
        let refused = Refused { path, line, reason };
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }

    fn place_of(&self, file: usize, at: usize) -> (PathBuf, usize) {
        let source = &self.tree.sources[file];
        (source.path.clone(), source.line(at))
    }
}

/// The page of a directory of the site that is put in place of the user's.
const PAGE: &str = "index.html";

/// Directives whose effect is on the machine, or that ask others for what a measurement does not need.
fn is_dropped(name: &str) -> bool {
    const DROPPED: [&str; 21] = [
        "user",
        "pid",
        "daemon",
        "master_process",
        "lock_file",
        "working_directory",
        "worker_cpu_affinity",
        "worker_priority",
        "google_perftools_profiles",
        "resolver",
        "resolver_timeout",
        "ssl_stapling",
        "ssl_stapling_verify",
        "ssl_stapling_responder",
        "ssl_stapling_file",
        "ssl_ocsp",
        "ssl_ocsp_responder",
        "ssl_password_file",
        "proxy_ssl_verify",
        "proxy_bind",
        "state",
    ];
    DROPPED.contains(&name)
        || name.ends_with("_temp_path")
        || name.starts_with("proxy_ssl_certificate")
        || name == "proxy_ssl_trusted_certificate"
}

/// Directives of modules that ask another machine by themselves.
fn asks_others(name: &str) -> bool {
    ["modsecurity_rules_remote", "auth_jwt_key_request"].contains(&name)
        || ["opentracing_", "otel_", "zipkin_", "datadog_", "opentelemetry_"]
            .iter()
            .any(|one| name.starts_with(one))
}

/// What is spoken with each `upstream` block: as those say that pass to it; HTTP if nobody does.
fn spoken_with(statements: &[Statement], all: &mut BTreeMap<String, Spoken>) {
    let mut named = BTreeSet::new();
    each(statements, &mut |one| {
        if one.name() == "upstream" && one.block.is_some() {
            named.extend(one.argument(0).map(str::to_owned));
        }
    });
    each(statements, &mut |one| {
        let Some(target) = one.argument(0).filter(|_| one.name().ends_with("_pass")) else { return };
        let spoken = spoken_by(one.name(), target);
        let (_, address, _) = taken_apart(target, spoken);
        if named.contains(address) {
            all.insert(address.to_owned(), spoken);
        }
    });
    named.into_iter().for_each(|name| {
        all.entry(name).or_insert(Spoken::Http);
    });
}

/// Every statement, at any depth.
fn each(statements: &[Statement], visit: &mut impl FnMut(&Statement)) {
    for one in flat(statements) {
        visit(one);
        if let Some((inner, _)) = &one.block {
            each(inner, visit);
        }
    }
}

/// Name of the `upstream` block in which a server stands.
fn flat_upstream_of(tree: &Tree, server: &Statement) -> Option<String> {
    let mut found = None;
    each(&tree.statements, &mut |one| {
        let is_in = |inner: &Statement| inner.file == server.file && inner.span == server.span;
        if one.name() == "upstream" && one.inner().any(is_in) {
            found = one.argument(0).map(str::to_owned);
        }
    });
    found
}

fn spoken_by(directive: &str, target: &str) -> Spoken {
    match directive {
        "proxy_pass" if target.starts_with("https://") => Spoken::Https,
        "proxy_pass" => Spoken::Http,
        "fastcgi_pass" => Spoken::FastCgi,
        _ => Spoken::Other,
    }
}

/// Scheme, address and path of a target. A variable alone is an address over HTTP.
fn taken_apart(target: &str, spoken: Spoken) -> (&'static str, &str, &str) {
    let scheme = match spoken {
        Spoken::Https => "https://",
        Spoken::Http => "http://",
        Spoken::FastCgi | Spoken::Other => "",
    };
    let rest = target.strip_prefix("grpc://").unwrap_or(target);
    let rest = rest.strip_prefix(scheme).unwrap_or(rest);
    if scheme.is_empty() {
        return (scheme, rest, "");
    }
    let end = match rest.strip_prefix("unix:") {
        // The path of the socket ends at a colon.
        Some(path) => path.find(':').map_or(rest.len(), |at| "unix:".len() + at),
        None => {
            // `http://$host$request_uri`: the second variable begins the path.
            let second = rest.get(1..).and_then(|rest| rest.find('$')).map(|at| at + 1);
            let is_path =
                |at: &usize| rest[*at..].starts_with("$request_uri") || rest[*at..].starts_with("$uri");
            let slash = rest.find('/');
            slash.into_iter().chain(second.filter(is_path)).min().unwrap_or(rest.len())
        }
    };
    let uri = rest[end..].strip_prefix(':').unwrap_or(&rest[end..]);
    (scheme, &rest[..end], uri)
}

/// A directive of these words.
fn line<'w>(words: impl IntoIterator<Item = &'w str>) -> String {
    words.into_iter().map(in_quotes_if_needed).collect::<Vec<_>>().join(" ") + ";"
}

/// A word that needs quotes gets them; one that has them stays.
fn in_quotes_if_needed(word: &str) -> String {
    let is_quoted = word.len() > 1 && word.starts_with('"') && word.ends_with('"');
    let plain =
        !word.is_empty() && !word.contains(|c: char| c.is_ascii_whitespace() || ";{}\"'\\".contains(c));
    if is_quoted || plain { word.to_owned() } else { quoted(Path::new(word)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_taken_apart_as_nginx_reads_them() {
        for (target, address, uri) in [
            ("http://app", "app", ""),
            ("http://app/", "app", "/"),
            ("http://127.0.0.1:3000/api/", "127.0.0.1:3000", "/api/"),
            ("http://unix:/run/a.sock:/x/", "unix:/run/a.sock", "/x/"),
            ("http://unix:/run/a.sock", "unix:/run/a.sock", ""),
            ("http://$backend", "$backend", ""),
            ("http://$backend$request_uri", "$backend", "$request_uri"),
            ("http://127.0.0.1:$port", "127.0.0.1:$port", ""),
            ("$backend", "$backend", ""),
        ] {
            assert_eq!(taken_apart(target, Spoken::Http), ("http://", address, uri), "{target}");
        }
        assert_eq!(taken_apart("https://b:8443/x", Spoken::Https), ("https://", "b:8443", "/x"));
        assert_eq!(taken_apart("unix:/run/php.sock", Spoken::FastCgi), ("", "unix:/run/php.sock", ""));
    }
}
