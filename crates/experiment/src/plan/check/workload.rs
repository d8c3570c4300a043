//! `[workload]`: which requests or commands, and when.

use super::super::error::suggestion;
use super::super::file::{UrlEntry, WorkloadSection};
use super::super::{CommandWork, LoadClock, RequestSource, RequestWork, Work};
use super::named::stranger;
use super::{Checked, Context};
use crate::plan::file::Spanned;
use crate::shipped;
use bakeoff_units::{Bytes, PerSecond};
use bakeoff_workload::replay::LogSource;
use bakeoff_workload::{GetUrl, Shape};

/// The kinds of workload, by the words of `kind`.
#[derive(Clone, Copy)]
enum Kind {
    Get,
    Replay,
    Walk,
    Webstone,
    Command,
    Files,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Get, Self::Replay, Self::Walk, Self::Webstone, Self::Command, Self::Files];

    const fn label(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Replay => "replay",
            Self::Walk => "walk",
            Self::Webstone => "webstone",
            Self::Command => "command",
            Self::Files => "files",
        }
    }
}

impl Context<'_> {
    pub(super) fn work(
        &self,
        w: &WorkloadSection,
        slice: Option<&Spanned<u64>>,
        peak: bool,
    ) -> Checked<Work> {
        let typed = w.kind.as_ref().as_str();
        let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.label() == typed) else {
            let help = suggestion(typed, &Kind::ALL.map(Kind::label));
            return self.wrong(w.kind.span(), format!("there is no workload `{typed}`"), help);
        };
        self.refuse_strangers(w, typed)?;
        let source = match kind {
            Kind::Files => return Ok(Work::Files(self.files_work(w, slice)?)),
            Kind::Command => return Ok(Work::Command(self.command_work(w, slice)?)),
            Kind::Get => self.get_source(w)?,
            Kind::Replay => self.replay_source(w)?,
            Kind::Walk if peak => {
                let what = "a walk has robots in a closed loop, and a search for peaks sets the rate";
                return self.wrong(w.kind.span(), what, "use a `replay` or `get` workload");
            }
            Kind::Walk => self.walk_source(w)?,
            Kind::Webstone => RequestSource::Webstone,
        };
        Ok(Work::Requests(RequestWork {
            source,
            clock: if peak { self.peak_clock(w)? } else { self.clock(w, typed)? },
            timeout: self.quantity(w.timeout.as_ref(), "10s")?,
            connections: self.at_least(w.connections.as_ref(), 1000, 1)?,
            max_age: None,
            refusals: self.refusals(w)?,
            timed: None,
            slice_requests: slice.map(|n| self.at_least(Some(n), 1, 1)).transpose()?,
        }))
    }

    fn command_work(&self, w: &WorkloadSection, slice: Option<&Spanned<u64>>) -> Checked<CommandWork> {
        if let Some(slice) = slice {
            return self.wrong(slice.span(), "a command has no requests to count", "take the line out");
        }
        let cold = w.cold.as_ref().is_some_and(|cold| *cold.as_ref());
        Ok(CommandWork { cold, time_limit: self.quantity(w.time_limit.as_ref(), "10min")? })
    }

    /// Keys that mean nothing for this kind are errors, not ornaments.
    fn refuse_strangers(&self, w: &WorkloadSection, kind: &str) -> Checked<()> {
        let is = |kinds: &[&str]| kinds.contains(&kind);
        let requests = is(&["get", "replay", "walk", "webstone"]);
        let walked = is(&["replay", "walk"]);
        let (replay, command, files) = (is(&["replay"]), is(&["command"]), is(&["files"]));
        let keys = [
            ("urls", w.urls.as_ref().map(Spanned::span), is(&["get"])),
            ("log", w.log.as_ref().map(Spanned::span), replay),
            ("format", w.format.as_ref().map(Spanned::span), replay),
            ("conditional", w.conditional.as_ref().map(Spanned::span), replay),
            ("max_site", w.max_site.as_ref().map(Spanned::span), walked),
            ("max_unparsable", w.max_unparsable.as_ref().map(Spanned::span), replay),
            ("passes", w.passes.as_ref().map(Spanned::span), walked),
            ("site", w.site.as_ref().map(Spanned::span), is(&["walk"])),
            ("speed", w.speed.as_ref().map(Spanned::span), replay),
            ("clock", w.clock.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("rate", w.rate.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("connections", w.connections.as_ref().map(Spanned::span), is(&["get", "replay"])),
            ("robots", w.robots.as_ref().map(Spanned::span), requests),
            ("think", w.think.as_ref().map(Spanned::span), requests),
            ("keep_alive", w.keep_alive.as_ref().map(Spanned::span), requests),
            ("tls_client", w.tls_client.as_ref().map(Spanned::span), requests),
            ("http2", w.http2.as_ref().map(Spanned::span), requests),
            ("requests_per_connection", w.requests_per_connection.as_ref().map(Spanned::span), requests),
            ("from", w.from.as_ref().map(Spanned::span), requests),
            ("connect_timeout", w.connect_timeout.as_ref().map(Spanned::span), requests),
            ("refused", w.refused.as_ref().map(Spanned::span), requests),
            ("max_age", w.max_age.as_ref().map(Spanned::span), requests),
            ("timeout", w.timeout.as_ref().map(Spanned::span), requests),
            ("command", w.command.as_ref().map(Spanned::span), command),
            ("setup", w.setup.as_ref().map(Spanned::span), command),
            ("prepare", w.prepare.as_ref().map(Spanned::span), command),
            ("cleanup", w.cleanup.as_ref().map(Spanned::span), command),
            ("cold", w.cold.as_ref().map(Spanned::span), command),
            ("time_limit", w.time_limit.as_ref().map(Spanned::span), command || files),
            ("operations", w.operations.as_ref().map(Spanned::span), files),
            ("sizes", w.sizes.as_ref().map(Spanned::span), files),
            ("files", w.files.as_ref().map(Spanned::span), files),
            ("cache", w.cache.as_ref().map(Spanned::span), files),
            ("fsync", w.fsync.as_ref().map(Spanned::span), files),
            ("tree", w.tree.as_ref().map(Spanned::span), files),
        ];
        match stranger(keys) {
            Some((key, span)) => {
                let what = format!("`{key}` has no meaning in a `{kind}` workload");
                self.wrong(span, what, "take the line out")
            }
            None => Ok(()),
        }
    }

    fn clock(&self, w: &WorkloadSection, kind: &str) -> Checked<LoadClock> {
        let known: &[&str] = match kind {
            "replay" => &["shuffled", "original", "constant", "poisson"],
            "get" => &["closed", "constant", "poisson"],
            "walk" => &["shuffled"],
            _ => &["closed"],
        };
        let name = w.clock.as_ref().map_or(known[0], |clock| clock.as_ref());
        if !known.contains(&name) {
            let span = w.clock.as_ref().map_or(0..0, Spanned::span);
            return self.wrong(
                span,
                format!("a `{kind}` workload has no clock `{name}`"),
                suggestion(name, known),
            );
        }
        self.refuse_clock_strangers(w, name)?;
        match name {
            "constant" | "poisson" => {
                let Some(rate) = &w.rate else {
                    let span = w.clock.as_ref().map_or(0..0, Spanned::span);
                    return self.wrong(
                        span,
                        format!("the clock `{name}` needs a rate"),
                        "add rate = \"1000/s\"",
                    );
                };
                let rate: PerSecond = self.quantity(Some(rate), "1000/s")?;
                Ok(if name == "constant" { LoadClock::Constant(rate) } else { LoadClock::Poisson(rate) })
            }
            "original" => {
                let speed = w.speed.as_ref().map_or(1.0, |speed| *speed.as_ref());
                if !(speed.is_finite() && speed > 0.0) {
                    return self.wrong(
                        w.speed.as_ref().map_or(0..0, Spanned::span),
                        "the speed must be above zero",
                        "1 is as in the log",
                    );
                }
                Ok(LoadClock::Original { speed })
            }
            _ => Ok(LoadClock::Closed {
                robots: self.at_least(w.robots.as_ref(), if kind == "webstone" { 32 } else { 15 }, 1)?,
                think: self.quantity(w.think.as_ref(), "0s")?,
                passes: w.passes.as_ref().map(|passes| self.at_least(Some(passes), 1, 1)).transpose()?,
            }),
        }
    }

    fn refuse_clock_strangers(&self, w: &WorkloadSection, clock: &str) -> Checked<()> {
        let closed = matches!(clock, "closed" | "shuffled");
        let keys = [
            ("robots", w.robots.as_ref().map(Spanned::span), closed),
            ("think", w.think.as_ref().map(Spanned::span), closed),
            ("passes", w.passes.as_ref().map(Spanned::span), clock == "shuffled"),
            ("rate", w.rate.as_ref().map(Spanned::span), matches!(clock, "constant" | "poisson")),
            ("speed", w.speed.as_ref().map(Spanned::span), clock == "original"),
            ("connections", w.connections.as_ref().map(Spanned::span), !closed),
        ];
        match stranger(keys) {
            Some((key, span)) => {
                let what = format!("`{key}` has no meaning with the clock `{clock}`");
                self.wrong(span, what, "take the line out, or choose another clock")
            }
            None => Ok(()),
        }
    }

    fn get_source(&self, w: &WorkloadSection) -> Checked<RequestSource> {
        let Some(list) = &w.urls else {
            return self.wrong(w.kind.span(), "a `get` workload needs `urls`", "add urls = [\"/\"]");
        };
        Ok(RequestSource::Get(self.urls(list)?))
    }

    pub(super) fn urls(&self, list: &Spanned<Vec<Spanned<UrlEntry>>>) -> Checked<Vec<GetUrl>> {
        let mut urls = Vec::new();
        for entry in list.as_ref() {
            let (path, weight) = match entry.as_ref() {
                UrlEntry::Path(path) => (path.clone(), 1),
                UrlEntry::Weighted(weighted) => (weighted.path.clone(), weighted.weight.unwrap_or(1)),
            };
            if !path.starts_with('/') {
                return self.wrong(
                    entry.span(),
                    format!("`{path}` is no path"),
                    "paths start with /; the server is an arm",
                );
            }
            urls.push(GetUrl { path, weight });
        }
        if urls.iter().all(|url| url.weight == 0) {
            return self.wrong(
                list.span(),
                "there is nothing to ask for",
                "name at least one path with a weight above 0",
            );
        }
        Ok(urls)
    }

    fn walk_source(&self, w: &WorkloadSection) -> Checked<RequestSource> {
        let Some(site) = &w.site else {
            let help = "add site = { files = 1000, bytes = \"20MB\", urls = 1000, mean_reply = \"10KB\" }";
            return self.wrong(w.kind.span(), "a `walk` workload needs a `site`", help);
        };
        let s = site.as_ref();
        let shape = Shape {
            files: self.at_least(Some(&s.files), 1, 1)?,
            bytes: self.quantity(Some(&s.bytes), "20MB")?,
            urls: self.at_least(Some(&s.urls), 1, 1)?,
            missing: self.quantity(s.missing.as_ref(), "0%")?,
            mean_reply: self.quantity(Some(&s.mean_reply), "10KB")?,
        };
        if let Some(fault) = shape.fault() {
            return self.wrong(
                site.span(),
                format!("there is no such site: {fault}"),
                "see its numbers again",
            );
        }
        Ok(RequestSource::Walk { shape, max_site: self.quantity::<Bytes>(w.max_site.as_ref(), "2GB")? })
    }

    fn replay_source(&self, w: &WorkloadSection) -> Checked<RequestSource> {
        let Some(log) = &w.log else {
            return self.wrong(
                w.kind.span(),
                "a `replay` workload needs a `log`",
                "add log = \"access.log\"",
            );
        };
        let format = w.format.as_ref().map(|format| {
            format.as_ref().parse().or_else(|_| {
                let known = ["common", "combined", "vhost-combined", "nginx-json", "squid"];
                self.wrong(
                    format.span(),
                    format!("there is no log format `{}`", format.as_ref()),
                    suggestion(format.as_ref(), &known),
                )
            })
        });
        let source = match log.as_ref().strip_prefix("builtin:") {
            Some(name) => match shipped::log(name) {
                Some(source) => source,
                None => {
                    return self.wrong(
                        log.span(),
                        format!("there is no bundled log `{name}`"),
                        "the bundled one is `builtin:weblog`",
                    );
                }
            },
            None => LogSource::File(self.base.join(log.as_ref())),
        };
        Ok(RequestSource::Replay {
            log: source,
            format: format.transpose()?,
            conditional: w.conditional.as_ref().is_some_and(|value| *value.as_ref()),
            max_site: self.quantity::<Bytes>(w.max_site.as_ref(), "2GB")?,
            max_unparsable: self.quantity(w.max_unparsable.as_ref(), "10%")?,
        })
    }
}
