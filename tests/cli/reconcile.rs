//! `bakeoff load` against the server's own count, after a drain and after a hard stop.
//!
//! nginx counts in its access log, the origin in its closing lines. After a drain all is equal; after SIGINT the server
//! may also have seen the requests that were in flight, which are `cut-off`, and no other. `benches/soak` does the same
//! for minutes.

use crate::support::{Ended, Helper, Origin, PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};

/// Neither a whole number of frames nor of TLS records.
const SIZE: usize = 20_003;

/// Protocol and settings: flags of `load`, options of nginx' `listen`, requests in flight at most.
struct Manner {
    flags: &'static [&'static str],
    listen: &'static str,
    seats: u64,
}

const MANNERS: [Manner; 4] = [
    Manner { flags: &["-c", "16"], listen: "", seats: 16 },
    Manner { flags: &["-c", "4", "--http2", "--streams", "10"], listen: "http2", seats: 40 },
    Manner {
        flags: &["-c", "4", "--http2", "--streams", "10", "--insecure"],
        listen: "ssl http2",
        seats: 40,
    },
    Manner { flags: &["-c", "8", "--no-keepalive", "--insecure"], listen: "ssl", seats: 8 },
];

/// Requests seen, and those answered in full with 200.
#[derive(Debug, PartialEq, Eq)]
struct Count {
    requests: u64,
    replies: u64,
}

struct Nginx {
    process: Helper,
    port: u16,
    tls: bool,
}

impl Nginx {
    fn start(yard: &Yard, listen: &str) -> Self {
        let made = bakeoff_subject::Certificate::create(&yard.path("")).unwrap();
        yard.write("object", vec![b'x'; SIZE]);
        // Between choosing a port and listening there, another process may take it.
        (0..5).find_map(|_| Self::attempt(yard, listen, &made)).expect("nginx serves")
    }

    fn attempt(yard: &Yard, listen: &str, made: &bakeoff_subject::Certificate) -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let root = yard.path("").display().to_string();
        let tls = listen.contains("ssl");
        let certificate =
            format!("ssl_certificate {}; ssl_certificate_key {};", made.cert.display(), made.key.display());
        let user = if bakeoff_sys::process::is_root() { "user root;" } else { "" };
        let config = format!(
            "{user} daemon off; pid {root}/pid; error_log {root}/error.log; worker_processes 1;
             events {{ worker_connections 256; }}
             http {{
               log_format count '$status $body_bytes_sent'; access_log {root}/access.log count;
               client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
               uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
               server {{ listen 127.0.0.1:{port} {listen}; {} root {root}; keepalive_requests 40; }}
             }}",
            if tls { certificate.as_str() } else { "" }
        );
        let file = yard.write("nginx.conf", config);
        let mut command = Command::new("nginx");
        command.args(["-e", "stderr", "-c"]).arg(file).env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
        let mut process = Helper(command.stderr(Stdio::null()).spawn().unwrap());
        wait_until(PATIENCE, || match (TcpStream::connect(("127.0.0.1", port)), process.0.try_wait()) {
            (Ok(_), _) => Ok(true),
            (_, Ok(Some(_))) => Ok(false),
            (Err(why), _) => Err(why.to_string()),
        })
        .then_some(Self { process, port, tls })
    }

    fn url(&self) -> String {
        format!("{}://127.0.0.1:{}/object", if self.tls { "https" } else { "http" }, self.port)
    }

    /// Ends it, when its last requests are done.
    fn count(mut self, yard: &Yard) -> Count {
        signal("QUIT", &self.process.0.id().to_string());
        wait_until(PATIENCE, || self.process.0.try_wait().unwrap().ok_or("nginx has not ended".to_owned()));
        let log = yard.read("access.log");
        let good = format!("200 {SIZE}");
        Count {
            requests: log.lines().count() as u64,
            replies: log.lines().filter(|line| *line == good).count() as u64,
        }
    }
}

/// Ends it.
fn count_of(origin: Origin) -> Count {
    let (_, _, closing) = origin.end_with_closing_lines();
    let number = |word: &str| {
        let line =
            closing.lines().find_map(|line| line.strip_prefix(word)).unwrap_or_else(|| panic!("{closing}"));
        line.split(' ').next().unwrap().parse().unwrap()
    };
    Count { requests: number("requests: "), replies: number("replies: ") }
}

/// The generator's own count, which must add up by itself. Which of it and the server was the limit depends on the
/// machine.
fn own_count(ended: Ended, codes: &[i32]) -> (Count, Value) {
    assert!(ended.code().is_some_and(|code| codes.contains(&code)), "{ended:?}");
    let json = ended.json();
    let of = |key: &str| json[key].as_u64().unwrap();
    let by_class: u64 =
        json["errors_by_class"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
    assert_eq!((of("requests"), of("errors")), (of("replies") + by_class, by_class), "{json}");
    (Count { requests: of("requests"), replies: of("replies") }, json)
}

fn drained(yard: &Yard, url: &str, manner: &Manner) -> Count {
    let mut command = yard.bakeoff(&["load", url, "--json", "-n", "1000"]);
    command.args(manner.flags);
    let (count, json) = own_count(yard.start(command).wait(), &[0, 4]);
    assert_eq!(count, Count { requests: 1000, replies: 1000 }, "{json}");
    count
}

/// SIGINT as soon as the server is at work.
fn stopped(yard: &Yard, url: &str, manner: &Manner, is_at_work: impl Fn() -> bool) -> (Count, u64) {
    let mut command = yard.bakeoff(&["load", url, "--json", "-d", "30min"]);
    command.args(manner.flags);
    let started = yard.start(command);
    wait_until(PATIENCE, || is_at_work().then_some(()).ok_or("the server has nothing to do".to_owned()));
    signal("INT", &started.pid().to_string());
    let (count, json) = own_count(started.wait(), &[130]);
    let cut = json["errors_by_class"]["cut-off"].as_u64().unwrap_or(0);
    assert_eq!(json["errors"], cut, "{json}");
    assert!(cut <= manner.seats, "{cut} of {} seats", manner.seats);
    (count, cut)
}

/// Only requests that were cut off may be in doubt.
fn differ_by_those_cut_off(ours: &Count, theirs: &Count, what: &str) {
    let all = ours.replies..=ours.requests;
    assert!(all.contains(&theirs.requests) && all.contains(&theirs.replies), "{what}: {ours:?} {theirs:?}");
}

#[test]
fn after_a_drain_nginx_has_logged_what_was_counted() {
    if !has("nginx", "after_a_drain_nginx_has_logged_what_was_counted") {
        return;
    }
    for manner in &MANNERS {
        let yard = Yard::new();
        let nginx = Nginx::start(&yard, manner.listen);
        let ours = drained(&yard, &nginx.url(), manner);
        assert_eq!(ours, nginx.count(&yard), "{:?}", manner.flags);
    }
}

#[test]
fn after_a_hard_stop_nginx_has_logged_that_and_what_was_cut_off_at_most() {
    if !has("nginx", "after_a_hard_stop_nginx_has_logged_that_and_what_was_cut_off_at_most") {
        return;
    }
    for manner in &MANNERS {
        let yard = Yard::new();
        let nginx = Nginx::start(&yard, manner.listen);
        let logged = || yard.path("access.log").metadata().is_ok_and(|log| log.len() > 20_000);
        let (ours, cut) = stopped(&yard, &nginx.url(), manner, logged);
        let what = format!("{:?}, {cut} cut off", manner.flags);
        differ_by_those_cut_off(&ours, &nginx.count(&yard), &what);
    }
}

#[test]
fn the_origins_closing_lines_agree_after_a_drain_and_after_a_hard_stop() {
    for manner in &MANNERS {
        let yard = Yard::new();
        let tls = if manner.listen.contains("ssl") { &["--tls"][..] } else { &[] };
        let [one, two] = [Origin::start(&yard, tls), Origin::start(&yard, tls)];
        let url = |origin: &Origin| format!("{}/bytes/{SIZE}", origin.url);
        let ours = drained(&yard, &url(&one), manner);
        assert_eq!(ours, count_of(one), "{:?}", manner.flags);

        let pid = two.pid().parse().unwrap();
        let spent = || bakeoff_sys::cpu_clock::process(pid).unwrap().get();
        let before = spent();
        let busy = || spent() - before > 50_000_000;
        let (ours, cut) = stopped(&yard, &url(&two), manner, busy);
        let what = format!("{:?}, {cut} cut off", manner.flags);
        differ_by_those_cut_off(&ours, &count_of(two), &what);
    }
}
