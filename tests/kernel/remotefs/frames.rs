//! Malformed frames: out of turn, half or too much. Each is refused under its name, and the next one is served.

use crate::support::{Heard, ROOT, Raw, Site, can_mount, command, refused};
use bakeoff_layers_remotefs::frame::{ClientRequest, ConnectionPurpose, HEAD_BYTES};
use bakeoff_layers_remotefs::refusal::Refusal;

#[test]
fn what_is_said_out_of_turn_is_refused_by_name() {
    if !can_mount("what_is_said_out_of_turn_is_refused_by_name") {
        return;
    }
    let site = Site::new();
    let server = site.serve_at("127.0.0.1:0", "60");
    let closed = |mut raw: Raw, request: &ClientRequest<'_>, refusal: Refusal| {
        let heard = raw.ask(request);
        assert!(matches!(heard, Heard::Error(_, number) if number == refusal.number()), "{heard:?}");
        assert_eq!(raw.hear(), Heard::Closed);
        server.counts(&format!("refused.{}", refusal.name()), 1);
    };
    let (callback, boot, session) = Raw::session(&server);
    let data = |class, boot| ClientRequest::Hello { class, session, boot, credentials: &[] };
    let fresh = || Raw::connect(&server);
    closed(fresh(), &ClientRequest::Attributes { object: ROOT }, Refusal::HelloOutOfTurn);
    closed(fresh(), &data(ConnectionPurpose::Data, boot ^ 1), Refusal::OtherBoot);
    let nobodys = ClientRequest::Hello {
        class: ConnectionPurpose::Data,
        session: session + 1000,
        boot,
        credentials: &[],
    };
    closed(fresh(), &nobodys, Refusal::SessionOver);
    let known = || Raw::data(&server, boot, session);
    closed(known(), &data(ConnectionPurpose::Data, boot), Refusal::HelloOutOfTurn);
    closed(known(), &ClientRequest::Ping { stamp: 1 }, Refusal::WrongClass);
    let many: Vec<_> = (0..16).map(|_| known()).collect();
    closed(fresh(), &data(ConnectionPurpose::Data, boot), Refusal::TooManyOfSession);
    drop(many);
    closed(callback, &ClientRequest::Read { object: ROOT, offset: 0, length: 1 }, Refusal::WrongClass);
    // And the next one is served.
    let (_callback, boot, session) = Raw::session(&server);
    let root = Raw::data(&server, boot, session).ask(&ClientRequest::Attributes { object: ROOT });
    assert!(matches!(root, Heard::Attributes(_)), "{root:?}");
}

#[test]
fn what_is_too_long_or_never_ends_closes_the_connection() {
    if !can_mount("what_is_too_long_or_never_ends_closes_the_connection") {
        return;
    }
    let site = Site::new();
    let server = site.serve_at("127.0.0.1:0", "60");
    let mut long = Raw::connect(&server);
    long.say(&[0xff; HEAD_BYTES]);
    assert!(matches!(long.hear(), Heard::Error(..)));
    assert_eq!(long.hear(), Heard::Closed);
    server.counts("refused.frame-too-large", 1);
    let (mut half, mut silent) = (Raw::connect(&server), Raw::connect(&server));
    half.say(&[0; HEAD_BYTES - 1]);
    assert!(matches!(half.hear(), Heard::Error(..)));
    assert_eq!(silent.hear(), Heard::Closed);
    server.counts("refused.no-hello", 2);
}

#[test]
fn nothing_is_served_or_mounted_where_others_could_reach_it() {
    let said = |words: &[&str], word: &str| refused(command(word).args(words), 2);
    let text = said(&["/tmp", "--plain", "--listen", "0.0.0.0:0"], "serve");
    assert!(text.contains("198.18.0.0/15"), "{text}");
    let text = said(&["192.0.2.1:7441", "/tmp", "--plain"], "mount");
    assert!(text.contains("198.18.0.0/15"), "{text}");
    let text = said(&["/tmp", "--listen", "127.0.0.1:0"], "serve");
    assert!(text.contains("--plain"), "{text}");
    let text = said(&["/tmp", "--plain", "--listen", "127.0.0.1:0", "--term", "61"], "serve");
    assert!(text.contains("1 to 60 seconds"), "{text}");
    let none = refused(command("serve").args(["/nowhere", "--plain", "--listen", "127.0.0.1:0"]), 3);
    assert!(none.contains("/nowhere"), "{none}");
}
