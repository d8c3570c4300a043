//! Squid, with `aufs` on disk or in memory only.
//!
//! One process in the foreground (`-N`). With a disk store, `memory_bytes` is `cache_mem` on top of
//! it, for objects up to Squid's default of 512 KB. It runs in its private directory, so paths in
//! our configuration are relative. The gauge is its cache manager, which does not count evictions:
//! they begin at 90 % of the disk store (`cache_swap_low`, Squid's default), which is therefore
//! what the gauge gives as capacity.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{ProxyMode, ProxySpec, Row};
use super::{descriptors, make_dir, program, users_text, version};
use crate::SubjectError;
use crate::config::sets;
use crate::litter::Litter;
use crate::program::{Recipe, StartSite};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const ROW: Row = Row {
    label: "squid",
    title: "Squid",
    debian_packages: "squid",
    serve: None,
    front: recipe,
    environment: None,
    store: Some(Store {
        stores_in: StoresIn::Both,
        least_bytes: Store::LEAST_BYTES,
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

/// Host name in our configuration: the cache manager answers to that name only.
const NAME: &str = "bakeoff-squid";

/// Percentage of the disk store at which eviction begins.
const LOW_WATER_PERCENT: u64 = 90;

fn recipe(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let squid = program(&ROW, place, &["squid"])?;
    let config = match &spec.config {
        None => own_config(spec, place)?,
        Some(path) => users_config(place, path)?,
    };
    let file = place.write("squid.conf", &config)?.display().to_string();
    let start = |words: &[&str]| {
        let words = words.iter().map(|&word| word.to_owned());
        std::iter::once(squid.display().to_string()).chain(words).collect::<Vec<String>>()
    };
    let service = service_name();
    let mut before = Vec::new();
    if sets(&config, "cache_dir") {
        make_dir(place, CACHE)?;
        before.push(start(&["-N", "-n", &service, "-z", "-f", &file]));
    }
    Ok(Recipe {
        argv: start(&["-N", "-n", &service, "-f", &file]),
        litter: Litter { shared: Some(format!("{service}-")), ..Litter::default() },
        before,
        version: version(&squid, "-v", "Squid Cache: Version ").map(|number| format!("squid/{number}")),
        config: Some(config),
        logs: vec![place.dir.join("cache.log")],
        ..Recipe::default()
    })
}

/// Name of Squid's shared memory: with a fixed one, none can start beside another, nor after another user's was killed.
/// It may have 32 letters and digits.
fn service_name() -> String {
    static STARTS: AtomicU64 = AtomicU64::new(0);
    format!("bakeoff{}n{}", std::process::id(), STARTS.fetch_add(1, Ordering::Relaxed))
}

/// `refresh_pattern . 0 0% 0`: no heuristic freshness. `vhost` comes with `accel`: the URL that an object is stored
/// under has the client's `Host`.
fn own_config(spec: &ProxySpec, place: &StartSite<'_>) -> Result<String, SubjectError> {
    let (host, port, origin) = (place.context.host(), place.port, spec.origin);
    let entrance = match spec.mode {
        ProxyMode::Forward => format!("http_port {host}:{port}\n"),
        ProxyMode::Reverse => format!(
            "http_port {host}:{port} accel defaultsite={origin}
cache_peer {} parent {} 0 no-query no-digest no-netdb-exchange originserver name=origin
never_direct allow all
",
            origin.ip(),
            origin.port()
        ),
    };
    let largest = spec.largest_object_bytes() / 1024;
    // Squid takes the size of a cache_dir in MB, and wants the largest object before it.
    let store = match spec.disk_bytes {
        Some(bytes) => format!(
            "maximum_object_size {largest} KB
cache_dir aufs {CACHE} {} 16 256
",
            bytes >> 20
        ),
        None => format!("maximum_object_size {largest} KB\nmaximum_object_size_in_memory {largest} KB\n"),
    };
    let directives = place.directives("the directives for Squid")?;
    let (memory, files) = (spec.memory_bytes / 1024, descriptors(place));
    Ok(format!(
        "{entrance}visible_hostname {NAME}
http_access allow all
cache_mem {memory} KB
{store}cache_swap_low {LOW_WATER_PERCENT}
cache_swap_high 95
refresh_pattern . 0 0% 0
max_filedescriptors {files}
client_idle_pconn_timeout 10 minutes
client_db off
digest_generation off
pinger_enable off
netdb_filename none
{globals}{directives}",
        globals = missing_globals("", &place.dir),
    ))
}

/// Directives that bakeoff needs and the configuration does not have.
fn missing_globals(config: &str, dir: &Path) -> String {
    let wanted = [
        ("access_log", "none"),
        ("cache_store_log", "none"),
        ("cache_log", "cache.log"),
        ("pid_filename", "squid.pid"),
        ("coredump_dir", "none"), // Squid would change to it, and relative paths with it
        ("shutdown_lifetime", "0 seconds"),
    ];
    let full = |value: &str| match value {
        "cache.log" | "squid.pid" => dir.join(value).display().to_string(),
        other => other.to_owned(),
    };
    wanted
        .iter()
        .filter(|(directive, _)| !sets(config, directive))
        .map(|(directive, value)| format!("{directive} {}\n", full(value)))
        .collect()
}

fn users_config(place: &StartSite<'_>, path: &Path) -> Result<String, SubjectError> {
    let text = users_text(place, path, Some("http_port {host}:{port}"))?;
    let globals = missing_globals(&text, &place.dir);
    Ok(format!("{}\n{globals}", text.trim_end()))
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    let path = "/squid-internal-mgr/info";
    let page = gauge.page(path, &format!("{}:{}", manager_name(gauge.config), gauge.address.port()))?;
    let unclear = |wanted| StoreError::Unclear { asked: format!("http://{}{path}", gauge.address), wanted };
    let find = |line, wanted| after(&page, line).ok_or_else(|| unclear(wanted));
    let count = |line| before(&page, line);
    let (used, capacity_bytes, objects) = match gauge.disk_bytes {
        Some(bytes) => {
            let used = find("Storage Swap size:", "`Storage Swap size`")?;
            (used, bytes / 100 * LOW_WATER_PERCENT, count("on-disk objects"))
        }
        None => {
            let used = find("Storage Mem size:", "`Storage Mem size`")?;
            (used, gauge.memory_bytes, count("StoreEntries with MemObjects"))
        }
    };
    let used_bytes = used.saturating_mul(1024);
    let source = "cache manager, info";
    Ok(StoreReading { used_bytes, capacity_bytes, evictions: None, objects, source })
}

/// The name that the cache manager answers to.
fn manager_name(config: &str) -> String {
    let named = config.lines().find_map(|line| line.trim().strip_prefix("visible_hostname"));
    match named.map(str::trim) {
        Some(name) => name.to_owned(),
        None => std::fs::read_to_string("/etc/hostname").unwrap_or_default().trim().to_owned(),
    }
}

/// The number after `label`.
fn after(page: &str, label: &str) -> Option<u64> {
    let line = page.lines().find_map(|line| line.trim().strip_prefix(label))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The number before `label`.
fn before(page: &str, label: &str) -> Option<u64> {
    let line = page.lines().find_map(|line| line.trim().strip_suffix(label))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_the_info_page_are_found() {
        let page = "Cache information for squid:\n\tStorage Swap size:\t1234 KB\n\tStorage Mem size:\t216 KB\nInternal Data Structures:\n\t    52 StoreEntries\n\t    51 StoreEntries with MemObjects\n\t     7 on-disk objects\n";
        assert_eq!(after(page, "Storage Swap size:"), Some(1234));
        assert_eq!(before(page, "on-disk objects"), Some(7));
        assert_eq!(before(page, "StoreEntries with MemObjects"), Some(51));
        assert_eq!(after(page, "Storage Nowhere:"), None);
    }

    #[test]
    fn only_what_the_configuration_leaves_open_is_added() {
        let added = missing_globals("access_log x\npid_filename /p\ncoredump_dir /c\n", Path::new("/d"));
        assert_eq!(added, "cache_store_log none\ncache_log /d/cache.log\nshutdown_lifetime 0 seconds\n");
    }

    #[test]
    fn the_manager_is_asked_by_the_name_the_configuration_gives() {
        assert_eq!(manager_name("http_port 1\nvisible_hostname here.example\n"), "here.example");
    }
}
