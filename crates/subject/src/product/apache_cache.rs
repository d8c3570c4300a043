//! Apache httpd with `mod_proxy` and `mod_cache_disk`.
//!
//! Files in `{dir}/cache`, objects in memory are the page cache's. `mod_cache_disk` knows no limit
//! of its own: `htcacheclean` runs beside it, once a minute as often as it can, so the store grows
//! above its capacity between two rounds. Neither counts what is thrown out. A request holds a
//! thread as long as the origin thinks, so there are as many threads as requests in flight.

use super::store::{Gauge, StoreError};
use super::{CACHE, ProxyMode, ProxySpec, StoreReading};
use super::{connections, make_dir, program};
use crate::SubjectError;
use crate::config::quoted;
use crate::product::apache::{load, missing_globals, modules, threads_for, users_config};
use crate::program::{Place, Recipe};
use std::path::Path;

/// Starts the cleaner, which leaves for the background, then becomes the server. The cleaner is
/// below the guardian like everything else: its CPU counts, and it ends with the server. (Not `-n`,
/// with which it throws out some 30 objects a second and would never keep up.)
const START: &str = r#""$0" -d1 -t -p "$1" -l "$2"K && shift 2 && exec "$@""#;

/// Seconds that a connection to the origin may be idle before Apache closes it itself: below the
/// origin's 15 s, so that no request is sent into a closing one.
const IDLE_SECONDS: u64 = 10;

pub(super) fn recipe(spec: &ProxySpec, place: &Place<'_>) -> Result<Recipe, SubjectError> {
    let httpd = program(spec, place, &["apache2", "httpd"])?;
    let cleaner = program(spec, place, &["htcacheclean"])?;
    let cache = make_dir(place, CACHE)?;
    let config = match &spec.config {
        None => own_config(spec, place)?,
        Some(path) => users_config(place, path)?,
    };
    let file = place.write("httpd.conf", &config)?;
    let mut argv = ["/bin/sh", "-c", START].map(str::to_owned).to_vec();
    let path = |path: &Path| path.display().to_string();
    argv.extend([path(&cleaner), path(&cache), (spec.store_bytes() / 1024).to_string()]);
    argv.extend([path(&httpd), "-d".into(), path(&place.dir), "-f".into(), path(&file)]);
    argv.push("-DFOREGROUND".into());
    for directive in missing_globals(&config, &place.dir) {
        argv.extend(["-C".into(), directive]);
    }
    let version = super::version(&httpd, "-v", "Server version: ");
    let logs = vec![place.dir.join("error.log")];
    Ok(Recipe { argv, version, config: Some(config), logs, ..Recipe::default() })
}

const MODULES: [&str; 9] = [
    "mpm_event",
    "authz_core",
    "unixd",
    "proxy",
    "proxy_http",
    "proxy_connect",
    "cache",
    "cache_disk",
    "headers",
];

fn own_config(spec: &ProxySpec, place: &Place<'_>) -> Result<String, SubjectError> {
    let modules = modules().ok_or_else(|| SubjectError::NoProgram {
        arm: place.arm(),
        program: "the modules of Apache".to_owned(),
        remedy: format!("install it (Debian, Ubuntu: `apt-get install {}`)", spec.product.debian_packages()),
    })?;
    let loads: String = MODULES.iter().filter_map(|name| load(modules, name)).collect();
    let threads = threads_for(connections(place));
    let directives = place.directives("the directives for Apache")?;
    Ok(format!(
        "{globals}
LogLevel warn
ServerName localhost
Listen {host}:{port}
{loads}{threads}Timeout 600
LimitRequestBody 0
EnableSendfile On
{way}{caching}{directives}",
        globals = missing_globals("", &place.dir).join("\n"),
        host = place.context.host(),
        port = place.port,
        way = way(spec),
        caching = caching(spec, &place.dir.join(CACHE)),
    ))
}

/// `retry=0`: an error of the origin does not shut it out for a minute.
fn way(spec: &ProxySpec) -> String {
    let origin = spec.origin;
    let keep = format!("retry=0 ttl={IDLE_SECONDS}");
    match spec.mode {
        ProxyMode::Reverse => {
            format!("ProxyPreserveHost On\nProxyPass \"/\" \"http://{origin}/\" {keep}\n")
        }
        // Without a worker of its own each request to the origin gets a new connection.
        ProxyMode::Forward => format!(
            "ProxyRequests On
AllowCONNECT 1-65535
<Proxy \"*\">
    Require all granted
</Proxy>
<Proxy \"http://{origin}\">
    ProxySet enablereuse=On {keep}
</Proxy>
"
        ),
    }
}

/// Zeros: no freshness by guess. `CacheMaxExpire` is a day by default, also for what says more.
/// (A URL without a port means port 80 only; one with an empty port means every port.)
fn caching(spec: &ProxySpec, cache: &Path) -> String {
    let what = if spec.mode == ProxyMode::Forward { "http://*:/" } else { "/" };
    format!(
        "CacheRoot {}
CacheEnable disk {what}
CacheDirLevels 2
CacheDirLength 1
CacheMaxFileSize {}
CacheDefaultExpire 0
CacheLastModifiedFactor 0
CacheMaxExpire 315360000
CacheHeader On
",
        quoted(cache),
        spec.largest_object_bytes()
    )
}

pub(super) fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    gauge.directory(|name| name.ends_with(".header"))
}
