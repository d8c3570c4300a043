//! Slice of file operations. For each kind: the caches as the plan wants them, a quiet point, a block of operations,
//! another quiet point; then written data is checked and written out.
//!
//! Measuring side, the main thread of bakeoff. Owns that order, and the readings at quiet points.

use super::arm::{FilesArm, Surroundings};
use super::block::{self, Block, Report};
use super::ends::Ends;
use super::hand::Check;
use super::kind::{Kind, files_of};
use super::steps;
use super::store::Step;
use super::totals::{Around, SliceTotals};
use super::watch::Watch;
use crate::run::RunError;
use crate::run::link::Wire;
use crate::run::page_cache::{Caches, drop_caches};
use crate::run::snapshot::{PATIENCE, STILL, host_share};
use bakeoff_link::LinkReading;
use bakeoff_meter::host::{Host, HostMeter};
use bakeoff_plan::{CacheState, FilesWork};
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

/// Data common to all slices of a run.
pub(super) struct FilesRunner<'a> {
    pub(super) work: &'a FilesWork,
    pub(super) kinds: Vec<Kind>,
    /// Files that must not open.
    pub(super) denied: usize,
    pub(super) cpus: Vec<usize>,
    pub(super) cwd: PathBuf,
    pub(super) wire: Wire,
    pub(super) ends: Ends,
    pub(super) clock: MonotonicClock,
    pub(super) host: HostMeter,
    pub(super) interrupted: &'a AtomicBool,
}

/// A block's kind, its number of operations, and the extent of its checks.
#[derive(Clone, Copy)]
pub(super) struct Turn {
    /// Index of the kind of operation.
    pub(super) number: usize,
    pub(super) round: u64,
    pub(super) count: u64,
    pub(super) check: Check,
    /// Time after which no operation begins.
    pub(super) until: Nanos,
}

/// One quiet point.
struct Quiet {
    at: Nanos,
    /// CPU of processes that hooks have left running, and of the serving daemon.
    cpu: [Option<Nanos>; 2],
    link: Option<LinkReading>,
    others: Nanos,
    host: Host,
}

impl FilesRunner<'_> {
    pub(super) fn surroundings(&self) -> Surroundings<'_> {
        let (clock, interrupted) = (self.clock, self.interrupted);
        let watch = Watch { clock, patience: self.work.time_limit, interrupted };
        Surroundings { cwd: &self.cwd, cpus: &self.cpus, ends: &self.ends, watch }
    }

    /// Most operations of a kind in a slice.
    pub(super) fn most(&self, kind: &Kind) -> u64 {
        let files = self.work.sizes.get(kind.set).map_or(0, |size| files_of(self.work, *size));
        kind.most(files, self.work.cache)
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }

    /// Runs a block of each kind, `counts` operations each. Also tells whether all were made.
    pub(super) fn slice(
        &mut self,
        arms: &mut [FilesArm],
        arm: usize,
        counts: &[u64],
        turn: Turn,
    ) -> Result<(SliceTotals, bool), RunError> {
        let mut tally = SliceTotals::new();
        for (number, &count) in counts.iter().enumerate() {
            if self.is_interrupted() || self.clock.now() >= turn.until {
                return Ok((tally, false));
            }
            let (report, around) = self.block(arms, arm, Turn { number, count, ..turn })?;
            tally.add(&self.kinds[number], &report, &around);
            if report.tried as u64 != count {
                return Ok((tally, false));
            }
        }
        if self.denied > 0 {
            let around = self.surroundings();
            let place = &mut arms[arm];
            let tried = place.over_store(&around, |store, pulse| store.try_denied(self.denied, pulse))?;
            tally.deny(tried.map_err(|why| place.failed("opening what must not open", why.to_string()))?);
        }
        Ok((tally, true))
    }

    pub(super) fn block(
        &mut self,
        arms: &mut [FilesArm],
        arm: usize,
        turn: Turn,
    ) -> Result<(Report, Vec<Around>), RunError> {
        let kind = self.kinds[turn.number];
        let all = arms[arm].store.steps(&kind, turn.number, turn.round, turn.count);
        let around = self.surroundings();
        let made = arms[arm].over_store(&around, |store, pulse| store.plant_new(&kind, &all, pulse))?;
        made.map_err(|failure| arms[arm].failed("making files to remove", failure.to_string()))?;
        // In a first contact each operation is a piece of its own.
        let piece = if self.work.cache == CacheState::First { 1 } else { all.len().max(1) };
        let (mut report, mut pieces) = (Report::default(), Vec::new());
        for some in all.chunks(piece) {
            self.prepare(&mut arms[arm], &kind, some)?;
            let (mut made, around) = self.piece(arms, arm, (&kind, some), turn)?;
            if let (CacheState::First, Some(status)) = (self.work.cache, &arms[arm].status) {
                made.note(steps::told(status));
            }
            let whole = made.tried == some.len();
            report.add(made, report.tried);
            pieces.push(around);
            if !whole {
                break;
            }
        }
        self.look_after(&mut arms[arm], &kind, &all, &mut report, turn.check)?;
        Ok((report, pieces))
    }

    /// Steps between two quiet points.
    fn piece(
        &mut self,
        arms: &mut [FilesArm],
        arm: usize,
        (kind, steps): (&Kind, &[Step]),
        turn: Turn,
    ) -> Result<(Report, Around), RunError> {
        let before = self.quiet(arms, arm)?;
        let place = &mut arms[arm];
        let made = place.over_store(&self.surroundings(), |store, pulse| {
            let block = Block {
                kind,
                store,
                steps,
                fsync: self.work.fsync,
                check: turn.check,
                from_afar: self.work.cache == CacheState::First,
                cores: &self.cpus,
                clock: self.clock,
                until: turn.until,
                interrupted: self.interrupted,
            };
            block::run(block, pulse)
        })?;
        let report = made.map_err(|failure| place.failed(&kind.label(), failure.to_string()))?;
        let serves = place.files.serve.is_some();
        let after = self.quiet(arms, arm)?;
        Ok((report, between(before, after, serves)))
    }

    /// Brings the caches into the state of the plan.
    fn prepare(&self, place: &mut FilesArm, kind: &Kind, steps: &[Step]) -> Result<(), RunError> {
        let around = self.surroundings();
        let root = place.store.root.clone();
        match self.work.cache {
            CacheState::Cold => {
                place.drop_hooks(&around)?;
                self.drop_caches()
            }
            CacheState::Warm => {
                self.drop_caches()?;
                place.over_store(&around, |store, pulse| store.touch((kind, steps), false, &root, pulse))
            }
            CacheState::Cached => {
                place.over_store(&around, |store, pulse| store.touch((kind, steps), true, &root, pulse))
            }
            CacheState::Remote | CacheState::First => {
                place.drop_hooks(&around)?;
                let root = place.served.clone().unwrap_or(root);
                place.over_store(&around, |store, pulse| {
                    store.touch((kind, steps), true, &root, pulse);
                    if self.work.cache == CacheState::Remote {
                        store.enter(kind);
                    }
                })
            }
        }
    }

    /// Drops the caches that the plan's state demands; an error says that this user may not.
    pub(super) fn drop_caches(&self) -> Result<(), RunError> {
        let dropped = match self.work.cache {
            CacheState::Cold => drop_caches(Caches::Everything),
            CacheState::Warm => drop_caches(Caches::Pages),
            CacheState::Cached | CacheState::Remote | CacheState::First => Ok(()),
        };
        dropped.map_err(|why| RunError::Caches { cache: self.work.cache.as_str(), why })
    }

    /// Reads back some of the written files, removes new ones, and writes out the rest, so that the next arm finds a
    /// quiet disk.
    fn look_after(
        &self,
        place: &mut FilesArm,
        kind: &Kind,
        steps: &[Step],
        report: &mut Report,
        check: Check,
    ) -> Result<(), RunError> {
        let around = self.surroundings();
        let tried = &steps[..report.tried];
        place.store.settle(kind, tried, &report.failed);
        let wrong = place.over_store(&around, |store, pulse| store.read_back(kind, tried, check, pulse))?;
        for (step, failure) in wrong {
            report.fail(step, &failure);
        }
        if let Some(why) = report.first.clone().filter(|_| report.failed.len() == report.tried) {
            return Err(place.failed(&kind.label(), format!("{why}; nothing went well any more")));
        }
        let cleared = place.over_store(&around, |store, pulse| store.clear(kind, steps, pulse))?;
        cleared.map_err(|why| place.failed("removing what was made", why.to_string()))?;
        // The machine's caches are written out when they are dropped.
        if kind.operation.writes() && !self.work.cache.drops_machine() {
            place.write_out(&around)?;
        }
        Ok(())
    }

    /// Waits until the layer has stopped working, then reads everything.
    fn quiet(&mut self, arms: &[FilesArm], arm: usize) -> Result<Quiet, RunError> {
        // Packets that arrive late are work for them.
        let link = self.wire.quiet()?;
        let mut cpu = arms[arm].cpu();
        for _ in 0..PATIENCE {
            std::thread::sleep(STILL);
            let now = arms[arm].cpu();
            if now == cpu {
                break;
            }
            cpu = now;
        }
        let others = arms.iter().enumerate().filter(|(index, _)| *index != arm);
        let others = others.flat_map(|(_, place)| place.cpu()).flatten();
        Ok(Quiet {
            at: self.clock.now(),
            cpu,
            link,
            others: others.fold(Nanos::ZERO, |sum, cpu| sum + cpu),
            host: self.host.read(),
        })
    }
}

/// `serves`: the arm has a serving daemon.
fn between(before: Quiet, after: Quiet, serves: bool) -> Around {
    let used = |side: usize| before.cpu[side].zip(after.cpu[side]).map(|(before, after)| after.since(before));
    Around {
        layer: used(0).zip(used(1)).map(|(near, far)| near + far),
        far: used(1).filter(|_| serves),
        others: after.others.since(before.others),
        host: host_share(&after.host.since(&before.host)),
        wall: after.at.since(before.at),
        link: before.link.zip(after.link).map(|(before, after)| [before, after]),
    }
}
