//! Checked workloads of requests: the requests, and the clock by which they are due.

use super::{ClientPlan, During};
use bakeoff_loadgen::Refusals;
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};
use bakeoff_wire::access_log::Format;
use bakeoff_workload::replay::LogSource;
use bakeoff_workload::{GetUrl, SiteShape};

/// A workload of requests.
#[derive(Clone, Debug)]
pub struct RequestWork {
    /// Source of the requests.
    pub source: RequestSource,
    /// The clock by which they are due. A search for peaks takes only the kind of gaps from it; the rates are its own.
    pub clock: LoadClock,
    /// Time limit of a request.
    pub timeout: Nanos,
    /// Open loop: most connections.
    pub connections: usize,
    /// Time that caches may keep replies of the origin; `None`: the origin does not say.
    pub max_age: Option<Nanos>,
    /// Statuses and failures that count as refused.
    pub refusals: Refusals,
    /// Requests of a slice; `None`: sized in the pilot.
    pub slice_requests: Option<u64>,
    /// Slices end with time and not with work.
    pub timed: Option<SliceLengths>,
    /// Clients that ask side by side; empty: all clients are alike, with these settings.
    pub populations: Vec<Population>,
}

/// Clients that are alike, beside others.
#[derive(Clone, Debug)]
pub struct Population {
    /// Its name.
    pub name: String,
    /// Its requests and clock; its own populations are empty.
    pub work: RequestWork,
    /// Whether it asks for paths of its own.
    pub own_requests: bool,
    /// The part of a slice in which it sends requests; `None`: all of it.
    pub during: Option<During>,
    /// Share of its failed requests above which an arm is invalid.
    pub max_errors: Ratio,
}

impl Population {
    /// Its load in words, for arms with these clocks.
    pub fn load_in_words(&self, clocks: impl Iterator<Item = LoadClock>) -> String {
        let during = self.during.map_or_else(String::new, |during| format!(", {during}"));
        clocks_in_words(clocks) + &during
    }
}

/// Lengths of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceLengths {
    /// The part that counts.
    pub slice: Nanos,
    /// The warm-up before it, at the same load.
    pub warm: Nanos,
}

impl RequestWork {
    /// The workload's name in plans.
    pub const fn kind(&self) -> &'static str {
        match self.source {
            RequestSource::Replay { .. } => "replay",
            RequestSource::Webstone => "webstone",
            RequestSource::Walk { .. } => "walk",
            RequestSource::Get(_) => "get",
        }
    }

    /// The load in words, as `check` and reports tell it.
    pub fn in_words(&self) -> String {
        self.in_words_with(&[])
    }

    /// The same for arms with these loads of their own.
    pub fn in_words_with(&self, own: &[&Self]) -> String {
        let all = if own.is_empty() { &[self] } else { own };
        let of_population = |(index, of): (usize, &Population)| {
            let clocks = all.iter().filter_map(|work| Some(work.populations.get(index)?.work.clock));
            format!("{}: {}", of.name, of.load_in_words(clocks))
        };
        let mut words = match self.populations.as_slice() {
            [] => clocks_in_words(all.iter().map(|work| work.clock)),
            all => all.iter().enumerate().map(of_population).collect::<Vec<_>>().join("; "),
        };
        if let Some(timed) = self.timed {
            let comma = if self.populations.is_empty() { "," } else { ";" };
            words += &format!("{comma} slices of {}", timed.slice);
        }
        if let Some(age) = self.max_age {
            words += &format!(", caches may keep replies for {age}");
        }
        words
    }

    /// Most connections at once to an arm, of all populations.
    pub fn connections_of_all(&self) -> usize {
        let of = |work: &Self| work.clock.robots().unwrap_or(work.connections);
        match self.populations.as_slice() {
            [] => of(self),
            all => all.iter().map(|population| of(&population.work)).sum(),
        }
    }

    /// Most connections at once to an arm with these client settings.
    pub fn connections_of(&self, client: &ClientPlan) -> usize {
        self.clock.robots().map_or(self.connections, |robots| client.connections(robots))
    }
}

/// Sources of requests.
#[derive(Clone, Debug)]
pub enum RequestSource {
    /// An access log.
    Replay {
        /// The log.
        log: LogSource,
        /// Its format, if it is not to be told from its lines.
        format: Option<Format>,
        /// Whether a logged 304 or 206 is asked for as such.
        conditional: bool,
        /// Whether the texts of the site compress.
        compressible: bool,
        /// Largest site, on disk.
        max_site: Bytes,
        /// Share of lines that may be unreadable.
        max_unparsable: Ratio,
    },
    /// The WebStone 2.5 standard file set.
    Webstone,
    /// A made-up site, all of whose URLs every robot walks.
    Walk {
        /// Its parameters.
        shape: SiteShape,
        /// Largest site, on disk.
        max_site: Bytes,
    },
    /// Weighted paths.
    Get(Vec<GetUrl>),
}

/// Clocks by which requests are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadClock {
    /// Robots, each asking again when its reply has come and it has thought. For a replay each
    /// robot walks the log in its own order.
    Closed {
        /// Number of robots.
        robots: usize,
        /// Between a reply and the next request.
        think: Nanos,
        /// Replay: a slice is the whole log, walked this many times by each robot.
        passes: Option<u32>,
    },
    /// Equal gaps.
    Constant(PerSecond),
    /// Random gaps.
    Poisson(PerSecond),
    /// Many at the same moment, again and again.
    Bursts(BurstClock),
    /// The log's own gaps, sped up by a factor.
    Original {
        /// Speed factor.
        speed: f64,
    },
}

/// Several clocks in words, in their order: common words at the beginning and the end appear once.
fn clocks_in_words(clocks: impl Iterator<Item = LoadClock>) -> String {
    let mut all: Vec<String> = clocks.map(|clock| clock.in_words()).collect();
    all.dedup();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return String::new() };
    if all.len() == 1 {
        return first.clone();
    }
    let same = first.bytes().zip(last.bytes()).take_while(|(a, b)| a == b).count();
    let same = first.get(..same).and_then(|same| same.rfind(' ')).map_or(0, |space| space + 1);
    format!("{first} to {}, each arm its own", &last[same..])
}

/// Requests that come due together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BurstClock {
    /// Fewest of a burst, 1 or more.
    pub least: u32,
    /// Most of a burst; every number between is as likely.
    pub most: u32,
    /// From the beginning of one to that of the next, above zero.
    pub every: Nanos,
}

impl BurstClock {
    /// The most requests that come due within `time`.
    pub fn at_most_in(self, time: Nanos) -> f64 {
        (time.get() / self.every.get().max(1) + 1) as f64 * f64::from(self.most)
    }

    /// Requests per second on the mean.
    pub fn mean_rate(self) -> f64 {
        f64::midpoint(f64::from(self.least), f64::from(self.most)) / self.every.as_secs_f64()
    }
}

/// Bound on the generator's lateness if requests are close together.
const LATENESS: Nanos = Nanos::from_millis(1);

impl LoadClock {
    /// Allowed lateness of the generator: a tenth of the gap, at least 1 ms. `None` in a closed loop.
    pub fn max_lateness(self) -> Option<Nanos> {
        match self {
            Self::Closed { .. } => None,
            Self::Constant(rate) | Self::Poisson(rate) => Some(LATENESS.max(rate.gap().times(0.1))),
            Self::Bursts(bursts) => Some(LATENESS.max(bursts.every.times(0.1))),
            Self::Original { .. } => Some(LATENESS),
        }
    }

    /// In words, as reports quote it.
    pub fn in_words(&self) -> String {
        match self {
            Self::Closed { robots, think, .. } if *think == Nanos::ZERO => {
                format!("closed loop, {robots} robots")
            }
            Self::Closed { robots, think, .. } => format!("closed loop, {robots} robots, think time {think}"),
            Self::Constant(rate) => format!("open loop, constant {rate}"),
            Self::Poisson(rate) => format!("open loop, poisson {rate}"),
            Self::Bursts(BurstClock { least, most, every }) if least == most => {
                format!("open loop, bursts of {most} every {every}")
            }
            Self::Bursts(BurstClock { least, most, every }) => {
                format!("open loop, bursts of {least} to {most} every {every}")
            }
            Self::Original { speed } => format!("open loop, the log's own gaps at {speed} x speed"),
        }
    }

    /// Robots of a closed loop.
    pub const fn robots(&self) -> Option<usize> {
        match self {
            Self::Closed { robots, .. } => Some(*robots),
            _ => None,
        }
    }
}
