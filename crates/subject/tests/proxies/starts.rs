//! Starts of proxies: before the origin, refused, with the user's configuration.

use crate::origin::Origin;
use crate::stage::{Stage, get, has, on_disk, spec, start, until};
use crate::support::{Yard, runs_unprivileged};
use bakeoff_subject::{Product, ProxyMode, ProxyRefusal, ProxySpec, SubjectError, read_store};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;

/// An address that nothing listens on.
fn nobody() -> SocketAddr {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap()
}

#[test]
fn a_proxy_is_ready_before_its_origin() {
    for product in Product::fronts() {
        if !has(product, "a_proxy_is_ready_before_its_origin") {
            continue;
        }
        let yard = Yard::new();
        let spec = ProxySpec { origin: nobody(), ..spec(product, ProxyMode::Reverse) };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let reply = get(&spec, &running, "/keep/1/x", "").unwrap();
        assert!(matches!(reply.status, 502..=504), "{product:?}: {}", reply.head);
    }
}

#[test]
fn what_a_product_cannot_do_is_said_before_the_start() {
    let yard = Yard::new();
    let refused = |spec: &ProxySpec| match start(&yard, spec).unwrap_err() {
        SubjectError::Proxy { refusal, product, .. } => (product, refusal),
        other => panic!("{other}"),
    };
    let nginx = spec(Product::Nginx, ProxyMode::Forward);
    assert_eq!(refused(&nginx), ("nginx", ProxyRefusal::ReverseOnly));
    let haproxy = on_disk(Product::HaProxy, ProxyMode::Reverse);
    assert_eq!(refused(&haproxy), ("HAProxy", ProxyRefusal::MemoryOnly));
}

/// With a stored reply of 100 KB it held back the last segment for 40 ms.
#[test]
fn nginx_before_a_server_holds_no_segment_back() {
    if !has(Product::Nginx, "nginx_before_a_server_holds_no_segment_back") {
        return;
    }
    let stage = Stage::set(&spec(Product::Nginx, ProxyMode::Reverse));
    let config = stage.running.config.as_ref().unwrap();
    assert!(config.contains("proxy_cache store;") && !config.contains("tcp_nopush"), "{config}");
}

/// The shortest configuration that caches, for each product, with our substitutions.
fn users_config(product: Product) -> String {
    let modules = "/usr/lib/apache2/modules";
    let load = |name: &str| format!("LoadModule {name}_module {modules}/mod_{name}.so\n");
    match product {
        Product::Squid => "http_port {host}:{port} accel defaultsite={origin}\nhttp_access allow all\ncache_peer {origin_host} parent {origin_port} 0 no-query originserver\nvisible_hostname mine\nmaximum_object_size_in_memory 1 MB\n".to_owned(),
        Product::Varnish => "vcl 4.1;\nbackend mine { .host = \"{origin_host}\"; .port = \"{origin_port}\"; }\n".to_owned(),
        Product::Nginx => "events {}\nhttp {\n  proxy_cache_path {dir}/cache keys_zone=mine:10m max_size={disk_bytes};\n  server {\n    listen {host}:{port};\n    location / { proxy_pass http://{origin}; proxy_cache mine; }\n  }\n}\n".to_owned(),
        Product::Apache => {
            let names = ["mpm_event", "authz_core", "proxy", "proxy_http", "cache", "cache_disk"];
            let loads: String = names.into_iter().map(load).collect();
            format!("{loads}ServerName mine\nListen {{host}}:{{port}}\nProxyPass / http://{{origin}}/\nCacheRoot {{dir}}/cache\nCacheEnable disk /\n")
        }
        Product::TrafficServer => "CONFIG proxy.config.http.server_ports STRING {port}:ip-in={host}\nCONFIG proxy.config.log.logging_enabled INT 0\nCONFIG proxy.config.http.wait_for_cache INT 1\n".to_owned(),
        Product::Caddy => unreachable!("it keeps nothing"),
        Product::HaProxy => "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\ncache mine\n  total-max-size 16\n  max-object-size 100000\n  max-age 600\nlisten mine\n  bind {host}:{port}\n  http-request cache-use mine\n  http-response cache-store mine\n  server mine {origin}\n".to_owned(),
    }
}

#[test]
fn users_configurations_are_taken() {
    for product in Product::caches() {
        if !has(product, "users_configurations_are_taken") {
            continue;
        }
        let (yard, origin) = (Yard::new(), Origin::start());
        let config = Some(yard.write("mine.conf", &users_config(product)));
        let spec = ProxySpec { origin: origin.address, config, ..spec(product, ProxyMode::Reverse) };
        let running = start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
        let path = "/keep/5000/x";
        until("a hit", || {
            let before = origin.asked(path);
            assert_eq!(get(&spec, &running, path, "").unwrap().body_bytes, 5_000, "{product:?}");
            origin.asked(path) == before
        });
        let reading = read_store(&spec, &running).unwrap_or_else(|error| panic!("{error}"));
        assert!(reading.capacity_bytes > 5_000, "{product:?}: {reading:?}");
        runs_unprivileged(&running.processes());
        assert_eq!(running.stop().killed, 0, "{product:?}");
    }
}

/// Shared memory of the service with which a Squid was started.
fn shared_memory(command_line: &[String]) -> Vec<String> {
    let service = command_line.iter().skip_while(|word| *word != "-n").nth(1).unwrap();
    let service = format!("{service}-");
    let names = std::fs::read_dir("/dev/shm").unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with(&service)).collect()
}

/// Shared memory of another Squid, running or killed, does not disturb ours, and ours leave nothing.
#[test]
fn squids_start_beside_each_other_and_leave_no_shared_memory() {
    if !has(Product::Squid, "squids_start_beside_each_other_and_leave_no_shared_memory") {
        return;
    }
    let (yard, spec) =
        (Yard::new(), ProxySpec { origin: nobody(), ..spec(Product::Squid, ProxyMode::Reverse) });
    // Shared memory that a Squid of Debian's name leaves; another's stays where it is.
    let others = "/dev/shm/squid-cf__metadata.shm";
    let ours = std::fs::File::create_new(others).is_ok();
    let started = || start(&yard, &spec).unwrap_or_else(|error| panic!("{error}"));
    let (first, second) = (started(), started());
    let [of_first, of_second] = [&first, &second].map(|squid| squid.command_line.clone());
    assert!(!shared_memory(&of_first).is_empty() && !shared_memory(&of_second).is_empty());
    assert_ne!(shared_memory(&of_first), shared_memory(&of_second));
    drop(first.kill().unwrap());
    assert!(!shared_memory(&of_first).is_empty(), "a killed Squid leaves it");
    first.stop();
    second.stop();
    assert_eq!(shared_memory(&of_first), [""; 0]);
    assert_eq!(shared_memory(&of_second), [""; 0]);
    assert!(Path::new(others).exists());
    if ours {
        std::fs::remove_file(others).unwrap();
    }
}
