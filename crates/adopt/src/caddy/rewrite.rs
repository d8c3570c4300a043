//! Changes in the copy of a Caddyfile: nothing that it writes, asks or listens on stays outside.
//!
//! Measuring side, cold, pure. One match over directives; what is not named here stays as it is. A change keeps the
//! number of lines.

use super::site::{Site, holds_directives, is_proxy, is_site};
use super::tree::{Placed, Statement, Tree};
use super::upstream::{Asked, Spoken};
use crate::copies::{Change, CopiedFile};
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::{Setting, StandIns};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(super) struct Rewriter<'a> {
    pub(super) tree: &'a Tree,
    pub(super) setting: &'a Setting<'a>,
    /// Private port of each original one.
    ports: BTreeMap<u16, u16>,
    /// Bytes of a file, and what stands there.
    edits: BTreeMap<(usize, usize), (Range<usize>, String)>,
    pub(super) changes: Vec<Change>,
    pub(super) used: StandIns<bool>,
    /// Addresses for which a stand-in answers, and their places.
    pub(super) played: Vec<(String, String)>,
    /// Files that the copies import besides.
    pub(super) private: Vec<CopiedFile>,
    logs: Vec<String>,
    has_options: bool,
    refused: Vec<Refused>,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(tree: &'a Tree, setting: &'a Setting<'a>) -> Self {
        Self {
            tree,
            setting,
            ports: BTreeMap::from([(setting.entrance, setting.port)]),
            edits: BTreeMap::new(),
            changes: Vec::new(),
            used: StandIns::default(),
            played: Vec::new(),
            private: Vec::new(),
            logs: Vec::new(),
            has_options: false,
            refused: Vec::new(),
        }
    }

    /// All changes; every statement that stands against it at once.
    pub(super) fn run(&mut self, sites: &[Site<'a>]) -> Result<(), AdoptError> {
        for (place, import) in &self.tree.imports {
            let copy = quoted(&self.setting.copy_of(&import.pattern));
            // Not a change that anybody wants to read of.
            self.edits.insert((place.0, import.span.start), (import.span.clone(), copy));
        }
        sites.iter().for_each(|site| self.site(site));
        let others: Vec<_> =
            self.tree.statements().into_iter().filter(|placed| !is_site(placed.one)).collect();
        let mut keeps_grace = false;
        for placed in others {
            if placed.one.words.is_empty() {
                keeps_grace |= self.options(&placed);
            } else {
                self.block(&placed, true);
            }
        }
        let grace = if keeps_grace { "" } else { "grace_period 1s\n" };
        self.private_file("options", format!("admin off\nauto_https off\n{grace}{}\n", self.setting.lines));
        match std::mem::take(&mut self.refused) {
            refused if refused.is_empty() => Ok(()),
            refused => Err(AdoptError::Refused(refused)),
        }
    }

    /// The text of a file's copy.
    pub(super) fn text(&self, file: usize) -> String {
        self.text_of(file, 0..self.tree.sources[file].text.len())
    }

    /// The text of a part of it.
    pub(super) fn text_of(&self, file: usize, part: Range<usize>) -> String {
        let source = &self.tree.sources[file].text;
        let (mut text, mut from) = (String::with_capacity(part.len() + 256), part.start);
        let edits = self.edits.range((file, part.start)..=(file, part.end)).map(|(_, edit)| edit);
        // An edit within one that stands already is in that.
        for (span, now) in edits.filter(|(span, _)| span.end <= part.end) {
            if span.start < from {
                continue;
            }
            text += &source[from..span.start];
            text += now;
            let lines = |text: &str| text.matches('\n').count();
            text += &"\n".repeat(lines(&source[span.clone()]).saturating_sub(lines(now)));
            from = span.end;
        }
        text + &source[from..part.end]
    }

    /// The file to start with if the configuration has no options: they must stand before its first line.
    pub(super) fn start(&self) -> Option<CopiedFile> {
        if self.has_options {
            return None;
        }
        let main = &self.tree.sources.first()?.path;
        let original = main.with_file_name(".start.caddyfile");
        let (options, copy) = (self.private_path("options"), self.setting.copy_of(main));
        let text = format!("{{\n\timport {}\n}}\nimport {}\n", quoted(&options), quoted(&copy));
        Some(CopiedFile { copy: self.setting.copy_of(&original), original, text })
    }

    fn private_path(&self, name: &str) -> PathBuf {
        self.setting.dir.join(format!("{name}.caddyfile"))
    }

    /// A file that a copy imports: its path in quotes.
    pub(super) fn private_file(&mut self, name: &str, text: String) -> String {
        let path = self.private_path(name);
        if self.private.iter().all(|file| file.copy != path) {
            self.private.push(CopiedFile { original: path.clone(), copy: path.clone(), text });
        }
        quoted(&path)
    }

    /// Imports a private file on the line of a block's `{`.
    fn import_into(&mut self, one: &Statement, file: &str) {
        let Some(block) = &one.block else { return };
        let brace = if block.has_braces { "" } else { " {" };
        self.insert(one.file, block.open, format!("{brace} import {file}"));
        if !block.has_braces {
            let is_ended = self.tree.sources[one.file].text.ends_with('\n');
            self.insert(one.file, block.close, if is_ended { "}\n" } else { "\n}\n" }.to_owned());
        }
    }

    /// A Caddyfile's block is for one scheme if it has a certificate: of two, that of the site that is asked stays.
    fn site(&mut self, site: &Site<'a>) {
        let one = site.placed.one;
        let asked = site.addresses.iter().find(|address| address.port == self.setting.entrance);
        let tls = asked.map_or_else(|| site.addresses.iter().any(|one| one.tls), |one| one.tls);
        let mut now: Vec<String> = Vec::new();
        for address in site.addresses.iter().filter(|address| address.tls == tls) {
            let text = address.at(self.private_port(one, address.port));
            if !now.contains(&text) {
                now.push(text);
            }
        }
        let now = now.iter().map(|one| in_quotes_if_needed(one)).collect::<Vec<_>>().join(", ");
        let was = format!("address {}", one_line(&self.tree.sources[one.file].text[one.span.clone()]));
        self.changes.push(Change { place: self.tree.place(one), was, now: now.clone() });
        // On the line of the brace.
        for (at, word) in one.words.iter().enumerate() {
            let text = if at + 1 == one.words.len() { now.clone() } else { String::new() };
            self.edits.insert((one.file, word.span.start), (word.span.clone(), text));
        }
        let bind = format!("bind {}\n", self.setting.address);
        let file = if tls && !site.has_tls {
            let certificate = self.certificate();
            self.private_file("tls", format!("{bind}{certificate}\n"))
        } else {
            self.private_file("plain", bind)
        };
        self.import_into(one, &file);
        self.block(&site.placed, tls);
    }

    fn certificate(&self) -> String {
        let (cert, key) = self.setting.certificate;
        format!("tls {} {}", quoted(cert), quoted(key))
    }

    /// Directives in the block of a site, or of one of its directives.
    pub(super) fn block(&mut self, around: &Placed<'a>, tls: bool) {
        for placed in self.tree.flat(around.one.inner(), &around.arguments) {
            self.statement(&placed, tls);
        }
    }

    fn statement(&mut self, placed: &Placed<'a>, tls: bool) {
        let one = placed.one;
        match one.name() {
            "bind" | "tracing" => self.take_out(one),
            "tls" => self.tls(placed, tls),
            "log" => self.log(placed, "access"),
            "root" => self.root(one),
            "file_server" => self.roots(placed),
            "acme_server" => self.refuse(one, Reason::Leaves { directive: one.name().to_owned() }),
            name if runs_programs(name) => {
                self.refuse(one, Reason::Plugin { directive: name.to_owned() });
            }
            name if is_proxy(name) => self.proxy(placed, tls),
            name if name.starts_with('@') => self.roots(placed),
            name if holds_directives(name) => self.block(placed, tls),
            _ => {}
        }
    }

    /// What a handshake costs stays: protocols, ciphers, curves.
    fn tls(&mut self, placed: &Placed<'a>, tls: bool) {
        if !tls {
            return self.take_out(placed.one);
        }
        let certificate = self.certificate();
        self.replace(placed.one, placed.one.span.clone(), certificate);
        for inner in self.tree.flat(placed.one.inner(), &placed.arguments) {
            if !["protocols", "ciphers", "curves", "alpn"].contains(&inner.one.name()) {
                self.take_out(inner.one);
            }
        }
    }

    fn log(&mut self, placed: &Placed<'a>, kind: &str) {
        for inner in self.tree.flat(placed.one.inner(), &placed.arguments) {
            if inner.one.name() == "core" {
                self.refuse(inner.one, Reason::Plugin { directive: "core".to_owned() });
            }
            let words = inner.one.arguments();
            let to = words.first().map_or("", |word| word.text.as_str());
            if inner.one.name() != "output" || ["stdout", "stderr", "discard"].contains(&to) {
                continue;
            }
            let place = words.get(1).map_or(to, |word| word.text.as_str());
            let file = format!("output file {}", quoted(&self.log_file(place, kind)));
            // Options of another output are none of a file's.
            let span = if to == "file" { inner.one.span.clone() } else { inner.one.whole() };
            self.replace(inner.one, span, file);
        }
    }

    fn log_file(&mut self, place: &str, kind: &str) -> PathBuf {
        if kind != "access" {
            return self.setting.dir.join(format!("{kind}.log"));
        }
        let at = self.logs.iter().position(|known| known == place).unwrap_or_else(|| {
            self.logs.push(place.to_owned());
            self.logs.len() - 1
        });
        let name = if at == 0 { "access.log".to_owned() } else { format!("access-{}.log", at + 1) };
        self.setting.dir.join(name)
    }

    /// `root`, with a matcher or without.
    pub(super) fn root(&mut self, one: &Statement) {
        if let (Some(site), Some(word)) = (self.setting.site, one.arguments().last()) {
            self.replace(one, word.span.clone(), quoted(site));
        }
    }

    /// Roots in a block, at any depth.
    pub(super) fn roots(&mut self, placed: &Placed<'a>) {
        for inner in self.tree.flat(placed.one.inner(), &placed.arguments) {
            match inner.one.name() {
                "root" => self.root(inner.one),
                _ => self.roots(&inner),
            }
        }
    }

    /// Global options. Whether they say how long an end may take.
    fn options(&mut self, placed: &Placed<'a>) -> bool {
        self.has_options = true;
        let file = quoted(&self.private_path("options"));
        self.import_into(placed.one, &file);
        let mut keeps_grace = false;
        for option in self.tree.flat(placed.one.inner(), &placed.arguments) {
            let one = option.one;
            match one.name() {
                "grace_period" => keeps_grace = true,
                "log" => self.log(&option, "error"),
                "servers" => self.servers(&option),
                name if is_dropped_option(name) => self.take_out(one),
                "debug" | "default_sni" | "fallback_sni" | "metrics" | "order" => {}
                // One of another program within Caddy.
                name => self.refuse(one, Reason::Plugin { directive: name.to_owned() }),
            }
        }
        keeps_grace
    }

    /// Options of one listener, by its address, or of all.
    fn servers(&mut self, placed: &Placed<'a>) {
        let one = placed.one;
        if let Some(word) = one.arguments().first() {
            let port = word.text.rsplit(':').next().and_then(|port| port.parse::<u16>().ok());
            let Some(private) = port.and_then(|port| self.ports.get(&port)) else {
                return self.take_out(one);
            };
            let now = format!("{}:{private}", self.setting.address);
            self.replace(one, word.span.clone(), now);
        }
        for inner in self.tree.flat(one.inner(), &placed.arguments) {
            match inner.one.name() {
                "listener_wrappers" => self.take_out(inner.one),
                // Other lists of proxies are fetched.
                "trusted_proxies"
                    if inner.one.arguments().first().is_none_or(|word| word.text != "static") =>
                {
                    self.take_out(inner.one);
                }
                "protocols" => {
                    let kept = inner.one.words.iter().map(|word| word.text.as_str());
                    let kept: Vec<&str> = kept.filter(|word| *word != "h3").collect();
                    if kept.len() < inner.one.words.len() {
                        self.replace(inner.one, inner.one.span.clone(), kept.join(" "));
                    }
                }
                _ => {}
            }
        }
    }

    fn private_port(&mut self, one: &Statement, port: u16) -> u16 {
        if let Some(private) = self.ports.get(&port) {
            return *private;
        }
        let Some(private) = self.setting.further.get(self.ports.len() - 1).copied() else {
            self.refuse(one, Reason::Ports);
            return self.setting.port;
        };
        self.ports.insert(port, private);
        private
    }

    /// A stand-in's address in place of one behind the server.
    pub(super) fn stand_in(&mut self, asked: &Asked<'_>) -> String {
        self.played.push((asked.address.clone(), self.tree.place(asked.one)));
        let (used, known) = (&mut self.used, &self.setting.stand_ins);
        let (used, at) = match asked.spoken {
            Spoken::Http => (&mut used.http, known.http.to_string()),
            Spoken::Https => (&mut used.https, format!("https://{}", known.https)),
            Spoken::FastCgi => (&mut used.fastcgi, known.fastcgi.to_string()),
        };
        *used = true;
        at
    }

    pub(super) fn take_out(&mut self, one: &Statement) {
        self.replace(one, one.whole(), String::new());
    }

    /// Puts something in the place of a part of a statement.
    pub(super) fn replace(&mut self, one: &Statement, span: Range<usize>, now: String) {
        let was = one_line(&self.tree.sources[one.file].text[one.span.clone()]);
        let change = Change { place: self.tree.place(one), was, now: now.clone() };
        if self.edits.insert((one.file, span.start), (span, now)).is_none() {
            self.changes.push(change);
        }
    }

    pub(super) fn insert(&mut self, file: usize, at: usize, text: String) {
        self.edits.insert((file, at), (at..at, text));
    }

    /// Whether something stands in the place of the whole statement already.
    pub(super) fn is_replaced(&self, one: &Statement) -> bool {
        self.edits.contains_key(&(one.file, one.span.start))
    }

    pub(super) fn refuse(&mut self, one: &Statement, reason: Reason) {
        let refused = self.tree.refused(one.file, one.span.start, reason);
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }
}

/// Directives and options of plugins that run programs, or ask others by themselves.
fn runs_programs(name: &str) -> bool {
    const KNOWN: [&str; 25] = [
        "exec",
        "cgi",
        "events",
        "layer4",
        "frankenphp",
        "php",
        "php_server",
        "git",
        "webdav",
        "supervisor",
        "security",
        "authenticate",
        "authorize",
        "crowdsec",
        "appsec",
        "dynamic_dns",
        "docker_proxy",
        "tailscale",
        "ssh",
        "cache",
        "filesystem",
        "forward_proxy",
        "mercure",
        "mirror",
        "reverse_bin",
    ];
    KNOWN.contains(&name)
}

/// Options about certificates, storage, ports and administration: the copy has its own.
fn is_dropped_option(name: &str) -> bool {
    const DROPPED: [&str; 25] = [
        "admin",
        "auto_https",
        "cert_issuer",
        "cert_lifetime",
        "default_bind",
        "dns",
        "ech",
        "email",
        "http_port",
        "https_port",
        "key_type",
        "local_certs",
        "ocsp_interval",
        "ocsp_stapling",
        "on_demand_tls",
        "persist_config",
        "pki",
        "preferred_chains",
        "renew_interval",
        "renewal_window_ratio",
        "shutdown_delay",
        "skip_install_trust",
        "storage",
        "storage_check",
        "storage_clean_interval",
    ];
    DROPPED.contains(&name) || name.starts_with("acme_")
}

/// A word that needs quotes gets them.
fn in_quotes_if_needed(word: &str) -> String {
    if word.contains(char::is_whitespace) { quoted(Path::new(word)) } else { word.to_owned() }
}

fn quoted(path: &Path) -> String {
    format!("\"{}\"", path.display().to_string().replace('"', "\\\""))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
