//! Attacks on the transport: a peer without TLS 1.3 and a valid leaf is refused under a name, and the next one is
//! served.

use crate::support::{Heard, ROOT, Raw, Site, can_mount};
use crate::world::{SERVER, World, domain};
use bakeoff_layers_credentials::tls::{self, REMOTEFS};
use bakeoff_layers_remotefs::client::ClientError;
use bakeoff_layers_remotefs::frame::{ClientRequest, ConnectionPurpose, MessageHead};
use bakeoff_layers_remotefs::refusal::Refusal;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, DigitallySignedStruct, Error, SignatureScheme, SupportedProtocolVersion};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const LIST: &str = "/ allow user:alice@home.example all\n";

/// Verifier that accepts any server: these tests examine the server.
#[derive(Debug)]
struct Any;

impl ServerCertVerifier for Any {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }
}

/// A client without a certificate.
fn stranger(version: &'static SupportedProtocolVersion, protocol: &[u8]) -> Arc<ClientConfig> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Any))
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    Arc::new(config)
}

#[test]
fn who_is_no_tls_1_3_peer_with_a_certificate_is_refused_by_name() {
    if !can_mount("who_is_no_tls_1_3_peer_with_a_certificate_is_refused_by_name") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve(&site, LIST);
    // It sends something, and gets nothing but the end.
    let refused = |config| {
        let mut raw = Raw::over(served.tls(config));
        raw.say(&[0; 40]);
        assert!(matches!(raw.hear(), Heard::Error(..) | Heard::Closed));
    };
    refused(stranger(&TLS13, REMOTEFS));
    served.counts("refused.no-certificate", 1);
    refused(stranger(&TLS12, REMOTEFS));
    refused(stranger(&TLS13, b"h2"));
    let alice = world.person("user:alice@home.example");
    let mut silent = tls::client(&alice.holder(), world.bundles.clone(), &SERVER.parse().unwrap()).unwrap();
    silent.alpn_protocols = vec![];
    refused(Arc::new(silent));
    TcpStream::connect(served.address).unwrap().write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    served.counts("refused.tls-refused", 4);
    let (_callback, mut data) = served.session(&world, &alice);
    assert!(matches!(data.ask(&ClientRequest::Attributes { object: ROOT }), Heard::Attributes(_)));
}

#[test]
fn nothing_outlives_a_connection() {
    if !can_mount("nothing_outlives_a_connection") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve(&site, LIST);
    let alice = world.person("user:alice@home.example");
    let mut config = tls::client(&alice.holder(), world.bundles.clone(), &SERVER.parse().unwrap()).unwrap();
    // A client that would resume: it keeps its tickets and would send early data.
    config.resumption = rustls::client::Resumption::default();
    config.enable_early_data = true;
    let config = Arc::new(config);
    for _ in 0..2 {
        let mut stream = served.tls(config.clone());
        let mut hello = Vec::new();
        let credentials = alice.hello.write();
        let class = ConnectionPurpose::Callback;
        ClientRequest::Hello { class, session: 0, boot: 0, credentials: &credentials }.put(&mut hello);
        stream.write_all(&hello).unwrap();
        stream.read_exact(&mut [0; 40]).unwrap();
        assert!(stream.conn.early_data().is_none() && !stream.conn.is_early_data_accepted());
        assert_eq!(stream.conn.handshake_kind(), Some(rustls::HandshakeKind::Full));
        assert_eq!(stream.conn.tls13_tickets_received(), 0);
    }
}

#[test]
fn what_is_said_out_of_turn_is_refused_under_tls_too() {
    if !can_mount("what_is_said_out_of_turn_is_refused_under_tls_too") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve(&site, LIST);
    let (alice, other) = (world.person("user:alice@home.example"), world.person("user:alice@home.example"));
    let closed = |mut raw: Raw, request: &ClientRequest<'_>, refusal: Refusal| {
        let heard = raw.ask(request);
        assert!(matches!(heard, Heard::Error(_, number) if number == refusal.number()), "{heard:?}");
        assert_eq!(raw.hear(), Heard::Closed);
        served.counts(&format!("refused.{}", refusal.name()), 1);
    };
    let (mut callback, heard) = served.greets(&world, &alice);
    let Heard::Welcome { boot, session } = heard else { panic!("{heard:?}") };
    let data = ClientRequest::Hello { class: ConnectionPurpose::Data, session, boot, credentials: &[] };
    closed(served.raw(&world, &alice), &ClientRequest::Attributes { object: ROOT }, Refusal::HelloOutOfTurn);
    // A client of the same name with another key is not the session's owner, and does not end it.
    closed(served.raw(&world, &other), &data, Refusal::OtherKey);
    let ends = ClientRequest::Hello {
        class: ConnectionPurpose::Callback,
        session,
        boot,
        credentials: &other.hello.write(),
    };
    assert!(matches!(served.raw(&world, &other).ask(&ends), Heard::Welcome { .. }));
    let mut known = served.raw(&world, &alice);
    known.ask(&data);
    assert!(matches!(known.ask(&ClientRequest::Attributes { object: ROOT }), Heard::Attributes(_)));
    closed(known, &data, Refusal::HelloOutOfTurn);
    let mut long = served.raw(&world, &alice);
    long.say(&MessageHead { length: 65_537, kind: 1, ..MessageHead::default() }.bytes());
    assert!(matches!(long.hear(), Heard::Error(..)));
    served.counts("refused.frame-too-large", 1);
    assert_eq!(callback.ask(&ClientRequest::Ping { stamp: 7 }), Heard::Other, "it is alive");
}

#[test]
fn a_principal_has_so_many_connections_at_a_machine_and_halves_end() {
    if !can_mount("a_principal_has_so_many_connections_at_a_machine_and_halves_end") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve_for(&site, LIST, 60);
    let alice = world.person("user:alice@home.example");
    let mut all: Vec<_> = (0..256).map(|_| served.greets(&world, &alice)).collect();
    assert!(all.iter().all(|(_, heard)| matches!(heard, Heard::Welcome { .. })));
    let (_, heard) = served.greets(&world, &alice);
    assert!(
        matches!(heard, Heard::Error(_, number) if number == Refusal::TooManyOfPrincipal.number()),
        "{heard:?}"
    );
    served.counts("refused.too-many-of-principal", 1);
    // Others are admitted, and a free place is given again.
    assert!(matches!(
        served.greets(&world, &world.person("user:alice@home.example")).1,
        Heard::Welcome { .. }
    ));
    all.pop();
    crate::support::until("a place is free", || {
        matches!(served.greets(&world, &alice).1, Heard::Welcome { .. })
    });
    // The first bytes of a handshake, and no more.
    let mut half = TcpStream::connect(served.address).unwrap();
    half.write_all(&[0x16, 3, 1, 2]).unwrap();
    half.set_read_timeout(Some(crate::support::PATIENCE)).unwrap();
    assert!(!matches!(half.read(&mut [0; 10]), Ok(8..)));
    served.counts("refused.no-hello", 1);
}

#[test]
fn credentials_that_are_not_good_are_refused_by_their_names() {
    if !can_mount("credentials_that_are_not_good_are_refused_by_their_names") {
        return;
    }
    let (site, world, foreign) = (Site::new(), World::new(), World::new());
    let served = world.serve(&site, LIST);
    let refused = |person: &crate::world::Person, name: &str| {
        let (mut raw, heard) = served.greets(&world, person);
        assert_eq!(heard, Heard::Refused(name.to_owned()));
        assert_eq!(raw.hear(), Heard::Closed);
        served.counts(&format!("refused.credentials.{name}"), 1);
    };
    let (alice, bob) = (world.person("user:alice@home.example"), world.person("user:bob@home.example"));
    let all = [("/", "all")];
    // A leaf of an agent with a foreign key, though it claims the same domain.
    refused(&foreign.person("user:alice@home.example"), "bad-signature");
    refused(&world.give(&alice, &bob, &all, "node:mail@home.example").0, "wrong-audience");
    let (given, _) = world.give(&alice, &bob, &all, SERVER);
    let mut thief = world.person("user:bob@home.example");
    thief.hello = given.hello.clone();
    refused(&thief, "wrong-holder");
    let mut unendorsed = given.clone();
    unendorsed.hello.statuses.clear();
    refused(&unendorsed, "not-endorsed");
    let mut forged = given;
    let at = forged.hello.chain[0].1.len() - 1;
    forged.hello.chain[0].1[at] ^= 1;
    refused(&forged, "bad-signature");
    let late = world.person_for("user:alice@home.example", 1);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    refused(&late, "expired");
    let mut raw = served.raw(&world, &alice);
    let hello = ClientRequest::Hello {
        class: ConnectionPurpose::Callback,
        session: 0,
        boot: 0,
        credentials: b"what?",
    };
    assert!(matches!(raw.ask(&hello), Heard::Refused(_)));
    assert!(world.bundles.get(&domain()).is_some());
}

#[test]
fn a_server_that_is_another_is_not_mounted() {
    if !can_mount("a_server_that_is_another_is_not_mounted") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve(&site, LIST);
    let alice = world.person("user:alice@home.example");
    let unproven = |error: Option<ClientError>| match error {
        Some(ClientError::Unproven { error, .. }) => error,
        Some(other) => panic!("{other}"),
        None => panic!("it was mounted"),
    };
    let other = world.try_mount(&site, &served, "a", &alice, "node:mail@home.example");
    let said = unproven(other.err());
    assert!(said.contains("made for another key or name"), "{said}");
    let foreign = World::new();
    let said = unproven(
        foreign.try_mount(&site, &served, "a", &foreign.person("user:alice@home.example"), SERVER).err(),
    );
    assert!(said.contains("signature"), "{said}");
}
