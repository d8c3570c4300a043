//! Check of an arm's own settings beside the server: limits, freshness, requests.

use super::super::arm::is_asked_over_tls;
use super::super::error::suggestion;
use super::super::file::{ArmSection, ArmWhat, AskedSection, LimitsSection, StandSection};
use super::super::{ArmKind, Fresh, LimitsPlan, LoadClock, RequestSource, RequestWork, Work};
use super::named::text;
use super::{Checked, Context, Typed};
use crate::file::Spanned;
use bakeoff_subject::{FrontSpec, KeyKind, Product};
use bakeoff_workload::GetUrl;

impl Context<'_> {
    pub(super) fn limits(&self, limits: Option<&Spanned<LimitsSection>>) -> Checked<LimitsPlan> {
        let Some(limits) = limits else { return Ok(LimitsPlan::default()) };
        let l = limits.as_ref();
        let odd = l.cpus.as_ref().filter(|cpus| !(0.01..=4096.0).contains(cpus.as_ref()));
        self.refuse(odd, "this is no number of cores", "such as 0.5 or 2.0")?;
        let found = LimitsPlan {
            memory: self.optional(&l.memory)?,
            cpus: l.cpus.as_ref().map(|cpus| *cpus.as_ref()),
            read: self.optional(&l.read)?,
            write: self.optional(&l.write)?,
        };
        let none = limits.when(found.is_none());
        self.refuse(none, "nothing is limited", "give `memory`, `cpus`, `read` or `write`")?;
        Ok(found)
    }

    /// Lines for our own configuration; the user's configuration has its own.
    pub(super) fn directives(&self, what: &ArmWhat) -> Checked<Option<String>> {
        let ArmWhat::Product(_, own) = what else { return Ok(None) };
        self.one_configuration("arm", ("directives", &own.directives), &own.config)?;
        Ok(text(&own.directives))
    }

    /// The same for the block around the server, which nginx alone has.
    pub(super) fn http_directives(&self, what: &ArmWhat) -> Checked<Option<String>> {
        let ArmWhat::Product(product, own) = what else { return Ok(None) };
        let foreign = own.http_directives.as_ref().filter(|_| *product != Product::Nginx);
        let what = format!("`http_directives` are for nginx, and {} has no `http` block", product.title());
        self.refuse(foreign, what, "write the lines into `directives`")?;
        self.one_configuration("arm", ("http_directives", &own.http_directives), &own.config)?;
        Ok(text(&own.http_directives))
    }

    /// The kind of an arm's throw-away certificate.
    pub(super) fn certificate(
        &self,
        stand: &StandSection,
        what: &ArmKind,
        fronts: &[FrontSpec],
    ) -> Checked<Option<KeyKind>> {
        let Some(named) = &stand.certificate else { return Ok(None) };
        let speaks = matches!(what, ArmKind::Server(server) if is_asked_over_tls(server, fronts));
        let idle = named.when(!speaks);
        self.refuse(idle, "`certificate` is of TLS, and this arm does without", "add tls = true")?;
        self.one_of(named, "kind of certificate", &KeyKind::ALL, KeyKind::label).map(Some)
    }

    /// Addresses that an adopted configuration may ask.
    pub(super) fn allowed_upstreams(&self, what: &ArmWhat) -> Checked<Vec<String>> {
        let ArmWhat::Product(_, own) = what else { return Ok(Vec::new()) };
        let alone = own.allow_upstream.as_ref().filter(|_| own.config.is_none());
        self.refuse(
            alone,
            "`allow_upstream` is for a configuration of yours, and this arm has ours",
            "give `config`, or take it out",
        )?;
        Ok(own.allow_upstream.as_ref().map_or_else(Vec::new, |all| all.as_ref().clone()))
    }

    /// `noun`: what has the configuration; the key of the lines, and they.
    pub(super) fn one_configuration(
        &self,
        noun: &str,
        (key, directives): (&str, &Typed),
        config: &Typed,
    ) -> Checked<()> {
        let lines = directives.as_ref().filter(|_| config.is_some());
        let what = format!("`{key}` is for our configuration, and this {noun} has its own");
        self.refuse(lines, what, "write them into the file that `config` names")
    }

    pub(super) fn fresh(&self, arm: &ArmSection) -> Checked<Fresh> {
        let Some(word) = &arm.has.asked.fresh else { return Ok(Fresh::Nothing) };
        match word.as_ref().as_str() {
            "connection" => Ok(Fresh::Connection),
            "start" if matches!(arm.what, ArmWhat::Url(..)) => {
                self.wrong(word.span(), "a running server is not started", "use `server` or `command`")
            }
            "start" => Ok(Fresh::Start),
            "page-cache" => Ok(Fresh::PageCache),
            other => {
                let help = suggestion(other, &["connection", "start", "page-cache"]);
                self.wrong(word.span(), format!("`{other}` cannot be fresh"), help)
            }
        }
    }

    pub(super) fn own_urls(&self, arm: &AskedSection, work: &Work) -> Checked<Option<Vec<GetUrl>>> {
        let workloads = match work {
            Work::Requests(RequestWork { source: RequestSource::Get(urls), .. }) => Some(urls),
            _ => None,
        };
        let idle = arm.urls.as_ref().filter(|_| workloads.is_none());
        self.refuse(idle, "only `get` workloads have `urls`", "take the line out")?;
        let Some(list) = &arm.urls else { return Ok(None) };
        let expect = workloads.and_then(|urls| urls.first()?.expect);
        Ok(Some(self.urls(list)?.into_iter().map(|url| GetUrl { expect, ..url }).collect()))
    }

    /// A number of requests for this arm's slices alone.
    pub(super) fn own_slice(&self, arm: &AskedSection, work: &Work) -> Checked<Option<u64>> {
        let (Some(count), Work::Requests(work)) = (self.pick(&arm.slice_requests), work) else {
            return Ok(None);
        };
        let is_whole = matches!(work.clock, LoadClock::Closed { passes: Some(_), .. });
        let what = "with `passes` a slice is the whole log or site, for every arm";
        self.refuse(count.when(is_whole), what, "take the line out, or `passes`")?;
        let in_order = !matches!(work.clock, LoadClock::Closed { .. });
        let is_part = in_order && matches!(work.source, RequestSource::Replay { .. });
        let what =
            "this clock keeps the order of the log, so unequal slices would be of different parts of it";
        let help = "take the line out, or choose clock = \"shuffled\"";
        self.refuse(count.when(is_part), what, help)?;
        self.at_least(Some(&count), 1, 1).map(Some)
    }

    /// `Name: value`, with nothing that could end the line.
    pub(super) fn headers(&self, list: Option<&Spanned<Vec<String>>>) -> Checked<Vec<String>> {
        let Some(list) = list else { return Ok(Vec::new()) };
        for line in list.as_ref() {
            let name = line.split_once(':').map_or("", |(name, _)| name);
            let is_token =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            let bad = list.when(!is_token || line.chars().any(char::is_control));
            let help = "such as [\"Accept-Encoding: gzip\"]";
            self.refuse(bad, format!("`{line}` is no header field"), help)?;
            let ours = ["connection", "content-length", "transfer-encoding"];
            let own = list.when(ours.contains(&name.to_ascii_lowercase().as_str()));
            let help = "take it out; `keep_alive` says what becomes of connections";
            self.refuse(own, format!("`{name}` is set by the load generator"), help)?;
        }
        Ok(list.as_ref().clone())
    }

    /// The `Host` that header lines ask for, and the other lines.
    pub(super) fn host_and_headers(
        &self,
        list: Option<&Spanned<Vec<String>>>,
    ) -> Checked<(Option<String>, Vec<String>)> {
        let is_host =
            |line: &String| line.split_once(':').is_some_and(|(name, _)| name.eq_ignore_ascii_case("host"));
        let (mut hosts, headers): (Vec<_>, Vec<_>) = self.headers(list)?.into_iter().partition(is_host);
        if let Some(list) = list {
            let twice = list.when(hosts.len() > 1);
            self.refuse(twice, "a request has one `Host`", "leave one of them")?;
        }
        let Some(line) = hosts.pop() else { return Ok((None, headers)) };
        let name = line.split_once(':').map_or("", |(_, value)| value.trim());
        if let Some(list) = list {
            let bad = list.when(!bakeoff_workload::replay::is_host(name.as_bytes()));
            self.refuse(bad, format!("`{name}` is no host"), "such as \"Host: shop.example\"")?;
        }
        Ok((Some(name.to_owned()), headers))
    }
}
