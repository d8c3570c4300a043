//! Malformed bytes from a server: an error class or silence, never a panic and never a loop.

use crate::support::{Holder, Pair, client};
use bakeoff_loadgen::{TlsClient, TlsOptions, Versions};
use bakeoff_meter::ErrorClass;
use proptest::prelude::*;
use rustls::ServerConfig;
use std::sync::Arc;

/// The server's first flight to a new session.
fn flight(client: &mut TlsClient, server: &Arc<ServerConfig>) -> (Pair, Vec<u8>) {
    let mut pair = Pair::new(client.session().unwrap(), server);
    let mut hello = Vec::new();
    pair.client.take_output(&mut hello);
    pair.give_server(&hello);
    let flight = pair.server_output();
    (pair, flight)
}

/// Whether the byte is one of a record's version, which both standards say is to be ignored or nearly so.
fn is_record_version(flight: &[u8], at: usize) -> bool {
    let mut start = 0;
    while start + 5 <= flight.len() {
        if at == start + 1 || at == start + 2 {
            return true;
        }
        start += 5 + usize::from(u16::from_be_bytes([flight[start + 3], flight[start + 4]]));
    }
    false
}

/// Spoils each byte of the flight in turn, each time of another session.
fn spoil_each(options: &TlsOptions, server: &Arc<ServerConfig>, spoil: u8) {
    let mut client = client(options, 1);
    let mut at = 0;
    loop {
        let (mut pair, mut bytes) = flight(&mut client, server);
        if at >= bytes.len() {
            break;
        }
        let harmless = is_record_version(&bytes, at);
        bytes[at] ^= spoil;
        let result = pair.give_client(&bytes);
        match result {
            Err(class) => {
                assert!(
                    [ErrorClass::TlsFailed, ErrorClass::TlsUntrusted, ErrorClass::TlsName].contains(&class)
                );
                assert!(pair.client.failure().is_some());
                // And it stays failed, whatever comes then.
                assert_eq!(pair.give_client(&bytes), Err(class));
                assert_eq!(pair.client.write(b"GET", &mut Vec::new()), Err(ErrorClass::SendFailed));
            }
            // It waits for the rest of a longer record: the end of the connection ends it.
            Ok(()) => assert!(harmless || pair.client.is_handshaking(), "byte {at} does not matter"),
        }
        assert!(pair.heard.is_empty());
        at += 1;
    }
    assert!(at > 500, "a flight of {at} bytes");
}

#[test]
fn every_byte_of_the_first_flight_of_tls_1_3_matters() {
    let holder = Holder::new();
    let options = holder.options().versions(Versions::Tls13);
    spoil_each(&options, &Arc::new(holder.server()), 0xff);
}

#[test]
fn every_byte_of_the_first_flight_of_tls_1_2_is_looked_at() {
    let holder = Holder::new();
    let options = holder.options().versions(Versions::Tls12);
    spoil_each(&options, &Arc::new(holder.server()), 0xff);
}

#[test]
fn a_flight_that_is_cut_off_anywhere_leaves_a_session_that_waits() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    let mut client = client(&holder.options(), 1);
    let (_, whole) = flight(&mut client, &server);
    for cut in (0..whole.len()).step_by(61) {
        let (mut pair, bytes) = flight(&mut client, &server);
        pair.give_client(&bytes[..cut.min(bytes.len() - 1)]).unwrap();
        assert!(pair.client.is_handshaking());
    }
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let holder = Holder::new();
    let mut pair = Pair::new(client(&holder.options(), 1).session().unwrap(), &Arc::new(holder.server()));
    assert_eq!(pair.give_client(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Err(ErrorClass::TlsFailed));
}

#[test]
fn a_record_that_was_changed_on_its_way_is_no_reply() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    for versions in [Versions::Tls12, Versions::Tls13] {
        let mut client = client(&holder.options().versions(versions), 1);
        for at in [5, 20, 60, 100] {
            let mut pair = crate::support::shake(&mut client, &server).unwrap();
            std::io::Write::write_all(&mut pair.server.writer(), &[b'x'; 100]).unwrap();
            let mut bytes = pair.server_output();
            bytes[at] ^= 1;
            assert_eq!(pair.give_client(&bytes), Err(ErrorClass::TlsFailed));
            assert!(pair.heard.is_empty());
            let mut alert = Vec::new();
            pair.client.take_output(&mut alert);
            pair.give_server(&alert);
            assert!(matches!(pair.server_error, Some(rustls::Error::AlertReceived(_))));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn noise_is_answered_with_a_class_or_silence(
        noise in proptest::collection::vec(any::<u8>(), 0..600),
        kind in 20_u8..25,
        as_record in any::<bool>(),
        piece in 1_usize..700,
    ) {
        let options = TlsOptions::new(bakeoff_loadgen::Trust::Anyone);
        let mut session = client(&options, 1).session().unwrap();
        let mut bytes = noise;
        if as_record {
            let len = (bytes.len() as u16).to_be_bytes();
            bytes.splice(0..0, [kind, 3, 3, len[0], len[1]]);
        }
        for piece in bytes.chunks(piece) {
            if session.receive(piece, &mut |_| Ok(())).is_err() {
                break;
            }
        }
        prop_assert!(session.is_handshaking());
    }
}
