//! Regression: the owner of one file of the tree took a write lease on it. The kernel's own open of the file, for the
//! event of anybody's open, waited for the owner: up to 45 s, with the turn of all others. After 8 s the worker was
//! killed, and its successor hung in the same place.

use crate::site::{Attacker, EPERM, Site, may_run, open, wait_until};
use std::time::{Duration, Instant};

/// Opens a file, takes a write lease on it, and does not release it on request.
const LEASE: &str = "
import fcntl, os, signal, sys
signal.signal(signal.SIGIO, signal.SIG_IGN)
fd = os.open(sys.argv[1], os.O_RDONLY)
print('opened', flush=True)
sys.stdin.readline()
fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('leased', flush=True)
sys.stdin.readline()
";

/// Far below the 45 s after which the kernel breaks a lease.
const AT_ONCE: Duration = Duration::from_secs(30);

fn attacker(site: &Site) -> Attacker {
    Attacker::start(LEASE, &[site.file("a").to_str().unwrap()], "opened")
}

#[test]
fn a_lease_from_before_arming_is_a_gap_of_that_file_alone() {
    if !may_run("a_lease_from_before_arming_is_a_gap_of_that_file_alone") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let mut attacker = attacker(&site);
    attacker.go_on("leased");
    let began = Instant::now();
    let guard = site.enforce(&["--mode", "deny"]);
    assert!(began.elapsed() < AT_ONCE, "arming took {:?}", began.elapsed());
    assert_eq!((guard.degree().as_str(), guard.number("gap-leased")), ("partial", 1), "{}", guard.armed);
    wait_until("its name", || site.said().contains("a is leased by somebody"));
    assert_eq!(open(&site.file("a")), Err(EPERM));
    assert_eq!(
        (open(&site.file("sub/c")).unwrap().as_str(), open(&site.file("b"))),
        ("good sub/c", Err(EPERM))
    );
    assert!(began.elapsed() < AT_ONCE, "opens took {:?}", began.elapsed());
    drop(attacker);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    wait_until("full", || guard.degree() == "full");
    assert!(std::fs::write(site.file("a"), "evil a").is_err(), "it is frozen as all others");
}

#[test]
fn a_lease_after_arming_holds_nobody_up() {
    if !may_run("a_lease_after_arming_holds_nobody_up") {
        return;
    }
    let site = Site::tampered(&[]);
    // The attacker opened the file before; nobody has checked it yet.
    let mut attacker = attacker(&site);
    let guard = site.enforce(&["--mode", "deny", "--no-ahead"]);
    let worker = guard.pids()[1];
    attacker.go_on("leased");
    let began = Instant::now();
    let opener = std::thread::spawn({
        let path = site.file("a");
        move || open(&path)
    });
    assert_eq!(open(&site.file("b")).unwrap(), "good b");
    assert_eq!(opener.join().unwrap(), Err(EPERM));
    assert!(began.elapsed() < AT_ONCE, "opens took {:?}", began.elapsed());
    guard.wait_for("leased", 1);
    drop(attacker);
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
    assert_eq!(guard.pids()[1], worker, "the worker was killed");
    assert_eq!(guard.degree(), "full");
}
