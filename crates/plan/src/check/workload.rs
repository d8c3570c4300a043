//! Check of `[workload]`: its requests or commands, and their clock.

use super::super::error::suggestion;
use super::super::file::{
    BurstSection, ClockSection, CommandSection, GetSection, PlanFile, RateSection, ReplaySection,
    RequestsSection, RobotsSection, SourceSection, UrlEntry, WalkSection, Whole, WorkloadSection,
};
use super::super::{BurstClock, CommandWork, LoadClock, RequestSource, RequestWork, Work};
use super::{Checked, Context, Typed};
use crate::file::{Spanned, is_on, place_of};
use crate::shipped;
use bakeoff_units::{Bytes, PerSecond};
use bakeoff_wire::access_log::Format;
use bakeoff_workload::replay::LogSource;
use bakeoff_workload::{GetUrl, SiteShape};

/// More than a machine has connections for.
const MOST_AT_ONCE: u32 = 100_000;

impl Context<'_> {
    pub(super) fn work(&self, file: &PlanFile, slice: Option<&Spanned<u64>>) -> Checked<Work> {
        match &file.workload {
            WorkloadSection::Requests(requests) => {
                let work = self.request_work(requests, slice)?;
                Ok(Work::Requests(self.with_populations(file, work)?))
            }
            WorkloadSection::Command(command) => Ok(Work::Command(self.command_work(command, slice)?)),
            WorkloadSection::Files(files) => Ok(Work::Files(self.files_work(files, slice)?)),
            WorkloadSection::Calls(calls) => Ok(Work::Calls(self.calls_work(calls, slice)?)),
        }
    }

    pub(super) fn request_work(
        &self,
        w: &RequestsSection,
        slice: Option<&Spanned<u64>>,
    ) -> Checked<RequestWork> {
        Ok(RequestWork {
            source: self.source(w)?,
            clock: self.clock(w)?,
            timeout: self.quantity(&w.client.timeout, "10s")?,
            connections: self.at_least(w.clock.connections(), 1000, 1)?,
            max_age: None,
            refusals: self.refusals(&w.client)?,
            timed: None,
            populations: Vec::new(),
            slice_requests: slice.map(|n| self.at_least(Some(n), 1, 1)).transpose()?,
        })
    }

    fn command_work(&self, w: &CommandSection, slice: Option<&Spanned<u64>>) -> Checked<CommandWork> {
        self.refuse(slice, "a command has no requests to count", "take the line out")?;
        Ok(CommandWork { cold: is_on(&w.cold), time_limit: self.quantity(&w.time_limit, "10min")? })
    }

    fn source(&self, w: &RequestsSection) -> Checked<RequestSource> {
        match &w.source {
            SourceSection::Get(get) => self.get_source(w, get),
            SourceSection::Replay(replay) => self.replay_source(w, replay),
            SourceSection::Walk(_) if matches!(w.clock, ClockSection::Searched(_)) => {
                let what = "a walk has robots in a closed loop, and a search for peaks sets the rate";
                self.wrong(w.kind.span(), what, "use a `replay` or `get` workload")
            }
            SourceSection::Walk(walk) => self.walk_source(w, walk),
            SourceSection::Webstone => Ok(RequestSource::Webstone),
        }
    }

    pub(super) fn clock(&self, w: &RequestsSection) -> Checked<LoadClock> {
        match &w.clock {
            ClockSection::Closed(robots) => self.robots(w, robots, None),
            ClockSection::Shuffled { robots, walk } => self.robots(w, robots, walk.passes.as_ref()),
            ClockSection::Constant(c) => Ok(LoadClock::Constant(self.rate(c)?)),
            ClockSection::Poisson(c) => Ok(LoadClock::Poisson(self.rate(c)?)),
            ClockSection::Bursts(c) => Ok(LoadClock::Bursts(self.bursts(c)?)),
            ClockSection::Original(c) => {
                let speed = c.speed.as_ref().map_or(1.0, |speed| *speed.as_ref());
                let odd = c.speed.as_ref().filter(|_| !(speed.is_finite() && speed > 0.0));
                self.refuse(odd, "the speed must be above zero", "1 is as in the log")?;
                Ok(LoadClock::Original { speed })
            }
            ClockSection::Searched(c) => self.peak_clock(c),
        }
    }

    fn robots(
        &self,
        w: &RequestsSection,
        c: &RobotsSection,
        passes: Option<&Spanned<u32>>,
    ) -> Checked<LoadClock> {
        let default = if matches!(w.source, SourceSection::Webstone) { 32 } else { 15 };
        Ok(LoadClock::Closed {
            robots: self.at_least(self.whole(c.robots.as_ref())?.as_ref(), default, 1)?,
            think: self.quantity(&c.think, "0s")?,
            passes: passes.map(|passes| self.at_least(Some(passes), 1, 1)).transpose()?,
        })
    }

    fn whole(&self, value: Option<&Spanned<Whole>>) -> Checked<Option<Spanned<usize>>> {
        let Some(value) = value else { return Ok(None) };
        let number = match value.as_ref() {
            Whole::Number(number) => *number,
            Whole::Level(text) => text.parse().or_else(|_| {
                let help = "such as 15, or the name of a factor of whole numbers in braces";
                self.wrong(value.span(), format!("`{text}` is no whole number"), help)
            })?,
        };
        Ok(Some(Spanned::new(value.span(), number)))
    }

    fn rate(&self, c: &RateSection) -> Checked<PerSecond> {
        if let Some(rate) = &c.rate {
            return self.rate_with_unit(rate);
        }
        let word = c.clock.as_ref().map_or("", |clock| clock.as_ref());
        self.wrong(place_of(&c.clock), format!("the clock `{word}` needs a rate"), "add rate = \"1000/s\"")
    }

    fn bursts(&self, c: &BurstSection) -> Checked<BurstClock> {
        let (Some(burst), Some(_)) = (&c.burst, &c.every) else {
            let what = "the clock `bursts` needs to know how many requests, and how often";
            return self.wrong(place_of(&c.clock), what, "add burst = \"50-80\" and every = \"500ms\"");
        };
        let text = burst.as_ref().trim();
        let (least, most) = text.split_once('-').unwrap_or((text, text));
        let sizes = least.trim().parse::<u32>().ok().zip(most.trim().parse::<u32>().ok());
        let Some((least, most)) =
            sizes.filter(|(least, most)| least <= most && *least > 0 && *most <= MOST_AT_ONCE)
        else {
            let what = format!("`{text}` is no size of a burst");
            let help = format!("such as \"64\", or \"50-80\"; 1 to {MOST_AT_ONCE}");
            return self.wrong(burst.span(), what, help);
        };
        Ok(BurstClock { least, most, every: self.positive(&c.every, "500ms")? })
    }

    fn get_source(&self, w: &RequestsSection, get: &GetSection) -> Checked<RequestSource> {
        let Some(list) = &get.urls else {
            return self.wrong(w.kind.span(), "a `get` workload needs `urls`", "add urls = [\"/\"]");
        };
        let mut urls = self.urls(list)?;
        if let Some(status) = &get.expect {
            let bad = Some(status).filter(|status| !(200..500).contains(status.as_ref()));
            self.refuse(bad, "`expect` is a status from 200 to 499", "such as expect = 404")?;
            urls.iter_mut().for_each(|url| url.expect = Some(*status.as_ref()));
        }
        Ok(RequestSource::Get(urls))
    }

    pub(super) fn urls(&self, list: &Spanned<Vec<Spanned<UrlEntry>>>) -> Checked<Vec<GetUrl>> {
        let mut urls = Vec::new();
        for entry in list.as_ref() {
            let (path, weight) = match entry.as_ref() {
                UrlEntry::Path(path) => (path.clone(), 1),
                UrlEntry::Weighted(weighted) => (weighted.path.clone(), weighted.weight.unwrap_or(1)),
            };
            let bad = entry.when(!path.starts_with('/'));
            self.refuse(bad, format!("`{path}` is no path"), "paths start with /; the server is an arm")?;
            urls.push(GetUrl { weight, ..GetUrl::of(path) });
        }
        let none = list.when(urls.iter().all(|url| url.weight == 0));
        self.refuse(none, "there is nothing to ask for", "name at least one path with a weight above 0")?;
        Ok(urls)
    }

    fn walk_source(&self, w: &RequestsSection, walk: &WalkSection) -> Checked<RequestSource> {
        let Some(site) = &walk.site else {
            let help = "add site = { files = 1000, bytes = \"20MB\", urls = 1000, mean_reply = \"10KB\" }";
            return self.wrong(w.kind.span(), "a `walk` workload needs a `site`", help);
        };
        let s = site.as_ref();
        let shape = SiteShape {
            files: self.at_least(Some(&s.files), 1, 1)?,
            bytes: self.read(&s.bytes, "the default is \"20MB\"")?,
            urls: self.at_least(Some(&s.urls), 1, 1)?,
            missing: self.quantity(&s.missing, "0%")?,
            mean_reply: self.read(&s.mean_reply, "the default is \"10KB\"")?,
        };
        if let Some(fault) = shape.fault() {
            let what = format!("there is no such site: {fault}");
            return self.wrong(site.span(), what, "see its numbers again");
        }
        Ok(RequestSource::Walk { shape, max_site: self.max_site(&walk.max_site)? })
    }

    fn max_site(&self, key: &Typed) -> Checked<Bytes> {
        self.quantity(key, "2GB")
    }

    fn replay_source(&self, w: &RequestsSection, replay: &ReplaySection) -> Checked<RequestSource> {
        let Some(log) = &replay.log else {
            let what = "a `replay` workload needs a `log`";
            return self.wrong(w.kind.span(), what, "add log = \"access.log\"");
        };
        let known = Format::ALL.map(Format::as_str);
        let read = |format: &Spanned<String>| self.read(format, suggestion(format.as_ref(), &known));
        let format = replay.format.as_ref().map(read);
        let source = match log.as_ref().strip_prefix("builtin:").map(|name| (name, shipped::log(name))) {
            Some((_, Some(source))) => source,
            Some((name, None)) => {
                let what = format!("there is no bundled log `{name}`");
                return self.wrong(log.span(), what, "the bundled one is `builtin:weblog`");
            }
            None => LogSource::File(self.base.join(log.as_ref())),
        };
        Ok(RequestSource::Replay {
            log: source,
            format: format.transpose()?,
            conditional: is_on(&replay.conditional),
            compressible: is_on(&replay.compressible),
            max_site: self.max_site(&replay.max_site)?,
            max_unparsable: self.quantity(&replay.max_unparsable, "10%")?,
        })
    }
}
