//! Observer of a run: records written while robots are at work, and readings of other processes when a phase ends.
//!
//! Measuring side, the main thread, cold: beside the robots' thread. Owns the readings whose difference belongs to a
//! phase. Judges nothing.

use super::error::CachesError;
use super::filling::Filling;
use super::load::Watch;
use super::power::{Power, Switched};
use super::progress::BakeoffProgress;
use super::tally::{Counted, Tally};
use crate::directory::BakeoffDirectory;
use crate::records::{IntervalLine, OriginHeard, PhaseLine, PhaseUsage};
use bakeoff_meter::process::Usage;
use bakeoff_robots::ledger::{Beat, LedgerRecord, RecordScope};
use bakeoff_robots::{FillGate, Spec};
use bakeoff_subject::Running;

/// Outputs of a run: directory and progress.
pub(crate) struct Log<'b, 'd> {
    /// Number of the run.
    pub(crate) run: u32,
    /// `None`: nothing is kept.
    pub(crate) dir: Option<&'b mut BakeoffDirectory<'d>>,
    pub(crate) progress: &'b mut dyn BakeoffProgress,
}

/// The two processes that are read.
#[derive(Clone, Copy)]
pub(crate) struct Sides<'b> {
    pub(crate) origin: &'b dyn Counted,
    /// `None`: there is none, or bakeoff did not start it.
    pub(crate) cache: Option<&'b Running>,
    /// Whether the cache is asked with whole URLs, so that the host that it asks for follows from them.
    pub(crate) is_forward: bool,
}

impl Sides<'_> {
    /// CPU of the cache so far; `None` if that cannot be read.
    fn cache_ns(&self) -> Option<u64> {
        let reading = self.cache?.cpu().ok()?;
        Some(reading.nanos.get())
    }

    /// Memory of the cache now; `None` if that cannot be read.
    fn memory_bytes(&self) -> Option<u64> {
        let held = Usage::of(&self.cache?.processes()).rss().ok()?;
        Some(held.get())
    }
}

/// Readings at a moment; a phase has the difference of two.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    cache_ns: Option<u64>,
    memory_bytes: Option<u64>,
    origin_ns: Option<u64>,
    robots_ns: u64,
    tally: Tally,
}

/// Observer of a run: see the module.
pub(crate) struct Observer<'b, 'd> {
    log: Log<'b, 'd>,
    sides: Sides<'b>,
    /// Names of the phases that count.
    measured: Vec<String>,
    /// The store that is being filled.
    filling: Option<Filling<'b>>,
    /// The switch of a cache that has an outage.
    power: Option<Power<'b>>,
    before: Reading,
    /// CPU of the cache when the last interval closed.
    at_interval: Option<u64>,
    clock_ahead_s: Option<i64>,
}

/// Observations beside the phases.
pub(crate) struct Learnt {
    pub(crate) clock_ahead_s: Option<i64>,
    /// Reason why the gauge of a store could not be read during a fill, if so.
    pub(crate) unreadable: Option<String>,
    /// Times when the cache was killed and started again.
    pub(crate) switched: Vec<Switched>,
}

impl<'b, 'd> Observer<'b, 'd> {
    /// Begins with the present readings.
    pub(crate) fn begin(
        log: Log<'b, 'd>,
        spec: &Spec,
        sides: Sides<'b>,
        filling: Option<Filling<'b>>,
    ) -> Result<Self, CachesError> {
        let measured = spec.phases.iter().filter(|phase| phase.measured).map(|phase| phase.name.clone());
        let mut observer = Self {
            log,
            sides,
            measured: measured.collect(),
            filling,
            power: None,
            before: Reading::default(),
            at_interval: None,
            clock_ahead_s: None,
        };
        observer.before = observer.read()?;
        observer.at_interval = observer.before.cache_ns;
        Ok(observer)
    }

    /// The same, and the cache is killed and started again as the phases say.
    #[must_use]
    pub(crate) fn switching(mut self, power: Option<Power<'b>>) -> Self {
        self.power = power;
        self
    }

    /// Called when the robots have ended.
    pub(crate) fn finish(self) -> Learnt {
        let unreadable = self.filling.and_then(Filling::unreadable);
        let switched = self.power.map_or_else(Vec::new, Power::switched);
        Learnt { clock_ahead_s: self.clock_ahead_s, unreadable, switched }
    }

    fn read(&mut self) -> Result<Reading, CachesError> {
        let origin = self.sides.origin;
        let (tally, ahead) = origin.tally()?;
        self.clock_ahead_s = ahead.or(self.clock_ahead_s);
        Ok(Reading {
            cache_ns: self.sides.cache_ns(),
            memory_bytes: self.sides.memory_bytes(),
            origin_ns: origin.cpu_ns(),
            robots_ns: bakeoff_sys::cpu_clock::own_process().map_or(0, |time| time.get()),
            tally,
        })
    }
}

/// Difference of two readings. An origin that was started anew counts from 0 again, which gives no negative use.
fn used(now: &Reading, before: &Reading, is_forward: bool) -> PhaseUsage {
    let sent = now.tally.since(&before.tally);
    PhaseUsage {
        cache_cpu_ns: between(now.cache_ns, before.cache_ns),
        cache_memory_bytes: now.memory_bytes,
        origin_cpu_ns: between(now.origin_ns, before.origin_ns),
        robots_cpu_ns: now.robots_ns.saturating_sub(before.robots_ns),
        // The request for the counts is one of the replies.
        origin_replies: sent.replies.saturating_sub(1),
        origin_validations: sent.validations,
        origin_posts: sent.posts,
        origin_body_bytes: sent.body_bytes,
        origin_heard: (now.tally.requests >= before.tally.requests).then_some(OriginHeard {
            asks: sent.asks,
            unasked: sent.unasked,
            without_via: sent.without_via,
            hop_passed: sent.hop_passed,
            other_host: if is_forward { sent.other_host } else { 0 },
        }),
    }
}

/// The difference, if both could be read.
fn between(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    Some(now?.saturating_sub(before?))
}

impl Watch for Observer<'_, '_> {
    fn record(&mut self, record: &LedgerRecord) -> Result<(), CachesError> {
        if let (Some(dir), RecordScope::Interval) = (&mut self.log.dir, record.scope) {
            let now = self.sides.cache_ns();
            let cache_cpu_ns = between(now, self.at_interval);
            self.at_interval = now;
            dir.interval(&IntervalLine { run: self.log.run, cache_cpu_ns, interval: record.clone() })?;
        }
        self.log.progress.record(record);
        Ok(())
    }

    fn beat(&self) -> Option<Beat> {
        self.log.progress.beat()
    }

    fn phase(&mut self, phase: LedgerRecord) -> (PhaseLine, Result<(), CachesError>) {
        self.log.progress.record(&phase);
        let (used, read) = match self.read() {
            Ok(now) => (used(&now, &std::mem::replace(&mut self.before, now), self.sides.is_forward), Ok(())),
            Err(why) => (PhaseUsage::default(), Err(why)),
        };
        let measured = self.measured.contains(&phase.phase);
        (PhaseLine { phase, measured, ended: None, used, achievable: None }, read)
    }

    fn turn(&mut self, ended: &str) -> Result<(), CachesError> {
        let Some(power) = &mut self.power else { return Ok(()) };
        power.turn(ended, self.log.progress)
    }

    fn look(&mut self, gate: &FillGate) -> Result<(), CachesError> {
        self.sides.origin.alive()?;
        if let Some(cache) = self.sides.cache {
            cache.alive()?;
        }
        if let Some(filling) = self.filling.as_mut().filter(|_| !gate.is_open())
            && filling.is_full(self.sides.origin, self.log.progress)?
        {
            gate.open();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_has_the_difference_and_never_less_than_nothing() {
        let reading = |replies, cache_ns| Reading {
            cache_ns,
            memory_bytes: cache_ns.map(|ns| 100 * ns),
            origin_ns: None,
            robots_ns: 10 * replies,
            tally: Tally {
                replies,
                validations: replies / 2,
                body_bytes: 1_000 * replies,
                requests: replies,
                asks: replies,
                ..Tally::default()
            },
        };
        let (early, late) = (reading(10, Some(7)), reading(31, Some(9)));
        let between = used(&late, &early, true);
        assert_eq!(
            (between.cache_cpu_ns, between.origin_cpu_ns, between.robots_cpu_ns),
            (Some(2), None, 210)
        );
        assert_eq!(between.cache_memory_bytes, Some(900), "as it is at the end");
        assert_eq!((between.origin_replies, between.origin_validations), (20, 10));
        assert_eq!(between.origin_body_bytes, 21_000);
        assert_eq!(between.origin_heard, Some(OriginHeard { asks: 21, ..OriginHeard::default() }));
        assert_eq!(
            used(&early, &late, true),
            PhaseUsage { cache_cpu_ns: Some(0), cache_memory_bytes: Some(700), ..PhaseUsage::default() }
        );
    }
}
