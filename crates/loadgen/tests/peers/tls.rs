//! The generator over TLS: the same loads, and the errors that only TLS has.

use crate::support::{
    Authority, OK, OK_CLOSE, Peer, closed, errors, expecting, get, lists, one_robot, run, totals,
    within_patience,
};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{Reuse, StationJob, Target, TlsOptions, Trust};
use bakeoff_units::Nanos;
use bakeoff_workload::Expect;
use rustls::pki_types::ServerName;
use std::io::Write;
use std::time::Duration;

#[test]
fn connections_are_kept_and_described() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| talk.answer_all(OK));
        let mut station =
            crate::Station::new(peer.tls_target(&authority, "localhost"), 2, Vec::new()).unwrap();
        let slice = lists(4, 10);
        let recording = run(&mut station, closed(&slice, 2));
        assert_eq!(totals(&recording), (40, 40, 4));
        assert_eq!(recording.counters.bytes, 40 * OK.len() as u64);
        assert_eq!((recording.times.connect.count(), recording.times.handshake.count()), (4, 4));
        assert!(recording.tls.unwrap().starts_with("TLSv1_3"));
        let again = run(&mut station, closed(&slice, 2));
        assert_eq!(totals(&again), (40, 40, 0));
        assert!(again.times.handshake.count() == 0 && again.tls.is_none());
    });
}

#[test]
fn replies_in_records_of_any_size() {
    within_patience(|| {
        let authority = Authority::new("one");
        let body = Body::new(ObjectId::of_name(b"/large"), 1_300_001);
        let peer = Peer::tls(&authority, move |talk| {
            for piece in [usize::MAX, 16_384, 9_973, 333_333] {
                if talk.request().is_none() {
                    return;
                }
                let mut reply = b"HTTP/1.1 200 OK\r\nContent-Length: 1300001\r\n\r\n".to_vec();
                body.write_to(&mut reply).unwrap();
                talk.dribble(&reply, piece);
            }
        });
        let slice = one_robot(vec![expecting("/large", Expect::Body(body)); 12]);
        let recording = run(&mut peer.tls_station(&authority), closed(&slice, 1));
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (12, 12, 3)));
    });
}

#[test]
fn a_head_split_at_every_byte() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            let mut split = 0;
            while talk.request().is_some() {
                talk.say(&OK[..split]);
                talk.say(&OK[split..]);
                split += 1;
            }
        });
        let slice = one_robot(vec![get("/"); OK.len()]);
        let recording = run(&mut peer.tls_station(&authority), closed(&slice, 1));
        assert_eq!(totals(&recording), (OK.len() as u64, OK.len() as u64, 1));
    });
}

/// The end of the TLS session ends the reply; the server may wait for us to close.
#[test]
fn until_the_session_closes() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say(b"HTTP/1.1 200 OK\r\n\r\nas long as it lasts");
            talk.notify_close();
            assert!(talk.sees_the_end());
        });
        let job = StationJob { timeout: Nanos::from_secs(30), ..closed(&lists(1, 3), 1) };
        let recording = run(&mut peer.tls_station(&authority), job);
        assert_eq!((errors(&recording), totals(&recording)), (vec![], (3, 3, 3)));
    });
}

#[test]
fn replies_that_are_cut_off() {
    within_patience(|| {
        let authority = Authority::new("one");
        for notified in [true, false] {
            let peer = Peer::tls(&authority, move |talk| {
                talk.request();
                talk.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nnot all of it");
                if notified {
                    talk.notify_close();
                }
            });
            let recording = run(&mut peer.tls_station(&authority), closed(&lists(1, 2), 1));
            assert_eq!((errors(&recording), totals(&recording)), (vec![("truncated", 2)], (2, 0, 2)));
        }
    });
}

#[test]
fn a_session_that_was_closed_while_idle_is_replaced() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say(OK);
            talk.notify_close();
        });
        let recording = run(&mut peer.tls_station(&authority), closed(&lists(2, 5), 1));
        assert_eq!((errors(&recording), recording.counters.replies), (vec![], 10));
    });
}

#[test]
fn bytes_behind_the_reply() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say([OK, b"!"].concat());
        });
        let recording = run(&mut peer.tls_station(&authority), closed(&lists(1, 2), 1));
        assert_eq!(errors(&recording), [("surplus", 2)]);
    });
}

/// Session tickets come before the reply and are none of it.
#[test]
fn the_first_byte_is_the_replys() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            talk.request();
            std::thread::sleep(Duration::from_millis(80));
            talk.say(OK_CLOSE);
        });
        let recording = run(&mut peer.tls_station(&authority), closed(&lists(1, 3), 1));
        assert_eq!(recording.counters.replies, 3);
        let first = recording.times.first_byte.quantile(0.0);
        assert!(first >= Nanos::from_millis(75), "{first}");
    });
}

fn class_of(target: Target) -> Vec<(String, u64)> {
    let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
    let job = StationJob { timeout: Nanos::from_secs(2), ..closed(&lists(1, 2), 1) };
    let recording = run(&mut station, job);
    assert_eq!((recording.counters.requests, recording.counters.replies), (2, 0));
    assert_eq!((recording.times.handshake.count(), recording.counters.connections), (0, 2));
    errors(&recording).into_iter().map(|(class, count)| (class.to_owned(), count)).collect()
}

fn twice(class: &str) -> Vec<(String, u64)> {
    vec![(class.to_owned(), 2)]
}

#[test]
fn handshakes_that_fail() {
    within_patience(|| {
        let (one, other, namesake) = (Authority::new("one"), Authority::new("other"), Authority::new("one"));
        let peer = Peer::tls(&one, |talk| talk.answer_all(OK));
        assert_eq!(class_of(peer.tls_target(&one, "elsewhere")), twice("tls-name-mismatch"));
        assert_eq!(class_of(peer.tls_target(&other, "localhost")), twice("tls-untrusted"));
        // Another authority of the same name, as after a new throw-away certificate.
        assert_eq!(class_of(peer.tls_target(&namesake, "localhost")), twice("tls-untrusted"));

        let http = Peer::new(|talk| {
            let _ = std::io::Read::read(talk.stream().unwrap(), &mut [0; 4096]);
            talk.say(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        });
        let hangs_up = Peer::new(|talk| {
            let _ = std::io::Read::read(talk.stream().unwrap(), &mut [0; 4096]);
            talk.end_sending();
        });
        assert_eq!(class_of(http.tls_target(&one, "localhost")), twice("tls-failed"));
        assert_eq!(class_of(hangs_up.tls_target(&one, "localhost")), twice("tls-failed"));
        let silent = Peer::new(|talk| {
            let _ = std::io::copy(talk.stream().unwrap(), &mut std::io::sink());
        });
        assert_eq!(class_of(silent.tls_target(&one, "localhost")), twice("timeout"));
    });
}

#[test]
fn anyone_is_trusted_when_told_so() {
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| talk.answer_all(OK));
        let name = ServerName::try_from("elsewhere").unwrap();
        let tls = Some((TlsOptions::new(Trust::Anyone).load().unwrap(), name));
        let mut station = crate::Station::new(Target { tls, ..peer.target() }, 1, Vec::new()).unwrap();
        assert_eq!(totals(&run(&mut station, closed(&lists(2, 2), 1))), (4, 4, 2));
    });
}

#[test]
fn an_authority_that_is_none_is_an_error_that_says_where() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"no certificate").unwrap();
    let error = TlsOptions::new(Trust::File(file.path().to_owned())).load().unwrap_err().to_string();
    assert!(error.contains(file.path().to_str().unwrap()), "{error}");
}

/// A station's first job may be smaller than those that follow: it says nothing of how many sessions to keep.
#[test]
fn connections_that_open_together_find_a_session_each_whatever_the_first_job_was() {
    const TOGETHER: usize = 64;
    within_patience(|| {
        let authority = Authority::new("one");
        let peer = Peer::tls(&authority, |talk| {
            talk.request();
            talk.say(OK_CLOSE);
            talk.notify_close();
        });
        let target = Target { reuse: Reuse::Never, ..peer.tls_target(&authority, "localhost") };
        let mut station = crate::Station::new(target, 1, Vec::new()).unwrap();
        let mut handshakes = |robots: usize| {
            let recording = run(&mut station, closed(&lists(robots, 1), 1));
            assert_eq!(totals(&recording), (robots as u64, robots as u64, robots as u64));
            recording.handshakes
        };
        assert_eq!(handshakes(1).offered, 0);
        assert_eq!(handshakes(TOGETHER).completed(), TOGETHER as u64);
        // Each of them left two tickets.
        let last = handshakes(TOGETHER);
        assert_eq!((last.wanted, last.offered, last.resumed.count), (64, 64, 64));
    });
}
