//! A run: the guest is built, booted in every mode, and each boot is written when it has ended.
//!
//! Measuring side, cold. As many boots at a time as there are cores: what is counted does not depend on it.

use crate::boot::{self, Booting, CONSOLE};
use crate::build::{self, base};
use crate::plan::GuestPlan;
use crate::records::{FORMAT, Setup};
use crate::{GuestError, directory, tools};
use bakeoff_experiment::directory::{LOGS, ResultsDir};
use bakeoff_experiment::environment::sha256_of;
use bakeoff_experiment::run::Scratch;
use bakeoff_units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Boots at a time at most: each needs 768 MB.
const MOST_AT_A_TIME: usize = 4;

/// Is told how a run goes.
pub trait Progress {
    /// What is done now.
    fn stage(&mut self, words: &str);
}

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

impl Counting<'_> {
    /// Builds, boots and writes into an empty directory. What ended before an error is kept.
    ///
    /// # Errors
    /// Something is missing, cannot be built, or a boot did not come to its end.
    pub fn run(&self, dir: &ResultsDir, progress: &mut (dyn Progress + Send)) -> Result<(), GuestError> {
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
        let setup = Setup {
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
        directory::begin(dir, &self.plan.text, &setup)?;
        let booting = Booting {
            built: &built,
            rows: &setup.rows,
            time_limit: self.plan.time_limit,
            interrupted: self.interrupted,
        };
        self.boots(&booting, scratch.path(), dir, progress)
    }

    /// The first error ends it: boots that are under way come to their end, others do not begin.
    fn boots(
        &self,
        booting: &Booting<'_>,
        scratch: &Path,
        dir: &ResultsDir,
        progress: &mut (dyn Progress + Send),
    ) -> Result<(), GuestError> {
        let cores = bakeoff_sys::affinity::allowed().map_or(1, |cores| cores.len());
        let workers = cores.clamp(1, MOST_AT_A_TIME).min(self.plan.boots.len());
        let (next, shared) = (AtomicUsize::new(0), Mutex::new((progress, Ok(()))));
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(&boot) = self.plan.boots.get(index) else { return };
                {
                    let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                    if shared.1.is_err() {
                        return;
                    }
                    let words = boot.in_words();
                    shared.0.stage(&format!("boot {} of {}: {words}", index + 1, self.plan.boots.len()));
                }
                let place = scratch.join(format!("boot-{}", index + 1));
                let done = fs::create_dir(&place)
                    .map_err(crate::error::at(&place))
                    .and_then(|()| booting.boot(index + 1, boot, &place));
                let kept = dir.path().join(LOGS);
                let _ = fs::create_dir_all(&kept); // without it the results are as good
                let _ = fs::copy(place.join(CONSOLE), kept.join(format!("boot-{}.log", index + 1)));
                let mut shared = shared.lock().unwrap_or_else(PoisonError::into_inner);
                let written = done.and_then(|record| Ok(directory::append(dir, &record)?));
                if shared.1.is_ok() {
                    shared.1 = written;
                }
            }
        };
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        shared.into_inner().unwrap_or_else(PoisonError::into_inner).1
    }
}

/// The sum of what boots took; `None` where there is none.
pub(crate) fn cpu(stored: &directory::Stored) -> Nanos {
    Nanos::new(stored.boots.iter().map(|record| record.cpu_ns).sum())
}
