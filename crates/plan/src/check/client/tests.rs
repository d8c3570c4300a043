//! Client settings in plans, and the messages for wrong ones.

use crate::*;
use bakeoff_loadgen::{Alpn, Protocol, Reuse, Share, TlsOptions, Trust, Versions};
use std::num::{NonZeroU16, NonZeroU64};

const GOOD: &str = r#"
[experiment]
baseline = "plain"

[workload]
kind = "get"
urls = ["/f"]
# common

[arm.plain]
server = "origin"
# own of plain

[arm.tls]
server = "origin"
tls = true
# own of tls
"#;

fn parse(text: &str) -> Result<Plan, String> {
    Plan::parse("test", "plan.toml", text, Path::new("/plans")).map_err(|error| error.to_string())
}

fn with(common: &str, plain: &str, tls: &str) -> String {
    GOOD.replace("# common", common).replace("# own of plain", plain).replace("# own of tls", tls)
}

fn client(text: &str, arm: &str) -> ClientPlan {
    parse(text).unwrap_or_else(|why| panic!("{why}")).arm_of(arm).unwrap().client.clone()
}

fn http2(streams: u16) -> Protocol {
    Protocol::Http2 { streams: NonZeroU16::new(streams).unwrap() }
}

fn up_to(most: u64) -> Reuse {
    Reuse::UpTo(NonZeroU64::new(most).unwrap())
}

#[test]
fn a_plan_that_says_nothing_gets_what_it_always_got() {
    for arm in ["plain", "tls"] {
        assert_eq!(client(GOOD, arm), ClientPlan::default());
    }
    assert_eq!(ClientPlan::default().tls, TlsOptions::new(Trust::system()));
}

#[test]
fn header_lines_are_the_workload_s_or_the_arm_s_own() {
    let text = with("headers = [\"Accept-Encoding: gzip\"]", "", "headers = [\"X-A: b\"]");
    assert_eq!(client(&text, "plain").headers, ["Accept-Encoding: gzip"]);
    assert_eq!(client(&text, "tls").headers, ["X-A: b"]);
}

#[test]
fn an_arm_s_keys_are_the_words_of_the_flags() {
    let own = "tls_client = { version = \"1.3\", cipher = [\"TLS13_AES_128_GCM_SHA256\"], group = \"X25519\", \
               post_quantum = false, cert = \"c.pem\", key = \"/k.pem\", resume = \"60%\" }";
    let found = client(&with("", "", own), "tls");
    let expected = TlsOptions::new(Trust::system())
        .versions(Versions::Tls13)
        .suites(["TLS13_AES_128_GCM_SHA256"])
        .groups(["X25519"])
        .post_quantum(false)
        .resume("60%".parse().unwrap());
    let identity = found.tls.identity.clone().unwrap();
    assert_eq!((identity.certificate, identity.key), ("/plans/c.pem".into(), "/k.pem".into()));
    assert_eq!(TlsOptions { identity: None, ..found.tls.clone() }, expected);
    assert_eq!(found.resume, Some("60%".parse().unwrap()));
}

#[test]
fn what_the_workload_says_is_put_under_the_arm_s_key_by_key() {
    let common = "tls_client = { version = \"1.3\", resume = \"50%\" }\nhttp2 = { streams = 10 }\n\
                  from = \"127.0.0.2-127.0.0.9\"\nconnect_timeout = \"1s\"\nrequests_per_connection = 100";
    let text = with(common, "http2 = false", "tls_client = { resume = \"0%\" }\nkeep_alive = false");
    let (plain, tls) = (client(&text, "plain"), client(&text, "tls"));
    assert_eq!((plain.protocol, plain.reuse), (Protocol::Http1, up_to(100)));
    assert_eq!(plain.tls, ClientPlan::default().tls, "it speaks no TLS");
    assert_eq!((tls.protocol, tls.reuse), (http2(1), Reuse::Never), "it carries no more than one");
    assert_eq!((tls.tls.versions, tls.tls.resume), (Versions::Tls13, Share::NONE));
    assert_eq!(tls.tls.alpn, [Alpn::H2]);
    assert_eq!((tls.from.count(), tls.connect_timeout), (8, Some(Nanos::from_secs(1))));
}

#[test]
fn connections_are_kept_as_the_arm_says_and_else_as_the_workload_does() {
    let of = |common: &str, own: &str| client(&with(common, "", own), "tls").reuse;
    assert_eq!(of("", "requests_per_connection = 7"), up_to(7));
    assert_eq!(of("keep_alive = false", "requests_per_connection = 7"), up_to(7));
    assert_eq!(of("keep_alive = true\nrequests_per_connection = 7", ""), up_to(7));
    assert_eq!(of("requests_per_connection = 7", "keep_alive = true"), Reuse::Always);
    assert_eq!(of("requests_per_connection = 7", "fresh = \"connection\""), Reuse::Never);
}

#[test]
fn no_more_are_in_flight_on_a_connection_than_it_carries() {
    let of = |keys: &str| client(&with("http2 = { streams = 10 }", keys, ""), "plain").protocol;
    assert_eq!([of(""), of("requests_per_connection = 3")], [http2(10), http2(3)]);
    assert_eq!([of("requests_per_connection = 100000"), of("fresh = \"connection\"")], [http2(10), http2(1)]);
}

#[test]
fn a_fresh_connection_is_a_full_handshake() {
    let text = with("tls_client = { resume = \"60%\" }", "", "fresh = \"connection\"");
    let found = client(&text, "tls");
    assert_eq!((found.reuse, found.resume, found.tls.resume), (Reuse::Never, Some(Share::NONE), Share::NONE));
}

#[test]
fn tls_can_be_a_factor_and_two_levels_add_up() {
    let text = r#"
[experiment]
baseline = { resumption = 0 }

[workload]
kind = "get"
urls = ["/f"]
keep_alive = false

[factors]
version = ["tls12", "tls13"]
resumption = [0, 100]

[level.version.tls12]
tls_client = { version = "1.2" }

[level.version.tls13]
tls_client = { version = "1.3" }

[arm.nginx]
server = "nginx"
tls = true
tls_client = { resume = "{resumption}%", group = "X25519" }
"#;
    let found = |arm: &str| {
        let client = client(text, arm);
        (client.tls.versions, client.tls.groups.clone(), client.resume.map(|share| share.to_string()))
    };
    let groups = || vec!["X25519".to_owned()];
    assert_eq!(found("tls12.resumption-0"), (Versions::Tls12, groups(), Some("0 %".to_owned())));
    assert_eq!(found("tls13.resumption-100"), (Versions::Tls13, groups(), Some("100 %".to_owned())));
}

#[test]
fn arms_that_differ_in_their_client_alone_are_no_twins() {
    let twin = |own: &str| parse(&with("", "", "").replace("tls = true\n", own));
    assert!(twin("").unwrap_err().contains("are equal"));
    assert!(twin("http2 = true").is_ok() && twin("requests_per_connection = 5").is_ok());
}

#[test]
fn what_is_wrong_is_said_as_the_flags_say_it_at_its_line() {
    let tls = |keys: &str| with("", "", &format!("tls_client = {{ {keys} }}"));
    for (text, expected) in [
        (
            tls("version = \"1.1\""),
            &["`1.1` is no version of TLS known here", "1.2 and 1.3", "plan.toml:17"][..],
        ),
        (tls("cipher = \"RC4\""), &["`RC4` is no cipher suite known here", "TLS13_AES_256_GCM_SHA384"]),
        (tls("group = [\"X25519\", \"X448\"]"), &["`X448` is no key-exchange group", "X25519MLKEM768"]),
        (tls("version = \"1.2\", group = \"X25519MLKEM768\""), &["is no key-exchange group of TLS 1.2"]),
        (tls("group = \"X25519MLKEM768\", post_quantum = false"), &["is post-quantum", "leave out one"]),
        (tls("version = \"1.3\", cipher = \"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256\""), &["of TLS 1.3"]),
        (tls("resume = \"150%\""), &["`150%` is more than 100%", "such as \"60%\""]),
        (tls("resume = \"0.5\""), &["`0.5` is not a share"]),
        (tls("cert = \"c.pem\""), &["a certificate needs its key", "add `key`"]),
        (tls("key = \"k.pem\""), &["a key needs its certificate"]),
        (tls("cert = \"made\", key = \"k.pem\""), &["comes with its key", "take `key` out"]),
        (tls("ciphers = \"x\""), &["there is no key `ciphers` here", "did you mean `cipher`?"]),
        (with("", "tls_client = { version = \"1.3\" }", ""), &["this arm does without", "add tls = true"]),
        (with("", "http2 = { streams = 0 }", ""), &["`streams` must be 1 or more"]),
        (with("", "http2 = \"yes\"", ""), &["expected true, false or { streams = 10 }"]),
        (with("", "requests_per_connection = 0", ""), &["1 or more", "keep_alive = true"]),
        (
            with("", "requests_per_connection = 9\nkeep_alive = false", ""),
            &["keep_alive = false lets none", "take one of both out"],
        ),
        (
            with("", "", "requests_per_connection = 9\nfresh = \"connection\""),
            &["is a connection for each request"],
        ),
        (
            with("", "", "tls_client = { resume = \"9%\" }\nfresh = \"connection\""),
            &["is a full handshake for each request", "keep_alive = false"],
        ),
        (with("", "from = \"127.0.0.9-127.0.0.2\"", ""), &["is no range of addresses", "127.0.1.0/24"]),
        (with("connect_timeout = \"1\"", "", ""), &["`1` is not a time"]),
        (
            with("tls_client = { version = \"1.3\" }", "", "").replace("tls = true", "burn = \"1us\""),
            &["no arm speaks it"],
        ),
        (
            with("from = \"127.0.0.0/16\"", "", "")
                .replace("\"plain\"\n\n", "\"plain\"\nlink = \"10Mbit\"\n\n"),
            &["`from` 127.0.0.1-127.0.255.254", "198.18.0.1 or from 198.18.0.4 to 198.19.255.255"],
        ),
        (with("from = \"::1\"", "", ""), &["connections `from` ::1 cannot reach an IPv4 address", "[::1]"]),
    ] {
        let message = parse(&text).expect_err(&text);
        for word in expected {
            assert!(message.contains(word), "{text}\nshould say {word}\n{message}");
        }
    }
}

#[test]
fn addresses_are_of_the_servers_family_and_of_the_links_range() {
    let arms =
        |host: &str| format!("[arm.a]\nurl = \"http://{host}:81\"\n\n[arm.b]\nurl = \"http://{host}:82\"\n");
    let plan = |experiment: &str, from: &str, arms: &str| {
        parse(&format!(
            "[experiment]\nbaseline = \"a\"\n{experiment}\n[workload]\nkind = \"get\"\nurls = [\"/\"]\n\
             from = \"{from}\"\n\n{arms}"
        ))
    };
    for (host, from) in [("[::1]", "fd00::/120"), ("127.0.0.1", "10.0.0.7"), ("localhost", "::1")] {
        let plan = plan("", from, &arms(host));
        assert!(plan.is_ok(), "{host} from {from}: {plan:?}");
    }
    let said = plan("", "127.0.0.2", &arms("[::1]")).unwrap_err();
    assert!(said.contains("`from` 127.0.0.2 cannot reach an IPv6 address"), "{said}");
    let ours = "[arm.a]\nserver = \"origin\"\n\n[arm.b]\nserver = \"nginx\"\n";
    assert!(plan("link = \"10Mbit\"", "198.19.0.0/16", ours).is_ok());
    for from in ["198.18.0.2-198.18.0.9", "198.19.255.0-198.20.0.1", "10.1.2.3"] {
        assert!(plan("link = \"10Mbit\"", from, ours).is_err(), "{from}");
    }
}

#[test]
fn only_workloads_of_requests_have_a_client() {
    let text = "[experiment]\nbaseline = \"a\"\n\n[workload]\nkind = \"command\"\n\n[arm.a]\ncommand = [\"true\"]\n\n\
                [arm.b]\ncommand = [\"false\"]\n";
    assert!(parse(text).is_ok());
    for key in
        ["http2 = true", "from = \"127.0.0.1\"", "connect_timeout = \"1s\"", "requests_per_connection = 2"]
    {
        for place in ["kind = \"command\"", "command = [\"true\"]"] {
            let said = parse(&text.replacen(place, &format!("{place}\n{key}"), 1)).unwrap_err();
            assert!(said.contains("has no meaning in a `command` workload"), "{said}");
        }
    }
}
