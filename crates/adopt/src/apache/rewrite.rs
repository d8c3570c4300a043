//! Changes in the copy of a configuration: nothing that it writes, asks or listens on stays outside.
//!
//! Measuring side, cold, pure but for looks whether a file is there. One match over directives; what is not named here
//! stays as it is. A change keeps the number of lines: where several lines are needed, one includes a further file.
//!
//! CGI programs do not run: they could ask any machine. Their paths are served from the site, like all others.

use super::directives::{asks_others, is_dropped, is_program, runs_program};
use super::site::{Mapping, below_site};
use super::tree::{Statement, Tree, flat};
use super::upstream::{Spoken, Target};
use super::vhost::{TLS_PORT, listens, port_of};
use crate::copies::Change;
use crate::error::{AdoptError, Reason, Refused};
use crate::setting::{Setting, StandIns};
use crate::text::{edited, one_line, quoted};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};

pub(super) struct Rewriter<'a> {
    tree: &'a Tree,
    setting: &'a Setting<'a>,
    mapping: Mapping,
    /// Private port of each original one.
    ports: BTreeMap<u16, u16>,
    /// Ports that are listened on already, each with the conditions around its line.
    listened: BTreeSet<(u16, Vec<String>)>,
    /// Bytes of a file, and what stands there.
    edits: BTreeMap<(usize, usize), (Range<usize>, String)>,
    /// Files that lines of the copies include besides.
    pub(super) further: BTreeMap<PathBuf, String>,
    pub(super) changes: Vec<Change>,
    pub(super) used: StandIns<bool>,
    /// Addresses for which a stand-in answers, and their places.
    pub(super) played: Vec<(String, String)>,
    logs: Vec<String>,
    /// Directories of caches.
    pub(super) caches: Vec<PathBuf>,
    refused: Vec<Refused>,
}

/// Directories in which distributions keep what a configuration of another machine has below its own root.
const MODULES: [&str; 3] = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/lib/httpd/modules"];
const TYPES: [&str; 1] = ["/etc"];

/// Modules that distributions build in.
const BUILT_IN: [&str; 5] =
    ["log_config_module", "logio_module", "unixd_module", "version_module", "watchdog_module"];

/// A file of this name where distributions keep its kind.
fn usual_place(key: &str, path: &str) -> Option<PathBuf> {
    let places = match key {
        "loadmodule" | "loadfile" => &MODULES[..],
        "typesconfig" => &TYPES,
        _ => return None,
    };
    let name = Path::new(path).file_name()?;
    places.iter().map(|place| Path::new(place).join(name)).find(|path| path.is_file())
}

/// The sections around a statement, the outermost first.
type Around<'a, 's> = &'s [&'a Statement];

impl<'a> Rewriter<'a> {
    pub(super) fn new(tree: &'a Tree, setting: &'a Setting<'a>) -> Self {
        Self {
            tree,
            setting,
            mapping: Mapping::of(tree),
            ports: BTreeMap::from([(setting.entrance, setting.port)]),
            listened: BTreeSet::new(),
            edits: BTreeMap::new(),
            further: BTreeMap::new(),
            changes: Vec::new(),
            used: StandIns::default(),
            played: Vec::new(),
            logs: Vec::new(),
            caches: Vec::new(),
            refused: Vec::new(),
        }
    }

    /// All changes; every statement that stands against it at once.
    pub(super) fn run(&mut self) -> Result<(), AdoptError> {
        let tree = self.tree;
        listens(tree).for_each(|one| self.give_port(one));
        self.block(&tree.statements, &mut Vec::new());
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

    fn block(&mut self, statements: &'a [Statement], around: &mut Vec<&'a Statement>) {
        for one in statements {
            match &one.block {
                Some((inner, end)) => {
                    if self.section(one, *end) {
                        around.push(one);
                        self.block(inner, around);
                        around.pop();
                    }
                }
                None => self.directive(one, around),
            }
            self.resolve_environment(one);
            self.block(&one.included, around);
        }
    }

    /// The opening line of a section. Whether to go on within.
    fn section(&mut self, one: &Statement, end: usize) -> bool {
        match one.key.as_str() {
            "virtualhost" => self.addresses(one),
            "directory" if one.words.len() == 1 => {
                let at = self.setting.site.zip(one.argument(0));
                if let Some(now) = at.and_then(|(site, dir)| self.mapping.mapped(dir, site)) {
                    self.word(one, 0, &quoted(&now));
                }
            }
            "proxy" => self.target(one, 0, false),
            "mdomainset" | "mdomainsetsection" => {
                self.replace_span(one, one.span.start..end, String::new());
                return false;
            }
            "macro" => {
                let directive = format!("<{}>", one.name);
                self.refuse(one, Reason::Unread { directive });
                return false;
            }
            _ => {}
        }
        true
    }

    fn directive(&mut self, one: &'a Statement, around: Around<'a, '_>) {
        let key = one.key.as_str();
        match key {
            "include" | "includeoptional" => self.point_at_copy(one),
            "listen" => self.listen(one, around),
            "serverroot" if !one.argument(0).is_some_and(|path| Path::new(path).is_dir()) => self.drop(one),
            "loadmodule" | "loadfile" | "typesconfig" | "mimemagicfile" => self.whole_path(one),
            "documentroot" | "virtualdocumentroot" | "virtualdocumentrootip" => {
                self.document_root(one, around);
            }
            "alias" | "aliasmatch" => self.alias(one),
            "errorlog" => self.word(one, 0, &quoted(&self.setting.dir.join("error.log"))),
            "customlog" | "transferlog" | "globallog" => self.access_log(one),
            "forensiclog" | "secauditlog" | "secdebuglog" | "fcgidprocesstablefile" => {
                self.word(one, 0, &quoted(&self.setting.dir.join(key)));
            }
            "secdatadir"
            | "sectmpdir"
            | "secuploaddir"
            | "secauditlogstoragedir"
            | "fcgidipcdir"
            | "cachelockpath"
            | "doslogdir" => self.word(one, 0, &quoted(self.setting.dir)),
            "cacheroot" | "modpagespeedfilecachepath" => self.cache(one),
            "sslsessioncache" | "cachesocache" | "authncachesocache" => self.shared_cache(one),
            "sslengine" | "sslcertificatefile" | "sslcertificatekeyfile" => self.certificate(one, around),
            "sslproxyengine" => self.proxy_tls(one),
            "sslcacertificatefile"
            | "sslcacertificatepath"
            | "sslcarevocationfile"
            | "sslcarevocationpath"
            | "sslcadnrequestfile"
            | "sslcadnrequestpath" => {
                let there = one.argument(0).is_some_and(|path| self.tree.homes.find(path).is_some());
                if !there {
                    self.drop(one);
                }
            }
            "hostnamelookups" => self.word(one, 0, "Off"),
            "proxypass" | "proxypassmatch" | "proxypassreverse" => self.proxy_pass(one),
            "balancermember" => self.target(one, 0, true),
            "rewriterule" => self.rewrite_rule(one),
            "sethandler" | "addhandler" | "forcetype" | "addtype" => self.handler(one),
            _ if is_dropped(one) => self.drop(one),
            _ => self.refuse_if_foreign(one),
        }
    }

    /// Directives that run programs or ask other machines.
    fn refuse_if_foreign(&mut self, one: &Statement) {
        let directive = one.name.clone();
        let value = one.words.get(1).map_or("", |word| &word.text);
        if runs_program(&one.key) || one.key == "rewritemap" && value.starts_with("prg:") {
            self.refuse(one, Reason::Script { directive });
        } else if asks_others(&one.key) || one.key == "rewritemap" && value.contains("dbd:") {
            self.refuse(one, Reason::Leaves { directive });
        } else if ["fastcgiexternalserver", "fastcgiserver"].contains(&one.key.as_str()) {
            self.refuse(one, Reason::Upstream { directive, address: value.to_owned() });
        } else if one.key == "use" {
            self.refuse(one, Reason::Unread { directive });
        }
    }

    fn point_at_copy(&mut self, one: &Statement) {
        let (Some(target), Some(word)) = (&one.target, one.words.first()) else { return };
        // Not a change that anybody wants to read of.
        let now = quoted(&self.setting.copy_of(target));
        self.edits.insert((one.file, word.span.start), (word.span.clone(), now));
    }

    /// A relative path of a file that is read, from the directory in which Apache begins it.
    fn whole_path(&mut self, one: &Statement) {
        let at = usize::from(one.key == "loadmodule");
        let Some(word) = one.words.get(at).filter(|word| !word.text.starts_with('/')) else { return };
        let found = self.tree.homes.find(&word.text).or_else(|| usual_place(&one.key, &word.text));
        if found.is_none() && one.argument(0).is_some_and(|module| BUILT_IN.contains(&module)) {
            return self.drop(one);
        }
        let now = quoted(&found.unwrap_or_else(|| self.setting.prefix.join(&word.text)));
        self.edits.insert((one.file, word.span.start), (word.span.clone(), now));
    }

    /// Gives a port of the configuration a private one.
    fn give_port(&mut self, one: &Statement) {
        let Some(port) = one.argument(0).and_then(port_of) else { return };
        if self.ports.contains_key(&port) {
            return;
        }
        match self.setting.further.get(self.ports.len() - 1) {
            Some(private) => {
                self.ports.insert(port, *private);
            }
            None => self.refuse(one, Reason::Ports),
        }
    }

    /// Each port once; lines in different conditions count apart, as mostly one of them holds.
    fn listen(&mut self, one: &Statement, around: Around<'a, '_>) {
        let Some(port) = one.argument(0).and_then(port_of) else {
            return self.refuse(one, Reason::Unread { directive: self.written(one) });
        };
        let Some(private) = self.ports.get(&port) else { return };
        let conditions = around.iter().map(|section| self.written(section)).collect();
        if !self.listened.insert((port, conditions)) {
            return self.drop(one);
        }
        let usual = if port == TLS_PORT { " https" } else { "" };
        let protocol = one.argument(1).map_or(usual.to_owned(), |protocol| format!(" {protocol}"));
        let now = format!("{} {}:{private}{protocol}", one.name, self.setting.address);
        self.replace_span(one, one.span.clone(), now);
    }

    /// Addresses of a virtual host. One for all addresses stays so, as others go before it.
    fn addresses(&mut self, one: &Statement) {
        if one.words.iter().any(|word| word.text.contains('$')) {
            return self.refuse(one, Reason::Unread { directive: self.written(one) });
        }
        let mut all: Vec<String> = Vec::new();
        for word in &one.words {
            let is_for_all = ["*", "_default_", "0.0.0.0", "[::]"].iter().any(|all| {
                word.text.strip_prefix(all).is_some_and(|rest| rest.is_empty() || rest.starts_with(':'))
            });
            let host = if is_for_all { "*".to_owned() } else { self.setting.address.to_string() };
            let now = match port_of(&word.text) {
                Some(port) => format!("{host}:{}", self.ports.get(&port).copied().unwrap_or(port)),
                None => host,
            };
            if !all.contains(&now) {
                all.push(now);
            }
        }
        if let (Some(first), Some(last)) = (one.words.first(), one.words.last()) {
            self.replace_span(one, first.span.start..last.span.end, all.join(" "));
        }
    }

    fn document_root(&mut self, one: &Statement, around: Around<'a, '_>) {
        let Some(site) = self.setting.site else { return };
        let root = format!("DocumentRoot {}", quoted(site));
        let covers = |section: &Statement| {
            section.key == "directory"
                && section.words.len() == 1
                && section.argument(0).is_some_and(|dir| self.mapping.covers_a_root(dir))
        };
        let own = container(around).into_iter().flat_map(Statement::inner);
        if flat(&self.tree.statements).chain(own).any(covers) {
            return self.replace_span(one, one.span.clone(), root);
        }
        let lines = format!(
            "{root}\n<IfModule authz_core_module>\n<Directory {}>\nRequire all granted\n</Directory>\n</IfModule>\n",
            quoted(site)
        );
        self.include_instead(one, "site.conf", lines);
    }

    /// The path below the site that the URL names. A pattern needs none: the site has its paths.
    fn alias(&mut self, one: &Statement) {
        let Some(site) = self.setting.site else { return };
        match one.argument(0).filter(|_| one.key == "alias" && one.words.len() == 2) {
            Some(url) => self.word(one, 1, &quoted(&below_site(site, url))),
            None => self.drop(one),
        }
    }

    fn access_log(&mut self, one: &Statement) {
        let Some(path) = one.argument(0).map(str::to_owned) else { return };
        let at = self.logs.iter().position(|known| *known == path).unwrap_or_else(|| {
            self.logs.push(path);
            self.logs.len() - 1
        });
        let name = if at == 0 { "access.log".to_owned() } else { format!("access-{}.log", at + 1) };
        self.word(one, 0, &quoted(&self.setting.dir.join(name)));
    }

    fn cache(&mut self, one: &Statement) {
        let dir = self.setting.dir.join(format!("cache-{}", self.caches.len() + 1));
        self.word(one, 0, &quoted(&dir));
        self.caches.push(dir);
    }

    /// `TYPE:PATH(SIZE)`. One on another machine is none.
    fn shared_cache(&mut self, one: &Statement) {
        let Some((kind, rest)) = one.argument(0).and_then(|cache| cache.split_once(':')) else { return };
        if !["shmcb", "dbm", "dc", "shmht", "shm"].contains(&kind) {
            return self.drop(one);
        }
        let size = rest.rfind('(').map_or("", |at| &rest[at..]);
        let path = self.setting.dir.join(&one.key);
        self.word(one, 0, &format!("\"{kind}:{}{size}\"", path.display()));
    }

    /// Certificate and key; those that are missing, as in the key's own file, or made by `mod_md`, are added.
    fn certificate(&mut self, one: &Statement, around: Around<'a, '_>) {
        let (cert, key) = self.setting.certificate;
        let both = format!("SSLCertificateFile {}\nSSLCertificateKeyFile {}\n", quoted(cert), quoted(key));
        let main = || flat(&self.tree.statements);
        let own = || match container(around) {
            Some(host) => Box::new(host.inner()) as Box<dyn Iterator<Item = &Statement>>,
            None => main(),
        };
        match one.key.as_str() {
            "sslcertificatekeyfile" => self.word(one, 0, &quoted(key)),
            "sslcertificatefile" if own().any(|one| one.key == "sslcertificatekeyfile") => {
                self.word(one, 0, &quoted(cert));
            }
            "sslcertificatefile" => self.include_instead(one, "certificate.conf", both),
            _ if !one.argument(0).is_some_and(|on| on.eq_ignore_ascii_case("on")) => {}
            _ if own().chain(main()).any(|one| one.key == "sslcertificatefile") => {}
            _ => self.include_instead(one, "engine.conf", format!("SSLEngine on\n{both}")),
        }
    }

    /// Stand-ins have certificates of their own.
    fn proxy_tls(&mut self, one: &Statement) {
        let lines = "SSLProxyEngine on\nSSLProxyVerify none\nSSLProxyCheckPeerName off\nSSLProxyCheckPeerCN off\nSSLProxyCheckPeerExpire off\n";
        if one.argument(0).is_some_and(|on| on.eq_ignore_ascii_case("on")) {
            self.include_instead(one, "proxy-tls.conf", lines.to_owned());
        }
    }

    fn include_instead(&mut self, one: &Statement, name: &str, lines: String) {
        let path = self.setting.dir.join(name);
        self.replace_span(one, one.span.clone(), format!("Include {}", quoted(&path)));
        self.further.insert(path, lines);
    }

    /// `ProxyPass` and its kind: in a `Location` without the path.
    fn proxy_pass(&mut self, one: &Statement) {
        let at = one.words.iter().take(2).position(|word| Target::of(&word.text).is_some());
        let is_unknown = |at: usize| one.argument(at).is_some_and(|word| word.contains("${"));
        match at {
            Some(at) => self.target(one, at, one.key != "proxypassreverse"),
            None if is_unknown(0) || is_unknown(1) => {
                self.refuse(one, Reason::Unread { directive: self.written(one) });
            }
            None => {}
        }
    }

    /// One that passes requests on, by its flag or as a handler.
    fn rewrite_rule(&mut self, one: &Statement) {
        let (target, flags) = (one.argument(1).unwrap_or_default(), one.argument(2).unwrap_or_default());
        let flags = flags.trim_matches(['[', ']']).split(',').map(|flag| flag.trim().to_ascii_lowercase());
        for flag in flags {
            let is_known = Target::of(target).is_some() || target.starts_with("balancer:");
            match flag.as_str() {
                "p" | "proxy" if is_known => self.target(one, 1, true),
                "p" | "proxy" => self.refuse(one, Reason::Unread { directive: self.written(one) }),
                flag if flag.contains("=proxy:") => {
                    let address = flag.split_once("proxy:").map_or(flag, |(_, address)| address).to_owned();
                    self.refuse(one, Reason::Upstream { directive: one.name.clone(), address });
                }
                _ => {}
            }
        }
    }

    fn handler(&mut self, one: &Statement) {
        let Some(handler) = one.argument(0) else { return };
        if is_program(handler) {
            return self.drop(one);
        }
        if one.key == "sethandler" || one.key == "addhandler" {
            self.target(one, 0, true);
        }
    }

    /// The address of another server. `is_asked`: requests go there, where other lines only name it.
    fn target(&mut self, one: &Statement, at: usize, is_asked: bool) {
        let Some(word) = one.argument(at) else { return };
        let Some(target) = Target::of(word) else { return };
        let spoken = target.spoken();
        let whole = format!("{}://{}", target.scheme, target.address);
        if [target.address, &whole].iter().any(|one| self.setting.allows(one, spoken == Spoken::Https)) {
            return;
        }
        match self.stand_in(spoken, is_asked) {
            Some(stand_in) => {
                if is_asked {
                    self.played.push((target.address.to_owned(), self.tree.place(one)));
                }
                let now = format!("{}{}://{stand_in}{}", target.before, target.scheme, target.rest);
                self.word(one, at, &quoted(Path::new(&now)));
            }
            None if is_asked => {
                self.refuse(one, Reason::Upstream { directive: one.name.clone(), address: whole });
            }
            None => {}
        }
    }

    fn stand_in(&mut self, spoken: Spoken, is_asked: bool) -> Option<SocketAddr> {
        let of = &self.setting.stand_ins;
        let (used, at) = match spoken {
            Spoken::Http => (&mut self.used.http, of.http),
            Spoken::Https => (&mut self.used.https, of.https),
            Spoken::FastCgi => (&mut self.used.fastcgi, of.fastcgi),
            Spoken::Other => return None,
        };
        *used |= is_asked;
        Some(at)
    }

    /// Variables of the machine's environment that a copy's does not have.
    fn resolve_environment(&mut self, one: &Statement) {
        let is_edited =
            self.edits.range((one.file, one.span.start)..(one.file, one.span.end)).next().is_some();
        let was = &self.tree.sources[one.file].text[one.span.clone()];
        let now = self.tree.variables.without_environment(was);
        if !is_edited && now != was {
            self.edits.insert((one.file, one.span.start), (one.span.clone(), now));
        }
    }

    fn drop(&mut self, one: &Statement) {
        self.replace_span(one, one.span.clone(), String::new());
    }

    /// Another word in place of an argument.
    fn word(&mut self, one: &Statement, at: usize, now: &str) {
        if let Some(word) = one.words.get(at) {
            self.replace_span(one, word.span.clone(), now.to_owned());
        }
    }

    fn replace_span(&mut self, one: &Statement, span: Range<usize>, now: String) {
        let source = &self.tree.sources[one.file].text;
        let line = if span.end > one.span.end || span == one.span {
            now.clone()
        } else {
            format!("{}{now}{}", &source[one.span.start..span.start], &source[span.end..one.span.end])
        };
        let change = Change { place: self.tree.place(one), was: self.written(one), now: one_line(&line) };
        let is_first = self.edits.insert((one.file, span.start), (span, now)).is_none();
        if is_first && change.was != change.now {
            self.changes.push(change);
        }
    }

    /// A statement as it is written, on one line.
    fn written(&self, one: &Statement) -> String {
        one_line(&self.tree.sources[one.file].text[one.span.clone()])
    }

    fn refuse(&mut self, one: &Statement, reason: Reason) {
        let source = &self.tree.sources[one.file];
        let refused = Refused { path: source.path.clone(), line: source.line(one.span.start), reason };
        if !self.refused.contains(&refused) {
            self.refused.push(refused);
        }
    }
}

/// The virtual host in which a statement stands.
fn container<'a>(around: Around<'a, '_>) -> Option<&'a Statement> {
    around.iter().rev().find(|section| section.key == "virtualhost").copied()
}
