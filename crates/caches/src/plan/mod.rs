//! A bake-off's plan: as typed ([`file`]) and as checked ([`CachePlan`]).
//!
//! Measuring side, cold, pure. Nothing is opened or started here.

mod check;
mod entrant;
mod file;
mod length;
mod population;
mod reader;
mod schedule;
mod secure;
mod turns;

pub use population::Growth;
pub use schedule::{PeakSource, RateSchedule};

pub use entrant::{Entrant, EntrantKind, NoEntrant};
pub use secure::TUNNELS;
pub use turns::{EntrantTurn, TurnOrder};

use crate::not_scaled::{self, Grows};
use crate::scale::{TimeScale, TooShort};
use bakeoff_content::Distribution;
use bakeoff_content::world::Model;
use bakeoff_loadgen::{LocalAddresses, LocalPorts};
pub use bakeoff_plan::PlanError;
use bakeoff_robots::phases::{Goal, Phase};
use bakeoff_robots::working_set::GrowthLimit;
use bakeoff_robots::{PhaseFile, Spec};
use bakeoff_subject::ProxyMode as Mode;
use bakeoff_units::{Bytes, Nanos, PerSecond, Ratio};

/// The key that makes a text a plan of this kind.
pub const KEY: &str = "bakeoff";

/// A checked plan of a bake-off.
#[derive(Clone, Debug)]
pub struct CachePlan {
    /// Its name: of a shipped plan, or the file's.
    pub name: String,
    /// Its text, as stored with the results.
    pub text: String,
    /// Its title, for the head of the report.
    pub title: String,
    /// The entrants. The first is the baseline that the others are compared with.
    pub entrants: Vec<Entrant>,
    /// Number of passes, in each of which all have a turn; at least 1.
    pub passes: u32,
    /// Order of the turns.
    pub order: TurnOrder,
    /// Whether the baseline has two turns in each pass, the second as an entrant of its own.
    pub baseline_twice: bool,
    /// The form of the requests to a cache.
    pub mode: Mode,
    /// Bytes of memory of each store.
    pub memory_bytes: u64,
    /// Bytes of disk of each store.
    pub disk_bytes: Option<u64>,
    /// Share of the published durations.
    pub scale: TimeScale,
    /// The rates.
    pub schedule: RateSchedule,
    /// The hit ratio that the workload is set to; `None`: the rule of 1999 does not apply.
    pub hit_ratio: Option<Ratio>,
    /// Bound of the mean response time, by the rule of 1999 and in the search for the peak.
    pub mean_bound: Nanos,
    /// Most connections.
    pub connections: Option<usize>,
    /// Local ports of the robots' connections; `None`: the kernel's.
    pub ports: Option<LocalPorts>,
    /// Local addresses of the robots' connections; none: the kernel's.
    pub from: LocalAddresses,
    /// Time limit of a request.
    pub timeout: Nanos,
    /// Seed of everything random.
    pub seed: u64,
    /// The number from which both ends draw their names: it follows from the seed.
    pub(crate) names: u64,
    /// Port that the origin listens on; `None`: a free one.
    pub origin_port: Option<u16>,
    /// The rate by which a flag has replaced the plan's.
    pub rate_changed: Option<PerSecond>,
    /// The study whose published figures stand beside this run's.
    pub study: Option<String>,
    /// Differences from the published workload.
    pub differs: Vec<String>,
    /// The filling of stores.
    pub fill: Option<Fill>,
    /// Content without life cycles and think times: all cachable and sent at once. For fills, and to measure the speed
    /// of the path.
    pub quick: Model,
    /// Robots and phases of measured runs, without the parts that depend on a run's rate.
    robots: Spec,
    /// Growth of robots with the rate, if there is any.
    growth: Option<Growth>,
    /// The published phases: what `robots` has, before the scale.
    pub published: Vec<PhaseFile>,
    /// The content.
    pub model: Model,
    /// The world and the behaviour of the origin, as text for it.
    pub world: String,
    /// Whether robots use TLS with the origin: through proxies in tunnels opened by CONNECT.
    pub tls: bool,
    /// The origin's think time, of kinds that have none of their own.
    pub think: Option<Distribution>,
}

/// Least time that replies are awaited after the last phase, and the same in multiples of the origin's mean think time.
const LAST_REPLIES: Nanos = Nanos::from_secs(15);
const THINKS: f64 = 5.0;

/// Filling of stores.
#[derive(Clone, Debug)]
pub struct Fill {
    /// The robots that fill.
    pub robots: Spec,
    /// If the store cannot be read, it ends when this many times the store's capacity was fetched.
    pub times: f64,
}

/// Changes of a plan by flags.
#[derive(Clone, Debug, Default)]
pub struct PlanChanges {
    /// In place of the plan's products; not used when empty.
    pub entrants: Vec<Entrant>,
    /// In place of the plan's scale.
    pub scale: Option<TimeScale>,
    /// In place of the plan's rates.
    pub rate: Option<PerSecond>,
    /// Port that the origin listens on; none: a free one.
    pub origin_port: Option<u16>,
    /// In place of the plan's local ports.
    pub ports: Option<LocalPorts>,
    /// In place of the plan's local addresses; not used when there are none.
    pub from: LocalAddresses,
}

impl CachePlan {
    /// Mean of the origin's think time.
    pub fn think_mean(&self) -> Nanos {
        self.think.as_ref().map_or(Nanos::ZERO, |think| Nanos::from_secs_f64(think.mean()))
    }

    /// The plan's work in words.
    pub fn in_words(&self) -> String {
        let entrants: Vec<&str> = self.entrants.iter().map(|entrant| entrant.name.as_str()).collect();
        let rates = self.schedule.in_words();
        let phases = self.phases().iter().map(|phase| match phase.goal.duration {
            Some(duration) if phase.outage => format!("{} {duration} (the cache is away)", phase.name),
            Some(duration) => format!("{} {duration}", phase.name),
            None => phase.name.clone(),
        });
        let phases: Vec<String> = phases.collect();
        let mut words = format!(
            "{}: good\n  {}\n  entrants: {}\n  rates: {rates}\n  phases: {}\n  store: {} of memory{}, {}\n  scale {}, seed {}",
            self.name,
            self.title,
            entrants.join(", "),
            phases.join(", "),
            Bytes::new(self.memory_bytes),
            self.disk_bytes.map_or(String::new(), |disk| format!(" and {} of disk", Bytes::new(disk))),
            if self.fills() { "filled before" } else { "empty at the start" },
            self.scale,
            self.seed
        );
        if let Some(order) = self.order_in_words() {
            words += &format!("\n  order: {order}");
        }
        if self.tls {
            words += &format!("\n  over TLS: {TUNNELS}");
        }
        if self.robots.accept_gzip.get() > 0.0 {
            words += &format!("\n  gzip: accepted by {} of the robots", self.robots.accept_gzip);
        }
        for line in self.not_scaled() {
            words += &format!("\n  not scaled: {line}");
        }
        words
    }

    /// Quantities that the scale leaves as they are, in words.
    pub fn not_scaled(&self) -> Vec<String> {
        let grows = match self.robots.working_set {
            _ if self.schedule == RateSchedule::BestEffort => Grows::WithTheFill,
            GrowthLimit::Objects(objects) if !self.growth.is_some_and(|growth| growth.sets_working_set()) => {
                Grows::To(objects)
            }
            _ => Grows::WithTime,
        };
        let store = self.memory_bytes.saturating_add(self.disk_bytes.unwrap_or(0));
        let mut lines = not_scaled::lines(self.scale, self.think_mean(), grows, Bytes::new(store));
        if !lines.is_empty() && self.has_outage() {
            lines.push(
                "an outage takes as long as at full scale, and so does a cache's start after it".to_owned(),
            );
        }
        lines
    }

    /// Checks that measured phases are long enough at this rate.
    ///
    /// # Errors
    /// The phase that needs most is not.
    pub(crate) fn demand_length(&self, rate: PerSecond) -> Result<(), TooShort> {
        // Bytes are the same at every rate: they were checked when the plan was read.
        let published = &self.published;
        length::Length { published, scaled: &[], scale: self.scale, model: &self.model }.demand(Some(rate))
    }

    /// The robots of a run at this rate; without one they ask as fast as replies come.
    pub fn robots_at(&self, rate: impl Into<Option<PerSecond>>) -> Spec {
        match (&self.growth, rate.into()) {
            (Some(growth), Some(rate)) => growth.at(&self.robots, rate),
            (_, rate) => Spec { rate, ..self.robots.clone() },
        }
    }

    /// The phases of a run.
    pub fn phases(&self) -> &[Phase] {
        &self.robots.phases
    }

    /// Planned duration of the measured phases of a run, by their times or by their requests at the plan's highest
    /// rate; `None` if it shows only when they are run.
    pub fn measured_time(&self) -> Option<Nanos> {
        self.time(self.schedule.known_highest(), |phase| phase.measured)
    }

    /// The same for all phases of a run at this rate.
    pub(crate) fn run_time(&self, rate: Option<PerSecond>) -> Option<Nanos> {
        self.time(rate, |_| true)
    }

    fn time(&self, rate: Option<PerSecond>, counts: fn(&&Phase) -> bool) -> Option<Nanos> {
        let planned = |goal: &Goal| {
            let requests = goal.transactions.zip(rate);
            let by_requests = requests.map(|(all, rate)| Nanos::from_secs_f64(all as f64 / rate.get()));
            [goal.duration, by_requests].into_iter().flatten().min()
        };
        let phases = self.phases().iter().filter(counts);
        phases.map(|phase| planned(&phase.goal)).try_fold(Nanos::ZERO, |sum, time| Some(sum + time?))
    }

    /// Time that replies are awaited after the last phase: no longer than a request may take, and long enough for the
    /// fetches of a working cache from its origin.
    pub(crate) fn last_replies(&self) -> Nanos {
        LAST_REPLIES.max(self.think_mean().times(THINKS)).min(self.timeout)
    }

    /// Whether a cache is away in one of the phases.
    pub fn has_outage(&self) -> bool {
        self.phases().iter().any(|phase| phase.outage)
    }

    /// Parses a plan's text, changed by flags.
    ///
    /// # Errors
    /// The error, with its key.
    pub fn parse(name: &str, origin: &str, text: &str, changes: &PlanChanges) -> Result<Self, PlanError> {
        let plan = Self::of_a_run(name, origin, text, changes)?;
        check::demand_products(origin, &plan)?;
        Ok(plan)
    }

    /// The same for a plan that was run. Its entrants come from its records: flags may have replaced the plan's.
    pub(crate) fn of_a_run(
        name: &str,
        origin: &str,
        text: &str,
        changes: &PlanChanges,
    ) -> Result<Self, PlanError> {
        check::check(name, origin, text, changes)
    }
}
