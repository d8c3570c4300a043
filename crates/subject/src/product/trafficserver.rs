//! Apache Traffic Server, with a disk store and its RAM cache of `memory_bytes` above it.
//!
//! `traffic_server` alone, without its manager; a runroot file sends everything it reads and writes to the private
//! directory. The store is a ring that new objects are written into, so it evicts what was written longest ago, and it
//! does not count that. The gauge is its `stats_over_http` plugin, on a path of the proxy. Its figures are up to five
//! seconds old, and leave out the last objects, up to 4 MB, which wait in memory to be written together. Hits are
//! reported by its `header_rewrite` plugin. The user's configuration is a `records.config`; store, mapping, access and
//! plugins stay ours.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{ProxyMode, ProxySpec, Row};
use super::{cores, descriptors, make_dir, numbered_version, program, users_text};
use crate::SubjectError;
use crate::program::{self as programs, Recipe, StartSite};
use serde_json::Value;
use std::path::Path;

pub(super) const ROW: Row = Row {
    label: "trafficserver",
    title: "Traffic Server",
    debian_packages: "trafficserver",
    serve: None,
    front: recipe,
    environment: Some(environment),
    store: Some(Store {
        stores_in: StoresIn::Disk,
        least_bytes: LEAST_BYTES,
        most_bytes: u64::MAX,
        gauge: store,
        can_revalidate: true,
        verdict_header: Some("X-Cache"),
        enabled_by: &[],
    }),
    can_forward: true,
    can_tls: false,
    numbers_replies: false,
};

/// It keeps 8 MB of its store free.
const LEAST_BYTES: u64 = 32 << 20;

/// The path of the gauge, which no object of ours has.
const GAUGE: &str = "bakeoff-gauge";

/// Ahead of where it writes, the store keeps this much free (`EVACUATION_SIZE` in its source) and
/// never counts it as used.
const KEPT_FREE_BYTES: u64 = 8 << 20;

/// Directory of Debian's plugins, when `traffic_layout` does not say.
const PLUGINS: &str = "/usr/lib/trafficserver/modules";

/// Rule that reports hits: `hit-fresh`, `hit-stale`, `miss`, `skipped`.
const SAY: &str = "cond %{SEND_RESPONSE_HDR_HOOK}\nset-header X-Cache \"%{CACHE}\"\n";

const EVERYBODY: &str = "ip_allow:
  - apply: in
    ip_addrs: 0/0
    action: allow
    methods: ALL
";

fn environment(place: &StartSite<'_>) -> Vec<(String, String)> {
    vec![("TS_RUNROOT".to_owned(), place.dir.join("runroot.yaml").display().to_string())]
}

fn recipe(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let server = program(&ROW, place, &["traffic_server"])?;
    for name in [CACHE, "etc", "run", "log"] {
        make_dir(place, name)?;
    }
    let config = match &spec.config {
        None => own_config(spec, place)?,
        Some(path) => {
            users_text(place, path, Some("CONFIG proxy.config.http.server_ports STRING {port}:ip-in={host}"))?
        }
    };
    place.write("runroot.yaml", &runroot(&place.dir, &server))?;
    place.write("etc/records.config", &config)?;
    let cache = place.dir.join(CACHE);
    place.write("etc/storage.config", &format!("{} {}\n", cache.display(), spec.store_bytes()))?;
    let map = match spec.mode {
        ProxyMode::Forward => String::new(),
        ProxyMode::Reverse => format!("map / http://{}/\n", spec.origin),
    };
    place.write("etc/remap.config", &map)?;
    place.write("etc/ip_allow.yaml", EVERYBODY)?;
    let say = place.write("etc/say.config", SAY)?;
    let plugins = format!("stats_over_http.so {GAUGE}\nheader_rewrite.so {}\n", say.display());
    place.write("etc/plugin.config", &plugins)?;
    let version = numbered_version(&ROW, &server, "-V", "Traffic Server ");
    Ok(Recipe {
        argv: vec![server.display().to_string()],
        version,
        config: Some(config),
        logs: vec![place.dir.join("log/diags.log")],
        ..Recipe::default()
    })
}

/// Paths of everything: programs and plugins are the machine's, the rest is ours.
fn runroot(dir: &Path, server: &Path) -> String {
    let plugins = programs::find(&["traffic_layout"])
        .and_then(|layout| programs::ask(&layout, "info").ok())
        .and_then(|said| {
            said.lines().find_map(|line| Some(line.strip_prefix("PLUGINDIR:")?.trim().to_owned()))
        })
        .unwrap_or_else(|| PLUGINS.to_owned());
    let (dir, programs) = (dir.display(), server.parent().unwrap_or(Path::new("/usr/bin")).display());
    format!(
        "prefix: {dir}
exec_prefix: {dir}
bindir: {programs}
sbindir: {programs}
sysconfdir: {dir}/etc
datadir: {dir}/etc
includedir: {dir}/etc
libdir: {plugins}
libexecdir: {plugins}
localstatedir: {dir}/run
runtimedir: {dir}/run
logdir: {dir}/log
cachedir: {dir}/{CACHE}
"
    )
}

/// `max_doc_size 0`: with a limit it does not let clients share a reply under way. `required_headers 2`: no heuristic
/// freshness. `down_server.cache_time`: an error of the origin does not shut it out for a minute. Debian's own file
/// lists the other defaults.
fn own_config(spec: &ProxySpec, place: &StartSite<'_>) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for Traffic Server")?;
    let is_reverse = u8::from(spec.mode == ProxyMode::Reverse);
    Ok(format!(
        "CONFIG proxy.config.http.server_ports STRING {port}:ip-in={host}
CONFIG proxy.config.exec_thread.autoconfig INT 0
CONFIG proxy.config.exec_thread.limit INT {threads}
CONFIG proxy.config.reverse_proxy.enabled INT {is_reverse}
CONFIG proxy.config.url_remap.remap_required INT {is_reverse}
CONFIG proxy.config.url_remap.pristine_host_hdr INT 1
CONFIG proxy.config.http.connect_ports STRING *
CONFIG proxy.config.http.wait_for_cache INT 1
CONFIG proxy.config.http.cache.http INT 1
CONFIG proxy.config.http.cache.required_headers INT 2
CONFIG proxy.config.http.cache.ignore_client_no_cache INT 0
CONFIG proxy.config.cache.ram_cache.size INT {memory}
CONFIG proxy.config.cache.max_doc_size INT 0
CONFIG proxy.config.http.keep_alive_no_activity_timeout_in INT 600
CONFIG proxy.config.http.transaction_no_activity_timeout_in INT 600
CONFIG proxy.config.http.transaction_no_activity_timeout_out INT 600
CONFIG proxy.config.http.transaction_active_timeout_in INT 0
CONFIG proxy.config.http.down_server.cache_time INT 1
CONFIG proxy.config.net.connections_throttle INT {files}
CONFIG proxy.config.log.logging_enabled INT 0
CONFIG proxy.config.crash_log_helper STRING NULL
{directives}",
        port = place.port,
        host = place.context.host(),
        threads = cores(place),
        memory = spec.memory_bytes,
        files = descriptors(place),
    ))
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    let page = gauge.page(&format!("/{GAUGE}"), &gauge.address.to_string())?;
    let unclear = |wanted| StoreError::Unclear { asked: "stats_over_http".to_owned(), wanted };
    let all: Value = serde_json::from_str(&page).map_err(|_| unclear("anything in JSON"))?;
    let used_bytes = figure(&all, "bytes_used").ok_or_else(|| unclear("`cache.bytes_used`"))?;
    let said_bytes = figure(&all, "bytes_total").ok_or_else(|| unclear("`cache.bytes_total`"))?;
    Ok(StoreReading {
        used_bytes,
        // It says 0 until it has added up its figures for the first time.
        capacity_bytes: if said_bytes == 0 { gauge.store_bytes } else { said_bytes }
            .saturating_sub(KEPT_FREE_BYTES),
        evictions: None,
        objects: figure(&all, "direntries.used"),
        source: "stats_over_http",
    })
}

/// A figure of the whole cache; the plugin writes numbers as strings.
fn figure(all: &Value, name: &str) -> Option<u64> {
    let found = all.get("global")?.get(format!("proxy.process.cache.{name}"))?;
    found.as_u64().or_else(|| found.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_numbers_or_strings() {
        let text = r#"{"global": {"proxy.process.cache.bytes_used": "4096", "proxy.process.cache.direntries.used": 3}}"#;
        let all = serde_json::from_str(text).unwrap();
        assert_eq!(figure(&all, "bytes_used"), Some(4096));
        assert_eq!(figure(&all, "direntries.used"), Some(3));
        assert_eq!(figure(&all, "bytes_total"), None);
    }

    #[test]
    fn all_that_is_written_is_below_the_private_directory() {
        let text = runroot(Path::new("/d"), Path::new("/usr/bin/traffic_server"));
        for written in ["sysconfdir", "localstatedir", "runtimedir", "logdir", "cachedir"] {
            assert!(text.lines().any(|line| line.starts_with(&format!("{written}: /d/"))), "{text}");
        }
        assert!(text.contains("bindir: /usr/bin\n"), "{text}");
    }
}
