//! Restarts and renewal: killed and stopped workers, a full queue, time limits, newer manifests.

use crate::site::{EPERM, Site, kill, layers, may_run, open, wait_until};
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

/// Opens a wrong file again and again, and counts the results.
struct Prober {
    stop: Arc<AtomicBool>,
    opened: Arc<AtomicU64>,
    refused: Arc<AtomicU64>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Prober {
    fn start(path: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let (opened, refused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (own_stop, own_opened, own_refused) = (stop.clone(), opened.clone(), refused.clone());
        let thread = std::thread::spawn(move || {
            while !own_stop.load(Ordering::Relaxed) {
                let count = if open(&path).is_ok() { &own_opened } else { &own_refused };
                count.fetch_add(1, Ordering::Relaxed);
                std::thread::yield_now();
            }
        });
        Self { stop, opened, refused, thread: Some(thread) }
    }

    /// The open is refused some more times, and never succeeds.
    fn holds(&self) {
        let before = self.refused.load(Ordering::Relaxed);
        wait_until("refusals", || self.refused.load(Ordering::Relaxed) >= before + 20);
        assert_eq!(self.opened.load(Ordering::Relaxed), 0, "a wrong file was opened");
    }
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.thread.take().map(std::thread::JoinHandle::join);
    }
}

#[test]
fn a_killed_worker_lets_nothing_through() {
    if !may_run("a_killed_worker_lets_nothing_through") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let guard = site.enforce(&["--mode", "deny"]);
    let prober = Prober::start(site.file("b"));
    for turn in 1..=2 {
        prober.holds();
        // Counts since the last status are lost with the worker.
        guard.wait_for("denied", 20 * turn);
        let worker = guard.pids()[1];
        kill(worker, "-KILL");
        wait_until("another worker", || guard.pids()[1] != worker);
        guard.wait_for("restarts", turn);
    }
    prober.holds();
    guard.wait_for("denied", 41);
    drop(prober);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    assert_eq!(guard.end(), Some(0));
    site.write("a", "what the dead worker froze can be changed");
}

#[test]
fn both_processes_keep_few_rights_and_still_leave_nothing_behind() {
    if !may_run("both_processes_keep_few_rights_and_still_leave_nothing_behind") {
        return;
    }
    let site = Site::tampered(&["b"]);
    std::os::unix::fs::chown(site.file("a"), Some(65_534), Some(65_534)).unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!(guard.degree(), "full", "{}", guard.armed);
    // DAC_READ_SEARCH, FOWNER, LINUX_IMMUTABLE, LEASE; SYS_ADMIN for the supervisor, which marks mounts.
    let few = 1 << 2 | 1 << 3 | 1 << 9 | 1 << 28;
    for (pid, wanted) in guard.pids().into_iter().zip([few | 1 << 21, few]) {
        for task in fs::read_dir(format!("/proc/{pid}/task")).unwrap() {
            let text = fs::read_to_string(task.unwrap().path().join("status")).unwrap();
            let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)).unwrap().trim();
            let mask = |name| u64::from_str_radix(line(name), 16).unwrap();
            let masks = ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"].map(mask);
            assert_eq!(masks, [wanted, wanted, 0, 0], "{pid}: {text}");
            assert_eq!(mask("CapBnd:"), few | 1 << 21, "{pid}: {text}");
            assert_eq!((line("NoNewPrivs:"), line("Seccomp:")), ("1", "2"), "{pid}: {text}");
        }
    }
    assert_eq!((open(&site.file("a")).unwrap().as_str(), open(&site.file("b"))), ("good a", Err(EPERM)));
    // Another worker comes with the same rights, and thaws the files that it finds frozen.
    kill(guard.pids()[1], "-KILL");
    wait_until("another worker", || guard.number("restarts") == 1);
    assert_eq!(open(&site.file("b")), Err(EPERM));
    assert_eq!(guard.end(), Some(0));
    site.write("a", "can be changed again");
}

#[test]
fn a_worker_that_hangs_is_replaced_and_nobody_waits_for_ever() {
    if !may_run("a_worker_that_hangs_is_replaced_and_nobody_waits_for_ever") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let guard = site.enforce(&["--mode", "deny", "--time-limit", "200"]);
    let worker = guard.pids()[1];
    kill(worker, "-STOP");
    let began = Instant::now();
    assert_eq!(open(&site.file("b")), Err(EPERM));
    println!("an open under a stopped worker was refused after {:?}", began.elapsed());
    wait_until("another worker", || guard.pids()[1] != worker);
    // In a fifth of a second the open may need another attempt.
    wait_until("a right file", || open(&site.file("a")).is_ok_and(|text| text == "good a"));
}

#[test]
fn when_both_are_killed_opens_pass_and_the_files_stay_frozen_until_thawed() {
    if !may_run("when_both_are_killed_opens_pass_and_the_files_stay_frozen_until_thawed") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let guard = site.enforce(&["--mode", "deny"]);
    let [supervisor, worker] = guard.pids();
    kill(supervisor, "-KILL");
    wait_until("the gap", || guard.number("gap-no-supervisor") == 1);
    assert_eq!((open(&site.file("b")), guard.degree().as_str()), (Err(EPERM), "partial"));
    kill(worker, "-KILL");
    wait_until("the end of enforcement", || open(&site.file("b")).is_ok());
    assert_eq!(fs::write(site.file("a"), "evil").unwrap_err().raw_os_error(), Some(EPERM));
    let thawed = layers(&["integrity", "thaw", &site.text("site")]);
    assert!(thawed.status.success(), "{}", String::from_utf8_lossy(&thawed.stderr));
    site.write("a", "again");
}

/// Whether each thread of the process is stopped: a stop reaches one after the other.
fn is_stopped(pid: u32) -> bool {
    let mut threads = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    threads.all(|thread| {
        let number = thread.file_name().into_string().unwrap().parse().unwrap();
        bakeoff_sys::process::stat(number).unwrap().state == 'T'
    })
}

#[test]
fn the_kernels_queue_has_no_limit_that_lets_opens_through() {
    if !may_run("the_kernels_queue_has_no_limit_that_lets_opens_through") {
        return;
    }
    const LIMIT: &str = "/proc/sys/fs/fanotify/max_queued_events";
    let before = fs::read_to_string(LIMIT).unwrap();
    let site = Site::tampered(&["b"]);
    // A group made meanwhile that asks for a limit gets this one.
    fs::write(LIMIT, "1").unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    fs::write(LIMIT, before).unwrap();
    let worker = guard.pids()[1];
    kill(worker, "-STOP");
    wait_until("the stop of all its threads", || is_stopped(worker));
    let openers: Vec<_> = (0..16)
        .map(|_| {
            let path = site.file("b");
            std::thread::spawn(move || open(&path))
        })
        .collect();
    // Long enough that they all wait.
    std::thread::sleep(std::time::Duration::from_millis(300));
    let waiting = openers.iter().filter(|opener| !opener.is_finished()).count();
    assert_eq!(waiting, 16, "all openers wait for a stopped worker");
    kill(worker, "-CONT");
    for opener in openers {
        assert_eq!(opener.join().unwrap(), Err(EPERM));
    }
    assert_eq!(guard.number("gap-kernel-overflow"), 0);
}

#[test]
fn an_open_that_takes_too_long_is_answered_by_the_clock() {
    if !may_run("an_open_that_takes_too_long_is_answered_by_the_clock") {
        return;
    }
    let site = Site::new();
    // Sparse: reading it needs no disk, hashing it some hundred milliseconds.
    fs::File::create(site.file("big")).unwrap().set_len(300_000_000).unwrap();
    site.seal(1, &["--digest", "sha256"]);
    let flags = ["--mode", "deny", "--no-ahead", "--time-limit", "20"];
    let guard = site.enforce(&flags);
    let opened = fs::File::open(site.file("big")).map(drop);
    assert_eq!(opened.unwrap_err().raw_os_error(), Some(EPERM));
    guard.wait_for("timeout", 1);
    // A late verdict is kept all the same.
    wait_until("the verdict", || fs::File::open(site.file("big")).is_ok());
    assert_eq!(guard.end(), Some(0));
    let guard = site.enforce(&[&flags[..], &["--on-timeout", "allow"]].concat());
    assert!(fs::File::open(site.file("big")).is_ok());
    guard.wait_for("timeout", 1);
    assert_eq!(guard.number("denied"), 0);
}

#[test]
fn a_newer_manifest_is_taken_without_a_gap_and_an_older_one_is_not() {
    if !may_run("a_newer_manifest_is_taken_without_a_gap_and_an_older_one_is_not") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let old = [fs::read(site.path("manifest")).unwrap(), fs::read(site.path("manifest.minisig")).unwrap()];
    let marks = site.text("marks");
    let guard = site.enforce(&["--mode", "deny", "--high-water", &marks]);
    let prober = Prober::start(site.file("b"));
    prober.holds();
    // The new version has another entry for `a`; it is signed elsewhere, with a copy of the tree.
    let staged = Site::new();
    staged.write("a", "new a");
    staged.write("b", "good b");
    let (tree, key, out) = (staged.text("site"), site.text("key"), site.text("manifest"));
    let name = site.text("site");
    let seal = ["seal", &tree, "--key", &key, "--out", &out, "--number", "2", "--name", &name];
    let sealed = layers(&[&["integrity"], &seal[..]].concat());
    assert!(sealed.status.success());
    guard.signal("-HUP");
    guard.wait_for("reloads", 1);
    prober.holds();
    assert_eq!(open(&site.file("a")), Err(EPERM), "it is not yet what version 2 says");
    assert_eq!(guard.number("gap-open-for-changes"), 1);
    site.replace("a", "new a");
    assert_eq!(open(&site.file("a")).unwrap(), "new a");
    guard.signal("-HUP");
    wait_until("closed", || guard.number("gap-open-for-changes") == 0);
    wait_until("full", || guard.degree() == "full");
    assert!(fs::write(site.file("a"), "evil").is_err());
    prober.holds();
    // Back to the old one, with its own valid signature.
    fs::write(site.path("manifest"), &old[0]).unwrap();
    fs::write(site.path("manifest.minisig"), &old[1]).unwrap();
    guard.signal("-HUP");
    guard.wait_for("reloads-refused", 1);
    assert_eq!(guard.number("manifest-version"), 2);
    assert_eq!(open(&site.file("a")).unwrap(), "new a");
    prober.holds();
    drop(prober);
    assert_eq!(guard.end(), Some(0));
    let (root, manifest, public) = (site.text("site"), site.text("manifest"), site.text("pub"));
    let again = layers(&[
        "integrity",
        "enforce",
        &root,
        "--manifest",
        &manifest,
        "--pub",
        &public,
        "--mode",
        "deny",
        "--high-water",
        &marks,
    ]);
    let said = String::from_utf8(again.stderr).unwrap();
    assert!(!again.status.success() && said.contains("(rolled-back)"), "{said}");
}
