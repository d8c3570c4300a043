//! Regression: when all deciding threads were busy for the length of the time limit, every waiting open was refused,
//! also one that had come a moment ago: 97 right opens after 2.9 s of 5 s.

use crate::site::{Site, may_run, open};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::fs::File;
use std::time::{Duration, Instant};

const LIMIT: Duration = Duration::from_millis(300);

#[test]
fn an_open_is_refused_only_when_it_waited_for_the_time_limit_itself() {
    if !may_run("an_open_is_refused_only_when_it_waited_for_the_time_limit_itself") {
        return;
    }
    // On one core there are two deciding threads, and two large files keep them busy: reading a hole needs no disk,
    // and hashing it takes time.
    let mut one = CpuSet::new();
    let allowed = nix::sched::sched_getaffinity(Pid::from_raw(0)).unwrap();
    let core = (0..CpuSet::count()).find(|core| allowed.is_set(*core).unwrap_or(false)).unwrap();
    one.set(core).unwrap();
    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
    let site = Site::new();
    for number in 0..2 {
        File::create(site.file(&format!("big{number}"))).unwrap().set_len(500_000_000).unwrap();
    }
    for number in 0..40 {
        site.write(&number.to_string(), &format!("good {number}"));
    }
    site.seal(1, &["--digest", "sha256"]);
    let limit = LIMIT.as_millis().to_string();
    let guard = site.enforce(&["--mode", "deny", "--no-ahead", "--time-limit", &limit]);
    let open_after = |name: String, delay: Duration| {
        let path = site.file(&name);
        std::thread::spawn(move || {
            std::thread::sleep(delay);
            let began = Instant::now();
            let opened = if name.starts_with("big") {
                File::open(&path).map(drop).is_ok()
            } else {
                open(&path).is_ok()
            };
            (name, opened, began.elapsed())
        })
    };
    let big = (0..2).map(|number| open_after(format!("big{number}"), Duration::ZERO));
    let small = (0..40).map(|number| open_after(number.to_string(), Duration::from_millis(20 * number)));
    let openers: Vec<_> = big.chain(small).collect();
    let opened: Vec<_> = openers.into_iter().map(|opener| opener.join().unwrap()).collect();
    let refused: Vec<_> = opened.iter().filter(|(_, opened, _)| !opened).collect();
    println!("{} of {} refused", refused.len(), opened.len());
    for (name, _, waited) in &refused {
        assert!(*waited >= LIMIT, "{name} was refused after {waited:?}");
    }
    assert!(refused.iter().any(|(name, ..)| name.starts_with("big")), "nobody was busy");
    guard.wait_for("timeout", 1);
}
