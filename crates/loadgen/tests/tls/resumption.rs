//! Resumption of TLS sessions: requested, tried, achieved, and its cost.

use crate::support::{Holder, Pair, client, shake, share};
use bakeoff_loadgen::{HandshakeKind, HandshakeLedger, TlsClient, Versions};
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use std::sync::Arc;

/// Makes connections one after the other; the ledger, after comparison with the server's own count.
fn series(client: &mut TlsClient, server: &Arc<ServerConfig>, connections: u64) -> HandshakeLedger {
    let (mut ledger, mut servers) = (HandshakeLedger::default(), 0);
    for _ in 0..connections {
        let pair = shake(client, server).unwrap();
        let resumed = pair.server.handshake_kind() == Some(rustls::HandshakeKind::Resumed);
        assert_eq!(pair.client.kind() == Some(HandshakeKind::Resumed), resumed);
        servers += u64::from(resumed);
        ledger.record(&pair.client);
    }
    assert_eq!(ledger.resumed.count, servers);
    assert_eq!(ledger.completed(), connections);
    ledger
}

#[test]
fn the_share_asked_for_is_achieved_but_for_the_first() {
    let holder = Holder::new();
    for versions in [Versions::Tls12, Versions::Tls13] {
        for (text, wanted) in [("0%", 0_u64), ("25%", 15), ("50%", 30), ("75%", 45), ("100%", 60)] {
            let server = Arc::new(holder.server());
            let options = holder.options().versions(versions).resume(share(text));
            let ledger = series(&mut client(&options, 1), &server, 60);
            assert_eq!((ledger.wanted, ledger.offered), (wanted, wanted.saturating_sub(1)), "{text}");
            assert_eq!(ledger.resumed.count, ledger.offered, "{text}");
            assert_eq!(ledger.full.count, 60 - ledger.offered, "{text}");
        }
    }
}

#[test]
fn sessions_that_the_server_keeps_by_number_are_gone_on_with_too() {
    let holder = Holder::new();
    let server = Arc::new(holder.server_with(None, |_| {})); // no ticketer: sessions by their ids
    for versions in [Versions::Tls12, Versions::Tls13] {
        let ledger = series(&mut client(&holder.options().versions(versions), 1), &server, 10);
        assert_eq!((ledger.full.count, ledger.resumed.count), (1, 9));
    }
}

#[test]
fn connections_that_open_together_find_a_ticket_each() {
    const TOGETHER: usize = 64;
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    let mut client = client(&holder.options().versions(Versions::Tls13), TOGETHER);
    for (round, resumed) in [(0, 0), (1, 64), (2, 64)] {
        let mut ledger = HandshakeLedger::default();
        let mut pairs: Vec<_> =
            (0..TOGETHER).map(|_| Pair::new(client.session().unwrap(), &server)).collect();
        for pair in &mut pairs {
            pair.carry().unwrap();
            ledger.record(&pair.client);
        }
        assert_eq!((ledger.resumed.count, ledger.offered), (resumed, resumed), "round {round}");
    }
}

#[test]
fn a_server_that_gives_no_tickets_leaves_nothing_to_offer() {
    let holder = Holder::new();
    let mut server = holder.server_with(None, |_| {});
    server.session_storage = Arc::new(NoServerSessionStorage {});
    server.send_tls13_tickets = 0;
    let server = Arc::new(server);
    for versions in [Versions::Tls12, Versions::Tls13] {
        let ledger = series(&mut client(&holder.options().versions(versions), 1), &server, 5);
        assert_eq!((ledger.wanted, ledger.offered, ledger.resumed.count), (5, 0, 0));
    }
}

#[test]
fn a_server_that_refuses_tickets_shows_in_what_is_achieved() {
    let holder = Holder::new();
    for versions in [Versions::Tls12, Versions::Tls13] {
        let options = holder.options().versions(versions).resume(share("50%"));
        let mut client = client(&options, 1);
        let mut all = HandshakeLedger::default();
        for _ in 0..10 {
            // Restarted each time with keys of its own: it cannot read what it gave before.
            all.merge(&series(&mut client, &Arc::new(holder.server()), 1));
        }
        assert_eq!((all.wanted, all.offered, all.resumed.count, all.full.count), (5, 4, 0, 10));
        let words = all.summary(share("50%")).unwrap().to_string();
        assert!(words.starts_with("resumption: 50 % asked, 0 % achieved (0 of 10 handshakes), "), "{words}");
    }
}

#[test]
fn a_client_certificate_does_not_stand_in_the_way() {
    let (holder, customer) = (Holder::new(), Holder::new());
    let server = Arc::new(holder.server_with(Some(&customer), |_| {}));
    let options = holder.options().identity(Some(customer.identity()));
    let ledger = series(&mut client(&options, 1), &server, 4);
    assert_eq!((ledger.full.count, ledger.resumed.count), (1, 3));
}

#[test]
fn two_workers_of_the_same_settings_have_sessions_of_their_own() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    let options = holder.options();
    let settings = options.load().unwrap();
    let name = || rustls::pki_types::ServerName::try_from("localhost").unwrap();
    let (mut one, mut two) = (settings.client(name(), 1), settings.client(name(), 1));
    assert_eq!(series(&mut one, &server, 2).resumed.count, 1);
    assert_eq!(series(&mut two, &server, 2).resumed.count, 1);
}

#[test]
fn resumed_handshakes_cost_less_and_failures_are_kept_apart() {
    let (holder, other) = (Holder::new(), Holder::new());
    let server = Arc::new(holder.server());
    // No key exchange at all in a resumed session of TLS 1.2: the difference is plain in any build.
    let options = holder.options().versions(Versions::Tls12).resume(share("50%"));
    let mut ledger = series(&mut client(&options, 1), &server, 41);
    let (full, resumed) = (ledger.full.mean().unwrap(), ledger.resumed.mean().unwrap());
    assert!(full > resumed, "{full} full, {resumed} resumed");

    let mut pair = Pair::new(client(&other.options(), 1).session().unwrap(), &server);
    pair.carry().unwrap_err();
    ledger.record(&pair.client);
    assert_eq!((ledger.failed.count, ledger.completed()), (1, 41));
    assert!(ledger.failed.cpu_ns > 0);
}

#[test]
fn a_session_of_tls_1_2_that_led_to_a_failure_is_not_tried_again() {
    let holder = Holder::new();
    let server = Arc::new(holder.server());
    let mut client = client(&holder.options().versions(Versions::Tls12), 1);
    series(&mut client, &server, 1);
    let mut pair = Pair::new(client.session().unwrap(), &server);
    assert!(pair.client.offered_session());
    let mut hello = Vec::new();
    pair.client.take_output(&mut hello);
    pair.give_server(&hello);
    let mut flight = pair.server_output();
    let last = flight.len() - 1;
    flight[last] ^= 1; // inside Finished
    pair.give_client(&flight).unwrap_err();
    let ledger = series(&mut client, &server, 2);
    assert_eq!((ledger.full.count, ledger.resumed.count), (1, 1));
}
