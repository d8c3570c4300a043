//! `bakeoff load`: load on one target.

use crate::support::{Ended, Helper, Origin, Yard, has, python};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};

fn load(yard: &Yard, args: &[&str]) -> Ended {
    yard.start(yard.bakeoff(&["load", "--json"]).tap(args)).wait()
}

/// All requests were answered. If the server is quicker than the generator the figures are called invalid, and no other
/// fault is reported: which of the two is quicker depends on the machine.
#[track_caller]
fn answered(said: &Ended) -> Value {
    let json = said.json();
    assert_eq!(json["valid"], said.code() == Some(0), "{said:?}");
    match json["invalid_reason"].as_str() {
        None => assert_eq!(said.code(), Some(0), "{said:?}"),
        Some(why) => {
            assert_eq!(said.code(), Some(4), "{said:?}");
            assert!(why.starts_with("the generator was the limit"), "{why}");
        }
    }
    json
}

trait Tap {
    fn tap(self, args: &[&str]) -> Self;
}

impl Tap for Command {
    fn tap(mut self, args: &[&str]) -> Self {
        self.args(args);
        self
    }
}

#[test]
fn the_json_object_has_every_key_and_its_figures_fit_together() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let json = answered(&load(&yard, &[&format!("{}/bytes/100", origin.url), "-n", "3000", "-c", "4"]));
    assert_eq!(json["requests"], 3000);
    assert_eq!(json["replies"], 3000);
    assert_eq!(json["errors"], 0);
    assert_eq!(json["errors_by_class"], serde_json::json!({}));
    assert_eq!(json["connections"], 4);
    assert_eq!(json["statuses"], serde_json::json!({ "200": 3000 }));
    assert!(json["bytes"].as_u64().unwrap() >= 3000 * 100);
    let (duration, rate) =
        (json["duration_ns"].as_u64().unwrap() as f64, json["replies_per_second"].as_f64().unwrap());
    assert!((rate * duration / 1e9 - 3000.0).abs() < 1.0, "{rate} {duration}");
    assert!(json["cpu_ns_per_request"].as_f64().unwrap() > 0.0);
    for times in ["response_ns", "service_ns"] {
        let of = |key: &str| json[times][key].as_u64().unwrap_or_else(|| panic!("{times}.{key}"));
        assert_eq!(of("count"), 3000);
        let all = ["p50", "p90", "p99", "p999", "max"].map(of);
        assert!(all.is_sorted() && all[0] > 0, "{times} {all:?}");
    }
}

/// The right answer of a path is not known here: a 404 is an answer, and shown.
#[test]
fn without_json_a_table_is_printed() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let load = ["load", &origin.url, "-n", "50", "--expect", "404"];
    let said = yard.start(yard.bakeoff(&load)).wait().exits(0);
    assert!(
        said.stdout.contains("50 good replies") && said.stdout.contains("status 404: 50"),
        "{}",
        said.stdout
    );
}

#[test]
fn replies_of_400_and_above_are_failures_unless_they_are_expected() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let said = yard.start(yard.bakeoff(&["load", &origin.url, "-n", "50"])).wait();
    assert!(said.stdout.contains("client-error: 50"), "{}", said.stdout);
    assert!(!said.stdout.contains("50 good"), "{}", said.stdout);
}

#[test]
fn exactly_so_many_requests_are_made_by_two_threads() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/10", origin.url);
    for (requests, connections, threads) in [(1, 8, 2), (101, 3, 2), (1000, 64, 2)] {
        let (n, c, t) = (requests.to_string(), connections.to_string(), threads.to_string());
        let json = answered(&load(&yard, &[&url, "--requests", &n, "--connections", &c, "--threads", &t]));
        assert_eq!(json["requests"], requests);
        assert_eq!(json["replies"], requests);
    }
}

/// Replies once and returns the request, head and body.
fn heard(listener: TcpListener) -> String {
    let (stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(&stream);
    let (mut text, mut length) = (String::new(), 0);
    while !text.ends_with("\r\n\r\n") {
        let mut line = String::new();
        assert_ne!(reader.read_line(&mut line).unwrap(), 0, "{text}");
        length =
            line.strip_prefix("Content-Length: ").map_or(length, |digits| digits.trim().parse().unwrap());
        text += &line;
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    (&stream).write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    text + &String::from_utf8(body).unwrap()
}

#[test]
fn methods_and_bodies_are_sent_as_they_were_typed() {
    let yard = Yard::new();
    yard.write("body.json", "{\"from\": \"a file\"}");
    for (args, starts, ends) in [
        (&["-X", "delete"][..], "DELETE /x HTTP/1.1\r\n", "\r\n\r\n"),
        (&["--data", "a=1"], "POST /x HTTP/1.1\r\n", "Content-Length: 3\r\n\r\na=1"),
        (
            &["-X", "PUT", "--data", "@body.json"],
            "PUT /x HTTP/1.1\r\n",
            "Content-Length: 18\r\n\r\n{\"from\": \"a file\"}",
        ),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/x", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || heard(listener));
        let json = load(&yard, &[&[&url[..], "-n", "1", "-c", "1"], args].concat()).exits(0).json();
        assert_eq!((&json["replies"], &json["statuses"]["204"]), (&1.into(), &1.into()), "{json}");
        let asked = server.join().unwrap();
        assert!(asked.starts_with(starts) && asked.ends_with(ends), "{asked}");
    }
    let url = "http://127.0.0.1:1/";
    load(&yard, &[url, "-X", "FETCH"]).exits(2).says(&["FETCH", "PATCH"]);
    load(&yard, &[url, "--data", "@nowhere"]).exits(2).says(&["--data @nowhere: No such file"]);
    load(&yard, &[url, "--data", "x", "--http2"]).exits(2).says(&["--http2"]);
}

#[test]
fn it_stops_after_the_duration() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let json = answered(&load(&yard, &[&format!("{}/bytes/10", origin.url), "-d", "300ms", "-c", "2"]));
    assert!(json["duration_ns"].as_u64().unwrap() >= 250_000_000, "{json}");
    assert!(json["replies"].as_u64().unwrap() > 0, "{json}");
}

/// An open loop cannot be faster than its rate, and its response time holds the service time.
#[test]
fn a_rate_makes_an_open_loop() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let said = load(&yard, &[&format!("{}/bytes/10", origin.url), "--rate", "200/s", "-n", "100"]);
    let json = said.json();
    // On a busy machine the generator may be late, and says so.
    match json["invalid_reason"].as_str() {
        None => assert_eq!(said.code(), Some(0)),
        Some(reason) => {
            assert_eq!(said.code(), Some(4));
            assert!(reason.contains("late"), "{reason}");
        }
    }
    assert_eq!(json["requests"], 100);
    assert!(json["duration_ns"].as_u64().unwrap() >= 99 * 5_000_000 * 9 / 10, "{json}");
    assert_eq!(json["lateness_ns"]["count"], 100);
    let median = |times: &str| json[times]["p50"].as_u64().unwrap();
    assert!(median("response_ns") >= median("service_ns"), "{json}");
}

#[test]
fn without_keepalive_each_request_has_its_connection() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/10", origin.url);
    let json = answered(&load(&yard, &[&url, "-n", "200", "-c", "4", "--no-keepalive"]));
    assert_eq!(json["connections"], 200);
    assert_eq!(json["connect_ns"]["count"], 200);
}

#[test]
fn header_lines_reach_the_server() {
    let yard = Yard::new();
    let script = yard.write("bad_server.py", include_str!("bad_server.py"));
    let mut server = Command::new(python());
    server.arg(script).args(["probe", "0"]).stdout(Stdio::piped());
    let mut server = Helper(server.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let url = format!("http://127.0.0.1:{}/", line.trim_start_matches("listening: ").trim());
    let with =
        load(&yard, &[&url, "-n", "20", "-c", "2", "-H", "X-Probe: yes", "-H", "X-Other: 1"]).exits(0).json();
    assert_eq!(with["replies"], 20);
    let without = load(&yard, &[&url, "-n", "20", "-c", "2"]).exits(3).json();
    assert_eq!(without["errors_by_class"], serde_json::json!({ "server-error": 20 }));
}

#[test]
fn a_refused_port_exits_3_and_is_a_class_of_its_own() {
    let yard = Yard::new();
    let port = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let json = load(&yard, &[&format!("http://127.0.0.1:{port}/"), "-n", "20", "-c", "2"]).exits(3).json();
    assert_eq!(json["valid"], false);
    assert!(json["invalid_reason"].is_string(), "{json}");
    assert_eq!(json["replies"], 0);
    let classes = json["errors_by_class"].as_object().unwrap();
    assert_eq!(classes.keys().collect::<Vec<_>>(), ["connect-refused"]);
    assert_eq!(json["errors"], classes["connect-refused"]);
    assert_eq!(json["response_ns"]["count"], 0, "a failure has no response time");
}

#[test]
fn https_is_accepted_by_trust_or_insecurely_and_refused_without() {
    let yard = Yard::new();
    let made = bakeoff_subject::Certificate::create(&yard.path("")).unwrap();
    let [ca, cert, key] = [&made.ca, &made.cert, &made.key].map(|path| path.display().to_string());
    let origin = Origin::start(&yard, &["--tls", "--cert", &cert, "--key", &key]);
    let url = format!("{}/bytes/100", origin.url);
    let few = ["-n", "20", "-c", "2"];
    for trust in [&["--insecure"][..], &["--cacert", &ca]] {
        let json = load(&yard, &[&[url.as_str()], trust, &few].concat()).exits(0).json();
        assert_eq!(json["replies"], 20);
        assert!(json["tls"].as_str().unwrap().contains("TLS"), "{json}");
    }
    let json = load(&yard, &[&[url.as_str()], &few[..]].concat()).exits(3).json();
    let classes: Vec<&String> = json["errors_by_class"].as_object().unwrap().keys().collect();
    assert_eq!(classes, ["tls-untrusted"]);
    let missing = load(&yard, &[&url, "--cacert", "nowhere.pem"]).exits(3);
    missing.says(&["nowhere.pem", "PEM"]);
}

#[test]
fn every_tls_connection_has_its_handshake_time() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--tls"]);
    let url = format!("{}/bytes/100", origin.url);
    let json = answered(&load(&yard, &[&url, "--insecure", "-n", "200", "-c", "4", "--no-keepalive"]));
    assert_eq!(json["connections"], 200);
    assert_eq!(json["handshake_ns"]["count"], 200);
    assert!(json["tls"].as_str().unwrap().contains("TLS"), "{json}");
}

#[test]
fn a_certificate_for_another_name_is_a_class_of_its_own() {
    if !has("openssl", "a_certificate_for_another_name_is_a_class_of_its_own") {
        return;
    }
    let yard = Yard::new();
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem \
                 -subj /CN=elsewhere.example -addext subjectAltName=DNS:elsewhere.example -addext basicConstraints=critical,CA:FALSE";
    let made =
        Command::new("openssl").args(words.split_whitespace()).current_dir(yard.path("")).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let origin = Origin::start(&yard, &["--tls", "--cert", "cert.pem", "--key", "key.pem"]);
    let json = load(&yard, &[&origin.url, "-n", "5", "-c", "1", "--cacert", "cert.pem"]).exits(3).json();
    let classes: Vec<&String> = json["errors_by_class"].as_object().unwrap().keys().collect();
    assert_eq!(classes, ["tls-name-mismatch"]);
}

#[test]
fn more_connections_than_descriptors_are_refused_with_the_number() {
    let yard = Yard::new();
    let said = yard.ended(
        yard.start(yard.shell("ulimit -n 100; exec \"$@\"", &["load", "http://127.0.0.1:9/", "-c", "500"])),
    );
    said.exits(3).says(&["500 connections", "564", "limit is 100", "ulimit -n 564"]);
}

#[test]
fn http2_carries_many_requests_on_few_connections() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/700", origin.url);
    let json = answered(&load(&yard, &[&url, "-n", "2000", "-c", "3", "--http2", "--streams", "8"]));
    assert_eq!((json["replies"].as_u64(), json["connections"].as_u64()), (Some(2000), Some(3)));
    assert_eq!(json["errors"], 0);
    assert!(json["bytes"].as_u64().unwrap() >= 2000 * 700);
}

#[test]
fn robots_share_connections_and_wait_for_them() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/100", origin.url);
    let json = answered(&load(&yard, &[&url, "-n", "600", "--robots", "60", "-c", "4"]));
    assert_eq!((json["replies"].as_u64(), json["connections"].as_u64()), (Some(600), Some(4)));
    assert!(json["postponed"].as_u64().unwrap() > 0);
    // A request that waits for a connection waits for a reply.
    let p50 = |times: &str| json[times]["p50"].as_u64().unwrap();
    assert!(p50("response_ns") > p50("service_ns"), "{json}");
}

#[test]
fn a_connection_ends_after_its_last_request() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/100", origin.url);
    for more in [&[][..], &["--http2"]] {
        let said =
            load(&yard, &[&[&url[..], "-n", "300", "-c", "1", "--per-connection", "100"], more].concat());
        assert_eq!(answered(&said)["connections"], 3, "{more:?}");
    }
}

#[test]
fn a_profile_has_its_stages_in_order() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/100", origin.url);
    let json = answered(&load(&yard, &[&url, "-n", "200", "--profile"]));
    assert_eq!(json["driver"], "epoll");
    let stages: Vec<&str> =
        json["profile"].as_array().unwrap().iter().map(|row| row["stage"].as_str().unwrap()).collect();
    assert_eq!(stages, ["waiting", "receiving", "parsing", "recording", "asking", "sending"]);
}

#[test]
fn shares_of_handshakes_that_resume_are_asked_for_and_counted() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--tls"]);
    let url = format!("{}/bytes/100", origin.url);
    let resumed = |share: &str| {
        let said =
            load(&yard, &[&url, "--insecure", "--no-keepalive", "-n", "41", "-c", "1", "--resume", share]);
        let json = answered(&said);
        assert_eq!(json["handshakes"]["completed"], 41, "{json}");
        json["handshakes"]["handshakes"]["resumed"]["count"].as_u64().unwrap()
    };
    // The first has no session to resume.
    assert_eq!([resumed("0%"), resumed("50%"), resumed("100%")], [0, 20, 40]);
}

#[test]
fn on_a_terminal_it_shows_that_it_lives() {
    if !has("script", "on_a_terminal_it_shows_that_it_lives") {
        return;
    }
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    let url = format!("{}/bytes/10", origin.url);
    // `script` gives it a terminal on every stream.
    let line = format!("script -qec \"$1 load {url} -n 50\" /dev/null");
    let shown = yard.start(yard.shell(&line, &[])).wait().exits(0).stdout;
    assert!(shown.contains(&format!("load: {url}, 50 requests")) && shown.contains("0s"), "{shown}");
    let elsewhere = yard.start(yard.bakeoff(&["load", &url, "-n", "50"])).wait().exits(0);
    assert!(!elsewhere.stderr.contains("load: "), "{}", elsewhere.stderr);
}
