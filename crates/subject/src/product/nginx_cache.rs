//! nginx with `proxy_cache` in front of the origin.
//!
//! Files in `{dir}/cache` and keys in shared memory; objects in memory are the page cache's.
//! nginx keeps about `max_size` by a process of its own that cleans up afterwards, so the gauge may
//! show more for a moment; it does not count what it throws out.

use super::store::{Gauge, StoreError};
use super::{CACHE, ProxySpec, StoreReading};
use super::{connections, cores, descriptors, make_dir, program};
use crate::SubjectError;
use crate::config::quoted;
use crate::product::nginx::{temporary_paths, users_config, with_config};
use crate::program::{self as programs, Place, Recipe};

/// Keys that a megabyte of the zone holds, by nginx's documentation.
const KEYS_PER_MEGABYTE: u64 = 8_000;

/// The smallest object takes a block of the disk: so the zone never is what limits the store.
const BLOCK_BYTES: u64 = 4_096;

pub(super) fn recipe(spec: &ProxySpec, place: &Place<'_>) -> Result<Recipe, SubjectError> {
    let nginx = program(spec, place, &["nginx"])?;
    let build = programs::ask(&nginx, "-V").unwrap_or_default();
    make_dir(place, CACHE)?;
    make_dir(place, "tmp")?;
    let config = match &spec.config {
        None => own_config(spec, place, &build)?,
        Some(path) => users_config(place, path, &build)?,
    };
    with_config(place, &nginx, &build, config)
}

/// A request holds two connections, and a file each way. `proxy_max_temp_file_size` does not hold
/// for what is cached; for the rest 0 streams at the client's pace instead of writing files.
fn own_config(spec: &ProxySpec, place: &Place<'_>, build: &str) -> Result<String, SubjectError> {
    let directives = place.directives("the directives for nginx")?;
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
    tcp_nopush on;
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
        listen {host}:{port};
        server_name localhost;
{directives}        location / {{
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

pub(super) fn store(gauge: &Gauge<'_>) -> Result<StoreReading, StoreError> {
    gauge.directory(|name| name.len() == 32) // an MD5 of the key; files being written end in a number
}

#[cfg(test)]
mod tests {
    use super::*;

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
