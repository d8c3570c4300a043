//! Caching behaviour that every product must show.

use crate::stage::{MEGABYTE, PATIENCE, Stage, get, has, on_disk, spec, until};
use crate::support::{all_gone, identity, runs_unprivileged};
use bakeoff_subject::{Product, ProxyMode, ProxySpec};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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

/// The checks that every product must pass.
fn caches(spec: &ProxySpec, test: &str) {
    if !has(spec.product, test) {
        return;
    }
    let stage = Stage::set(spec);
    keeps_what_is_fresh(&stage);
    passes_what_is_private(&stage);
    fetches_anew_when_told(&stage);
    passes_posts(&stage);
    if spec.mode == ProxyMode::Forward {
        tunnels(&stage);
    }
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

/// The bytes of a TLS client's tunnel; any bytes will do.
fn tunnels(stage: &Stage) {
    let mut stream = TcpStream::connect(stage.running.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let origin = stage.spec.origin;
    write!(stream, "CONNECT {origin} HTTP/1.1\r\nHost: {origin}\r\n\r\n").unwrap();
    let mut reply = Vec::new();
    while !reply.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        assert_eq!(stream.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&reply));
        reply.push(byte[0]);
    }
    assert_eq!(reply.get(8..12), Some(b" 200".as_slice()), "{}", String::from_utf8_lossy(&reply));
    write!(stream, "GET /keep/10/tunnel HTTP/1.1\r\nHost: {origin}\r\n\r\n").unwrap();
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(String::from_utf8_lossy(&head), "HTTP/1.1 200");
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
    let pids = stage.running.processes().into_iter().chain(stage.running.supervisor_process());
    let all: Vec<_> = pids.map(identity).collect();
    let report = stage.running.stop();
    assert_eq!((report.killed, report.left), (0, 0));
    all_gone(&all, Duration::ZERO);
    assert!(!dir.join("cache").exists());
}

/// As the documentation of [`Product`] says: the origin thinks while eight clients ask for the same object.
#[test]
fn concurrent_misses_go_to_the_origin_as_is_each_products_way() {
    const ALL: usize = 8;
    for product in Product::fronts() {
        if !has(product, "concurrent_misses_go_to_the_origin_as_is_each_products_way") {
            continue;
        }
        let stage = Stage::set(&spec(product, ProxyMode::Reverse));
        let path = "/late/1000/together";
        std::thread::scope(|scope| {
            for _ in 0..ALL {
                scope.spawn(|| assert_eq!(stage.get(path).body_bytes, 1_000));
            }
        });
        let expected = if product == Product::Varnish { 1 } else { ALL };
        assert_eq!(stage.origin.asked(path), expected, "{product:?}");
        joins_a_reply_under_way(&stage);
    }
}

/// The origin thinks in the middle of the body, and a second client asks. (Traffic Server joins
/// only for half a second, which is too short to rely on here.)
fn joins_a_reply_under_way(stage: &Stage) {
    let path = "/half/1000000/joined";
    let mut first = TcpStream::connect(stage.running.address).unwrap();
    first.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(first, "GET {path} HTTP/1.1\r\nHost: {}\r\n\r\n", stage.spec.origin).unwrap();
    first.read_exact(&mut [0; 100]).unwrap();
    assert_eq!(stage.get(path).body_bytes, 1_000_000);
    let expected = match stage.spec.product {
        Product::Squid | Product::Varnish => 1..=1,
        Product::TrafficServer => 1..=2,
        Product::Nginx | Product::Apache | Product::HaProxy | Product::Caddy => 2..=2,
    };
    assert!(expected.contains(&stage.origin.asked(path)), "{:?}", stage.spec.product);
}
