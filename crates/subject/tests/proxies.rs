//! Real proxy caches between a client and a scripted origin: they cache what may be cached and
//! nothing else, revalidate, tell how full they are, and end without a trace.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{
    Product, ProxyMode, ProxyRefusal, ProxySpec, Running, Spec, StoreReading, SubjectError, find_program,
    read_store,
};
use bakeoff_units::Nanos;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};
use support::{Yard, all_gone, identity, runs_unprivileged};

const MEGABYTE: u64 = 1 << 20;

/// What each product may take for a thing it does on its own time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests by path: all, and those that asked whether something is still good.
type Counts = Arc<Mutex<HashMap<String, (usize, usize)>>>;

/// Serves `/keep/N/...` (N bytes, fresh for an hour), `/brief/N/...` (for a second, then for an
/// hour when it is revalidated) and `/private/N/...` (not to be kept).
struct Origin {
    address: SocketAddr,
    counts: Counts,
}

impl Origin {
    fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Counts::default();
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &counts));
            }
        });
        Self { address, counts }
    }

    fn asked(&self, path: &str) -> usize {
        self.counts.lock().unwrap().get(path).map_or(0, |counts| counts.0)
    }

    fn asked_if_good(&self, path: &str) -> usize {
        self.counts.lock().unwrap().get(path).map_or(0, |counts| counts.1)
    }
}

fn serve(stream: &TcpStream, counts: &Counts) {
    let mut lines = BufReader::new(stream);
    while let Some((path, is_condition)) = request(&mut lines) {
        let mut all = counts.lock().unwrap();
        let count = all.entry(path.clone()).or_default();
        *count = (count.0 + 1, count.1 + usize::from(is_condition));
        drop(all);
        if write_reply(stream, &path, is_condition).is_err() {
            return;
        }
    }
}

/// Path, and whether it is a condition that is asked for.
fn request(lines: &mut impl BufRead) -> Option<(String, bool)> {
    let mut first = String::new();
    lines.read_line(&mut first).ok().filter(|&length| length > 0)?;
    let (mut is_condition, mut body_bytes) = (false, 0);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|&length| length > 0)?;
        if line == "\r\n" {
            std::io::copy(&mut lines.take(body_bytes), &mut std::io::sink()).ok()?;
            return Some((first.split(' ').nth(1)?.to_owned(), is_condition));
        }
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if name == "content-length" {
            body_bytes = line[name.len() + 1..].trim().parse().ok()?;
        }
        is_condition |= name == "if-modified-since" || name == "if-none-match";
    }
}

fn write_reply(mut stream: &TcpStream, path: &str, is_condition: bool) -> std::io::Result<()> {
    let (kind, rest) = path[1..].split_once('/').unwrap_or((path, "0"));
    let length: u64 = rest.split('/').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let control = match kind {
        "keep" => "public, max-age=3600",
        "brief" if is_condition => "public, max-age=3600",
        "brief" => "public, max-age=1",
        _ => "private, no-cache",
    };
    let (status, length_line) = match is_condition {
        true => ("304 Not Modified", String::new()),
        false => ("200 OK", format!("Content-Length: {length}\r\n")),
    };
    let now = httpdate();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nDate: {now}\r\nCache-Control: {control}\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"one\"\r\n{length_line}\r\n"
    )?;
    let mut left = if is_condition { 0 } else { length };
    let block = vec![b'x'; usize::try_from(left.min(1 << 16)).unwrap()];
    while left > 0 {
        let piece = usize::try_from(left.min(1 << 16)).unwrap();
        stream.write_all(&block[..piece])?;
        left -= piece as u64;
    }
    Ok(())
}

/// The time as replies give it: of this second, asked of `date` once.
fn httpdate() -> String {
    static LAST: Mutex<(u64, String)> = Mutex::new((0, String::new()));
    let second = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let mut last = LAST.lock().unwrap();
    if last.0 != second {
        let asked = format!("@{second}");
        let said = Command::new("date").args(["-u", "-d", &asked, "+%a, %d %b %Y %H:%M:%S GMT"]).output();
        *last = (second, String::from_utf8(said.unwrap().stdout).unwrap().trim().to_owned());
    }
    last.1.clone()
}

/// A proxy that runs, and whom it stands before.
struct Stage {
    spec: ProxySpec,
    origin: Origin,
    running: Running,
    _yard: Yard,
}

impl Stage {
    fn set(spec: &ProxySpec) -> Self {
        let (yard, origin) = (Yard::new(), Origin::start());
        let spec = ProxySpec { origin: origin.address, ..spec.clone() };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        Self { spec, origin, running, _yard: yard }
    }

    fn url(&self, path: &str) -> String {
        url(&self.spec, path)
    }

    fn get(&self, path: &str) -> Reply {
        get(&self.spec, &self.running, path, "").unwrap()
    }

    fn reading(&self) -> StoreReading {
        read_store(&self.spec, &self.running).unwrap_or_else(|error| panic!("{error}"))
    }
}

fn start(yard: &Yard, spec: &ProxySpec) -> Result<Running, SubjectError> {
    let mut context = yard.context(spec.product.label());
    context.start_timeout = Nanos::from_secs(60); // Varnish calls a compiler
    bakeoff_subject::start(&Spec::Proxy(spec.clone()), &context)
}

/// How the proxy is asked for a path of the origin.
fn url(spec: &ProxySpec, path: &str) -> String {
    match spec.mode {
        ProxyMode::Forward => format!("http://{}{path}", spec.origin),
        ProxyMode::Reverse => path.to_owned(),
    }
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body_bytes: usize,
}

fn get(spec: &ProxySpec, running: &Running, path: &str, more: &str) -> std::io::Result<Reply> {
    let mut stream = TcpStream::connect(running.address)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let (url, host) = (url(spec, path), spec.origin);
    write!(stream, "GET {url} HTTP/1.1\r\nHost: {host}\r\n{more}Connection: close\r\n\r\n")?;
    let mut all = Vec::new();
    stream.read_to_end(&mut all)?;
    let end = all.windows(4).position(|window| window == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no reply head: {}", String::from_utf8_lossy(&all)));
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Ok(Reply { status, head, body_bytes: all.len() - end - 4 })
}

/// True before the time is over, or the test fails.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Without its program the test fails, unless skipping is allowed; then it says so.
fn has(product: Product, test: &str) -> bool {
    let program = match product {
        Product::Squid => "squid",
        Product::Varnish => "varnishd",
        Product::Nginx => "nginx",
        Product::Apache => "htcacheclean",
        Product::TrafficServer => "traffic_server",
        Product::HaProxy => "haproxy",
    };
    let found = find_program(&[program]).is_some();
    if !found {
        let reason = format!("`{program}` is not installed (apt-get install {})", product.debian_packages());
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

fn spec(product: Product, mode: ProxyMode) -> ProxySpec {
    let on_disk = matches!(product, Product::Nginx | Product::Apache | Product::TrafficServer);
    ProxySpec {
        product,
        origin: SocketAddr::from(([127, 0, 0, 1], 1)), // the stage knows better
        mode,
        memory_bytes: 32 * MEGABYTE,
        disk_bytes: on_disk.then_some(128 * MEGABYTE),
        config: None,
    }
}

fn on_disk(product: Product, mode: ProxyMode) -> ProxySpec {
    ProxySpec { disk_bytes: Some(128 * MEGABYTE), ..spec(product, mode) }
}

/// All that every product must do.
fn caches(spec: &ProxySpec, test: &str) {
    if !has(spec.product, test) {
        return;
    }
    let stage = Stage::set(spec);
    keeps_what_is_fresh(&stage);
    passes_what_is_private(&stage);
    fetches_anew_when_told(&stage);
    passes_posts(&stage);
    if spec.product.can_revalidate() {
        revalidates(&stage);
    }
    fills(&stage);
    let version = stage.running.version.clone().unwrap();
    assert!(version.contains('/') && version.contains('.'), "{version}");
    assert!(stage.running.config.as_deref().is_some_and(|config| !config.is_empty()));
    ends(stage);
}

fn keeps_what_is_fresh(stage: &Stage) {
    let path = "/keep/20000/once";
    // Some products still write the object when the first reply is out.
    until("a hit", || {
        let before = stage.origin.asked(path);
        let reply = stage.get(path);
        assert_eq!((reply.status, reply.body_bytes), (200, 20_000), "{}", reply.head);
        stage.origin.asked(path) == before
    });
    let before = stage.origin.asked(path);
    let reply = stage.get(path);
    assert_eq!((reply.status, reply.body_bytes), (200, 20_000), "{}", reply.head);
    assert_eq!(stage.origin.asked(path), before);
    if let Some(name) = stage.spec.product.verdict_header() {
        let name = format!("\r\n{}:", name.to_ascii_lowercase());
        let head = reply.head.to_ascii_lowercase();
        let line = head.split_once(&name).unwrap_or_else(|| panic!("no {name} in {head}")).1;
        assert!(line.lines().next().unwrap().contains("hit"), "{head}");
    }
}

fn passes_what_is_private(stage: &Stage) {
    for count in 1..=3 {
        assert_eq!(stage.get("/private/1000/each").body_bytes, 1_000);
        assert_eq!(stage.origin.asked("/private/1000/each"), count);
    }
}

fn fetches_anew_when_told(stage: &Stage) {
    let path = "/keep/20000/once";
    let before = stage.origin.asked(path);
    let reload = "Cache-Control: no-cache\r\nPragma: no-cache\r\n";
    let reply = get(&stage.spec, &stage.running, path, reload).unwrap();
    assert_eq!((reply.status, reply.body_bytes), (200, 20_000), "{}", reply.head);
    assert_eq!(stage.origin.asked(path), before + 1);
}

fn passes_posts(stage: &Stage) {
    let mut stream = TcpStream::connect(stage.running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    for count in 1..=2 {
        let path = "/private/10/form";
        let (url, body) = (stage.url(path), "x".repeat(5_000));
        write!(
            stream,
            "POST {url} HTTP/1.1\r\nHost: {}\r\nContent-Length: 5000\r\n\r\n{body}",
            stage.spec.origin
        )
        .unwrap();
        let mut reply = Vec::new();
        while !reply.ends_with(b"\r\n\r\nxxxxxxxxxx") {
            let mut piece = [0; 4096];
            let length = stream.read(&mut piece).unwrap();
            assert!(length > 0, "closed after {}", String::from_utf8_lossy(&reply));
            reply.extend(&piece[..length]);
        }
        assert!(reply.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&reply));
        assert_eq!(stage.origin.asked(path), count);
    }
}

fn revalidates(stage: &Stage) {
    let path = "/brief/3000/soon-stale";
    until("a revalidation", || {
        let reply = stage.get(path);
        assert_eq!((reply.status, reply.body_bytes), (200, 3_000), "{}", reply.head);
        stage.origin.asked_if_good(path) > 0
    });
    // It is fresh for an hour now.
    until("a hit after the revalidation", || {
        let before = stage.origin.asked(path);
        assert_eq!(stage.get(path).body_bytes, 3_000);
        stage.origin.asked(path) == before
    });
}

fn fills(stage: &Stage) {
    let before = stage.reading();
    for number in 0..100 {
        assert_eq!(stage.get(&format!("/keep/100000/fill-{number}")).body_bytes, 100_000);
    }
    // Traffic Server keeps the last objects in memory until there is enough to write.
    let waiting = if stage.spec.product == Product::TrafficServer { 4 * MEGABYTE } else { 0 };
    until("the gauge grows by what was stored", || {
        stage.reading().used_bytes + waiting >= before.used_bytes + 100 * 100_000
    });
    let after = stage.reading();
    let most = stage.spec.store_bytes() + MEGABYTE;
    assert!((most / 2..=most).contains(&after.capacity_bytes), "{after:?}");
    assert!(after.used_bytes < after.capacity_bytes, "{after:?}");
    assert!(after.objects.is_none_or(|objects| (50..1000).contains(&objects)), "{after:?}");
    println!("{}: {after:?}", stage.spec.product.label());
}

fn ends(stage: Stage) {
    stage.running.alive().unwrap();
    runs_unprivileged(&stage.running.processes());
    let dir = stage.running.dir.clone().unwrap();
    assert!(dir.join("cache").exists() || stage.spec.disk_bytes.is_none());
    let pids = stage.running.processes().into_iter().chain(stage.running.guardian_process());
    let all: Vec<_> = pids.map(identity).collect();
    let report = stage.running.stop();
    assert_eq!((report.killed, report.left), (0, 0));
    all_gone(&all, Duration::ZERO);
    assert!(!dir.join("cache").exists());
}

#[test]
fn squid_caches_on_disk_as_a_forward_proxy() {
    caches(&on_disk(Product::Squid, ProxyMode::Forward), "squid_caches_on_disk_as_a_forward_proxy");
}

#[test]
fn squid_caches_in_memory_as_a_reverse_proxy() {
    caches(&spec(Product::Squid, ProxyMode::Reverse), "squid_caches_in_memory_as_a_reverse_proxy");
}

#[test]
fn varnish_caches_in_memory() {
    caches(&spec(Product::Varnish, ProxyMode::Reverse), "varnish_caches_in_memory");
}

#[test]
fn varnish_caches_on_disk() {
    caches(&on_disk(Product::Varnish, ProxyMode::Reverse), "varnish_caches_on_disk");
}

#[test]
fn nginx_caches() {
    caches(&spec(Product::Nginx, ProxyMode::Reverse), "nginx_caches");
}

#[test]
fn apache_caches_as_a_reverse_proxy() {
    caches(&spec(Product::Apache, ProxyMode::Reverse), "apache_caches_as_a_reverse_proxy");
}

#[test]
fn apache_caches_as_a_forward_proxy() {
    caches(&spec(Product::Apache, ProxyMode::Forward), "apache_caches_as_a_forward_proxy");
}

#[test]
fn traffic_server_caches_as_a_reverse_proxy() {
    caches(&spec(Product::TrafficServer, ProxyMode::Reverse), "traffic_server_caches_as_a_reverse_proxy");
}

#[test]
fn traffic_server_caches_as_a_forward_proxy() {
    caches(&spec(Product::TrafficServer, ProxyMode::Forward), "traffic_server_caches_as_a_forward_proxy");
}

#[test]
fn haproxy_caches() {
    caches(&spec(Product::HaProxy, ProxyMode::Reverse), "haproxy_caches");
}

/// A port nobody listens on.
fn nobody() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

#[test]
fn a_proxy_is_ready_before_its_origin() {
    for product in Product::ALL {
        if !has(product, "a_proxy_is_ready_before_its_origin") {
            continue;
        }
        let yard = Yard::new();
        let spec = ProxySpec { origin: nobody(), ..spec(product, ProxyMode::Reverse) };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let reply = get(&spec, &running, "/keep/1/x", "").unwrap();
        assert!(matches!(reply.status, 502..=504), "{product:?}: {}", reply.head);
    }
}

#[test]
fn what_a_product_cannot_do_is_said_before_the_start() {
    let yard = Yard::new();
    let refused = |spec: &ProxySpec| match start(&yard, spec).unwrap_err() {
        SubjectError::Proxy { refusal, product, .. } => (product, refusal),
        other => panic!("{other}"),
    };
    let nginx = spec(Product::Nginx, ProxyMode::Forward);
    assert_eq!(refused(&nginx), ("nginx", ProxyRefusal::ReverseOnly));
    let haproxy = on_disk(Product::HaProxy, ProxyMode::Reverse);
    assert_eq!(refused(&haproxy), ("HAProxy", ProxyRefusal::MemoryOnly));
}

/// As many as an origin that thinks for seconds makes wait: it answers nobody before all have asked.
#[test]
fn two_thousand_requests_wait_at_the_origin() {
    const ALL: usize = 2_000;
    bakeoff_sys::rlimit::raise_open_files(8_192).unwrap();
    for product in Product::ALL {
        if !has(product, "two_thousand_requests_wait_at_the_origin") {
            continue;
        }
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let spec = ProxySpec { origin: listener.local_addr().unwrap(), ..spec(product, ProxyMode::Reverse) };
        let yard = Yard::new();
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let origin = std::thread::spawn(move || {
            let waiting: Vec<TcpStream> = std::iter::from_fn(|| asking(&listener)).take(ALL).collect();
            for mut stream in waiting {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
            }
        });
        let clients: Vec<TcpStream> = (0..ALL).map(|number| begin(&running, number)).collect();
        for mut stream in clients {
            let mut reply = [0; 12];
            stream.read_exact(&mut reply).unwrap_or_else(|error| panic!("{product:?}: {error}"));
            assert_eq!(String::from_utf8_lossy(&reply), "HTTP/1.1 200", "{product:?}");
        }
        origin.join().unwrap();
    }
}

/// The next connection with a request on it; one without is a try-out, and is closed.
fn asking(listener: &TcpListener) -> Option<TcpStream> {
    loop {
        let stream = listener.accept().unwrap().0;
        if request(&mut BufReader::new(&stream)).is_some() {
            return Some(stream);
        }
    }
}

fn begin(running: &Running, number: usize) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET /{number} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    stream
}

/// The shortest that caches, each with our substitutions.
fn users_config(product: Product) -> String {
    let modules = "/usr/lib/apache2/modules";
    let load = |name: &str| format!("LoadModule {name}_module {modules}/mod_{name}.so\n");
    match product {
        Product::Squid => "http_port {host}:{port} accel defaultsite={origin}\nhttp_access allow all\ncache_peer {origin_host} parent {origin_port} 0 no-query originserver\nvisible_hostname mine\nmaximum_object_size_in_memory 1 MB\n".to_owned(),
        Product::Varnish => "vcl 4.1;\nbackend mine { .host = \"{origin_host}\"; .port = \"{origin_port}\"; }\n".to_owned(),
        Product::Nginx => "events {}\nhttp {\n  proxy_cache_path {dir}/cache keys_zone=mine:10m max_size={disk_bytes};\n  server {\n    listen {host}:{port};\n    location / { proxy_pass http://{origin}; proxy_cache mine; }\n  }\n}\n".to_owned(),
        Product::Apache => {
            let names = ["mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_disk"];
            let loads: String = names.into_iter().map(load).collect();
            format!("{loads}ServerName mine\nListen {{host}}:{{port}}\nProxyPass / http://{{origin}}/\nCacheRoot {{dir}}/cache\nCacheEnable disk /\n")
        }
        Product::TrafficServer => "CONFIG proxy.config.http.server_ports STRING {port}:ip-in={host}\nCONFIG proxy.config.log.logging_enabled INT 0\nCONFIG proxy.config.http.wait_for_cache INT 1\n".to_owned(),
        Product::HaProxy => "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\ncache mine\n  total-max-size 16\n  max-object-size 100000\n  max-age 600\nlisten mine\n  bind {host}:{port}\n  http-request cache-use mine\n  http-response cache-store mine\n  server mine {origin}\n".to_owned(),
    }
}

#[test]
fn users_configurations_are_taken() {
    for product in Product::ALL {
        if !has(product, "users_configurations_are_taken") {
            continue;
        }
        let (yard, origin) = (Yard::new(), Origin::start());
        let config = Some(yard.write("mine.conf", &users_config(product)));
        let spec = ProxySpec { origin: origin.address, config, ..spec(product, ProxyMode::Reverse) };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let path = "/keep/5000/x";
        until("a hit", || {
            let before = origin.asked(path);
            assert_eq!(get(&spec, &running, path, "").unwrap().body_bytes, 5_000, "{product:?}");
            origin.asked(path) == before
        });
        let reading = read_store(&spec, &running).unwrap_or_else(|error| panic!("{error}"));
        assert!(reading.capacity_bytes > 5_000, "{product:?}: {reading:?}");
        runs_unprivileged(&running.processes());
        assert_eq!(running.stop().killed, 0, "{product:?}");
    }
}

/// Twice the store's size, in objects of 100 KB: the gauge comes to the capacity and stays there.
#[test]
fn a_full_store_reads_full() {
    for product in Product::ALL {
        if !has(product, "a_full_store_reads_full") {
            continue;
        }
        let small = spec(product, ProxyMode::Reverse);
        let disk_bytes = small.disk_bytes.map(|_| 32 * MEGABYTE);
        let stage = Stage::set(&ProxySpec { memory_bytes: 16 * MEGABYTE, disk_bytes, ..small });
        for number in 0..stage.spec.store_bytes() * 2 / 100_000 {
            assert_eq!(stage.get(&format!("/keep/100000/{number}")).body_bytes, 100_000, "{product:?}");
        }
        let tenth = stage.reading().capacity_bytes / 10;
        let is_full = |reading: StoreReading| reading.used_bytes >= reading.capacity_bytes - tenth;
        until("the gauge reads full", || is_full(stage.reading()));
        // htcacheclean may be a minute away.
        if product != Product::Apache {
            until("no more than is allowed", || {
                stage.reading().used_bytes <= stage.reading().capacity_bytes + tenth
            });
        }
        let reading = stage.reading();
        assert!(product != Product::Varnish || reading.evictions > Some(0), "{reading:?}");
        println!("{}: {reading:?}", product.label());
    }
}

/// Far more than any memory set aside here. Takes seconds of both cores for each product.
#[test]
#[ignore = "moves 30 GB"]
fn five_gigabytes_pass_through_each() {
    const ALL: u64 = 5 << 30;
    for product in Product::ALL {
        if !has(product, "five_gigabytes_pass_through_each") {
            continue;
        }
        let stage = Stage::set(&spec(product, ProxyMode::Reverse));
        let begin = Instant::now();
        let mut stream = TcpStream::connect(stage.running.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /keep/{ALL}/x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut reader = BufReader::with_capacity(1 << 20, stream);
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).unwrap();
        }
        let got = std::io::copy(&mut reader, &mut std::io::sink()).unwrap();
        assert_eq!(got, ALL, "{product:?}");
        println!("{}: {:?}, {:?}", product.label(), begin.elapsed(), stage.reading());
    }
}
