//! Regression: a new worker decided before it had armed. 8 to 10 of 18 opens of an intact tree were refused as
//! `unlisted`, `stop` killed the server, `lock` locked the store. And opens that the dead worker had read were
//! refused unseen.

use crate::site::{DEADLINE, EPERM, Server, Site, kill, may_run, open, wait_until};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const FILES: usize = 40;
const DEATHS: u64 = 12;

#[test]
fn no_right_file_is_refused_however_often_the_worker_dies() {
    if !may_run("no_right_file_is_refused_however_often_the_worker_dies") {
        return;
    }
    let site = Site::new();
    for number in 0..FILES {
        site.write(&number.to_string(), &format!("good {number}"));
    }
    site.seal(1, &[]);
    fs::write(site.path("store.key"), "sealed").unwrap();
    let mut server = Server::start();
    let (pid, key) = (server.0.id().to_string(), site.text("store.key"));
    let guard = site.enforce(&["--mode", "lock", "--stop-pid", &pid, "--lock-store", &key]);
    let supervisor = guard.pids()[0];
    let (stop, opened) = (AtomicBool::new(false), AtomicU64::new(0));
    let wrong = std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|first| {
                let (site, stop, opened) = (&site, &stop, &opened);
                scope.spawn(move || {
                    let mut wrong = Vec::new();
                    for turn in first.. {
                        if stop.load(Ordering::Relaxed) {
                            break;
                        }
                        let number = turn % FILES;
                        match open(&site.file(&number.to_string())) {
                            Ok(text) if text == format!("good {number}") => {}
                            other => wrong.push((number, other)),
                        }
                        opened.fetch_add(1, Ordering::Relaxed);
                        std::thread::yield_now();
                    }
                    wrong
                })
            })
            .collect();
        for death in 0..DEATHS {
            // The first two of three die as soon as they have threads that read waiting events, before they have
            // armed or at that moment; the third when it has armed and everything is verified.
            let worker = child_of(supervisor);
            if death % 3 == 2 {
                wait_until("a worker that has armed", || guard.pids()[1] == worker);
                let before = opened.load(Ordering::Relaxed);
                wait_until("opens", || opened.load(Ordering::Relaxed) > before + 100);
            } else {
                let began = Instant::now();
                while !bakeoff_sys::process::stat(worker).is_ok_and(|stat| stat.threads > 2) {
                    assert!(began.elapsed() < DEADLINE, "no threads");
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(death));
            }
            kill(worker, "-KILL");
            wait_until("its end", || !is_alive(worker));
        }
        wait_until("the last one", || guard.number("restarts") == DEATHS);
        let before = opened.load(Ordering::Relaxed);
        wait_until("opens", || opened.load(Ordering::Relaxed) > before + 100);
        stop.store(true, Ordering::Relaxed);
        readers.into_iter().flat_map(|reader| reader.join().unwrap()).collect::<Vec<_>>()
    });
    println!("{} opens, {} opens were left by dead workers", opened.into_inner(), guard.number("orphaned"));
    assert!(wrong.is_empty(), "{wrong:?} {}", site.said());
    assert!(server.is_alive(), "{}", site.said());
    assert!(!site.path("store.key.locked").exists());
    assert_eq!((guard.number("violations"), guard.number("denied")), (0, 0));
    assert_eq!(guard.degree(), "full");
}

/// The present worker.
fn child_of(supervisor: u32) -> u32 {
    let began = Instant::now();
    loop {
        let children = fs::read_to_string(format!("/proc/{supervisor}/task/{supervisor}/children")).unwrap();
        let first = children.split_whitespace().next().and_then(|pid| pid.parse().ok());
        if let Some(pid) = first.filter(|pid| is_alive(*pid)) {
            return pid;
        }
        assert!(began.elapsed() < DEADLINE, "no worker");
        std::thread::yield_now();
    }
}

/// Whether it has neither ended nor, at this moment, is being reaped.
fn is_alive(pid: u32) -> bool {
    bakeoff_sys::process::stat(pid).is_ok_and(|stat| !"ZXx".contains(stat.state))
}

/// Opens that the dead worker had read are decided by their file, not let through.
#[test]
fn a_wrong_file_that_waited_when_the_worker_died_is_refused() {
    if !may_run("a_wrong_file_that_waited_when_the_worker_died_is_refused") {
        return;
    }
    let site = Site::new();
    for name in ["big", "wrong"] {
        fs::File::create(site.file(name)).unwrap().set_len(200_000_000).unwrap();
    }
    site.seal(1, &["--digest", "sha256"]);
    std::os::unix::fs::FileExt::write_at(
        &fs::File::options().write(true).open(site.file("wrong")).unwrap(),
        b"x",
        9,
    )
    .unwrap();
    let guard = site.enforce(&["--mode", "deny", "--no-ahead", "--time-limit", "60000"]);
    let worker = guard.pids()[1];
    let openers = ["big", "wrong"].map(|name| {
        let path = site.file(name);
        std::thread::spawn(move || fs::File::open(path).map(drop).map_err(|error| error.raw_os_error()))
    });
    // At least one is being checked.
    wait_until("a file to be looked at", || has_open(worker, &site.path("site")));
    kill(worker, "-KILL");
    assert_eq!(openers.map(|opener| opener.join().unwrap()), [Ok(()), Err(Some(EPERM))]);
    guard.wait_for("orphaned", 1);
    assert_eq!(guard.number("restarts"), 1);
}

/// Whether a process has a file below this directory open, beside the directory itself.
fn has_open(pid: u32, below: &Path) -> bool {
    let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let mut files = open.filter_map(|entry| fs::read_link(entry.path()).ok());
    files.any(|file| file != below && file.starts_with(below))
}
