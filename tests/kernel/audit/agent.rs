//! Checkpoints kept by the agent of the server's domain: asking the agent exposes logs that were cut off, restored or
//! made anew, even with right links and the server's own signature.

use crate::refused;
use crate::yard::Yard;
use bakeoff_layers_agent::client::{self, AgentError};
use bakeoff_layers_agent::session::AgentSession;
use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_remotefs::server::audit::{AuditLog, NotKept};
use std::fs;
use std::ops::Range;
use std::process::Command;

const HOME: &str = "home.example";
const VERIFY: [&str; 5] = ["audit", "verify", "audit", "--agent", "--trust"];

/// A yard with servers that have logged in.
fn yard() -> Yard {
    let yard = Yard::new(&[HOME]);
    for name in ["files@home.example", "mail@home.example"] {
        yard.certify("node", name);
        yard.logged_in("node", name, &[]);
    }
    yard
}

fn keep(session: &AgentSession, bundles: &Bundles, note: &str) -> Result<(), NotKept> {
    client::keep(session, bundles.get(&HOME.parse().unwrap()).unwrap(), note).map_err(|error| match error {
        AgentError::Refused { name, .. } => NotKept::Refused(name),
        _ => NotKept::Away,
    })
}

/// A server's log, as `remotefs serve` has it kept.
fn log(yard: &Yard) -> AuditLog {
    let session = || yard.session("files@home.example");
    let (name, its, bundles) = (session().name().clone(), session(), yard.bundles());
    let keep = move |note: &str| keep(&its, &bundles, note);
    AuditLog::open(&yard.path("audit"), session().holder().key, &name, Some(Box::new(keep))).unwrap()
}

/// Runs a server; returns its last status lines on the agent.
fn serve(yard: &Yard, decisions: Range<u32>) -> String {
    let log = log(yard);
    decisions.for_each(|session| log.decided(&refused(session)).unwrap());
    log.close();
    let status = log.status();
    status.split_once("audit-unsent ").unwrap().1.trim().to_owned()
}

fn copy(yard: &Yard, from: &str, to: &str) {
    let _ = fs::remove_dir_all(yard.path(to));
    assert!(Command::new("cp").arg("-a").arg(yard.path(from)).arg(yard.path(to)).status().unwrap().success());
}

fn note(yard: &Yard) -> String {
    fs::read_to_string(yard.path("audit/checkpoint")).unwrap()
}

#[track_caller]
fn good(yard: &Yard, records: u32) {
    let ended = yard.layer(&[&VERIFY[..], &["trust"]].concat());
    assert_eq!(ended.0, 0, "{ended:?}");
    assert!(ended.1.contains(&format!("good: {records} records of node:files@home.example")), "{ended:?}");
    assert!(
        ended.2.contains(&format!("the agent of home.example was told of {records} records")),
        "{ended:?}"
    );
    assert!(!ended.1.contains("could make all of it anew"), "{ended:?}");
}

/// The log alone is good, and the agent's checkpoint says that it is not.
#[track_caller]
fn found(yard: &Yard, sentence: &str) {
    yard.good(&["audit", "verify", "audit"]);
    let ended = yard.layer(&[&VERIFY[..], &["trust"]].concat());
    assert!(ended.0 == 7 && ended.1.contains(sentence), "{ended:?}");
}

#[test]
fn an_agent_is_told_and_a_log_that_goes_on_is_good() {
    let mut yard = yard();
    assert_eq!(serve(&yard, 0..3), "0");
    good(&yard, 3);
    assert_eq!(serve(&yard, 3..3), "0", "a start that decides nothing");
    assert_eq!(serve(&yard, 3..5), "0");
    good(&yard, 5);
    // While the agent is away the server goes on, and sends later.
    let address = yard.kill(HOME);
    let log = log(&yard);
    log.decided(&refused(5)).unwrap();
    log.close();
    assert!(log.status().ends_with("\naudit-unsent 2\n"), "{}", log.status());
    assert!(yard.bad(3, &[&VERIFY[..], &["trust"]].concat()).contains("is not reached at"));
    yard.start(HOME, &address);
    log.close();
    assert!(log.status().ends_with("\naudit-unsent 0\n"), "{}", log.status());
    good(&yard, 6);
    yard.counts(HOME, "checkpoints", 1);
    let session = ["audit", "verify", "audit", "--agent", "--session", "mail@home.example.session"];
    assert!(yard.good(&session).starts_with("good: 6 records"), "the session's bundles");
    let nobody = ["audit", "verify", "audit", "--agent", "--session", "bob@home.example"];
    assert!(yard.bad(3, &nobody).contains("run/bakeoff/user:bob@home.example"), "a name's");
    let alone = yard.bad(2, &["audit", "verify", "audit", "--trust", "trust"]);
    assert!(alone.contains("--agent"), "{alone}");
}

#[test]
fn a_log_whose_end_is_cut_off_with_its_checkpoint_is_found() {
    let yard = yard();
    serve(&yard, 0..3);
    copy(&yard, "audit", "then");
    serve(&yard, 3..6);
    for file in ["log.0", "checkpoint"] {
        fs::copy(yard.path("then").join(file), yard.path("audit").join(file)).unwrap();
    }
    found(&yard, "ends with 3 records, and a checkpoint says that there were 6: its end was cut off");
    // The server goes on, and the agent remembers even when the log is longer again.
    assert_eq!(serve(&yard, 6..7), "2\naudit-refused checkpoint-went-back");
    yard.counts(HOME, "refused.checkpoint-went-back", 1);
    assert!(serve(&yard, 7..20).ends_with("\naudit-refused checkpoint-went-back"), "as it was opened");
    assert!(serve(&yard, 20..21).ends_with("\naudit-refused checkpoint-disputed"));
    found(&yard, "the first 6 records are not those of a checkpoint");
}

#[test]
fn an_older_copy_that_is_put_back_is_found() {
    let yard = yard();
    serve(&yard, 0..3);
    copy(&yard, "audit", "then");
    serve(&yard, 3..6);
    copy(&yard, "audit", "now");
    copy(&yard, "then", "audit");
    found(&yard, "ends with 3 records, and a checkpoint says that there were 6: its end was cut off");
    let older = note(&yard);
    copy(&yard, "now", "audit");
    good(&yard, 6);
    for _ in 0..2 {
        let again = keep(&yard.session("files@home.example"), &yard.bundles(), &older);
        assert_eq!(again, Err(NotKept::Refused("checkpoint-went-back".to_owned())));
    }
    good(&yard, 6);
}

#[test]
fn another_log_of_the_same_length_is_found() {
    let yard = yard();
    serve(&yard, 0..6);
    fs::remove_dir_all(yard.path("audit")).unwrap();
    // The thief has the server's key, but cannot reach the agent.
    serve_alone(&yard, 10..16);
    found(&yard, "the first 6 records are not those of a checkpoint");
    assert_eq!(serve(&yard, 16..16), "2\naudit-refused checkpoint-forked");
    yard.counts(HOME, "refused.checkpoint-forked", 1);
    fs::remove_dir_all(yard.path("audit")).unwrap();
    serve_alone(&yard, 10..20);
    found(&yard, "the first 6 records are not those of a checkpoint");
}

fn serve_alone(yard: &Yard, decisions: Range<u32>) {
    let session = yard.session("files@home.example");
    let name = session.name().clone();
    let log = AuditLog::open(&yard.path("audit"), session.holder().key, &name, None).unwrap();
    decisions.for_each(|session| log.decided(&refused(session)).unwrap());
}

#[test]
fn a_server_speaks_for_its_own_log_alone() {
    let yard = yard();
    serve(&yard, 0..3);
    let no = |name: &str| Err(NotKept::Refused(name.to_owned()));
    assert_eq!(
        keep(&yard.session("mail@home.example"), &yard.bundles(), &note(&yard)),
        no("not-its-checkpoint")
    );
    assert_eq!(
        keep(&yard.session("files@home.example"), &yard.bundles(), &note(&yard).replace("\n3\n", "\n4\n")),
        no("not-its-checkpoint")
    );
    yard.counts(HOME, "refused.not-its-checkpoint", 2);
    good(&yard, 3);
    // Made anew with another key, which the directory names.
    yard.certify("node", "thief@home.example");
    let thief = yard.logged_in("node", "thief@home.example", &[]).holder().key;
    fs::remove_dir_all(yard.path("audit")).unwrap();
    let name = yard.session("files@home.example").name().clone();
    let log = AuditLog::open(&yard.path("audit"), thief, &name, None).unwrap();
    (0..3).for_each(|session| log.decided(&refused(session)).unwrap());
    drop(log);
    yard.good(&["audit", "verify", "audit"]);
    let said = yard.bad(7, &[&VERIFY[..], &["trust"]].concat());
    assert!(said.contains("the agent of home.example keeps: signed by none of the keys"), "{said}");
}
