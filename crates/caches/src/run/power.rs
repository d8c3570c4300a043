//! Power switch of a cache: kills it when an outage begins and starts it again when it ends.
//!
//! Measuring side, the main thread, cold: waits until the cache is ready, while robots go on asking. Owns the times of
//! both, by the machine's clock. An outage begins when the phase before it has ended.

use super::error::CachesError;
use super::progress::BakeoffProgress;
use bakeoff_robots::Spec;
use bakeoff_robots::phases::Phase;
use bakeoff_subject::{Killed, Running};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The switch of a cache.
pub(crate) struct Power<'b> {
    cache: &'b Running,
    phases: Arc<[Phase]>,
    interrupted: &'b AtomicBool,
    killed: Option<Killed<'b>>,
    switched: Vec<Switched>,
}

/// Times when a cache was killed and started again.
#[derive(Clone, Debug)]
pub(crate) struct Switched {
    /// The outage.
    pub(crate) phase: String,
    /// Just before it was killed.
    pub(crate) killed: Instant,
    /// None of its processes was left.
    pub(crate) gone: Instant,
    /// Just before it was started again.
    pub(crate) started: Option<Instant>,
    /// It was ready, as after a first start.
    pub(crate) ready: Option<Instant>,
}

impl<'b> Power<'b> {
    /// Switch of a cache that bakeoff started; `None` if no phase is an outage.
    pub(crate) fn of(spec: &Spec, cache: Option<&'b Running>, interrupted: &'b AtomicBool) -> Option<Self> {
        let cache = cache.filter(|_| spec.phases.iter().any(|phase| phase.outage))?;
        let phases = spec.phases.clone();
        Some(Self { cache, phases, interrupted, killed: None, switched: Vec::new() })
    }

    /// A phase has ended, and the next begins.
    pub(crate) fn turn(
        &mut self,
        ended: &str,
        progress: &mut dyn BakeoffProgress,
    ) -> Result<(), CachesError> {
        let Some(at) = self.phases.iter().position(|phase| phase.name == ended) else { return Ok(()) };
        if self.phases[at].outage {
            self.start(progress)?;
        }
        match self.phases.get(at + 1).filter(|next| next.outage).map(|next| next.name.clone()) {
            Some(outage) => self.kill(outage, progress),
            None => Ok(()),
        }
    }

    /// The times of all outages.
    pub(crate) fn switched(self) -> Vec<Switched> {
        self.switched
    }

    fn kill(&mut self, phase: String, progress: &mut dyn BakeoffProgress) -> Result<(), CachesError> {
        let killed = Instant::now();
        self.killed = Some(self.cache.kill()?);
        self.switched.push(Switched { phase, killed, gone: Instant::now(), started: None, ready: None });
        progress.stage(&format!("{}: killed", self.cache.arm));
        Ok(())
    }

    fn start(&mut self, progress: &mut dyn BakeoffProgress) -> Result<(), CachesError> {
        let (Some(killed), Some(switched)) = (self.killed.take(), self.switched.last_mut()) else {
            return Ok(());
        };
        switched.started = Some(Instant::now());
        let starting = killed.start().map_err(CachesError::NotBack)?;
        progress.stage(&format!("{}: starting again", self.cache.arm));
        starting.wait(self.interrupted).map_err(CachesError::NotBack)?;
        switched.ready = Some(Instant::now());
        Ok(())
    }
}
