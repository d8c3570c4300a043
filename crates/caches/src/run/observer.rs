//! What is written down while robots are at work, and what is read elsewhere when a phase ends.

use super::load::Watch;
use super::origin::Origin;
use super::tally::Tally;
use super::{CachesError, Progress};
use crate::directory::Directory;
use crate::records::{IntervalLine, PhaseLine, Used};
use bakeoff_robots::FillGate;
use bakeoff_robots::ledger::{Record, Scope};
use bakeoff_subject::Running;

/// Readings at a moment, of which a phase has the difference.
#[derive(Clone, Copy, Debug, Default)]
struct Reading {
    cache_ns: Option<u64>,
    origin_ns: Option<u64>,
    robots_ns: u64,
    tally: Tally,
}

/// See the module.
pub(super) struct Observer<'b, 'd, F> {
    pub(super) run: u32,
    pub(super) dir: &'b mut Directory<'d>,
    pub(super) progress: &'b mut dyn Progress,
    pub(super) origin: &'b Origin,
    pub(super) cache: Option<&'b Running>,
    /// Which phases count.
    pub(super) measured: &'b [String],
    /// Asked now and then whether the store is full.
    pub(super) is_full: F,
    before: Reading,
    pub(super) clock_ahead_s: Option<i64>,
}

impl<'b, 'd, F> Observer<'b, 'd, F> {
    /// Begins with the readings of now.
    pub(super) fn begin(
        (run, measured): (u32, &'b [String]),
        dir: &'b mut Directory<'d>,
        progress: &'b mut dyn Progress,
        (origin, cache): (&'b Origin, Option<&'b Running>),
        is_full: F,
    ) -> Result<Self, CachesError> {
        let mut observer = Self {
            run,
            dir,
            progress,
            origin,
            cache,
            measured,
            is_full,
            before: Reading::default(),
            clock_ahead_s: None,
        };
        observer.before = observer.read()?;
        Ok(observer)
    }

    fn read(&mut self) -> Result<Reading, CachesError> {
        let (tally, ahead) = self.origin.tally()?;
        self.clock_ahead_s = ahead.or(self.clock_ahead_s);
        Ok(Reading {
            cache_ns: self.cache.and_then(|cache| cache.cpu().ok()).map(|reading| reading.nanos.get()),
            origin_ns: self.origin.cpu_ns(),
            robots_ns: bakeoff_sys::cpu_clock::own_process().map_or(0, |time| time.get()),
            tally,
        })
    }
}

impl<F: FnMut() -> Result<bool, CachesError>> Watch for Observer<'_, '_, F> {
    fn record(&mut self, record: &Record) -> Result<(), CachesError> {
        if record.scope == Scope::Interval {
            self.dir.interval(&IntervalLine { run: self.run, interval: record.clone() })?;
        }
        self.progress.record(record);
        Ok(())
    }

    fn phase(&mut self, phase: Record) -> Result<PhaseLine, CachesError> {
        let now = self.read()?;
        let before = std::mem::replace(&mut self.before, now);
        let between = |now: Option<u64>, before: Option<u64>| Some(now?.saturating_sub(before?));
        let used = Used {
            cache_cpu_ns: between(now.cache_ns, before.cache_ns),
            origin_cpu_ns: between(now.origin_ns, before.origin_ns),
            robots_cpu_ns: now.robots_ns.saturating_sub(before.robots_ns),
            // The question itself is one of the replies.
            origin_replies: (now.tally.replies - before.tally.replies).saturating_sub(1),
            origin_validations: now.tally.validations - before.tally.validations,
            origin_body_bytes: now.tally.body_bytes - before.tally.body_bytes,
        };
        self.progress.record(&phase);
        let measured = self.measured.contains(&phase.phase);
        Ok(PhaseLine { phase, measured, ended: String::new(), used })
    }

    fn look(&mut self, gate: &FillGate) -> Result<(), CachesError> {
        if let Some(cache) = self.cache {
            cache.alive()?;
        }
        if !gate.is_open() && (self.is_full)()? {
            gate.open();
        }
        Ok(())
    }
}
