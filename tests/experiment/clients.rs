//! The client's side of arms: resumption, HTTP/2 and connections, against the logs of servers.

use crate::support::{Yard, has, plan};
use serde_json::Value;
use std::fmt::Write as _;

/// A connection for each request, so that each is a handshake.
const EACH: &str = "kind = \"get\"\nurls = [\"/f\"]\nrobots = 4\nkeep_alive = false";

/// Runs the plan, and gives the results and the lines of slices.jsonl.
fn run(yard: &Yard, text: &str, exit: i32) -> (Value, Vec<Value>) {
    yard.write("plan.toml", text);
    yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(exit);
    yard.run(&["verify", "out"]).exits(0);
    let slices =
        yard.read("out/slices.jsonl").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (yard.results("out"), slices)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

fn all_answered(results: &Value) {
    for (name, arm) in results["arms"].as_object().unwrap() {
        assert_eq!(arm["requests"], arm["replies"], "{name}: {}", arm["errors"]);
        assert_eq!(arm["invalid"], Value::Null, "{name}");
    }
}

/// The lines that an arm's nginx logged.
fn log_of(yard: &Yard, arm: &str) -> Vec<String> {
    yard.read(&format!("out/logs/{arm}/access.log")).lines().map(str::to_owned).collect()
}

/// nginx that logs for each request whether its session was resumed (`r`) or not (`.`).
const TELLS_SESSIONS: &str = "events { worker_connections 256; }
http {
  log_format sessions '$ssl_session_reused $ssl_protocol';
  server {
    listen {host}:{port} ssl;
    ssl_certificate {cert};
    ssl_certificate_key {key};
    ssl_protocols TLSv1.2 TLSv1.3;
    access_log {dir}/access.log sessions;
    location / { return 200 ok; }
  }
}
";

#[test]
fn no_session_resumed_against_all_is_what_the_server_saw() {
    if !has("nginx", "no_session_resumed_against_all_is_what_the_server_saw") {
        return;
    }
    let yard = Yard::new();
    yard.write("nginx.conf", TELLS_SESSIONS);
    let arm = |name: &str, share: &str| {
        format!(
            "[arm.{name}]\nserver = \"nginx\"\nconfig = \"nginx.conf\"\ntls = true\n\
             tls_client = {{ version = \"1.3\", resume = \"{share}\" }}\n\n"
        )
    };
    let (results, slices) =
        run(&yard, &plan("slice_requests = 100", EACH, &(arm("plain", "0%") + &arm("resumed", "100%"))), 0);
    all_answered(&results);
    let of = |arm: &str, key: &str| number(&results["arms"][arm]["handshakes"][key]) as usize;
    for name in ["plain", "plain'", "resumed"] {
        assert_eq!(
            of(name, "full") + of(name, "resumed"),
            number(&results["arms"][name]["requests"]) as usize
        );
        let counted = slices.iter().filter(|slice| slice["arm"] == name);
        let sum: f64 = counted.map(|slice| number(&slice["counters"]["handshakes"]["full"])).sum();
        assert_eq!(sum as usize, of(name, "full"), "{name}: results are the sum of slices");
    }
    assert_eq!((of("plain", "resumed"), of("plain", "offered"), of("plain", "wanted")), (0, 0, 0));
    assert_eq!(
        (of("resumed", "full"), of("resumed", "failed")),
        (0, 0),
        "sessions are there after the warm-up"
    );
    assert!(log_of(&yard, "plain").iter().all(|line| line == ". TLSv1.3"));
    let log = log_of(&yard, "resumed");
    let (reused, fresh): (Vec<_>, Vec<_>) = log.iter().partition(|line| *line == "r TLSv1.3");
    assert!(reused.len() >= of("resumed", "resumed"), "{} lines", reused.len());
    assert!(fresh.len() <= 4 * 8, "only what came before the first session: {}", fresh.len());

    let meters = &results["arms"]["resumed"]["meters"];
    assert_eq!((number(&meters["resumption"]), number(&meters["resumption_accepted"])), (1.0, 1.0));
    let (full, short) = (
        number(&results["arms"]["plain"]["meters"]["handshake_cpu_full"]),
        number(&meters["handshake_cpu_resumed"]),
    );
    assert!(short > 0.0 && short < full, "{short} ns of a resumed handshake, {full} of a full one");
    assert_eq!(results["arms"]["resumed"]["subject"]["client"]["resume"], 1.0);
    let text = yard.run(&["report", "out", "--verbose"]).exits(0).stdout;
    assert!(text.contains("TLS handshakes") && text.contains("accepted"), "{text}");
}

/// Half is asked for, and the server gives no session to resume.
#[test]
fn a_share_that_is_not_achieved_makes_the_arm_invalid() {
    if !has("nginx", "a_share_that_is_not_achieved_makes_the_arm_invalid") {
        return;
    }
    let yard = Yard::new();
    let mut arms = "[arm.plain]\nserver = \"nginx\"\ntls = true\n\n".to_owned();
    let refusing = "[arm.half]\nserver = \"nginx\"\ntls = true\ntls_client = { resume = \"50%\" }\n\
                    directives = \"ssl_session_tickets off; ssl_session_cache off;\"\n";
    arms.write_str(refusing).unwrap();
    let (results, _) = run(&yard, &plan("slice_requests = 60", &format!("{EACH}\nexpect = 404"), &arms), 4);
    let why = results["arms"]["half"]["invalid"].as_str().unwrap();
    assert!(why.starts_with("0 % of its TLS handshakes") && why.contains("asks for 50 %"), "{why}");
    assert_eq!(results["arms"]["plain"]["invalid"], Value::Null, "nothing was asked of it");
}

/// HTTP/2 of our own configurations, with and without TLS; every server logs its protocol.
fn speaks_http2(server: &str, log: &str) {
    let yard = Yard::new();
    let arm = |name: &str, keys: &str| {
        format!("[arm.{name}]\nserver = \"{server}\"\ndirectives = \"\"\"{log}\"\"\"\n{keys}\n\n")
    };
    let http2 = "http2 = { streams = 4 }\nrequests_per_connection = 50";
    let arms = arm("plain", "")
        + &arm("h2c", http2)
        + &arm("h2", &format!("{http2}\ntls = true\ntls_client = {{ group = \"X25519\" }}"));
    let workload = "kind = \"get\"\nurls = [\"/f\"]\nexpect = 404\nrobots = 8";
    let (results, slices) = run(&yard, &plan("", workload, &arms), 0);
    all_answered(&results);
    for name in ["h2c", "h2"] {
        let log = log_of(&yard, name);
        assert!(
            !log.is_empty() && log.iter().all(|line| line.contains("HTTP/2.0")),
            "{name}: {:?}",
            log.first()
        );
        assert_eq!(results["arms"][name]["subject"]["client"]["streams"], 4);
        for slice in slices.iter().filter(|slice| slice["arm"] == name) {
            // 200 requests, 50 a connection; those of the warm-up carry some.
            let opened = number(&slice["counters"]["connections"]);
            assert!((2.0..=6.0).contains(&opened), "{name}: {opened} connections");
        }
    }
    assert!(log_of(&yard, "plain").iter().all(|line| line.contains("HTTP/1.1")));
    assert!(results["arms"]["h2"]["subject"]["tls"].as_str().unwrap().contains("X25519"));
}

#[test]
fn nginx_speaks_http2_where_an_arm_asks_for_it() {
    if has("nginx", "nginx_speaks_http2_where_an_arm_asks_for_it") {
        speaks_http2("nginx", "access_log {dir}/access.log;");
    }
}

#[test]
fn apache_speaks_http2_where_an_arm_asks_for_it() {
    if has("apache2", "apache_speaks_http2_where_an_arm_asks_for_it") {
        speaks_http2("apache", "LogFormat \"%r\" line\nCustomLog \"{dir}/access.log\" line");
    }
}

#[test]
fn the_origin_speaks_http2_from_many_addresses() {
    let yard = Yard::new();
    let arms = "[arm.plain]\nserver = \"origin\"\nhttp2 = false\n\n[arm.h2c]\nserver = \"origin\"\n\n\
                [arm.h2]\nserver = \"origin\"\ntls = true\n";
    let workload = "kind = \"get\"\nurls = [\"/bytes/500\"]\nrobots = 8\nhttp2 = { streams = 4 }\n\
                    requests_per_connection = 25\nfrom = \"127.0.0.0/16\"\nconnect_timeout = \"10s\"";
    let (results, slices) = run(&yard, &plan("", workload, arms), 0);
    all_answered(&results);
    let client = |arm: &str| results["arms"][arm]["subject"]["client"].clone();
    assert_eq!((&client("plain")["streams"], &client("h2")["streams"]), (&Value::Null, &Value::from(4)));
    assert!(client("h2c")["words"].as_str().unwrap().contains("from 65534 local addresses"));
    for slice in &slices {
        // 200 requests, 25 a connection; those of the warm-up carry some.
        let opened = number(&slice["counters"]["connections"]);
        assert!((4.0..=12.0).contains(&opened), "{}: {opened} connections", slice["arm"]);
    }
    assert!(results["arms"]["h2c"].get("handshakes").is_none());
    let made = &results["arms"]["h2"]["handshakes"];
    let opened = slices.iter().filter(|slice| slice["arm"] == "h2");
    let opened: f64 = opened.map(|slice| number(&slice["counters"]["connections"])).sum();
    assert_eq!(number(&made["full"]) + number(&made["resumed"]), opened, "a handshake each");
}

#[test]
fn more_connections_than_ports_are_refused_beforehand() {
    let yard = Yard::new();
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.tls]\nserver = \"origin\"\ntls = true";
    let workload = "kind = \"get\"\nurls = [\"/f\"]\nexpect = 404\nrobots = 70000\nhttp2 = true";
    yard.write("plan.toml", plan("", workload, arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(3);
    assert!(said.stderr.contains("local ports"), "{}", said.stderr);
}
