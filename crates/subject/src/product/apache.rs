//! Apache httpd as a server, and with `mod_proxy` and `mod_cache_disk` in front of one, with our configuration or the
//! user's.
//!
//! Everything it writes is below its private directory, which is its `ServerRoot`. Started by root it runs wholly as
//! `nobody`. A cache is files in `{dir}/cache`; objects in memory are the page cache's. `mod_cache_disk` knows no limit
//! of its own: `htcacheclean` runs beside it, at most once a minute, so the store grows above its capacity between two
//! rounds. Neither counts evictions. A request holds a thread as long as the origin thinks, so there are as many
//! threads as requests in flight.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{
    MIME_TYPES, Product, ProxyMode, ProxySpec, Row, Server, connections, make_dir, missing, program,
    users_text, version,
};
use crate::SubjectError;
use crate::adopted::{self, language};
use crate::config::{quoted, sets};
use crate::includes;
use crate::program::{self as programs, Recipe, StartSite};
use bakeoff_adopt::{Language, TREE};
use std::path::{Path, PathBuf};

pub(super) const ROW: Row = Row {
    label: "apache",
    title: "Apache httpd",
    debian_packages: "apache2 apache2-utils",
    serve: Some(serve),
    front: proxy,
    environment: Some(debian_environment),
    store: Some(Store {
        stores_in: StoresIn::Disk,
        least_bytes: Store::LEAST_BYTES,
        most_bytes: u64::MAX,
        gauge: store,
        can_revalidate: true,
        verdict_header: Some("X-Cache"),
        enabled_by: &["CacheEnable", "Include", "IncludeOptional"],
    }),
    can_forward: true,
    can_tls: true,
    numbers_replies: false,
};

/// Directories in which distributions keep the modules.
const MODULE_PLACES: [&str; 4] = [
    "/usr/lib/apache2/modules",
    "/usr/lib64/httpd/modules",
    "/usr/lib/httpd/modules",
    "/usr/libexec/apache2",
];

/// Threads above the connections: for health checks, and for connections of the last slice that close.
const SPARE_THREADS: usize = 32;

/// Apache's own bound of `ThreadLimit`.
const MOST_THREADS: usize = 20_000;

/// Starts the cleaner, which leaves for the background, then becomes the server. The cleaner is
/// below the supervisor like everything else: its CPU counts, and it ends with the server. (Not `-n`,
/// with which it throws out some 30 objects a second and would never keep up.)
const START: &str = r#""$0" -d1 -t -p "$1" -l "$2"K && shift 2 && exec "$@""#;

/// Seconds that a connection to the origin may be idle before Apache closes it itself: below the
/// origin's 15 s, so that no request is sent into a closing one.
const IDLE_SECONDS: u64 = 10;

fn serve(server: &Server, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let httpd = program(&ROW, place, &["apache2", "httpd"])?;
    if let Some(path) = &server.config
        && language(Product::Apache, &place.read(path)?).is_some()
    {
        return private_copy(place, &httpd, path, server.tls);
    }
    let config = match &server.config {
        None => server_config(server, place, &httpd)?,
        Some(path) => users_config(place, path)?,
    };
    with_config(place, &httpd, config, Vec::new())
}

/// The recipe that starts a private copy of a running server's configuration. Relative paths that it does not know begin
/// beside the copy.
fn private_copy(place: &StartSite<'_>, httpd: &Path, path: &Path, tls: bool) -> Result<Recipe, SubjectError> {
    let build = programs::ask(httpd, "-V").unwrap_or_default();
    let copies = adopted::copies(place, (Language::Apache, path), tls, (Path::new(prefix(&build)), ""))?;
    let (main, text) = (copies.main(), |path: &Path| path.display().to_string());
    let home = main.parent().unwrap_or(Path::new("/"));
    let mut argv = vec![text(httpd), "-d".into(), text(home), "-f".into(), text(main), "-DFOREGROUND".into()];
    // For hosts that say none; without a name Apache asks for one.
    let usual = [format!("DocumentRoot {}", quoted(&place.root)), "ServerName localhost".to_owned()];
    for directive in missing_globals("", &place.dir).into_iter().chain(usual) {
        argv.extend(["-C".into(), directive]);
    }
    let version = version(httpd, "-v", "Server version: ");
    let logs = vec![place.dir.join("error.log")];
    let (config, tree) = (Some(copies.whole_text()), Some(place.dir.join(TREE)));
    Ok(Recipe { argv, version, config, tree, logs, ..Recipe::default() })
}

/// Directory in which this build begins relative paths.
fn prefix(build: &str) -> &str {
    let behind = build.split_once("HTTPD_ROOT=\"").map_or("/etc/apache2", |(_, behind)| behind);
    behind.split('"').next().unwrap_or(behind)
}

fn proxy(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    let httpd = program(&ROW, place, &["apache2", "httpd"])?;
    let cleaner = program(&ROW, place, &["htcacheclean"])?;
    let cache = make_dir(place, CACHE)?;
    let config = match &spec.config {
        None => proxy_config(spec, place)?,
        Some(path) => users_config(place, path)?,
    };
    let mut before = ["/bin/sh", "-c", START].map(str::to_owned).to_vec();
    let path = |path: &Path| path.display().to_string();
    before.extend([path(&cleaner), path(&cache), (spec.store_bytes() / 1024).to_string()]);
    with_config(place, &httpd, config, before)
}

/// The recipe that starts Apache with this configuration; `before`: arguments before its own.
fn with_config(
    place: &StartSite<'_>,
    httpd: &Path,
    config: String,
    before: Vec<String>,
) -> Result<Recipe, SubjectError> {
    let file = place.write("httpd.conf", &config)?;
    let path = |path: &Path| path.display().to_string();
    let mut argv = before;
    argv.extend([path(httpd), "-d".into(), path(&place.dir), "-f".into(), path(&file)]);
    argv.push("-DFOREGROUND".into());
    for directive in missing_globals(&config, &place.dir) {
        argv.extend(["-C".into(), directive]);
    }
    let version = version(httpd, "-v", "Server version: ");
    let logs = vec![place.dir.join("error.log")];
    Ok(Recipe { argv, version, config: Some(config), logs, ..Recipe::default() })
}

fn server_config(server: &Server, place: &StartSite<'_>, httpd: &Path) -> Result<String, SubjectError> {
    let modules = modules(place)?;
    let types = place.write("mime.types", &mime_types())?;
    let (root, host, port) = (quoted(&place.root), place.context.host(), place.port);
    let mut names = vec!["mpm_event", "authz_core", "unixd", "dir", "rewrite", "mime"];
    names.extend(tls_modules(server.tls));
    let tls = tls_lines(server.tls, place)?;
    let mut protocols = "";
    if place.context.http2 {
        demand_http2(&place.arm(), httpd, &modules)?;
        names.push("http2");
        protocols =
            if server.tls { "Protocols h2 http/1.1\n" } else { "Protocols h2c http/1.1\nH2Direct on\n" };
    }
    let loads: String = names.iter().filter_map(|name| load(&modules, name)).collect();
    let globals = missing_globals("", &place.dir).join("\n");
    // DirectorySlash Off with the rule gives a directory's index with 200, as nginx's
    // try_files does, where Apache would redirect.
    let directives = place.directives("the directives for Apache")?;
    let threads = threads_for(place.context.connections);
    Ok(format!(
        "{globals}
LogLevel warn
ServerName localhost
Listen {host}:{port}
{loads}TypesConfig {types}
{threads}Timeout 60
EnableSendfile On
DocumentRoot {root}
DirectoryIndex index.html
DirectorySlash Off
<Directory {root}>
    Options FollowSymLinks
    AllowOverride None
    Require all granted
</Directory>
RewriteEngine On
RewriteCond %{{DOCUMENT_ROOT}}%{{REQUEST_URI}} -d
RewriteRule [^/]$ %{{REQUEST_URI}}/index.html [PT,L]
{tls}{protocols}{directives}",
        types = quoted(&types),
    ))
}

const fn tls_modules(tls: bool) -> &'static [&'static str] {
    if tls { &["socache_shmcb", "ssl"] } else { &[] }
}

fn tls_lines(tls: bool, place: &StartSite<'_>) -> Result<String, SubjectError> {
    if !tls {
        return Ok(String::new());
    }
    let made = place.demand_certificate()?;
    let cache = place.dir.join("sessions");
    Ok(format!(
        "SSLEngine on\nSSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLSessionCache {}\nSSLCertificateFile {}\nSSLCertificateKeyFile {}\n",
        quoted(Path::new(&format!("shmcb:{}(512000)", cache.display()))),
        quoted(&made.cert),
        quoted(&made.key)
    ))
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

fn proxy_config(spec: &ProxySpec, place: &StartSite<'_>) -> Result<String, SubjectError> {
    let modules = modules(place)?;
    let names = MODULES.iter().chain(tls_modules(spec.tls));
    let loads: String = names.filter_map(|name| load(&modules, name)).collect();
    let tls = tls_lines(spec.tls, place)?;
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
{tls}{way}{caching}{directives}",
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

/// Zeros: no heuristic freshness. `CacheMaxExpire` is a day by default, even for replies that allow more. (A URL
/// without a port means port 80 only; one with an empty port means every port.)
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

/// Directives for this number of concurrent kept-alive connections. When all threads of a process are busy, Apache
/// closes kept-alive connections that wait. A load generator would count that as errors, so there are more threads than
/// connections, in one process (several share connections unevenly), all there from the start.
fn threads_for(connections: usize) -> String {
    let threads = connections.saturating_add(SPARE_THREADS).min(MOST_THREADS);
    format!(
        "StartServers 1
ServerLimit 1
ThreadLimit {threads}
ThreadsPerChild {threads}
MinSpareThreads 1
MaxSpareThreads {threads}
MaxRequestWorkers {threads}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
KeepAliveTimeout 600
"
    )
}

/// Refuses an Apache without the HTTP/2 module, loadable or built in.
fn demand_http2(arm: &str, httpd: &Path, modules: &Path) -> Result<(), SubjectError> {
    let built_in = || programs::ask(httpd, "-l").is_ok_and(|said| said.contains("mod_http2.c"));
    if load(modules, "http2").is_some() || built_in() {
        return Ok(());
    }
    Err(SubjectError::NoHttp2 {
        arm: arm.to_owned(),
        program: "Apache",
        missing: format!("there is no mod_http2.so in {}", modules.display()),
        remedy: "install mod_http2",
    })
}

fn modules(place: &StartSite<'_>) -> Result<PathBuf, SubjectError> {
    let there = MODULE_PLACES.iter().map(PathBuf::from).find(|place| place.is_dir());
    there.ok_or_else(|| missing(&ROW, place, "the modules of Apache"))
}

/// None for a module that is built in.
fn load(modules: &Path, name: &str) -> Option<String> {
    let file = modules.join(format!("mod_{name}.so"));
    file.exists().then(|| format!("LoadModule {name}_module {}\n", quoted(&file)))
}

fn mime_types() -> String {
    MIME_TYPES.iter().map(|(kind, ends)| format!("{kind} {ends}\n")).collect()
}

fn users_config(place: &StartSite<'_>, path: &Path) -> Result<String, SubjectError> {
    let text = users_text(place, path, Some("Listen {host}:{port}"))?;
    if sets(&text, "ServerRoot") {
        return Ok(text); // relative paths mean what they meant
    }
    let original = place.context.at_home(path);
    let homes =
        [original.parent().unwrap_or(Path::new("/")), Path::new("/etc/apache2"), Path::new("/etc/httpd")];
    Ok(includes::absolute(&text, &["includeoptional", "include"], &homes))
}

/// Directives that bakeoff needs and the configuration does not have.
fn missing_globals(config: &str, dir: &Path) -> Vec<String> {
    let wanted = [
        ("DefaultRuntimeDir", dir.to_owned()),
        ("PidFile", dir.join("httpd.pid")),
        ("ErrorLog", dir.join("error.log")),
    ];
    wanted
        .iter()
        .filter(|(directive, _)| !sets(config, directive))
        .map(|(directive, path)| format!("{directive} {}", quoted(path)))
        .collect()
}

/// Variables that Debian's configuration files expect from its start script.
fn debian_environment(place: &StartSite<'_>) -> Vec<(String, String)> {
    let dir = place.dir.display();
    [
        ("APACHE_RUN_DIR", dir.to_string()),
        ("APACHE_LOCK_DIR", dir.to_string()),
        ("APACHE_LOG_DIR", dir.to_string()),
        ("APACHE_PID_FILE", format!("{dir}/httpd.pid")),
        ("APACHE_RUN_USER", "nobody".to_owned()),
        ("APACHE_RUN_GROUP", "nogroup".to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into()
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    gauge.directory(|name| name.ends_with(".header"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn http2_without_its_module_is_refused_by_name() {
        // `true -l` says nothing of a module that is built in.
        let refused = demand_http2("a", Path::new("/bin/true"), Path::new("/nowhere")).unwrap_err();
        let said = refused.to_string();
        for word in
            ["arm `a`", "Apache", "no mod_http2.so in /nowhere", "install mod_http2", "take `http2` out"]
        {
            assert!(said.contains(word), "{said}");
        }
    }
}
