//! Permissive domain: it names accesses that it would refuse, and survives the death of its supervisor.

use crate::domain::{Domain, count, may_run, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Child;

/// Number of operations of a random script.
const OPERATIONS: usize = 400;

/// Makes, for each operation of the script, a file, a program, a directory and a link, at each place.
fn furnish(domain: &Domain) {
    for place in ["open", "site", "secret"] {
        for number in 0..OPERATIONS {
            let at = |name: &str| domain.path(&format!("{place}/{number}/{name}"));
            fs::create_dir_all(at("folder")).unwrap();
            fs::write(at("file"), "text").unwrap();
            fs::copy("/bin/true", at("program")).unwrap();
            symlink("file", at("link")).unwrap();
        }
    }
    fs::copy(
        concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/kernel/mac_log/random.py"),
        domain.path("open/random.py"),
    )
    .unwrap();
}

/// Entries of the log: access and path, port or call.
fn named(domain: &Domain) -> BTreeSet<String> {
    let lines = domain.told();
    let about = lines.iter().map(|line| {
        let place = line["path"].as_str().map(|path| path.replace(&domain.path(""), ""));
        let (access, port, call) = (&line["access"], &line["port"], &line["call"]);
        format!("{access} {} {port} {call}", place.unwrap_or_default())
    });
    about.collect()
}

#[test]
fn what_permissive_would_refuse_is_what_enforcing_refuses() {
    let Some(domain) = may_run("what_permissive_would_refuse_is_what_enforcing_refuses") else { return };
    for seed in 1..=3 {
        let (enforced, permissive) = (Domain::new(), Domain::new());
        let script = format!("exec /usr/bin/python3 -I -S open/random.py {seed} {OPERATIONS}");
        for domain in [&enforced, &permissive] {
            furnish(domain);
        }
        enforced.run(&script);
        let status = enforced.ended();
        assert_eq!(count(&status, "lost"), 0, "{status}");
        assert!(permissive.permissive(&script).wait().unwrap().success());
        let watched = permissive.ended();
        assert_eq!((count(&watched, "denied"), count(&watched, "unseen")), (0, 0), "{watched}");
        let (refused, would_be) = (named(&enforced), named(&permissive));
        let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
            one.difference(other).cloned().collect::<Vec<_>>()
        };
        let (enforcing, looking) = (only(&refused, &would_be), only(&would_be, &refused));
        assert!(
            enforcing.is_empty() && looking.is_empty(),
            "seed {seed}: only refused {enforcing:#?}, only named {looking:#?}"
        );
        assert!(refused.len() > OPERATIONS / 4, "{}", refused.len());
    }
    drop(domain);
}

/// A program that ends with the test, however that ends.
struct Endless(Child);

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_hangs_when_whoever_looks_is_killed() {
    let Some(domain) = may_run("nothing_hangs_when_whoever_looks_is_killed") else { return };
    let mut program = Endless(
        domain.permissive("exec 2>/dev/null; until read x < open/go; do read x < secret/key; done; exit 0"),
    );
    let looking = || {
        let dir = domain.path("status");
        // The program has other arguments by now.
        let ours = |pid: u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.windows(dir.len()).any(|at| at == dir.as_bytes())
        };
        let all = bakeoff_sys::process::scan().unwrap().into_iter();
        let mut pids: Vec<_> =
            all.filter(|stat| stat.state != 'Z' && ours(stat.pid)).map(|stat| stat.pid).collect();
        pids.sort_unstable();
        pids
    };
    for killed in 1..=12 {
        until(&domain, |status| !status.is_empty() && count(status, "restarts") == killed - 1);
        let seen = count(&domain.status(), "would-deny");
        until(&domain, |status| count(status, "would-deny") > seen);
        let pids = looking();
        assert_eq!(pids.len(), 2, "a keeper and a worker: {pids:?}");
        let pid = Pid::from_raw(pids[killed as usize % 2] as i32);
        kill(pid, Signal::SIGKILL).unwrap();
    }
    let seen = count(&domain.status(), "would-deny");
    until(&domain, |status| count(status, "restarts") == 12 && count(status, "would-deny") > seen);
    fs::write(domain.path("open/go"), "go\n").unwrap();
    assert!(program.0.wait().unwrap().success());
    domain.ended();
    assert_eq!(looking(), [] as [u32; 0]);
}
