//! Audit logs from outside: written like a server's, tampered with, and inspected by `bakeoff layer audit`.
//!
//! One test fills a disk, which needs root: a small one of its own, in a namespace that ends with the test.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed
#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

mod agent;
#[allow(dead_code, reason = "other tests need the rest")]
#[path = "../credentials/support.rs"]
mod yard;

use bakeoff_layers_credentials::audit::{AuditOutcome, DecisionSubject, Evidence, InForce, LoggedDecision};
use bakeoff_layers_credentials::key::{Hash, SecretKey};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_remotefs::refusal::Refusal;
use bakeoff_layers_remotefs::server::audit::{AuditLog, Keep};
use nix::mount::{MsFlags, mount, umount};
use nix::sched::{CloneFlags, unshare};
use nix::unistd::Uid;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const NOW: u64 = 1_800_000_000;

/// A directory for a log, and the key of its server.
struct Yard {
    folder: tempfile::TempDir,
    key: Vec<u8>,
}

impl Yard {
    fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("bakeoff-audit-").tempdir().unwrap();
        Self { folder, key: SecretKey::generate().unwrap().to_pkcs8().unwrap().to_vec() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self) -> AuditLog {
        let key = SecretKey::of_pkcs8(&self.key).unwrap();
        AuditLog::open(&self.path("audit"), key, &"node:files@site.example".parse().unwrap(), None).unwrap()
    }

    /// Writes a log of so many refusals.
    fn write(&self, records: u32) {
        let log = self.open();
        (0..records).for_each(|session| log.decided(&refused(session)).unwrap());
    }

    /// Exit code, standard output and standard error of a command.
    fn audit(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        let output = command.current_dir(self.folder.path()).arg("audit").args(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn says(&self, words: &[&str], code: i32, said: &[&str]) {
        let (ended, out, error) = self.audit(words);
        assert_eq!(ended, Some(code), "{words:?}: {out}{error}");
        for part in said {
            assert!(
                out.contains(part) || error.contains(part),
                "{words:?} does not say `{part}`: {out}{error}"
            );
        }
    }
}

fn decision(session: u32, shown: Option<Hash>, about: DecisionSubject) -> LoggedDecision {
    let force = InForce { epoch: 0, acl: [1; 32], bundles: vec![[2; 32]], revoked: [3; 32] };
    LoggedDecision {
        time_unix_s: NOW + u64::from(session),
        session,
        peer: None,
        shown,
        force: Arc::new(force),
        about,
    }
}

/// Refusal of a stranger.
fn refused(session: u32) -> LoggedDecision {
    decision(session, None, DecisionSubject::NotAdmitted { refusal: "unknown-domain".into() })
}

#[test]
fn a_log_that_is_right_is_good_and_one_that_was_changed_is_not() {
    let yard = Yard::new();
    yard.write(3);
    let keys = fs::read_to_string(yard.path("audit/keys")).unwrap();
    yard.says(
        &["verify", "audit"],
        0,
        &["good: 3 records of node:files@site.example", "The first 3", keys.trim()],
    );
    yard.says(&["replay", "audit"], 0, &["good: 3 decisions", "3 refusals of strangers were not"]);
    let segment = yard.path("audit/log.0");
    let mut bytes = fs::read(&segment).unwrap();
    let half = [&bytes[..], &[0x40, 0, 0, 0, 7]].concat();
    fs::write(&segment, half).unwrap();
    yard.says(&["verify", "audit"], 0, &["good: 3 records", "the last 5 bytes are a half record"]);
    bytes[90] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let said = ["log.0 at byte 56: record 0 does not hang", "not what its server wrote: 1 findings"];
    yard.says(&["verify", "audit"], 7, &said);
    yard.says(&["replay", "audit"], 7, &said);
    yard.says(&["show", "audit"], 7, &said);
    yard.says(&["verify", "elsewhere"], 3, &["elsewhere/keys"]);
}

#[test]
fn a_checkpoint_from_elsewhere_finds_a_log_that_was_made_anew() {
    let yard = Yard::new();
    yard.write(3);
    fs::copy(yard.path("audit/checkpoint"), yard.path("monday")).unwrap();
    let with_monday = ["verify", "audit", "--checkpoint", "monday"];
    yard.says(&with_monday, 0, &["good: 3 records"]);
    fs::remove_dir_all(yard.path("audit")).unwrap();
    yard.write(2);
    yard.says(&["verify", "audit"], 0, &["good: 2 records", "kept elsewhere"]);
    yard.says(&with_monday, 7, &["ends with 2 records, and a checkpoint says that there were 3"]);
    fs::remove_dir_all(yard.path("audit")).unwrap();
    let thief = Yard { key: Yard::new().key, folder: yard.folder };
    thief.write(3);
    thief.says(&["verify", "audit"], 0, &["good: 3 records"]);
    thief.says(&with_monday, 7, &["monday: signed by none of the keys"]);
}

#[test]
fn what_was_decided_is_shown_and_a_lie_has_its_line() {
    let yard = Yard::new();
    let log = yard.open();
    let acl = log.evidence(&Evidence::Acl("/ allow any@site.example read\n")).unwrap();
    log.decided(&refused(4)).unwrap();
    log.decided(&decision(5, Some(acl), DecisionSubject::Admitted { until_unix_s: NOW + 900 })).unwrap();
    drop(log);
    yard.says(
        &["replay", "audit"],
        7,
        &["record 1: evidence ", "cannot be read as what was shown", "1 of 2 decisions"],
    );
    let (code, text, _) = yard.audit(&["show", "audit"]);
    let lines = "0 at 1800000004 session 4 a stranger: not let in: unknown-domain\n\
                 1 at 1800000005 session 5 a stranger: let in until 1800000900\n";
    assert_eq!((code, text.as_str()), (Some(0), lines));
    let (_, text, _) = yard.audit(&["show", "audit", "--json"]);
    let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(records[0]["refusal"], "unknown-domain");
    let shown = records[1]["shown"].as_str().unwrap();
    assert!(yard.path("audit/evidence").join(shown).exists());
}

#[test]
fn what_no_checkpoint_and_no_line_covers_is_said_in_words() {
    let yard = Yard::new();
    let key = SecretKey::of_pkcs8(&yard.key).unwrap();
    let name = "node:files@site.example".parse().unwrap();
    // Who has a place to keep checkpoints in signs one at once.
    let keep = Some(Box::new(|_: &str| Ok(())) as Keep);
    let log = AuditLog::open(&yard.path("audit"), key, &name, keep).unwrap();
    let none_yet = "None is checked yet: the newest checkpoint is from before the first of them";
    yard.says(&["verify", "audit"], 0, &["good: 0 records", none_yet]);
    let told = DecisionSubject::Object {
        paths: vec![vec![b"projects".to_vec(), b"x".to_vec()]],
        asked: Operations::NONE,
        rights: Operations::of_words("read,list").unwrap(),
        outcome: AuditOutcome::Allowed { line: 0 },
    };
    log.decided(&decision(1, None, told)).unwrap();
    drop(log);
    yard.says(&["verify", "audit"], 0, &["good: 1 records", "The first is that of a checkpoint"]);
    yard.says(
        &["show", "audit"],
        0,
        &["to be told of /projects/x allowed by any right there or below (may read,list)"],
    );
}

#[test]
fn a_full_disk_stops_decisions_and_loses_none() {
    let test = "a_full_disk_stops_decisions_and_loses_none";
    if !Uid::effective().is_root() {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: mounting needs root");
        println!("SKIP {test}: mounting needs root");
        return;
    }
    let yard = Yard::new();
    unshare(CloneFlags::CLONE_NEWNS).unwrap();
    let nothing: Option<&Path> = None;
    mount(nothing, "/", nothing, MsFlags::MS_REC | MsFlags::MS_PRIVATE, nothing).unwrap();
    fs::create_dir(yard.path("audit")).unwrap();
    mount(Some("none"), &yard.path("audit"), Some("tmpfs"), MsFlags::empty(), Some("size=256k")).unwrap();

    let log = yard.open();
    // More is in memory when the disk is full than fits into the rest of it.
    fs::write(yard.path("audit/filler"), vec![0; 1 << 20]).unwrap_err();
    let mut decided = 0;
    let full = loop {
        match log.decided(&refused(decided)) {
            Ok(()) => decided += 1,
            Err(refusal) => break refusal,
        }
        if decided % 100 == 0 && log.checkpoint().is_err() {
            assert_eq!(log.decided(&refused(decided)), Err(Refusal::AuditFull));
        }
        assert!(decided < 10_000, "a full disk takes all");
    };
    assert_eq!(full, Refusal::AuditFull);
    fs::remove_file(yard.path("audit/filler")).unwrap();
    log.checkpoint().unwrap();
    log.decided(&refused(decided)).unwrap();
    drop(log);
    let said = format!("good: {} records", decided + 1);
    yard.says(&["verify", "audit"], 0, &[&said]);
    umount(&yard.path("audit")).unwrap();
}
