//! Run of a guest: it is built, booted in every mode, and each boot is written when it has ended.
//!
//! Measuring side, cold. As many boots at a time as there are cores: what is counted does not depend on it.

use crate::boot::{self, Booting, CONSOLE};
use crate::build::{self, Built, base};
use crate::directory::{BOOTS, StoredGuest};
use crate::plan::GuestPlan;
use crate::progress::GuestProgress;
use crate::records::{Boot, FORMAT, GuestSetup};
use crate::{GuestError, tools};
use bakeoff_experiment::environment::sha256_of;
use bakeoff_experiment::run::Scratch;
use bakeoff_results::directory::{End, LOGS, ListEnd, ResultsDir};
use bakeoff_units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Boots at a time at most: each needs 768 MB.
const MOST_AT_A_TIME: usize = 4;

/// A run of a plan.
#[derive(Debug)]
pub struct Counting<'r> {
    /// What to do.
    pub plan: &'r GuestPlan,
    /// When it began, RFC 3339.
    pub started: String,
    /// Where kernels and policies are kept.
    pub cache: PathBuf,
    /// Set when the user wants to stop.
    pub interrupted: &'r AtomicBool,
}

/// A guest that is built, and what was fixed before its first boot.
struct Prepared {
    scratch: Scratch,
    built: Built,
    setup: GuestSetup,
}

impl Counting<'_> {
    /// Builds, boots and writes into an empty directory. What ended before an error is kept.
    ///
    /// # Errors
    /// Something is missing, cannot be built, or a boot did not come to its end.
    pub fn run(&self, dir: &ResultsDir, progress: &mut (dyn GuestProgress + Send)) -> Result<(), GuestError> {
        let prepared = self.prepare(progress)?;
        dir.begin(&self.plan.text, &prepared.setup)?;
        self.boots(&prepared, &[], dir, progress)
    }

    /// Goes on with a run whose directory this is: makes the boots that it does not have.
    ///
    /// # Errors
    /// As [`Counting::run`], or the guest that can be built now is not the one that was booted.
    pub fn resume(
        &self,
        dir: &ResultsDir,
        stored: &StoredGuest,
        progress: &mut (dyn GuestProgress + Send),
    ) -> Result<(), GuestError> {
        let prepared = self.prepare(progress)?;
        prepared.setup.demand_same(&stored.setup)?;
        dir.go_on()?;
        let done: Vec<Boot> = stored.boots.iter().map(|record| record.boot).collect();
        self.boots(&prepared, &done, dir, progress)
    }

    fn prepare(&self, progress: &mut (dyn GuestProgress + Send)) -> Result<Prepared, GuestError> {
        tools::demand(&self.plan.parts)?;
        fs::create_dir_all(&self.cache).map_err(crate::error::at(&self.cache))?;
        let base = base(&self.cache, progress);
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(GuestError::Interrupted); // it reaches the tools, too, which then have failed
        }
        let base = base?;
        let scratch = Scratch::create(&mut |words| progress.stage(words))?;
        progress.stage("making the guest's disk");
        let built = build::build(self.plan, &base, scratch.path())?;
        let own = std::env::current_exe().and_then(|own| sha256_of(&own));
        let setup = GuestSetup {
            format: FORMAT,
            bakeoff: env!("CARGO_PKG_VERSION").to_owned(),
            name: self.plan.name.clone(),
            title: self.plan.title.clone(),
            started: self.started.clone(),
            extent: self.plan.extent,
            packages: base.packages.to_vec(),
            kernel_sha256: base.kernel_sha256,
            policy_sha256: base.policy_sha256,
            disk_sha256: built.disk_sha256.clone(),
            executable_sha256: own.map_err(crate::error::at("/proc/self/exe"))?,
            qemu: boot::version()?,
            machine: boot::machine(),
            rows: self.plan.rows(),
            boots: self.plan.boots.clone(),
            study: self.plan.study.clone(),
            differs: self.plan.differs.clone(),
        };
        Ok(Prepared { scratch, built, setup })
    }

    /// All boots but those that are done, and how it ended.
    fn boots(
        &self,
        Prepared { scratch, built, setup }: &Prepared,
        done: &[Boot],
        dir: &ResultsDir,
        progress: &mut (dyn GuestProgress + Send),
    ) -> Result<(), GuestError> {
        let rows = &setup.rows;
        let booting =
            Booting { built, rows, time_limit: self.plan.time_limit, interrupted: self.interrupted };
        let result = self.each_boot(&booting, &left(&self.plan.boots, done), scratch.path(), dir, progress);
        let ended = match &result {
            Ok(()) => End::Complete,
            Err(GuestError::Interrupted) => End::Interrupted,
            Err(why) => End::Failed(why.to_string()),
        };
        let written = dir.end(ListEnd { ended });
        result.and(written.map_err(GuestError::from))
    }

    /// The first error ends it: boots that are under way come to their end, others do not begin.
    fn each_boot(
        &self,
        booting: &Booting<'_>,
        left: &[(usize, Boot)],
        scratch: &Path,
        dir: &ResultsDir,
        progress: &mut (dyn GuestProgress + Send),
    ) -> Result<(), GuestError> {
        let cores = bakeoff_sys::affinity::allowed().map_or(1, |cores| cores.len());
        let workers = cores.clamp(1, MOST_AT_A_TIME).min(left.len());
        let (next, shared) = (AtomicUsize::new(0), Mutex::new((progress, Ok(()))));
        let work = || {
            loop {
                let Some(&(number, boot)) = left.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
                {
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if shared.1.is_err() {
                        return;
                    }
                    let words = boot.in_words();
                    shared.0.stage(&format!("boot {number} of {}: {words}", self.plan.boots.len()));
                }
                let place = scratch.join(format!("boot-{number}"));
                let done = fs::create_dir(&place)
                    .map_err(crate::error::at(&place))
                    .and_then(|()| booting.boot(number, boot, &place));
                let kept = dir.path().join(LOGS);
                let _ = fs::create_dir_all(&kept); // without it the results are as good
                let _ = fs::copy(place.join(CONSOLE), kept.join(format!("boot-{number}.log")));
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let written = done.and_then(|record| Ok(dir.append_line(BOOTS, &record)?));
                if shared.1.is_ok() {
                    shared.1 = written;
                }
            }
        };
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        shared.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// The boots that are not done, with their numbers from 1.
fn left(all: &[Boot], done: &[Boot]) -> Vec<(usize, Boot)> {
    let mut done = done.to_vec();
    let mut is_left = |boot: &Boot| match done.iter().position(|other| other == boot) {
        Some(at) => {
            done.swap_remove(at);
            false
        }
        None => true,
    };
    (1..).zip(all.iter().copied()).filter(|(_, boot)| is_left(boot)).collect()
}

/// The sum of what boots took.
pub(crate) fn cpu(stored: &StoredGuest) -> Nanos {
    Nanos::new(stored.boots.iter().map(|record| record.cpu_ns).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BootMode;

    #[test]
    fn a_boot_that_is_planned_twice_and_done_once_is_made_once_more() {
        let boot =
            |perturbation| Boot { mode: BootMode::Off, mitigations: false, perturbation, repeat: false };
        let all = [boot(0), boot(1), boot(0), boot(2)];
        assert_eq!(left(&all, &[]).len(), 4);
        assert_eq!(left(&all, &[boot(0), boot(2)]), [(2, boot(1)), (3, boot(0))]);
        assert_eq!(left(&all, &all), []);
    }
}
