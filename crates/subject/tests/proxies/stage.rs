//! Test stage: a proxy before the scripted origin, and requests to it.

use crate::origin::Origin;
use crate::support::Yard;
use bakeoff_subject::{
    Product, ProxyMode, ProxySpec, Running, Spec, StoreReading, SubjectError, find_program, read_store,
};
use bakeoff_units::Nanos;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

pub(crate) const MEGABYTE: u64 = 1 << 20;

/// Time that each product may take for a thing it does in its own time.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A running proxy, and the origin it stands before.
pub(crate) struct Stage {
    pub(crate) spec: ProxySpec,
    pub(crate) origin: Origin,
    pub(crate) running: Running,
    _yard: Yard,
}

impl Stage {
    pub(crate) fn set(spec: &ProxySpec) -> Self {
        let (yard, origin) = (Yard::new(), Origin::start());
        let spec = ProxySpec { origin: origin.address, ..spec.clone() };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        Self { spec, origin, running, _yard: yard }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        url(&self.spec, path)
    }

    pub(crate) fn get(&self, path: &str) -> Reply {
        get(&self.spec, &self.running, path, "").unwrap()
    }

    pub(crate) fn reading(&self) -> StoreReading {
        read_store(&self.spec, &self.running).unwrap_or_else(|error| panic!("{error}"))
    }
}

pub(crate) fn start(yard: &Yard, spec: &ProxySpec) -> Result<Running, SubjectError> {
    let mut context = yard.context(spec.product.label());
    context.start_timeout = Nanos::from_secs(300); // Varnish calls a compiler
    context.grace = Nanos::from_secs(60); // on a busy machine Squid needs more than the usual
    bakeoff_subject::start(&Spec::Proxy(spec.clone()), &context)
}

/// The URL that asks the proxy for a path of the origin.
pub(crate) fn url(spec: &ProxySpec, path: &str) -> String {
    match spec.mode {
        ProxyMode::Forward => format!("http://{}{path}", spec.origin),
        ProxyMode::Reverse => path.to_owned(),
    }
}

#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body_bytes: usize,
}

pub(crate) fn get(spec: &ProxySpec, running: &Running, path: &str, more: &str) -> std::io::Result<Reply> {
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

/// Waits until it holds; fails the test when the time is over.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !holds() {
        assert!(begin.elapsed() < PATIENCE, "not in {PATIENCE:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the program is there. Without it the test fails, unless skipping is allowed; then it says so.
pub(crate) fn has(product: Product, test: &str) -> bool {
    let program = match product {
        Product::Squid => "squid",
        Product::Varnish => "varnishd",
        Product::Nginx => "nginx",
        Product::Apache => "htcacheclean",
        Product::TrafficServer => "traffic_server",
        Product::HaProxy => "haproxy",
        Product::Caddy => "caddy",
    };
    let found = find_program(&[program]).is_some();
    if !found {
        let reason = format!("`{program}` is not installed (apt-get install {})", product.debian_packages());
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

pub(crate) fn spec(product: Product, mode: ProxyMode) -> ProxySpec {
    let on_disk = matches!(product, Product::Nginx | Product::Apache | Product::TrafficServer);
    ProxySpec {
        product,
        origin: SocketAddr::from(([127, 0, 0, 1], 1)), // the stage knows better
        mode,
        memory_bytes: 32 * MEGABYTE,
        disk_bytes: on_disk.then_some(128 * MEGABYTE),
        config: None,
        tls: false,
    }
}

pub(crate) fn on_disk(product: Product, mode: ProxyMode) -> ProxySpec {
    ProxySpec { disk_bytes: Some(128 * MEGABYTE), ..spec(product, mode) }
}
