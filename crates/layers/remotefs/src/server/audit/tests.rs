//! Audit log on a disk: ended and begun again, cut off by a crash, changed, full.

use super::*;
use bakeoff_layers_credentials::audit::{DecisionRecord, DecisionSubject};
use std::fs;
use std::path::PathBuf;

/// Small enough that a test has several.
const SMALL_BYTES: u64 = 16 * 1024;

struct Yard {
    _dir: tempfile::TempDir,
    path: PathBuf,
}

impl Yard {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { path: dir.path().join("audit"), _dir: dir }
    }

    fn open(&self, key: &[u8]) -> io::Result<AuditLog> {
        self.open_with(key, None, SMALL_BYTES)
    }

    fn open_with(&self, key: &[u8], keep: Option<Keep>, segment_bytes: u64) -> io::Result<AuditLog> {
        let key = SecretKey::of_pkcs8(key).unwrap();
        AuditLog::open_with(&self.path, key, &name("files"), keep, segment_bytes)
    }

    /// Its faults, and its records.
    fn read(&self) -> (Vec<AuditFaultKind>, Vec<DecisionRecord>) {
        let (directory, mut records) = (AuditDirectory::at(&self.path), Vec::new());
        let keys = directory.keys().unwrap();
        let checkpoint = directory.checkpoint().unwrap().map(|note| Checkpoint::open(&note, &keys).unwrap());
        let reader = directory.read(&keys, checkpoint.into_iter().collect(), |record| records.push(record));
        let (_, half, findings) = reader.unwrap().end();
        assert_eq!(half, None);
        (findings.into_iter().map(|finding| finding.wrong).collect(), records)
    }

    fn refusal(&self, key: &[u8]) -> String {
        self.open(key).unwrap_err().to_string()
    }
}

fn name(server: &str) -> PrincipalName {
    format!("node:{server}@site.example").parse().unwrap()
}

fn new_key() -> Vec<u8> {
    SecretKey::generate().unwrap().to_pkcs8().unwrap().to_vec()
}

fn decision(session: u32, shown: Option<Hash>) -> LoggedDecision {
    let force = InForce { epoch: 0, acl: [1; 32], bundles: vec![[2; 32]], revoked: [3; 32] };
    let about = DecisionSubject::NotAdmitted { refusal: "expired".into() };
    LoggedDecision { time_unix_s: 1_800_000_000, session, peer: None, shown, force: Arc::new(force), about }
}

fn decide(log: &AuditLog, sessions: std::ops::Range<u32>) {
    sessions.for_each(|session| log.decided(&decision(session, Some([0; 32]))).unwrap());
}

#[test]
fn a_log_goes_on_where_it_ended_with_another_key_too() {
    let (yard, first, second) = (Yard::new(), new_key(), new_key());
    let acl = Evidence::Acl("/ allow any@site.example read\n");
    for (round, key) in [&first, &second, &second].into_iter().enumerate() {
        let log = yard.open(key).unwrap();
        assert_eq!(log.evidence(&acl).unwrap(), log.evidence(&acl).unwrap());
        for batch in 0..5 {
            let begin = (round * 500 + batch * 100) as u32;
            decide(&log, begin..begin + 100);
            log.checkpoint().unwrap();
        }
        assert!(log.status().starts_with(&format!("audit-records {}\naudit-full 0\n", (round + 1) * 500)));
    }
    let (wrong, records) = yard.read();
    assert_eq!(wrong, []);
    assert!(records.iter().map(|record| u64::from(record.decision.session)).eq(0..1500));
    let directory = AuditDirectory::at(&yard.path);
    assert!(directory.segments().unwrap().len() > 3);
    assert_eq!(directory.keys().unwrap().keys.len(), 2);
    assert_eq!(directory.evidence(&hash(&acl.bytes())), Some(acl.bytes()));
    assert_eq!(fs::read_dir(yard.path.join("evidence")).unwrap().count(), 1);
}

#[test]
fn what_gathered_is_written_without_being_asked_for() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open(&key).unwrap();
    decide(&log, 0..3);
    let written = || fs::metadata(yard.path.join("log.0")).unwrap().len() > 100;
    // As long as it takes: the test is that it comes.
    while !written() {
        thread::sleep(COMMIT);
    }
}

#[test]
fn a_crash_at_any_byte_of_the_last_record_costs_that_record_alone() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open(&key).unwrap();
    decide(&log, 0..2);
    log.checkpoint().unwrap();
    let (segment, note) = (yard.path.join("log.0"), yard.path.join("checkpoint"));
    let (whole, said) = (fs::read(&segment).unwrap().len(), fs::read(&note).unwrap());
    decide(&log, 2..3);
    drop(log);
    let bytes = fs::read(&segment).unwrap();
    for cut in whole..bytes.len() {
        fs::write(&segment, &bytes[..cut]).unwrap();
        fs::write(&note, &said).unwrap();
        let log = yard.open(&key).unwrap();
        assert_eq!(log.cut_bytes, (cut - whole) as u64);
        assert!(log.status().ends_with(&format!("audit-cut-bytes {}\n", cut - whole)));
        decide(&log, 7..8);
        drop(log);
        let (wrong, records) = yard.read();
        assert_eq!(wrong, []);
        assert!(records.iter().map(|record| record.decision.session).eq([0, 1, 7]));
    }
}

#[test]
fn a_log_that_is_not_as_it_was_left_is_not_gone_on_with() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open(&key).unwrap();
    assert!(yard.refusal(&key).contains("another server writes this log"));
    decide(&log, 0..3);
    drop(log);
    let other = AuditLog::open(&yard.path, SecretKey::of_pkcs8(&key).unwrap(), &name("mail"), None);
    assert!(other.unwrap_err().to_string().contains("it is that of node:files@site.example"));

    let segment = yard.path.join("log.0");
    let bytes = fs::read(&segment).unwrap();
    let with = |bytes: &[u8]| {
        fs::write(&segment, bytes).unwrap();
        yard.refusal(&key)
    };
    let record = (bytes.len() - 56) / 3;
    let said = with(&bytes[..bytes.len() - record]);
    assert!(said.contains("ends with 2 records, and a checkpoint says that there were 3"), "{said}");
    assert!(said.contains("move the directory away"), "{said}");
    let mut changed = bytes.clone();
    changed[100] ^= 1;
    assert!(with(&changed).contains("record 0 does not hang on what is before it"));
    assert!(with(b"").contains("no segment"));
    fs::write(&segment, &bytes).unwrap();
    let note = fs::read_to_string(yard.path.join("checkpoint")).unwrap();
    fs::write(yard.path.join("checkpoint"), note.replace("\n3\n", "\n2\n")).unwrap();
    assert!(yard.refusal(&key).contains("its signature is not right"));
}

#[test]
fn a_disk_that_takes_nothing_stops_decisions_and_loses_none() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open_with(&key, None, 1).unwrap();
    // Something in the way of the next segment.
    fs::create_dir(yard.path.join("log.1")).unwrap();
    fs::write(yard.path.join("log.1/x"), "").unwrap();
    let disk = lock(&log.shared.disk);
    decide(&log, 0..2);
    drop(disk);
    stopped(&log);
    fs::remove_dir_all(yard.path.join("log.1")).unwrap();
    log.checkpoint().unwrap();
    decide(&log, 2..4);
    drop(log);
    let (wrong, records) = yard.read();
    assert_eq!(wrong, []);
    assert!(records.iter().map(|record| record.decision.session).eq(0..4));
}

#[track_caller]
fn stopped(log: &AuditLog) {
    log.checkpoint().unwrap_err();
    assert_eq!(log.decided(&decision(9, Some([0; 32]))), Err(Refusal::AuditFull));
    assert_eq!(log.decided(&decision(9, None)), Err(Refusal::AuditFull));
    assert_eq!(log.evidence(&Evidence::Acl("")), Err(Refusal::AuditFull));
    assert!(log.status().contains("audit-full 1\n"));
}

#[test]
fn strangers_fill_no_disk() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open(&key).unwrap();
    for _ in 0..100 {
        log.decided(&decision(0, None)).unwrap();
    }
    decide(&log, 1..3);
    drop(log);
    let unwritten: Vec<u64> = yard.read().1.iter().map(|record| record.unwritten).collect();
    assert_eq!(unwritten, [vec![0; 16], vec![84, 0]].concat());
}

#[test]
fn more_than_can_wait_is_refused_before_memory_is() {
    let (yard, key) = (Yard::new(), new_key());
    let log = yard.open(&key).unwrap();
    // The writer waits for the disk as long as this is held.
    let disk = lock(&log.shared.disk);
    let text = "#".repeat(1 << 20);
    let kept = (0..20).take_while(|n| log.evidence(&Evidence::Acl(&format!("{text}{n}"))).is_ok()).count();
    assert_eq!(kept, 8);
    assert_eq!(log.decided(&decision(9, Some([0; 32]))), Err(Refusal::AuditFull));
    drop(disk);
    log.checkpoint().unwrap();
    decide(&log, 0..1);
}

/// A keeper of checkpoints: those that it was sent, and its answer.
struct Keeper {
    sent: Vec<String>,
    says: Result<(), NotKept>,
}

fn keeper(says: Result<(), NotKept>) -> (Keep, Arc<Mutex<Keeper>>) {
    let keeper = Arc::new(Mutex::new(Keeper { sent: Vec::new(), says }));
    let its = keeper.clone();
    let keep = move |note: &str| {
        let mut keeper = lock(&its);
        keeper.sent.push(note.to_owned());
        keeper.says.clone()
    };
    (Box::new(keep), keeper)
}

#[test]
fn checkpoints_are_kept_elsewhere_from_the_first_moment_to_the_last() {
    let (yard, key) = (Yard::new(), new_key());
    drop(yard.open(&key).unwrap());
    let (keep, keeps) = keeper(Err(NotKept::Away));
    let log = yard.open_with(&key, Some(keep), SMALL_BYTES).unwrap();
    for session in 0..5 {
        decide(&log, session..session + 1);
        log.checkpoint().unwrap();
    }
    log.close();
    assert!(log.status().ends_with("\naudit-unsent 7\n"), "{}", log.status());
    lock(&keeps).says = Err(NotKept::Refused("checkpoint-went-back".to_owned()));
    log.close();
    assert!(log.status().ends_with("\naudit-unsent 8\naudit-refused checkpoint-went-back\n"));
    *lock(&keeps) = Keeper { sent: Vec::new(), says: Ok(()) };
    log.close();
    assert!(log.status().ends_with("\naudit-unsent 0\n"), "{}", log.status());
    let keys = AuditDirectory::at(&yard.path).keys().unwrap();
    let size = |note: &String| Checkpoint::open(note, &keys).unwrap().0.size;
    assert_eq!(
        lock(&keeps).sent.iter().map(size).collect::<Vec<_>>(),
        [0, 5],
        "as it was opened, and as it is"
    );
    assert_eq!(AuditDirectory::at(&yard.path).checkpoint().unwrap().as_ref(), lock(&keeps).sent.last());
    drop(log);

    let (keep, keeps) = keeper(Ok(()));
    let log = yard.open_with(&key, Some(keep), SMALL_BYTES).unwrap();
    // As long as it takes: the test is that it comes unasked.
    while lock(&keeps).sent.is_empty() {
        thread::sleep(COMMIT);
    }
    assert_eq!(size(&lock(&keeps).sent[0]), 5);
    drop(log);
}
