//! Both ends of a TLS session in memory: the bytes that one writes the other gets, and an error ends it with an alert.

#![allow(clippy::unwrap_used)] // a test's panic is its message

use bakeoff_wire::tls::{NotOpen, RECORD_BYTES, ReceiveEnd, Session, TlsEnd};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::server::UnbufferedServerConnection;
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::sync::Arc;

type Client = Session<UnbufferedClientConnection>;
type Server = Session<UnbufferedServerConnection>;

fn ends() -> (Client, Server) {
    let key = rcgen::KeyPair::generate().unwrap();
    let names = rcgen::CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    let certificate = names.self_signed(&key).unwrap().der().clone();
    let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let server = ServerConfig::builder().with_no_client_auth();
    let server = Arc::new(server.with_single_cert(vec![certificate], key).unwrap());
    let client = Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth());
    let name = ServerName::try_from("localhost").unwrap();
    let client = UnbufferedClientConnection::new(client, name).unwrap();
    (Session::new(client), Session::new(UnbufferedServerConnection::new(server).unwrap()))
}

/// Carries one end's output to the other, in pieces of so many bytes; returns the plain bytes.
fn carry<A: TlsEnd, B: TlsEnd>(from: &mut Session<A>, to: &mut Session<B>, piece: usize) -> Vec<u8> {
    let (mut flight, mut heard) = (Vec::new(), Vec::new());
    from.take_output(&mut flight);
    hear(to, &flight, piece, &mut heard);
    heard
}

fn hear<T: TlsEnd>(end: &mut Session<T>, bytes: &[u8], piece: usize, heard: &mut Vec<u8>) {
    for piece in bytes.chunks(piece) {
        let plain = &mut |plain: &[u8]| {
            heard.extend_from_slice(plain);
            Ok::<_, NotOpen>(())
        };
        end.receive(piece, plain).unwrap();
    }
}

/// Both ends once their handshake is over.
fn open(piece: usize) -> (Client, Server) {
    let (mut client, mut server) = ends();
    for _ in 0..4 {
        assert!(carry(&mut client, &mut server, piece).is_empty());
        assert!(carry(&mut server, &mut client, piece).is_empty());
    }
    assert!(!client.is_handshaking() && !server.is_handshaking());
    (client, server)
}

#[test]
fn what_one_writes_the_other_is_told_in_whatever_pieces_it_comes() {
    for piece in [1, 5, 1_000, usize::MAX] {
        let (mut client, mut server) = open(piece);
        let long: Vec<u8> = (0..3 * RECORD_BYTES).map(|at| at as u8).collect();
        let (mut records, mut heard) = (b"before".to_vec(), Vec::new());
        client.write(&[b"head", b"", &long], &mut records).unwrap();
        assert!(records.starts_with(b"before") && records.len() > long.len() + 10);
        hear(&mut server, &records[6..], piece, &mut heard);
        assert_eq!(heard, [b"head", long.as_slice()].concat(), "{piece}");
    }
}

#[test]
fn before_the_handshake_and_after_both_goodbyes_nothing_is_written() {
    let (mut client, mut server) = ends();
    assert_eq!(client.write(&[b"early"], &mut Vec::new()), Err(NotOpen));
    assert_eq!(server.write(&[b"early"], &mut Vec::new()), Err(NotOpen));
    let (mut client, mut server) = open(usize::MAX);
    let (mut records, mut heard) = (Vec::new(), Vec::new());
    server.write(&[b"last"], &mut records).unwrap();
    server.say_goodbye(&mut records).unwrap();
    hear(&mut client, &records, usize::MAX, &mut heard);
    assert!(client.has_ended() && !server.has_ended() && heard == b"last");
    let mut goodbye = Vec::new();
    client.say_goodbye(&mut goodbye).unwrap();
    hear(&mut server, &goodbye, usize::MAX, &mut heard);
    assert_eq!(server.write(&[b"more"], &mut Vec::new()), Err(NotOpen), "both have ended it");
    // Nothing after it counts, whatever it is.
    hear(&mut client, b"no record", usize::MAX, &mut heard);
    assert_eq!(heard, b"last");
}

#[test]
fn what_is_no_record_ends_it_with_an_alert_for_the_peer() {
    let (mut client, mut server) = open(usize::MAX);
    let mut records = Vec::new();
    client.write(&[b"hello"], &mut records).unwrap();
    let last = records.len() - 1;
    records[last] ^= 1;
    let stopped = server.receive(&records, &mut |_| Ok::<_, NotOpen>(())).unwrap_err();
    assert!(matches!(stopped, ReceiveEnd::Tls(rustls::Error::DecryptError)), "{stopped:?}");
    let mut alert = Vec::new();
    server.take_output(&mut alert);
    let told = client.receive(&alert, &mut |_| Ok::<_, NotOpen>(())).unwrap_err();
    assert!(matches!(told, ReceiveEnd::Tls(rustls::Error::AlertReceived(_))), "{told:?}");
}

#[test]
fn whoever_does_not_want_what_came_says_so_itself() {
    let (mut client, mut server) = open(usize::MAX);
    let mut records = Vec::new();
    client.write(&[b"hello"], &mut records).unwrap();
    let stopped = server.receive(&records, &mut |_| Err("not that")).unwrap_err();
    assert!(matches!(stopped, ReceiveEnd::Plain("not that")), "{stopped:?}");
}
