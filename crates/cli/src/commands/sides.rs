//! Servers as they are named on a command line: configurations or URLs, and what is asked of them.
//!
//! From words to the text of a plan; everything is checked as a plan afterwards.

use super::adopted::Adopted;
use super::names::named;
use super::words::{can_be_read_again, config_lines, is_url, list, path_of, quoted, quoted_path, whole_path};
use super::{fronts, names};
use crate::Failure;
use crate::args::{UrlArgs, WorkArgs};
use bakeoff_plan::suggestion;
use bakeoff_subject::Product;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What current browsers send, over TLS and without it.
const BROWSERS_ACCEPT: [&str; 2] = ["gzip, deflate, br, zstd", "gzip, deflate"];
/// What is unpacked here.
const CHECKED: &str = "gzip, br, zstd";

/// What was typed.
pub(super) struct Sides<'a> {
    pub(super) sides: &'a [String],
    pub(super) work: &'a WorkArgs,
    pub(super) urls: &'a UrlArgs,
    /// What stands before the servers; empty: nothing.
    pub(super) fronts: &'a [String],
}

impl Sides<'_> {
    /// Name of the first one.
    pub(super) fn baseline(&self) -> Result<String, Failure> {
        let names = if self.fronts.is_empty() {
            self.names()?
        } else {
            self.fronts()?.into_iter().map(|front| front.name).collect()
        };
        Ok(names.into_iter().next().unwrap_or_default())
    }

    fn names(&self) -> Result<Vec<String>, Failure> {
        named(names::of_sides(self.sides), &self.work.names)
    }

    fn fronts(&self) -> Result<Vec<fronts::Front>, Failure> {
        let mut all = fronts::fronts(self.fronts, self.sides)?;
        let names = named(all.iter().map(|front| front.name.clone()).collect(), &self.work.names)?;
        all.iter_mut().zip(names).for_each(|(front, name)| front.name = name);
        Ok(all)
    }

    /// `[arm.NAME]` of each.
    pub(super) fn arms(&self) -> Result<String, Failure> {
        let configs = self.sides.iter().filter(|side| !is_url(side)).map(Path::new);
        let of_fronts = self.fronts.iter().filter_map(|front| Some(Path::new(front.split_once('=')?.1)));
        configs.chain(of_fronts).chain(self.work.log.as_deref()).try_for_each(can_be_read_again)?;
        if !self.fronts.is_empty() {
            return self.arms_behind_fronts();
        }
        let urls = self.sides.iter().filter(|side| is_url(side)).count();
        if urls != 0 && urls != self.sides.len() {
            return Err(Failure::usage("give either configuration files or URLs, not one with the other"));
        }
        let files: Vec<PathBuf> = self.sides.iter().map(whole_path).collect();
        if let Some(twice) = (1..files.len()).find(|&at| urls == 0 && files[..at].contains(&files[at])) {
            return Err(Failure::usage(format!(
                "{} is given twice: the first configuration runs twice anyway, which shows the noise; give another one",
                self.sides[twice]
            )));
        }
        if urls > 0 { self.url_arms() } else { self.config_arms() }
    }

    /// `[workload]` without a clock; more keys may follow.
    pub(super) fn workload(&self) -> Result<String, Failure> {
        let headers = format!("headers = {}\n{}", list(&self.headers()?), self.http2()?);
        if let Some(log) = &self.work.log {
            let log = quoted_path(log);
            let format = self.work.format.as_ref();
            let format = format.map_or(String::new(), |format| format!("format = {}\n", quoted(format)));
            return Ok(format!(
                "[workload]\nkind = \"replay\"\nlog = {log}\n{format}compressible = true\n{headers}"
            ));
        }
        let mut paths: Vec<String> = self.work.paths.clone();
        if paths.is_empty() && self.sides.iter().any(|side| is_url(side)) {
            let or_root = |path: String| if path.is_empty() { "/".to_owned() } else { path };
            let own: BTreeSet<String> = self.sides.iter().map(|url| or_root(path_of(url))).collect();
            if own.len() > 1 {
                return Err(Failure::usage(
                    "the URLs name different paths; give the paths to ask for with --path",
                ));
            }
            paths.extend(own);
        }
        if paths.is_empty() {
            paths.push("/".to_owned());
        }
        let expect = self.work.expect.map_or(String::new(), |status| format!("expect = {status}\n"));
        Ok(format!("[workload]\nkind = \"get\"\nurls = {}\n{expect}{headers}", list(&paths)))
    }

    /// The key of HTTP/2, where it is asked for.
    fn http2(&self) -> Result<String, Failure> {
        if !self.work.http2 {
            return Ok(String::new());
        }
        if !self.fronts.is_empty() {
            return Err(Failure::usage(
                "--http2 and --front exclude each other: what stands before a server is asked over HTTP/1.1; take one of both \
                 out, or compare two URLs with --http2",
            ));
        }
        Ok(format!("http2 = {{ streams = {} }}\n", self.work.streams))
    }

    /// Lines of every request's head. Replies of servers that we start are checked, so that only what can be unpacked here
    /// is asked for.
    fn headers(&self) -> Result<Vec<String>, Failure> {
        let mut lines = self.work.headers.clone();
        lines.extend(self.work.host.iter().map(|host| format!("Host: {host}")));
        if let Some(first) = self.sides.first().filter(|_| self.host().is_none()) {
            let adopted = self.adopted(first)?;
            lines.extend(adopted.and_then(|adopted| Some(format!("Host: {}", adopted.host()?))));
        }
        let is_said =
            lines.iter().any(|line| line.to_ascii_lowercase().trim_start().starts_with("accept-encoding:"));
        if !is_said {
            let ours = self.sides.is_empty() || !self.sides.iter().all(|side| is_url(side));
            let over_tls = self.sides.iter().all(|side| side.starts_with("https://"));
            let accepted = if ours { CHECKED } else { BROWSERS_ACCEPT[usize::from(!over_tls)] };
            lines.push(format!("Accept-Encoding: {accepted}"));
        }
        Ok(lines)
    }

    /// One server, and what stands before it in each arm.
    fn arms_behind_fronts(&self) -> Result<String, Failure> {
        let all = self.fronts()?;
        let are_of_fronts = self.fronts.len() == 1;
        let server = match self.sides {
            [] => format!("server = {}\n", quoted(self.work.server.as_deref().unwrap_or("origin"))),
            _ if are_of_fronts => {
                if let Some(server) = self.work.server.as_deref().filter(|server| *server != "origin") {
                    return Err(Failure::usage(format!(
                        "the configurations are those of what stands in front, so that {server} has none: leave --server out, \
                         and the built-in origin stands behind"
                    )));
                }
                "server = \"origin\"\n".to_owned()
            }
            [url] if is_url(url) => {
                format!("url = {}\n", quoted(url.strip_suffix(&path_of(url)).unwrap_or(url)))
            }
            [config] => self.server_lines(config)?,
            _ => {
                return Err(Failure::usage(
                    "with several --front there is one server behind: give one configuration, or none",
                ));
            }
        };
        let mut text = String::new();
        for front in &all {
            text += &front.section()?;
        }
        Ok(all.iter().fold(text, |text, front| text + &front.arms(&server, !are_of_fronts)))
    }

    fn config_arms(&self) -> Result<String, Failure> {
        let mut text = String::new();
        for (name, config) in self.names()?.iter().zip(self.sides) {
            text += &format!("\n[arm.{}]\n{}", quoted(name), self.server_lines(config)?);
        }
        Ok(text)
    }

    /// The lines of an arm that has this configuration.
    fn server_lines(&self, config: &str) -> Result<String, Failure> {
        let known: Vec<&str> = Product::servers().map(Product::label).collect();
        let Some(server) = &self.work.server else {
            if !Path::new(config).exists() && config.contains(':') {
                return Err(Failure::usage(format!(
                    "{config} is no file; if a server runs there, write http://{config}"
                )));
            }
            let known = known.join(" or --server ");
            return Err(Failure::usage(format!(
                "say which server the configurations are for: --server {known}"
            )));
        };
        if !known.contains(&server.as_str()) {
            let help = suggestion(server, &known);
            return Err(Failure::usage(format!("--server {server}: there is no such server here; {help}")));
        }
        let mut lines = format!("server = {}\n{}", quoted(server), config_lines(config)?);
        if let Some(adopted) = self.adopted(config)? {
            lines += if adopted.tls() { "tls = true\n" } else { "" };
            if !self.work.allowed_upstreams.is_empty() {
                lines += &format!("allow_upstream = {}\n", list(&self.work.allowed_upstreams));
            }
        }
        Ok(lines)
    }

    /// The configuration of a running server, if it is one.
    fn adopted(&self, config: &str) -> Result<Option<Adopted>, Failure> {
        let Some(server) = self.work.server.as_deref().filter(|_| !is_url(config)) else { return Ok(None) };
        Adopted::read(server, config, self.host().as_deref(), &self.work.allowed_upstreams)
    }

    /// The host that was typed.
    fn host(&self) -> Option<String> {
        let of_line = |line: &String| {
            let (name, value) = line.split_once(':')?;
            name.trim().eq_ignore_ascii_case("host").then(|| value.trim().to_owned())
        };
        self.work.host.clone().or_else(|| self.work.headers.iter().find_map(of_line))
    }

    /// What is said of configurations of running servers before anything runs.
    pub(super) fn in_words(&self) -> Result<Vec<String>, Failure> {
        let host = self.host();
        let mut all = Vec::new();
        for side in self.sides {
            all.extend(self.adopted(side)?.iter().flat_map(|adopted| adopted.in_words(host.as_deref())));
        }
        Ok(all)
    }

    fn url_arms(&self) -> Result<String, Failure> {
        if self.work.server.is_some() {
            return Err(Failure::usage(
                "--server is for configuration files; a URL's server is running already",
            ));
        }
        if !self.urls.pids.is_empty() && self.urls.pids.len() != self.sides.len() {
            return Err(Failure::usage(format!(
                "{} URLs and {} --pid: give one for each, in their order",
                self.sides.len(),
                self.urls.pids.len()
            )));
        }
        let mut text = String::new();
        for (index, (name, url)) in self.names()?.iter().zip(self.sides).enumerate() {
            let base = url.strip_suffix(&path_of(url)).unwrap_or(url);
            text += &format!("\n[arm.{}]\nurl = {}\n", quoted(name), quoted(base));
            if let Some(pid) = self.urls.pids.get(index) {
                text += &format!("pid = {pid}\n");
            }
            if let Some(cacert) = &self.urls.cacert {
                text += &format!("cacert = {}\n", quoted_path(cacert));
            }
            if self.urls.insecure {
                text += "insecure = true\n";
            }
        }
        Ok(text)
    }
}
