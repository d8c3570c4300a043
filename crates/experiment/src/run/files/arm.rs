//! One arm of the `files` workload: its directory, and the set-up and removal of its file system.
//!
//! Cold. Owns the order of hooks, directories and mounts. After any failure all that was set up is taken down: our
//! files through the file system under test, then the arm's cleanup, then remaining mounts, then remaining processes.

use super::super::scratch::{self, on_disk, remove_tree, unmount};
use super::super::{RunError, RunProgress};
use super::denied;
use super::ends::{Ends, word};
use super::store::Store;
use super::watch::{Pulse, Watch};
use bakeoff_plan::{Arm, ArmFiles, FilesWork};
use bakeoff_results::{ProofRecord, SubjectSetup};
use bakeoff_subject::{Layer, Substitutions};
use bakeoff_sys::mount::{self, Mount};
use bakeoff_units::{Bytes, Nanos};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Flag for clean-up, which runs after Ctrl-C too. (A second Ctrl-C ends bakeoff at once.)
static NOT_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// An arm.
pub(super) struct FilesArm {
    pub(super) name: String,
    pub(super) layer: Layer,
    /// The daemon that serves the directory, at the other end of the link.
    pub(super) serving: Layer,
    /// Substitutions for its commands.
    pub(super) known: Substitutions,
    pub(super) store: Store,
    /// The directory under test.
    pub(super) path: PathBuf,
    /// File with the layer's counters.
    pub(super) status: Option<PathBuf>,
    /// Path of the store on the side of the serving daemon.
    pub(super) served: Option<PathBuf>,
    /// Its private directory.
    pub(super) dir: PathBuf,
    pub(super) logs: PathBuf,
    pub(super) files: ArmFiles,
    /// Command that tells whether the layer is on.
    pub(super) ask: Option<Vec<String>>,
    pub(super) proof: Option<ProofRecord>,
    /// The file system of the path when everything was set up.
    pub(super) found: Option<Found>,
    /// Its file system was taken away.
    hung: bool,
}

/// The file system under test.
pub(super) struct Found {
    pub(super) mount: Mount,
    /// Arms with the same number share their room.
    device: u64,
    free: u64,
}

/// Facts of the run for hooks and file operations.
#[derive(Clone, Copy)]
pub(super) struct Surroundings<'a> {
    pub(super) cwd: &'a Path,
    pub(super) cpus: &'a [usize],
    pub(super) ends: &'a Ends,
    pub(super) watch: Watch<'a>,
}

impl FilesArm {
    /// Only finds out the paths; nothing is set up yet.
    pub(super) fn new(
        name: &str,
        (arm, files): (&Arm, &ArmFiles),
        (dir, logs): (PathBuf, PathBuf),
        ends: &Ends,
        (work, seed): (&FilesWork, u64),
    ) -> Result<Self, RunError> {
        let below = Path::new(&scratch::own_name()).join(on_disk(name));
        let mut known = ends.substitutions(&dir, &arm.values).map_err(RunError::System)?;
        known.values.insert("denied".to_owned(), below.join(denied::DIR).display().to_string());
        known.values.insert("cache".to_owned(), work.cache.as_str().to_owned());
        let inside = |path: String| PathBuf::from(path).join(&below);
        let path = word(name, &known, &files.path)?;
        let served = files.serve.as_ref().and_then(|serve| serve.from.as_ref());
        let served = served.map(|from| word(name, &known, from)).transpose()?;
        let status = files.status.as_ref().map(|status| word(name, &known, status)).transpose()?;
        Ok(Self {
            name: name.to_owned(),
            layer: Layer::default(),
            serving: Layer::default(),
            known,
            store: Store::new(inside(path.clone()), work, seed),
            path: PathBuf::from(path),
            served: served.map(inside),
            status: status.map(PathBuf::from),
            dir,
            logs,
            files: files.clone(),
            ask: arm.proof.clone(),
            proof: None,
            found: None,
            hung: false,
        })
    }

    /// Puts the file system up and makes our directory on it.
    pub(super) fn set_up(
        &mut self,
        around: &Surroundings<'_>,
        progress: &mut dyn RunProgress,
    ) -> Result<(), RunError> {
        self.serve(around)?;
        self.hooks(&self.files.setup.clone(), around)?;
        let (path, root, inside) =
            (self.path.clone(), self.store.root.clone(), self.path.starts_with(&self.dir));
        if !inside && path.is_dir() {
            scratch::remove_left_behind(&path, &mut |words| progress.stage(words));
        }
        let found = self.over(around, |_| {
            let about = fs::metadata(&path)?;
            if !about.is_dir() {
                return Err(io::Error::other("it is no directory"));
            }
            let mount = mount::of(&path)?;
            let free = bakeoff_sys::disk::free_bytes(&path).unwrap_or(u64::MAX);
            fs::create_dir_all(root.parent().unwrap_or(&path))?;
            fs::create_dir(&root)?;
            Ok(Found { mount, device: about.dev(), free })
        })?;
        let help = "an arm's `path` must be there once its `setup` was run, and be writable";
        self.found = Some(found.map_err(|why| self.wrong(why.to_string(), help))?);
        self.proof = self.prove(around)?;
        Ok(())
    }

    /// Takes everything down and puts it up again, in a new private directory.
    pub(super) fn renew(
        &mut self,
        around: &Surroundings<'_>,
        denied: usize,
        progress: &mut dyn RunProgress,
    ) -> Result<(), RunError> {
        self.take_down(around, progress)?;
        let again = remove_tree(&self.dir).and_then(|()| fs::create_dir(&self.dir));
        again.map_err(|why| RunError::Scratch {
            path: self.dir.display().to_string(),
            why: why.to_string(),
        })?;
        self.set_up(around, progress)?;
        self.fill(around, denied)
    }

    /// Writes all files, among them `denied` files that are then denied.
    pub(super) fn fill(&mut self, around: &Surroundings<'_>, denied: usize) -> Result<(), RunError> {
        self.store.promise();
        let filled = self.over_store(around, |store, pulse| {
            store.fill(pulse)?;
            store.write_denied(denied, pulse)
        })?;
        filled.map_err(|failure| self.failed("writing the files", failure.to_string()))?;
        if around.watch.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        self.write_out(around)?;
        self.hooks(&self.files.deny.clone(), around)
    }

    /// CPU so far of processes that hooks have left running, and of the serving daemon; `None` if it cannot be read.
    pub(super) fn cpu(&self) -> [Option<Nanos>; 2] {
        let of = |layer: &Layer| Some(layer.cpu().ok()?.map_or(Nanos::ZERO, |reading| reading.nanos));
        [of(&self.layer), of(&self.serving)]
    }

    /// Its processes at this moment.
    pub(super) fn processes(&self) -> Vec<u32> {
        [self.layer.processes(), self.serving.processes()].concat()
    }

    /// Number of its file system and room on it, in bytes.
    pub(super) fn room(&self) -> Option<(u64, u64)> {
        self.found.as_ref().map(|found| (found.device, found.free))
    }

    /// The error that there is not enough room.
    pub(super) fn no_room(&self, need: Bytes, free: Bytes) -> RunError {
        let help = "make room, or ask for smaller `sizes` or fewer `files`";
        self.wrong(format!("the files of all arms here need {need}, {free} are free"), help)
    }

    /// Does work on the file system; if that does not answer, takes it away.
    pub(super) fn over<T: Send>(
        &mut self,
        around: &Surroundings<'_>,
        work: impl FnOnce(&Pulse<'_>) -> T + Send,
    ) -> Result<T, RunError> {
        let (layer, dir) = (&mut self.layer, &self.dir);
        let mut rescue = || {
            layer.stop();
            let _ = unmount(dir); // what stays is looked at in the end
        };
        let (result, hung) = around.watch.over(&mut rescue, work);
        self.settled(around, result, hung)
    }

    /// The same with access to the store.
    pub(super) fn over_store<T: Send>(
        &mut self,
        around: &Surroundings<'_>,
        work: impl FnOnce(&Store, &Pulse<'_>) -> T + Send,
    ) -> Result<T, RunError> {
        let (layer, dir, store) = (&mut self.layer, &self.dir, &self.store);
        let mut rescue = || {
            layer.stop();
            let _ = unmount(dir);
        };
        let (result, hung) = around.watch.over(&mut rescue, |pulse| work(store, pulse));
        self.settled(around, result, hung)
    }

    /// Waits until written data is on disk, in the layer's own store as well.
    pub(super) fn write_out(&mut self, around: &Surroundings<'_>) -> Result<(), RunError> {
        let (root, dir) = (self.store.root.clone(), self.dir.clone());
        let done = self.over(around, |pulse| {
            bakeoff_sys::disk::sync_at(&root)?;
            pulse.beat();
            bakeoff_sys::disk::sync_at(&dir)
        })?;
        done.map_err(|why| self.wrong(why.to_string(), "what was written could not be brought to disk"))
    }

    fn settled<T>(&mut self, around: &Surroundings<'_>, result: T, hung: bool) -> Result<T, RunError> {
        if !hung {
            return Ok(result);
        }
        self.hung = true;
        if around.watch.interrupted.load(Ordering::Relaxed) {
            return Err(RunError::Interrupted);
        }
        let (arm, path) = (self.name.clone(), self.path.display().to_string());
        Err(RunError::Hung { arm, path, patience: around.watch.patience })
    }

    /// Removes our files and takes the file system down. Goes on after a failure, and returns the first.
    pub(super) fn take_down(
        &mut self,
        around: &Surroundings<'_>,
        progress: &mut dyn RunProgress,
    ) -> Result<(), RunError> {
        let watch = Watch { interrupted: &NOT_INTERRUPTED, ..around.watch };
        let around = Surroundings { watch, ..*around };
        let mut first = if self.hung { Ok(()) } else { self.remove_files(&around) };
        for argv in self.files.cleanup.clone() {
            let done = self.hooks(&[argv], &around);
            first = first.and(done);
        }
        if let Ok((found, left)) = unmount(&self.dir) {
            for point in found.iter().filter(|point| !left.contains(point)) {
                progress.stage(&format!(
                    "{}: {} was still mounted, and was taken off",
                    self.name,
                    point.display()
                ));
            }
            for point in &left {
                progress.stage(&format!(
                    "{}: {} is still mounted; unmount it, then remove {}",
                    self.name,
                    point.display(),
                    self.dir.display()
                ));
            }
        }
        self.layer.stop();
        self.serving.stop();
        first
    }

    /// Removes our files through the file system under test: the data behind it may be somewhere else.
    fn remove_files(&mut self, around: &Surroundings<'_>) -> Result<(), RunError> {
        // No process may reach denied files, except at the end that serves them.
        let denies = !self.files.deny.is_empty();
        let root = self.served.clone().filter(|_| denies).unwrap_or_else(|| self.store.root.clone());
        let removed = self.over(around, |pulse| {
            pulse.beat();
            match remove_tree(&root) {
                Err(why) if why.kind() != io::ErrorKind::NotFound => Err(why),
                // Other arms may have theirs in the same directory; the last one to go removes it.
                _ => Ok(root.parent().map(fs::remove_dir)),
            }
        })?;
        let help = format!("remove {} yourself", self.store.root.display());
        removed.map(drop).map_err(|why| self.wrong(why.to_string(), &help))
    }

    pub(super) fn wrong(&self, what: String, help: &str) -> RunError {
        let path = self.path.display().to_string();
        RunError::Path { arm: self.name.clone(), path, why: format!("{what}; {help}") }
    }

    /// An operation that must not fail has failed.
    pub(super) fn failed(&self, operation: &str, why: String) -> RunError {
        let path = self.store.root.display().to_string();
        RunError::Operation { arm: self.name.clone(), operation: operation.to_owned(), path, why }
    }

    /// For `setup.json`: the file system, and how it was set up.
    pub(super) fn subject(&self) -> SubjectSetup {
        let mount = self.found.as_ref().map(|found| &found.mount);
        let layer = match self.layer.cpu() {
            Ok(None) => String::new(),
            Ok(Some(reading)) => format!(", and the layer's {}", reading.source.label()),
            Err(missing) => format!(", but the layer's cannot be read: {missing}"),
        };
        let lines = |name: &str, hooks: &[Vec<String>]| -> String {
            hooks.iter().map(|argv| format!("{name}: {}\n", argv.join(" "))).collect()
        };
        let serve: Vec<Vec<String>> = self.files.serve.iter().map(|serve| serve.argv.clone()).collect();
        let lies_on = mount.map_or(String::new(), |mount| {
            format!("{} on {} ({}; {})\n", mount.source, mount.point.display(), mount.kind, mount.options)
        });
        let own = &self.files;
        let hooks = [
            ("serve", &serve),
            ("setup", &own.setup),
            ("deny", &own.deny),
            ("drop", &own.drop),
            ("cleanup", &own.cleanup),
        ];
        SubjectSetup {
            server: mount.map_or("unknown", |mount| mount.kind.as_str()).to_owned(),
            url: self.path.display().to_string(),
            config: Some(lies_on + &hooks.map(|(name, hooks)| lines(name, hooks)).concat()),
            cpu_source: Some(format!("clock of the thread that makes the operations{layer}")),
            proof: self.proof.clone(),
            ..SubjectSetup::default()
        }
    }
}
