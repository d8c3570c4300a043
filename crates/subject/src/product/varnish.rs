//! Varnish, with its `malloc` or its `file` store.
//!
//! It has one store for objects: with `disk_bytes` a file of that size (the page cache is then its memory,
//! `memory_bytes` is unused), else memory. Replies that must not be kept go through its Transient store, outside that
//! room. Its shared-memory log stays on, as always; nothing reads it. The user's configuration is a VCL file; its
//! address and its store stay ours.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{ProxySpec, Row};
use super::{connections, make_dir, program, users_text, version};
use crate::SubjectError;
use crate::program::{self as programs, Recipe, StartSite};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

pub(super) const ROW: Row = Row {
    label: "varnish",
    title: "Varnish",
    debian_packages: "varnish",
    serve: None,
    front: recipe,
    environment: None,
    store: Some(Store {
        stores_in: StoresIn::Either,
        least_bytes: Store::LEAST_BYTES,
        most_bytes: u64::MAX,
        gauge: store,
        can_revalidate: true,
        verdict_header: Some("X-Cache"),
        enabled_by: &[],
    }),
    can_forward: false,
    can_tls: false,
    numbers_replies: false,
};

/// The directory for its shared memory and its compiled configuration.
const WORK: &str = "varnish";

/// Time that stale objects are kept to be revalidated; they go earlier when room is needed.
const KEEP_SECONDS: u64 = 30 * 86_400;

/// Number of objects that may be evicted to make room for one piece of another. The default of 50 fails the fetch of a
/// large object into a store full of small ones.
const NUKE_LIMIT: u64 = 10_000_000;

/// Varnish's default of threads in each of its two pools. A miss takes two threads while the origin
/// thinks.
const LEAST_THREADS: usize = 5_000;

fn recipe(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let varnishd = program(&ROW, place, &["varnishd"])?;
    let config = match &spec.config {
        None => own_config(spec, place)?,
        Some(path) => users_text(place, path, None)?,
    };
    let file = place.write("proxy.vcl", &config)?;
    let work = make_dir(place, WORK)?;
    make_dir(place, CACHE)?;
    let mut argv = vec![varnishd.display().to_string(), "-F".to_owned()];
    let mut option = |name: &str, value: String| argv.extend([name.to_owned(), value]);
    option("-n", work.display().to_string());
    option("-a", format!("{}:{}", place.context.host(), place.port));
    option("-T", "none".to_owned());
    option("-f", file.display().to_string());
    option("-s", storage(spec, place));
    for (name, value) in parameters(place, &known(&varnishd)) {
        option("-p", format!("{name}={value}"));
    }
    let version = version(&varnishd, "-V", "varnishd (").map(|line| {
        let name = line.split([' ', ')']).next().unwrap_or_default();
        name.replacen('-', "/", 1)
    });
    Ok(Recipe { argv, version, config: Some(config), ..Recipe::default() })
}

fn storage(spec: &ProxySpec, place: &StartSite<'_>) -> String {
    let file = place.dir.join(CACHE).join("store");
    match spec.disk_bytes {
        Some(bytes) => format!("store=file,{},{}k", file.display(), bytes / 1024),
        None => format!("store=malloc,{}k", spec.memory_bytes / 1024),
    }
}

/// The parameters that this version knows, with its descriptions of them.
fn known(varnishd: &Path) -> String {
    let said = Command::new(varnishd).args(["-x", "parameter"]).stdin(Stdio::null()).output();
    said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned()).unwrap_or_default()
}

/// No heuristic freshness (`default_ttl`), nothing stale given out (`default_grace`), stale objects kept to be
/// revalidated (`default_keep`), uncached replies read at the client's pace (`transit_buffer`; a version before it
/// reads as fast as the origin sends, into memory).
fn parameters(place: &StartSite<'_>, known: &str) -> Vec<(&'static str, String)> {
    let mut all = vec![
        ("default_ttl", "0".to_owned()),
        ("default_grace", "0".to_owned()),
        ("default_keep", KEEP_SECONDS.to_string()),
        ("timeout_idle", "600".to_owned()),
        ("nuke_limit", NUKE_LIMIT.to_string()),
        ("thread_pool_max", connections(place).saturating_mul(2).max(LEAST_THREADS).to_string()),
    ];
    if known.contains("transit_buffer") {
        all.push(("transit_buffer", "1m".to_owned()));
    }
    all
}

fn own_config(spec: &ProxySpec, place: &StartSite<'_>) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for Varnish")?;
    Ok(format!(
        r#"vcl 4.1;
import std;

backend origin {{
    .host = "{host}";
    .port = "{port}";
    .first_byte_timeout = 600s;
    .between_bytes_timeout = 600s;
}}

sub vcl_recv {{
    if (req.http.Cache-Control ~ "(?i)no-cache" || req.http.Pragma ~ "(?i)no-cache") {{
        set req.hash_always_miss = true;
    }}
}}

sub vcl_backend_response {{
    if (std.integer(beresp.http.Content-Length, 0) > {largest}) {{
        set beresp.uncacheable = true;
    }}
}}

sub vcl_deliver {{
    if (obj.hits > 0) {{
        set resp.http.X-Cache = "HIT";
    }} else {{
        set resp.http.X-Cache = "MISS";
    }}
}}
{directives}"#,
        host = spec.origin.ip(),
        port = spec.origin.port(),
        largest = spec.largest_object_bytes(),
    ))
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    let silent = |source| StoreError::Silent { asked: "varnishstat".to_owned(), source };
    let stat = programs::find(&["varnishstat"])
        .ok_or_else(|| silent(io::Error::other("there is no such program")))?;
    let work = gauge.dir.join(WORK);
    let mut asked = Command::new(stat);
    asked.arg("-n").arg(work).args(["-j", "-f", "SM?.store.g_*", "-f", "MAIN.n_*"]);
    let said = asked.stdin(Stdio::null()).output().map_err(silent)?;
    if !said.status.success() {
        return Err(silent(io::Error::other(String::from_utf8_lossy(&said.stderr).trim().to_owned())));
    }
    let unclear = |wanted| StoreError::Unclear { asked: "varnishstat".to_owned(), wanted };
    let all: Value = serde_json::from_slice(&said.stdout).map_err(|_| unclear("anything in JSON"))?;
    let used_bytes = counter(&all, ".store.g_bytes").ok_or_else(|| unclear("g_bytes of its store"))?;
    let free_bytes = counter(&all, ".store.g_space").ok_or_else(|| unclear("g_space of its store"))?;
    Ok(StoreReading {
        used_bytes,
        capacity_bytes: used_bytes.saturating_add(free_bytes),
        evictions: counter(&all, "MAIN.n_lru_nuked"),
        objects: counter(&all, "MAIN.n_object"),
        source: "varnishstat",
    })
}

/// The first counter whose name ends with `end`.
fn counter(all: &Value, end: &str) -> Option<u64> {
    let counters = all.get("counters").unwrap_or(all).as_object()?;
    counters.iter().find(|(name, _)| name.ends_with(end))?.1.get("value")?.as_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_the_end_of_their_names() {
        let text = r#"{"version": 1, "counters": {"MAIN.n_object": {"value": 7}, "SMA.store.g_bytes": {"format": "B", "value": 4096}}}"#;
        let all = serde_json::from_str(text).unwrap();
        assert_eq!(counter(&all, ".store.g_bytes"), Some(4096));
        assert_eq!(counter(&all, "MAIN.n_object"), Some(7));
        assert_eq!(counter(&all, "MAIN.n_lru_nuked"), None);
        let older = serde_json::from_str(r#"{"SMF.store.g_bytes": {"value": 1}}"#).unwrap();
        assert_eq!(counter(&older, ".store.g_bytes"), Some(1));
    }
}
