//! HAProxy with its cache in shared memory.
//!
//! Made for small objects: at most 4095 MB in all, and half of it for one (ours: an eighth, as everywhere); only 200
//! replies to GET. It never revalidates, and does not report hits to the client. The gauge is `show cache` on a socket
//! in the private directory, which lists every object: ask it rarely. It does not count evictions.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{ProxySpec, Row};
use super::{connections, cores, make_dir, numbered_version, program, users_text};
use crate::SubjectError;
use crate::program::{Recipe, StartSite};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

pub(super) const ROW: Row = Row {
    label: "haproxy",
    title: "HAProxy",
    debian_packages: "haproxy",
    serve: None,
    front: recipe,
    environment: None,
    store: Some(Store {
        stores_in: StoresIn::Memory,
        least_bytes: Store::LEAST_BYTES,
        most_bytes: MOST_BYTES,
        gauge: store,
        can_revalidate: false,
        verdict_header: None,
        enabled_by: &["cache"],
    }),
    can_forward: false,
    can_tls: true,
    numbers_replies: false,
};

/// It takes the size of its cache in whole megabytes, up to this many.
const MOST_BYTES: u64 = 4095 << 20;

/// The socket for the gauge, in the private directory, which HAProxy runs in.
const SOCKET: &str = "stats.sock";

/// A configuration file of its own, so that a user's configuration need not have it. `show cache`
/// is for administrators only.
const GAUGE: &str = "global\n    stats socket unix@stats.sock mode 600 level admin\n";

/// Block size into which HAProxy cuts its cache.
const BLOCK_BYTES: u64 = 1024;

/// HAProxy caps freshness at this, by default at 60 s.
const MOST_AGE_SECONDS: u64 = 10 * 365 * 86_400;

fn recipe(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let haproxy = program(&ROW, place, &["haproxy"])?;
    make_dir(place, CACHE)?;
    let tls = if spec.tls { tls_words(place)? } else { String::new() };
    let config = match &spec.config {
        None => own_config(spec, place, &tls)?,
        Some(path) => users_text(place, path, Some("bind {host}:{port}"))?,
    };
    let gauge = place.write("gauge.cfg", GAUGE)?;
    let file = place.write("haproxy.cfg", &config)?;
    let path = |path: &Path| path.display().to_string();
    let argv = [&path(&haproxy), "-db", "-f", &path(&gauge), "-f", &path(&file)].map(str::to_owned).to_vec();
    let version = numbered_version(&ROW, &haproxy, "-v", "HAProxy version ");
    Ok(Recipe { argv, version, config: Some(config), ..Recipe::default() })
}

/// Words for `bind`, and `{dir}/both.pem`, with certificate and key: HAProxy needs them in one file, a user's
/// configuration too. Newer versions would offer HTTP/2, which fronts do not use.
fn tls_words(place: &StartSite<'_>) -> Result<String, SubjectError> {
    let both = place.demand_certificate()?.in_one_file(&place.dir);
    let both =
        both.map_err(|source| SubjectError::Dir { arm: place.arm(), path: place.dir.clone(), source })?;
    Ok(format!(" ssl crt \"{}\" alpn http/1.1 ssl-min-ver TLSv1.2", both.display()))
}

/// A reply without a lifetime would be kept for `max-age`, if it has a validator: hence the condition. If the origin
/// closes a kept connection as a request comes, the request is sent again, unless it is a POST.
fn own_config(spec: &ProxySpec, place: &StartSite<'_>, tls: &str) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for HAProxy")?;
    Ok(format!(
        "global
    maxconn {connections}
    nbthread {threads}

defaults
    mode http
    timeout connect 10s
    timeout client 600s
    timeout server 600s
    timeout http-keep-alive 600s

cache store
    total-max-size {megabytes}
    max-object-size {largest}
    max-age {MOST_AGE_SECONDS}
    process-vary on

frontend clients
    bind {host}:{port}{tls}
    http-request cache-use store
    http-response cache-store store if {{ res.hdr(Cache-Control) -m sub -i max-age s-maxage }} or {{ res.hdr(Expires) -m found }}
{directives}    default_backend origin

backend origin
    http-reuse always
    http-request disable-l7-retry unless METH_GET or METH_HEAD
    retry-on conn-failure empty-response
    server origin {origin}
",
        connections = connections(place),
        threads = cores(place),
        megabytes = spec.store_bytes() >> 20,
        largest = spec.largest_object_bytes(),
        host = place.context.host(),
        port = place.port,
        origin = spec.origin,
    ))
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    let asked = || format!("`show cache` on {}", gauge.dir.join(SOCKET).display());
    let said = ask(gauge.dir, "show cache\n");
    let said = said.map_err(|source| StoreError::Silent { asked: asked(), source })?;
    let megabytes: u64 = gauge.config.lines().filter_map(|line| number_after(line, "total-max-size ")).sum();
    if !said.contains("available blocks") {
        return Err(StoreError::Unclear { asked: asked(), wanted: "how much is in a cache" });
    }
    let sizes: Vec<u64> = said.lines().filter_map(|line| number_after(line, " size:")).collect();
    Ok(StoreReading {
        used_bytes: sizes.iter().map(|size| size.next_multiple_of(BLOCK_BYTES)).sum(),
        capacity_bytes: megabytes << 20,
        evictions: None,
        objects: Some(sizes.len() as u64),
        source: "stats socket, show cache",
    })
}

/// Connects by the directory's descriptor, since the path of a socket is at most 107 bytes long.
fn ask(dir: &Path, question: &str) -> io::Result<String> {
    let dir = File::open(dir)?;
    let mut stream = UnixStream::connect(format!("/proc/self/fd/{}/{SOCKET}", dir.as_raw_fd()))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(question.as_bytes())?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said)?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

fn number_after(line: &str, label: &str) -> Option<u64> {
    let rest = &line[line.find(label)? + label.len()..];
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_follow_their_labels() {
        let line = "0x7f0 hash:1 vary:0x0 size:7042 (7 blocks), refcount:0, expire:3595";
        assert_eq!(number_after(line, " size:"), Some(7042));
        assert_eq!(number_after("    total-max-size 64", "total-max-size "), Some(64));
        assert_eq!(number_after(line, "elsewhere"), None);
    }
}
