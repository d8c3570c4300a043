//! TLS offers: versions, suites, groups, protocols, certificates.

use crate::support::{Holder, Pair, client, shake};
use bakeoff_loadgen::{Alpn, ClientIdentity, HandshakeKind, TlsOptions, Trust, Versions};
use bakeoff_meter::ErrorClass;
use rustls::crypto::aws_lc_rs::kx_group;
use rustls::{AlertDescription, Error};
use std::sync::Arc;

/// The parameters agreed on with a server that takes anything.
fn agreed(holder: &Holder, options: &TlsOptions) -> Result<String, ErrorClass> {
    let server = Arc::new(holder.server());
    let pair = shake(&mut client(options, 1), &server)?;
    assert!(pair.progress.established && !pair.client.is_handshaking());
    Ok(pair.client.description().unwrap())
}

#[test]
fn the_default_is_tls_1_3_as_before() {
    let holder = Holder::new();
    let words = agreed(&holder, &holder.options()).unwrap();
    assert_eq!(words, "TLSv1_3 TLS13_AES_256_GCM_SHA384 X25519");
}

#[test]
fn each_version_can_be_had_alone() {
    let holder = Holder::new();
    for (versions, start) in
        [(Versions::Tls12, "TLSv1_2 "), (Versions::Tls13, "TLSv1_3 "), (Versions::Both, "TLSv1_3 ")]
    {
        let words = agreed(&holder, &holder.options().versions(versions)).unwrap();
        assert!(words.starts_with(start), "{words}");
    }
}

#[test]
fn a_suite_that_is_named_is_the_one_that_is_used() {
    let holder = Holder::new();
    for (suite, version) in [
        ("TLS13_AES_128_GCM_SHA256", "TLSv1_3"),
        ("TLS_CHACHA20_POLY1305_SHA256", "TLSv1_3"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLSv1_2"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "TLSv1_2"),
    ] {
        let words = agreed(&holder, &holder.options().suites([suite])).unwrap();
        let name = suite.replace("TLS_CHACHA", "TLS13_CHACHA");
        assert!(words.starts_with(&format!("{version} {name} ")), "{words}");
    }
}

#[test]
fn a_suite_that_the_server_has_no_key_for_fails() {
    let holder = Holder::new();
    let rsa = holder.options().suites(["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]);
    assert_eq!(agreed(&holder, &rsa), Err(ErrorClass::TlsFailed));
}

#[test]
fn a_group_that_is_named_is_the_one_that_is_used() {
    let holder = Holder::new();
    for group in ["X25519", "secp256r1", "secp384r1", "X25519MLKEM768"] {
        let words = agreed(&holder, &holder.options().groups([group])).unwrap();
        assert!(words.ends_with(&format!(" {group}")), "{words}");
    }
}

#[test]
fn a_post_quantum_server_gets_what_it_wants_unless_that_is_switched_off() {
    let holder = Holder::new();
    let server = holder.server_with(None, |provider| provider.kx_groups = vec![kx_group::X25519MLKEM768]);
    let server = Arc::new(server);
    let default = shake(&mut client(&holder.options(), 1), &server).unwrap();
    // The share of X25519 went first; the server asked again.
    assert_eq!(default.client.kind(), Some(HandshakeKind::FullWithRetry));
    assert_eq!(default.server.handshake_kind(), Some(rustls::HandshakeKind::FullWithHelloRetryRequest));
    let named = holder.options().groups(["X25519MLKEM768", "X25519"]);
    let named = shake(&mut client(&named, 1), &server).unwrap();
    assert_eq!(named.client.kind(), Some(HandshakeKind::Full));
    assert!(named.client.description().unwrap().ends_with(" X25519MLKEM768"));
    let off = holder.options().post_quantum(false);
    assert_eq!(shake(&mut client(&off, 1), &server).err(), Some(ErrorClass::TlsFailed));
}

#[test]
fn the_server_chooses_among_the_protocols_offered() {
    let holder = Holder::new();
    let mut server = holder.server();
    server.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let server = Arc::new(server);
    let chosen = |alpn: &[Alpn]| {
        let pair = shake(&mut client(&holder.options().alpn(alpn), 1), &server).unwrap();
        pair.client.alpn().map(<[u8]>::to_vec)
    };
    assert_eq!(chosen(&[]), None);
    assert_eq!(chosen(&[Alpn::Http11]).as_deref(), Some(&b"http/1.1"[..]));
    assert_eq!(chosen(&[Alpn::Http11, Alpn::H2]).as_deref(), Some(&b"h2"[..]));
}

#[test]
fn a_server_that_demands_a_certificate_gets_it() {
    let (holder, customer) = (Holder::new(), Holder::new());
    let server = Arc::new(holder.server_with(Some(&customer), |_| {}));
    for versions in [Versions::Tls12, Versions::Tls13] {
        let options = holder.options().versions(versions).identity(Some(customer.identity()));
        let mut pair = shake(&mut client(&options, 1), &server).unwrap();
        assert_eq!(pair.server.peer_certificates().unwrap().len(), 1);
        pair.ask(b"please");
        assert_eq!((&pair.asked[..], pair.server_error), (&b"please"[..], None));
    }
}

#[test]
fn without_or_with_a_wrong_certificate_the_failure_has_a_class_and_a_reason() {
    let (holder, customer, other) = (Holder::new(), Holder::new(), Holder::new());
    let server = Arc::new(holder.server_with(Some(&customer), |_| {}));
    for (identity, versions, alert) in [
        (None, Versions::Tls13, AlertDescription::CertificateRequired),
        (None, Versions::Tls12, AlertDescription::CertificateRequired),
        (Some(other.identity()), Versions::Tls13, AlertDescription::UnknownCA),
    ] {
        let options = holder.options().versions(versions).identity(identity);
        let mut pair = Pair::new(client(&options, 1).session().unwrap(), &server);
        assert_eq!(pair.carry(), Err(ErrorClass::TlsFailed));
        let reason = pair.client.failure();
        assert!(matches!(reason, Some(Error::AlertReceived(is)) if *is == alert), "{reason:?}");
    }
}

#[test]
fn other_names_and_strange_authorities_have_their_classes_and_the_server_is_told() {
    let (holder, other) = (Holder::new(), Holder::new());
    let server = Arc::new(holder.server());
    let mut pair = Pair::new(client(&other.options(), 1).session().unwrap(), &server);
    assert_eq!(pair.carry(), Err(ErrorClass::TlsUntrusted));
    assert!(matches!(pair.server_error, Some(Error::AlertReceived(_))), "{:?}", pair.server_error);
    assert_eq!(pair.give_client(b"more"), Err(ErrorClass::TlsUntrusted));

    let elsewhere = rustls::pki_types::ServerName::try_from("example.org").unwrap();
    let session = holder.options().load().unwrap().client(elsewhere, 1).session().unwrap();
    let mut pair = Pair::new(session, &server);
    assert_eq!(pair.carry(), Err(ErrorClass::TlsName));
    assert!(matches!(pair.server_error, Some(Error::AlertReceived(_))), "{:?}", pair.server_error);

    assert!(shake(&mut client(&TlsOptions::new(Trust::Anyone), 1), &server).is_ok());
}

#[test]
fn what_does_not_fit_is_refused_with_what_would() {
    let holder = Holder::new();
    let said = |options: TlsOptions| options.load().unwrap_err().to_string();
    let wrong = said(holder.options().suites(["NULL"]));
    assert!(wrong.contains("`NULL`") && wrong.contains("TLS13_AES_256_GCM_SHA384"), "{wrong}");
    let wrong = said(holder.options().groups(["X25519", "sect571r1"]));
    assert!(wrong.contains("`sect571r1`") && wrong.contains("X25519MLKEM768"), "{wrong}");
    let other = holder.options().versions(Versions::Tls12).suites(["TLS13_AES_128_GCM_SHA256"]);
    assert!(said(other).contains("TLS13_AES_128_GCM_SHA256 is no cipher suite of TLS 1.2;"));
    let other = holder.options().versions(Versions::Tls12).groups(["X25519MLKEM768"]);
    assert!(said(other).contains("X25519MLKEM768 is no key-exchange group of TLS 1.2;"));
    let both = holder.options().groups(["X25519MLKEM768"]).post_quantum(false);
    assert!(said(both).starts_with("X25519MLKEM768 is post-quantum,"));
}

#[test]
fn files_that_hold_no_certificate_or_key_are_named() {
    let (holder, other) = (Holder::new(), Holder::new());
    let said = |certificate, key| {
        let identity = Some(ClientIdentity { certificate, key });
        holder.options().identity(identity).load().unwrap_err().to_string()
    };
    let ClientIdentity { certificate, key } = holder.identity();
    let nowhere = certificate.with_file_name("nowhere.pem");
    assert!(said(nowhere.clone(), key.clone()).contains("nowhere.pem: no certificate can be read"));
    assert!(said(key.clone(), key.clone()).contains("key.pem: no certificate can be read (it holds none)"));
    assert!(said(certificate.clone(), nowhere).contains("nowhere.pem: no private key can be read"));
    assert!(said(certificate.clone(), certificate.clone()).contains("cert.pem: no private key can be read"));
    assert!(said(certificate, other.identity().key).contains("cannot be used together"));
}
