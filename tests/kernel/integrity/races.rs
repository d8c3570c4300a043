//! Races: attackers change files while they are opened. Under degree `full` no successful open reads anything but
//! signed content.

use crate::site::{Site, may_run, open, wait_until};
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Number of opens.
const RACES: usize = 10_000;

/// Number of files; arming catches each in one state or the other.
const FILES: usize = 20;

/// Writes, truncates and replaces files, good and evil in turn, as fast as it can. Returns how often it succeeded.
fn attack(root: PathBuf, first: usize, stop: Arc<AtomicBool>) -> JoinHandle<u64> {
    std::thread::spawn(move || {
        let mut done = 0;
        for turn in 0.. {
            for number in (first..FILES).step_by(2) {
                if stop.load(Ordering::Relaxed) {
                    return done;
                }
                let word = if (turn + number / 2) % 2 == 0 { "evil" } else { "good" };
                let text = format!("{word} {number}");
                let (file, beside) =
                    (root.join(format!("site/{number}")), root.join(format!("{word}-{number}")));
                done += u64::from(fs::write(&file, &text).is_ok());
                let _ = fs::write(&beside, &text);
                done += u64::from(fs::rename(&beside, &file).is_ok());
            }
        }
        done
    })
}

#[test]
fn in_ten_thousand_races_nothing_stale_is_read() {
    if !may_run("in_ten_thousand_races_nothing_stale_is_read") {
        return;
    }
    let site = Site::new();
    for number in 0..FILES {
        site.write(&number.to_string(), &format!("good {number}"));
    }
    site.seal(1, &[]);
    let stop = Arc::new(AtomicBool::new(false));
    // The attackers are busy before the tree is armed, and go on.
    let attackers = [0, 1].map(|first| attack(site.dir.path().to_owned(), first, stop.clone()));
    let guard = site.enforce(&["--mode", "deny", "--no-ahead"]);
    let (mut stale, mut opened, mut refused) = (0, 0, 0);
    for race in 0..RACES {
        let number = race % FILES;
        match open(&site.file(&number.to_string())) {
            Ok(text) if text == format!("good {number}") => opened += 1,
            Ok(_) => stale += 1,
            Err(_) => refused += 1,
        }
    }
    stop.store(true, Ordering::Relaxed);
    let changes: u64 = attackers.into_iter().map(|attacker| attacker.join().unwrap()).sum();
    println!(
        "{RACES} races: {opened} good, {refused} refused, {stale} stale; {changes} changes got through before arming"
    );
    assert_eq!(stale, 0, "{}", guard.armed);
    assert!(changes > 0 && opened > 0, "nobody raced");
    wait_until("full", || guard.degree() == "full");
}

/// Without freezing only the lease protects. Changes after an open are another matter, but an open that begins after
/// a change has ended does not succeed.
#[test]
fn without_freezing_an_open_after_a_change_never_succeeds() {
    if !may_run("without_freezing_an_open_after_a_change_never_succeeds") {
        return;
    }
    let site = Site::tampered(&[]);
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    for race in 0..RACES / 10 {
        // Several readers make and renew the verdict while it changes.
        std::thread::scope(|scope| {
            let readers = [0, 1].map(|_| scope.spawn(|| drop(open(&site.file("a")))));
            // Refused if the file is being decided at that moment; then there is no change.
            let changed = fs::OpenOptions::new().write(true).open(site.file("a"));
            let changed = changed.and_then(|mut file| file.write_all(b"evil a")).is_ok();
            if changed {
                assert!(open(&site.file("a")).is_err(), "race {race}");
            }
            for reader in readers {
                reader.join().unwrap();
            }
        });
        site.replace("a", "good a");
        assert_eq!(open(&site.file("a")).unwrap(), "good a", "race {race}");
    }
    assert!(guard.number("voided") > 0 || guard.number("hashed") > 0);
}
