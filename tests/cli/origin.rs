//! `bakeoff origin`, judged by curl.

use crate::support::{Origin, Yard, has};
use std::io::{Read, Write};
use std::process::Command;

/// Status and number of bytes.
fn curl(args: &[&str]) -> (String, usize) {
    let said = Command::new("curl").args(["-sS", "-w", "\n%{http_code}"]).args(args).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let last = said.stdout.iter().rposition(|&byte| byte == b'\n').unwrap();
    (String::from_utf8(said.stdout[last + 1..].to_vec()).unwrap(), last)
}

#[test]
fn the_first_line_names_the_url_and_sigterm_ends_it_with_0() {
    if !has("curl", "the_first_line_names_the_url_and_sigterm_ends_it_with_0") {
        return;
    }
    let yard = Yard::new();
    let origin = Origin::start(&yard, &[]);
    assert!(origin.url.starts_with("http://127.0.0.1:"), "{}", origin.url);
    for size in [0, 1, 1000, 5_000_000] {
        assert_eq!(curl(&[&format!("{}/bytes/{size}", origin.url)]), ("200".to_owned(), size));
    }
    assert_eq!(curl(&[&format!("{}/none", origin.url)]).0, "404");
    assert_eq!(origin.end(), (Some(0), String::new()));
}

#[test]
fn over_tls_the_certificate_is_thrown_away_with_the_origin() {
    if !has("curl", "over_tls_the_certificate_is_thrown_away_with_the_origin") {
        return;
    }
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--tls"]);
    assert!(origin.url.starts_with("https://"), "{}", origin.url);
    assert_eq!(curl(&["-k", &format!("{}/bytes/20000", origin.url)]), ("200".to_owned(), 20_000));
    assert_eq!(std::fs::read_dir(yard.path("tmp")).unwrap().count(), 1, "the certificate");
    assert_eq!(origin.end().0, Some(0));
    assert_eq!(std::fs::read_dir(yard.path("tmp")).unwrap().count(), 0);
}

#[test]
fn a_given_certificate_is_accepted_by_who_trusts_its_authority() {
    if !has("curl", "a_given_certificate_is_accepted_by_who_trusts_its_authority") {
        return;
    }
    let yard = Yard::new();
    let made = bakeoff_subject::Certificate::create(&yard.path("")).unwrap();
    let [ca, cert, key] = [&made.ca, &made.cert, &made.key].map(|path| path.display().to_string());
    let origin = Origin::start(&yard, &["--tls", "--cert", &cert, "--key", &key]);
    let url = format!("https://localhost:{}/bytes/3", origin.port());
    assert_eq!(curl(&["-4", "--cacert", &ca, &url]), ("200".to_owned(), 3));
}

#[test]
fn a_taken_port_exits_3_and_names_it() {
    let yard = Yard::new();
    let first = Origin::start(&yard, &[]);
    let second = yard.start(yard.bakeoff(&["origin", "--port", first.port()])).wait();
    second.exits(3).says(&[first.port(), "--port"]);
}

#[test]
fn planted_costs_are_told_by_kind_in_the_closing_lines() {
    let yard = Yard::new();
    let costs = ["--burn", "1ms", "--burn-in-flight", "0us", "--burn-per-wakeup", "2ms"];
    let origin = Origin::start(&yard, &costs);
    let load = yard
        .start(yard.bakeoff(&["load", &format!("{}/bytes/1", origin.url), "-n", "100", "-c", "2"]))
        .wait();
    load.exits(0);
    let (_, _, closing) = origin.end_with_closing_lines();
    let ns = |label: &str| {
        let told = closing.lines().find_map(|line| line.strip_prefix(label)?.strip_prefix(": "));
        let number =
            told.and_then(|told| told.split(' ').next()).unwrap_or_else(|| panic!("{label}: {closing}"));
        number.parse::<u64>().unwrap()
    };
    let (burned, on_requests, on_wakeups) =
        (ns("burned"), ns("burned on requests"), ns("burned on wake-ups"));
    assert_eq!((ns("requests"), ns("burned for others in flight")), (100, 0));
    // Each is rounded by itself. The duration of a turn here, which was that long at the start, depends on the machine.
    assert!(burned.abs_diff(on_requests + on_wakeups) <= 2 && on_wakeups > 0, "{closing}");
    assert!((10_000_000..1_000_000_000).contains(&on_requests), "{closing}");
}

#[test]
fn the_closing_lines_say_what_was_done_and_what_went_wrong() {
    let yard = Yard::new();
    let origin = Origin::start(&yard, &["--threads", "1"]);
    for (request, reply) in [("GET /bytes/1000 HTTP/1.1\r\n\r\n", "200"), ("nonsense\r\n\r\n", "400")] {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", origin.port().parse().unwrap())).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut said = Vec::new();
        stream.read_to_end(&mut said).unwrap();
        assert!(said.starts_with(format!("HTTP/1.1 {reply} ").as_bytes()));
    }
    let (code, _, closing) = origin.end_with_closing_lines();
    let expected = "requests: 1\nreplies: 2 with 1000 bytes of bodies, on 2 connections\n\
        ended: 1 (malformed request)\n";
    assert_eq!((code, closing.as_str()), (Some(0), expected));
}

const WORLD: &str = "[[content]]\nname = \"any\"\nsize = \"const:2KB\"\nlife = { length = \"const:1day\" }\n\
    [origin]\nthink = \"const:20ms\"\n";

/// The object of a number in a world.
const OBJECT: &str = "w0000000000000001/s0000/t00/_0000000000000005";

#[test]
fn a_world_is_served_with_its_think_times_and_told_of_at_the_end() {
    let name = "a_world_is_served_with_its_think_times_and_told_of_at_the_end";
    if !has("curl", name) {
        return;
    }
    let yard = Yard::new();
    yard.write("world.toml", WORLD);
    let origin = Origin::start(&yard, &["--threads", "1", "--world", "world.toml"]);
    let url = format!("{}/{OBJECT}", origin.url);
    assert_eq!(curl(&[&url]), ("200".to_owned(), 2048));
    assert_eq!(curl(&["-d", "a body", &url]), ("200".to_owned(), 2048));
    assert_eq!(curl(&["-x", &origin.url, &format!("http://elsewhere/{OBJECT}")]), ("200".to_owned(), 2048));
    assert_eq!(curl(&["-z", "Fri, 01 Jan 2100 00:00:00 GMT", &url]), ("304".to_owned(), 0));
    assert_eq!(curl(&["-r", "2000-", &url]), ("206".to_owned(), 48));
    let (code, _, closing) = origin.end_with_closing_lines();
    assert_eq!(code, Some(0));
    for line in ["requests: 5\n", "not modified: 1 of", "replies waiting at once: at most 1; "] {
        assert!(closing.contains(line), "{closing}");
    }
}

#[test]
fn a_world_that_is_none_exits_2_with_one_line_on_file_key_and_what_is_allowed() {
    let yard = Yard::new();
    let content = "[[content]]\nname = \"any\"\nsize = \"const:2KB\"\n";
    for (text, words) in [
        (format!("{content}[origin]\nthink = \"slow\"\n"), ["`think`", "norm:3s,1.5s"]),
        (format!("{content}[origin]\nthinks = \"1s\"\n"), ["`thinks`", "`idle_timeout`"]),
        (format!("{content}[origin]\nhttp = \"2\"\n"), ["`http`", "HTTP/1.1"]),
        ("[[content]]\nname = \"any\"\nsize = \"big\"\n".to_owned(), ["`size`", "exp:MEAN"]),
        ("[origin]\n".to_owned(), ["[[content]]", "1 to 256"]),
    ] {
        yard.write("world.toml", &text);
        let said = yard.run(&["origin", "--world", "world.toml"]).exits(2);
        let said = said.says(&["world.toml"]).says(&words);
        assert_eq!(said.stderr.trim_end().lines().count(), 1, "{}", said.stderr);
    }
}
