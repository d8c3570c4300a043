//! Strangers that connect to an agent: without a key, with another protocol, half a message, too long a one, or too
//! often.

use super::HOME;
use super::support::Yard;
use bakeoff_layers_agent::message::{AgentReply, MOST_BYTES};
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::tls::agent_client;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

type Tls = StreamOwned<ClientConnection, TcpStream>;

fn config(yard: &Yard) -> ClientConfig {
    let bundles = yard.bundles();
    let bundle = bundles.get(&HOME.parse().unwrap()).unwrap();
    agent_client(&SecretKey::generate().unwrap(), bundle.roots()).unwrap()
}

fn connect(yard: &Yard, config: ClientConfig) -> Tls {
    let stream = TcpStream::connect(yard.address(HOME)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
    let host = "127.0.0.1".try_into().unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), host).unwrap(), stream)
}

/// The name of the refusal.
fn refused(tls: &mut Tls) -> String {
    let mut head = [0; 4];
    tls.read_exact(&mut head).unwrap();
    let mut said = vec![0; u32::from_le_bytes(head) as usize];
    tls.read_exact(&mut said).unwrap();
    match AgentReply::read(&said).unwrap() {
        AgentReply::No(name, _) => name,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_question_is_refused_by_its_name_and_the_next_is_heard() {
    let yard = Yard::new(&[HOME]);
    let mut tls = connect(&yard, config(&yard));
    for (message, name) in [(&[0x81, 9][..], "unknown-question"), (&[0xff], "malformed"), (&[], "malformed")]
    {
        tls.write_all(&(message.len() as u32).to_le_bytes()).unwrap();
        tls.write_all(message).unwrap();
        assert_eq!(refused(&mut tls), name);
    }
    tls.write_all(&(MOST_BYTES as u32 + 1).to_le_bytes()).unwrap();
    assert_eq!(refused(&mut tls), "too-large");
    assert!(matches!(tls.read(&mut [0]), Ok(0) | Err(_)), "it goes on after that");
    let mut half = connect(&yard, config(&yard));
    half.write_all(&[9, 0, 0, 0, 1]).unwrap();
    half.conn.send_close_notify();
    half.flush().unwrap();
    drop(half);
    for name in ["unknown-question", "malformed", "too-large", "half-message"] {
        yard.counts(HOME, &format!("refused.{name}"), 1);
    }
}

#[test]
fn who_says_nothing_is_left_after_ten_seconds() {
    let yard = Yard::new(&[HOME]);
    let mut silent = connect(&yard, config(&yard));
    silent.flush().unwrap();
    let begun = Instant::now();
    assert_eq!(refused(&mut silent), "half-message");
    assert!(begun.elapsed() >= Duration::from_secs(9));
}

#[test]
fn who_speaks_another_protocol_or_shows_no_key_is_not_heard() {
    let yard = Yard::new(&[HOME]);
    let mut other = config(&yard);
    other.alpn_protocols = vec![b"h2".to_vec()];
    let mut none = config(&yard);
    none.alpn_protocols = Vec::new();
    let mut keyless = config(&yard);
    keyless.client_auth_cert_resolver = Arc::new(Keyless);
    for config in [other, none, keyless] {
        let mut tls = connect(&yard, config);
        let _ = tls.write_all(&[1, 0, 0, 0, 0x81]);
        assert!(matches!(tls.read(&mut [0]), Ok(0) | Err(_)), "it was answered");
    }
    yard.counts(HOME, "refused.no-handshake", 2);
    yard.counts(HOME, "refused.other-protocol", 1);
}

#[derive(Debug)]
struct Keyless;

impl rustls::client::ResolvesClientCert for Keyless {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<rustls::sign::CertifiedKey>> {
        None
    }

    fn has_certs(&self) -> bool {
        false
    }
}

#[test]
fn no_ticket_is_given() {
    let yard = Yard::new(&[HOME]);
    let mut eager = config(&yard);
    eager.resumption = rustls::client::Resumption::in_memory_sessions(8);
    eager.enable_early_data = true;
    let eager = Arc::new(eager);
    for _ in 0..2 {
        let stream = TcpStream::connect(yard.address(HOME)).unwrap();
        let connection = ClientConnection::new(eager.clone(), "127.0.0.1".try_into().unwrap()).unwrap();
        let mut tls = StreamOwned::new(connection, stream);
        assert!(tls.conn.early_data().is_none());
        tls.write_all(&[2, 0, 0, 0, 0x81, 9]).unwrap();
        assert_eq!(refused(&mut tls), "unknown-question");
        assert_eq!(tls.conn.handshake_kind(), Some(rustls::HandshakeKind::Full));
        assert_eq!(tls.conn.tls13_tickets_received(), 0);
    }
}

#[test]
fn strangers_who_say_nothing_keep_nobody_out() {
    let yard = Yard::new(&[HOME]);
    let all: Vec<TcpStream> = (0..64).map(|_| TcpStream::connect(yard.address(HOME)).unwrap()).collect();
    let (sender, notices) = channel();
    yard.subscribe(sender);
    notices.recv_timeout(Duration::from_secs(120)).unwrap();
    yard.counts(HOME, "refused.too-many-of-address", 1);
    yard.counts(HOME, "refused.silent", 1);
    drop(all);
}
