//! Check of an arm's own settings beside the server: limits, freshness, requests.

use super::super::error::suggestion;
use super::super::file::{ArmSection, ArmWhat, AskedSection, LimitsSection};
use super::super::{Fresh, LimitsPlan, LoadClock, RequestSource, Work};
use super::named::text;
use super::{Checked, Context};
use crate::file::Spanned;
use bakeoff_workload::GetUrl;

impl Context<'_> {
    pub(super) fn limits(&self, limits: Option<&Spanned<LimitsSection>>) -> Checked<LimitsPlan> {
        let Some(limits) = limits else { return Ok(LimitsPlan::default()) };
        let l = limits.as_ref();
        if let Some(cpus) = l.cpus.as_ref().filter(|cpus| !(0.01..=4096.0).contains(cpus.as_ref())) {
            return self.wrong(cpus.span(), "this is no number of cores", "such as 0.5 or 2.0");
        }
        let found = LimitsPlan {
            memory: self.optional(l.memory.as_ref())?,
            cpus: l.cpus.as_ref().map(|cpus| *cpus.as_ref()),
            read: self.optional(l.read.as_ref())?,
            write: self.optional(l.write.as_ref())?,
        };
        if found.is_none() {
            return self.wrong(
                limits.span(),
                "nothing is limited",
                "give `memory`, `cpus`, `read` or `write`",
            );
        }
        Ok(found)
    }

    /// Lines for our own configuration; the user's configuration has its own.
    pub(super) fn directives(&self, what: &ArmWhat) -> Checked<Option<String>> {
        let ArmWhat::Product(_, own) = what else { return Ok(None) };
        match (&own.directives, &own.config) {
            (Some(lines), Some(_)) => {
                let what = "`directives` are for our configuration, and this arm has its own";
                self.wrong(lines.span(), what, "write them into the file that `config` names")
            }
            (lines, _) => Ok(text(lines)),
        }
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
        match (&arm.urls, work) {
            (None, _) => Ok(None),
            (Some(list), Work::Requests(requests)) if matches!(requests.source, RequestSource::Get(_)) => {
                self.urls(list).map(Some)
            }
            (Some(list), _) => {
                self.wrong(list.span(), "only `get` workloads have `urls`", "take the line out")
            }
        }
    }

    /// A number of requests for this arm's slices alone.
    pub(super) fn own_slice(&self, arm: &AskedSection, work: &Work) -> Checked<Option<u64>> {
        let (Some(count), Work::Requests(work)) = (self.pick(arm.slice_requests.as_ref()), work) else {
            return Ok(None);
        };
        if matches!(work.clock, LoadClock::Closed { passes: Some(_), .. }) {
            let what = "with `passes` a slice is the whole log or site, for every arm";
            return self.wrong(count.span(), what, "take the line out, or `passes`");
        }
        let in_order = !matches!(work.clock, LoadClock::Closed { .. });
        if in_order && matches!(work.source, RequestSource::Replay { .. }) {
            let what =
                "this clock keeps the order of the log, so unequal slices would be of different parts of it";
            return self.wrong(count.span(), what, "take the line out, or choose clock = \"shuffled\"");
        }
        self.at_least(Some(&count), 1, 1).map(Some)
    }

    /// `Name: value`, with nothing that could end the line.
    pub(super) fn headers(&self, list: Option<&Spanned<Vec<String>>>) -> Checked<Vec<String>> {
        let Some(list) = list else { return Ok(Vec::new()) };
        for line in list.as_ref() {
            let name = line.split_once(':').map_or("", |(name, _)| name);
            let is_token =
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
            if !is_token || line.chars().any(char::is_control) {
                let help = "such as [\"Accept-Encoding: gzip\"]";
                return self.wrong(list.span(), format!("`{line}` is no header field"), help);
            }
            let ours = ["host", "connection", "content-length", "transfer-encoding"];
            if ours.contains(&name.to_ascii_lowercase().as_str()) {
                let what = format!("`{name}` is set by the load generator");
                return self.wrong(
                    list.span(),
                    what,
                    "take it out; `keep_alive` says what becomes of connections",
                );
            }
        }
        Ok(list.as_ref().clone())
    }
}
