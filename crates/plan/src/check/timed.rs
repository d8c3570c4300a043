//! Check of `slice` and `warm`: slices that end with time, and keys that cannot be combined with them.

use super::super::expand::Cell;
use super::super::file::{ClockSection, Http2Entry, PlanFile, RequestsSection};
use super::super::{SliceLengths, Work};
use super::{Checked, Context};
use crate::file::{Spanned, place_of};
use bakeoff_meter::catalogue;
use bakeoff_units::Nanos;
use std::ops::Range;

/// Default length of the warm-up before a slice, as a share of it.
const WARM: f64 = 0.1;

impl Context<'_> {
    /// `cells` are those that the plan's arms were made from.
    pub(super) fn timed(&self, file: &PlanFile, work: Work, cells: &[Cell]) -> Checked<Work> {
        let e = &file.experiment;
        let Some(slice) = &e.slice else {
            let what = "`warm` comes before a slice by time, and there is none";
            self.refuse(e.warm.as_ref(), what, "add slice = \"20s\"")?;
            return Ok(work);
        };
        if let Some((span, what)) = against_time(file, cells) {
            return self.wrong(span, what, "take one of both out");
        }
        let Work::Requests(mut work) = work else {
            return self.wrong(slice.span(), "only requests have slices by time", "take the line out");
        };
        let length: Nanos = self.positive(&e.slice, "10s")?;
        let timeouts = work.populations.iter().map(|population| population.work.timeout);
        let longest = timeouts.max().unwrap_or(work.timeout);
        let short = slice.when(longest >= length);
        let what =
            format!("a slice of {length} cannot see a request through that may take {longest} (`timeout`)");
        self.refuse(short, what, "make the slice longer than `timeout`, or `timeout` shorter")?;
        for (typed, checked) in file.population.iter().zip(&work.populations) {
            let until = checked.during.map_or(Nanos::ZERO, |during| during.until);
            let name = &checked.name;
            let what = format!("the population `{name}` asks until {until}, and slices are of {length}");
            let late = typed.during.as_ref().filter(|_| until > length);
            self.refuse(late, what, "make the slice longer, or let it end before")?;
        }
        let warm = self.optional(&e.warm)?.unwrap_or_else(|| length.times(WARM));
        work.timed = Some(SliceLengths { slice: length, warm });
        Ok(Work::Requests(work))
    }
}

/// The first thing in a plan that needs slices with a fixed list of requests.
fn against_time(file: &PlanFile, cells: &[Cell]) -> Option<(Range<usize>, String)> {
    let e = &file.experiment;
    let and = |what: &str| {
        format!("{what} is about slices with a fixed list of requests, and `slice` ends them with time")
    };
    if let Some(requests) = &e.slice_requests {
        return Some((requests.span(), and("`slice_requests`")));
    }
    if let Some(kind) = e.kind.as_ref().filter(|kind| kind.as_ref() == "peak") {
        return Some((kind.span(), "a search for peaks has trials of its own length".to_owned()));
    }
    if let Some(design) = e.design.as_ref().filter(|design| design.as_ref() == "duet") {
        let what = "all arms at once get the same requests, and a slice by time has none beforehand";
        return Some((design.span(), what.to_owned()));
    }
    let of_slice = |name: &str| catalogue::find(name).is_some_and(|meter| meter.is_of_whole_slice());
    if let Some(primary) = e.primary.as_ref().filter(|primary| of_slice(primary.as_ref())) {
        return Some((primary.span(), and(&format!("`{}`", primary.as_ref()))));
    }
    if let Some(violations) = &file.violations {
        return Some((violations.span(), and("[violations]")));
    }
    let populations = file.population.iter().map(|of| &of.requests);
    let asked: Vec<&RequestsSection> = file.workload.requests().into_iter().chain(populations).collect();
    // A stream that is cut off cannot be told apart there.
    let http2 = |entry: &Option<Spanned<Http2Entry>>| {
        let entry = entry.as_ref()?;
        let is_on = !matches!(entry.as_ref(), Http2Entry::Switch(false));
        let what = "requests of HTTP/2 are followed to their end, and `slice` cuts them";
        is_on.then(|| (entry.span(), what.to_owned()))
    };
    let of_arms = cells.iter().map(|cell| &cell.section.has.asked.http2);
    if let Some(both) = asked.iter().map(|w| &w.client.http2).chain(of_arms).find_map(http2) {
        return Some(both);
    }
    let key = |cell: &Cell| {
        let section = &cell.section.has.asked;
        let requests = section.slice_requests.as_ref().map(|key| (key.span(), "`slice_requests`"));
        requests.or_else(|| section.fresh.as_ref().map(|key| (key.span(), "`fresh`")))
    };
    if let Some((span, name)) = cells.iter().find_map(key) {
        return Some((span, and(name)));
    }
    asked.into_iter().find_map(|w| match &w.clock {
        ClockSection::Shuffled { walk, .. } => Some((walk.passes.as_ref()?.span(), and("`passes`"))),
        ClockSection::Original(c) => Some((place_of(&c.clock), and("the clock `original`"))),
        ClockSection::Closed(_)
        | ClockSection::Constant(_)
        | ClockSection::Poisson(_)
        | ClockSection::Bursts(_)
        | ClockSection::Searched(_) => None,
    })
}
