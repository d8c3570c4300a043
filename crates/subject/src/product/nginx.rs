//! nginx as a server, and with `proxy_cache` in front of one, with our configuration or the user's.
//!
//! Everything it writes is below its private directory: temporary files, pid, logs. Started by root it runs wholly as
//! `nobody` (master too), so no `user` directive is needed or obeyed. A cache is files in `{dir}/cache` and keys in
//! shared memory; objects in memory are the page cache's. nginx keeps about `max_size` by a process of its own that
//! cleans up afterwards, so the gauge may show more for a moment; it does not count evictions.

use super::store::{CACHE, Gauge, Store, StoreError, StoreReading, StoresIn};
use super::{
    MIME_TYPES, Product, ProxySpec, Row, Server, connections, cores, descriptors, make_dir, program,
    users_text,
};
use crate::SubjectError;
use crate::adopted::{self, language};
use crate::config::{quoted, sets};
use crate::includes;
use crate::program::{self as programs, Recipe, StartSite};
use bakeoff_adopt::{Language, TREE};
use bakeoff_units::Nanos;
use std::fmt::Write as _;
use std::path::Path;

pub(super) const ROW: Row = Row {
    label: "nginx",
    title: "nginx",
    debian_packages: "nginx-light",
    serve: Some(serve),
    front: proxy,
    environment: None,
    store: Some(Store {
        stores_in: StoresIn::Disk,
        least_bytes: Store::LEAST_BYTES,
        most_bytes: u64::MAX,
        gauge: store,
        can_revalidate: true,
        verdict_header: Some("X-Cache"),
        enabled_by: &["proxy_cache", "include"],
    }),
    can_forward: false,
    can_tls: true,
    numbers_replies: true,
};

/// Keys that a megabyte of the zone holds, by nginx's documentation.
const KEYS_PER_MEGABYTE: u64 = 8_000;

/// The smallest object takes a block of the disk, so the key zone never is what limits the store.
const BLOCK_BYTES: u64 = 4_096;

fn serve(server: &Server, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    if let Some(path) = &server.config
        && language(Product::Nginx, &place.read(path)?).is_some()
    {
        return private_copy(place, path, server.tls);
    }
    recipe(place, server.config.as_deref(), |build| server_config(server, place, build))
}

fn proxy(spec: &ProxySpec, place: &StartSite<'_>) -> Result<Recipe, SubjectError> {
    make_dir(place, CACHE)?;
    recipe(place, spec.config.as_deref(), |build| proxy_config(spec, place, build))
}

/// The recipe that starts nginx with the user's configuration, or with `ours`, which is given the output of `nginx -V`.
fn recipe(
    place: &StartSite<'_>,
    users: Option<&Path>,
    ours: impl FnOnce(&str) -> Result<String, SubjectError>,
) -> Result<Recipe, SubjectError> {
    let nginx = program(&ROW, place, &["nginx"])?;
    let build = programs::ask(&nginx, "-V").unwrap_or_default();
    let temporary = place.dir.join("tmp"); // a command before the start may have made it
    std::fs::create_dir_all(&temporary).map_err(|source| SubjectError::Dir {
        arm: place.arm(),
        path: temporary,
        source,
    })?;
    let config = match users {
        None => ours(&build)?,
        Some(path) => users_config(place, path, &build)?,
    };
    let file = place.write("nginx.conf", &config)?;
    let log = place.dir.join("error.log");
    let mut argv: Vec<String> = vec![nginx.display().to_string()];
    let mut option = |name: &str, value: String| argv.extend([name.to_owned(), value]);
    option("-p", place.dir.display().to_string());
    option("-e", log.display().to_string());
    option("-c", file.display().to_string());
    let globals = missing_globals(&config, &place.dir);
    if !globals.is_empty() {
        option("-g", globals);
    }
    let version = build.lines().next().map(|line| line.trim_start_matches("nginx version: ").to_owned());
    Ok(Recipe { argv, version, config: Some(config), logs: vec![log], ..Recipe::default() })
}

/// The recipe that starts a private copy of a running server's configuration.
fn private_copy(place: &StartSite<'_>, path: &Path, tls: bool) -> Result<Recipe, SubjectError> {
    let nginx = program(&ROW, place, &["nginx"])?;
    let build = programs::ask(&nginx, "-V").unwrap_or_default();
    for name in ["tmp", "logs"] {
        let dir = place.dir.join(name); // a command before the start may have made it
        std::fs::create_dir_all(&dir).map_err(|source| SubjectError::Dir {
            arm: place.arm(),
            path: dir,
            source,
        })?;
    }
    let lines = temporary_paths("", &build, &place.dir, " ");
    let prefix = Path::new(prefix(&build));
    let copies = adopted::copies(place, (Language::Nginx, path), tls, (prefix, &lines))?;
    let log = place.dir.join("error.log");
    let mut argv: Vec<String> = vec![nginx.display().to_string()];
    let mut option = |name: &str, value: String| argv.extend([name.to_owned(), value]);
    option("-p", place.dir.display().to_string());
    option("-e", log.display().to_string());
    option("-c", copies.main().display().to_string());
    option("-g", missing_globals("error_log of -e;", &place.dir));
    let version = build.lines().next().map(|line| line.trim_start_matches("nginx version: ").to_owned());
    let (config, tree) = (Some(copies.whole_text()), Some(place.dir.join(TREE)));
    Ok(Recipe { argv, version, config, tree, logs: vec![log], ..Recipe::default() })
}

/// Directory in which this build begins relative paths.
fn prefix(build: &str) -> &str {
    let behind = build.split_once("--prefix=").map_or("/usr/share/nginx", |(_, behind)| behind);
    behind.split_whitespace().next().unwrap_or(behind)
}

fn server_config(server: &Server, place: &StartSite<'_>, build: &str) -> Result<String, SubjectError> {
    let (listen, tls) = tls_lines(server.tls, place)?;
    let (listen_http2, http2) = if place.context.http2 { http2(&place.arm(), build)? } else { ("", "") };
    let directives = place.directives("the directives for nginx")?;
    let around = place.http_directives("the http_directives for nginx")?;
    let (numbers, for_caches) = for_caches(place.context.max_age);
    let (host, port, root) = (place.context.host(), place.port, quoted(&place.root));
    let workers = place.context.cpus.len().max(1); // one a core it may use
    let connections = place.context.connections.saturating_mul(2).max(1024); // each opens a file too
    Ok(format!(
        "worker_processes {workers};
pid {pid};
error_log {log} warn;
daemon off;
events {{
    worker_connections {connections};
}}
http {{
{temporary}    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    default_type application/octet-stream;
    types {{
{types}    }}
{numbers}{around}    server {{
        listen {host}:{port}{listen}{listen_http2};
        server_name localhost;
{tls}{http2}        root {root};
{for_caches}{directives}        location / {{
            try_files $uri $uri/index.html =404;
        }}
    }}
}}
",
        pid = quoted(&place.dir.join("nginx.pid")),
        log = quoted(&place.dir.join("error.log")),
        temporary = temporary_paths("", build, &place.dir, "\n"),
        types = MIME_TYPES
            .iter()
            .fold(String::new(), |all, (kind, ends)| all + &format!("        {kind} {ends};\n")),
    ))
}

/// Words for `listen`, and lines of the server block.
fn tls_lines(tls: bool, place: &StartSite<'_>) -> Result<(&'static str, String), SubjectError> {
    if !tls {
        return Ok(("", String::new()));
    }
    let made = place.demand_certificate()?;
    let (cert, key) = (quoted(&made.cert), quoted(&made.key));
    let lines = format!(
        "        ssl_certificate {cert};\n        ssl_certificate_key {key};\n        ssl_protocols TLSv1.2 TLSv1.3;\n"
    );
    Ok((" ssl", lines))
}

/// A request holds two connections, and a file each way. `proxy_max_temp_file_size` does not hold
/// for what is cached; for the rest 0 streams at the client's pace instead of writing files. No `tcp_nopush`: with a
/// stored reply of about 100 KB the last segment then waits 40 ms for an acknowledgement.
fn proxy_config(spec: &ProxySpec, place: &StartSite<'_>, build: &str) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for nginx")?;
    let (listen, tls) = tls_lines(spec.tls, place)?;
    let disk_bytes = spec.store_bytes();
    let keys_megabytes = (disk_bytes / BLOCK_BYTES / KEYS_PER_MEGABYTE).max(8);
    Ok(format!(
        "worker_processes {workers};
worker_rlimit_nofile {files};
pid {pid};
error_log {log} warn;
daemon off;
events {{
    worker_connections {files};
}}
http {{
{temporary}    access_log off;
    sendfile on;
    keepalive_requests 1000000000;
    keepalive_timeout 600s;
    client_max_body_size 0;
    proxy_cache_path {cache} levels=1:2 keys_zone=store:{keys_megabytes}m max_size={disk_bytes} inactive=365d use_temp_path=off;
    map \"$http_cache_control $http_pragma\" $reload {{
        default 0;
        ~*no-cache 1;
    }}
    map $upstream_http_content_length $too_large {{
        default 0;
{too_large}    }}
    upstream origin {{
        server {origin} max_fails=0;
        keepalive {connections};
        keepalive_requests 1000000000;
    }}
    server {{
        listen {host}:{port}{listen};
        server_name localhost;
{tls}{directives}        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $http_host;
            proxy_read_timeout 600s;
            proxy_send_timeout 600s;
            proxy_max_temp_file_size 0;
            proxy_cache store;
            proxy_cache_key $request_uri;
            proxy_cache_revalidate on;
            proxy_cache_bypass $reload;
            proxy_no_cache $too_large;
            add_header X-Cache $upstream_cache_status always;
        }}
    }}
}}
",
        workers = cores(place),
        files = descriptors(place),
        connections = connections(place),
        pid = quoted(&place.dir.join("nginx.pid")),
        log = quoted(&place.dir.join("error.log")),
        temporary = temporary_paths("", build, &place.dir, "\n"),
        cache = quoted(&place.dir.join(CACHE)),
        too_large = longer_than(spec.largest_object_bytes()),
        origin = spec.origin,
        host = place.context.host(),
        port = place.port,
    ))
}

/// Lines of a `map` with 1 for decimal numbers above `most`. nginx compares no numbers, so it is
/// done by digits: more of them, or as many with a larger one after an equal beginning.
fn longer_than(most: u64) -> String {
    let digits = most.to_string();
    let mut lines = format!("        \"~^[0-9]{{{},}}$\" 1;\n", digits.len() + 1);
    for (at, digit) in digits.char_indices().filter(|&(_, digit)| digit != '9') {
        let (same, rest) = (&digits[..at], digits.len() - at - 1);
        let larger = char::from(digit as u8 + 1);
        lines += &format!("        \"~^{same}[{larger}-9][0-9]{{{rest}}}$\" 1;\n");
    }
    lines
}

/// Lines before and in the server block: lifetime of replies, and a number for each, by which hits are told. Half of
/// nginx's own is random enough; a 304 has none, so that a stored reply keeps the number that it was made with.
fn for_caches(max_age: Option<Nanos>) -> (&'static str, String) {
    let Some(age) = max_age else { return ("", String::new()) };
    let seconds = age.whole_secs();
    let lines = format!(
        "        add_header Cache-Control \"public, max-age={seconds}\";\n        add_header X-Bakeoff $bakeoff_serial always;\n"
    );
    let numbers = "    map \"$status $request_id\" $bakeoff_serial {
        \"~^304 \" \"\";
        \"~ (?<half>[0-9a-f]{16})\" \"serial=$half\";
    }
";
    (numbers, lines)
}

/// From this version on HTTP/2 is a directive of its own, and the word for `listen` is deprecated.
const HTTP2_DIRECTIVE: [u32; 3] = [1, 25, 1];

/// The words that enable HTTP/2 in this build: behind `listen`, or on a line of their own.
fn http2(arm: &str, build: &str) -> Result<(&'static str, &'static str), SubjectError> {
    if !build.contains("--with-http_v2_module") {
        return Err(SubjectError::NoHttp2 {
            arm: arm.to_owned(),
            program: "nginx",
            missing: "it was built without --with-http_v2_module".to_owned(),
            remedy: "install a build that has it",
        });
    }
    let is_new = version(build).is_none_or(|version| version >= HTTP2_DIRECTIVE);
    Ok(if is_new { ("", "        http2 on;\n") } else { (" http2", "") })
}

/// The version from a line like `nginx version: nginx/1.22.1`.
fn version(build: &str) -> Option<[u32; 3]> {
    let text = build.split_once("nginx/")?.1;
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let mut numbers = text[..end].split('.').map(str::parse);
    Some([numbers.next()?.ok()?, numbers.next()?.ok()?, numbers.next()?.ok()?])
}

fn users_config(place: &StartSite<'_>, path: &Path, build: &str) -> Result<String, SubjectError> {
    let text = users_text(place, path, Some("listen {host}:{port};"))?;
    let original = place.context.at_home(path);
    let homes = [original.parent().unwrap_or(Path::new("/")), Path::new("/etc/nginx")];
    let text = includes::absolute(&text, &["include"], &homes);
    Ok(with_private_paths(&text, build, &place.dir))
}

/// Puts into the `http` block, on its first line, the paths the configuration leaves to nginx's
/// build: those are global, and not writable for our user. What it sets itself stays.
fn with_private_paths(text: &str, build: &str, dir: &Path) -> String {
    let Some(at) = http_block(text) else { return text.to_owned() };
    let mut paths = temporary_paths(text, build, dir, " ");
    if !sets(text, "access_log") {
        let _ = write!(paths, " access_log {};", quoted(&dir.join("access.log"))); // writing to a String
    }
    format!("{} {}{}", &text[..at], paths.trim(), &text[at..])
}

/// Position just after the brace that opens `http`.
fn http_block(text: &str) -> Option<usize> {
    let mut begin = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        let at = code.find("http").filter(|&at| {
            let before = code[..at].trim_end();
            (before.is_empty() || before.ends_with(['}', ';']))
                && code[at + 4..].trim_start().starts_with(['{', '\n'])
                || code.trim() == "http"
        });
        if let Some(at) = at {
            return text[begin + at..].find('{').map(|brace| begin + at + brace + 1);
        }
        begin += line.len();
    }
    None
}

/// A directory for each kind of temporary file this build of nginx knows and `text` does not set.
fn temporary_paths(text: &str, build: &str, dir: &Path, end: &str) -> String {
    let kinds = [
        ("client_body", ""),
        ("proxy", "proxy"),
        ("fastcgi", "fastcgi"),
        ("uwsgi", "uwsgi"),
        ("scgi", "scgi"),
    ];
    let mut lines = String::new();
    for (kind, module) in kinds {
        let built = module.is_empty() || !build.contains(&format!("--without-http_{module}_module"));
        let directive = format!("{kind}_temp_path");
        if built && !sets(text, &directive) {
            let _ = write!(lines, "    {directive} {};{end}", quoted(&dir.join("tmp").join(kind))); // to a String
        }
    }
    lines
}

/// Directives that bakeoff needs in the main context and the configuration does not have.
fn missing_globals(config: &str, dir: &Path) -> String {
    let wanted = [
        ("daemon", "off".to_owned()),
        ("pid", quoted(&dir.join("nginx.pid"))),
        ("error_log", quoted(&dir.join("error.log"))),
    ];
    wanted
        .iter()
        .filter(|(directive, _)| !sets(config, directive))
        .map(|(directive, value)| format!("{directive} {value};"))
        .collect::<Vec<_>>()
        .join(" ")
}

fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    gauge.directory(|name| name.len() == 32) // an MD5 of the key; files being written end in a number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_configuration_leaves_open_is_added() {
        let dir = Path::new("/d");
        let all = missing_globals("events {}", dir);
        assert_eq!(all, "daemon off; pid \"/d/nginx.pid\"; error_log \"/d/error.log\";");
        assert_eq!(missing_globals("daemon off; pid x;\nerror_log y;", dir), "");
    }

    #[test]
    fn http2_is_asked_for_as_the_version_understands_it() {
        let build = |version: &str| format!("nginx version: nginx/{version}\n--with-http_v2_module");
        assert_eq!(http2("a", &build("1.22.1")).unwrap(), (" http2", ""));
        assert_eq!(http2("a", &build("1.25.0 (Ubuntu)")).unwrap(), (" http2", ""));
        for new in ["1.25.1", "1.26.3", "2.0.0"] {
            assert_eq!(http2("a", &build(new)).unwrap(), ("", "        http2 on;\n"), "{new}");
        }
        let said = http2("a", "nginx version: nginx/1.22.1\n").unwrap_err().to_string();
        assert!(said.contains("arm `a`") && said.contains("--with-http_v2_module"), "{said}");
    }

    #[test]
    fn private_paths_go_into_the_http_block_without_moving_lines() {
        let text = "# http {\nevents {}\nhttp\n{\n  access_log off;\n}\n";
        let build = "--without-http_uwsgi_module --without-http_scgi_module --without-http_fastcgi_module";
        let done = with_private_paths(text, build, Path::new("/d"));
        let line = "{ client_body_temp_path \"/d/tmp/client_body\";     proxy_temp_path \"/d/tmp/proxy\";";
        assert!(done.contains(line), "{done}");
        assert_eq!(done.lines().count(), text.lines().count());
        assert!(
            with_private_paths("http {\n}", build, Path::new("/d")).contains("access_log \"/d/access.log\";")
        );
        assert_eq!(with_private_paths("events {}", build, Path::new("/d")), "events {}");
    }

    #[test]
    fn numbers_above_a_limit_are_told_by_their_digits() {
        let lines = longer_than(1_390);
        let expected = [
            "\"~^[0-9]{5,}$\" 1;",
            "\"~^[2-9][0-9]{3}$\" 1;",
            "\"~^1[4-9][0-9]{2}$\" 1;",
            "\"~^139[1-9][0-9]{0}$\" 1;",
        ];
        assert_eq!(lines.lines().map(str::trim).collect::<Vec<_>>(), expected);
    }
}
