//! Real servers: started with our and with users' configurations, sent requests, ended.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Context, Product, Spec};
use bakeoff_sys::process;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;
use support::{Yard, all_gone, get, get_tls, has, identity, runs_unprivileged};

/// `processes`: at least this number, its supervisor among them.
fn serves_the_site(yard: &Yard, spec: &Spec, tls: bool, processes: usize) {
    let running = yard.start(spec).unwrap_or_else(|error| panic!("{error}"));
    let ask = |path| if tls { get_tls(&running, &yard.certificate.ca, path) } else { get(&running, path) };
    assert_eq!(ask("/f"), (200, "hello".to_owned()));
    assert_eq!(ask("/f?query=1"), (200, "hello".to_owned()));
    assert_eq!(ask("/a%20b.html"), (200, "space".to_owned()));
    assert_eq!(ask("/blog"), (200, "the blog".to_owned()));
    assert_eq!(ask("/blog/"), (200, "the blog".to_owned()));
    assert_eq!(ask("/none").0, 404);
    running.alive().unwrap();
    assert!(running.version.as_deref().is_some_and(|version| version.contains('/')), "{:?}", running.version);
    runs_unprivileged(&running.processes());
    let all: Vec<_> =
        running.processes().into_iter().chain(running.supervisor_process()).map(identity).collect();
    assert!(all.len() >= processes, "{all:?}");
    let report = running.stop();
    assert_eq!((report.killed, report.left), (0, 0));
    all_gone(&all, Duration::ZERO);
}

#[test]
fn nginx_serves_the_site() {
    if has("nginx", "nginx_serves_the_site") {
        serves_the_site(
            &Yard::new(),
            &Spec::Product { product: Product::Nginx, config: None, tls: false },
            false,
            3,
        );
    }
}

#[test]
fn directives_for_the_http_block_hold_around_the_server() {
    if !has("nginx", "directives_for_the_http_block_hold_around_the_server") {
        return;
    }
    let yard = Yard::new();
    let mut context = yard.context("it");
    context.values.insert("limit".to_owned(), "403".to_owned());
    context.http_directives = Some("map $request_uri $refusal { default 0; /f {limit}; }".to_owned());
    context.directives = Some("if ($refusal) { return 403; }".to_owned());
    let spec = Spec::Product { product: Product::Nginx, config: None, tls: false };
    let running = bakeoff_subject::start(&spec, &context).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((get(&running, "/f").0, get(&running, "/blog").0), (403, 200));
    running.stop();
}

#[test]
fn nginx_serves_the_site_over_tls() {
    if has("nginx", "nginx_serves_the_site_over_tls") && has("curl", "nginx_serves_the_site_over_tls") {
        serves_the_site(
            &Yard::new(),
            &Spec::Product { product: Product::Nginx, config: None, tls: true },
            true,
            3,
        );
    }
}

#[test]
fn apache_serves_the_site() {
    if has("apache2", "apache_serves_the_site") {
        serves_the_site(
            &Yard::new(),
            &Spec::Product { product: Product::Apache, config: None, tls: false },
            false,
            3,
        );
    }
}

#[test]
fn apache_serves_the_site_over_tls() {
    if has("apache2", "apache_serves_the_site_over_tls") && has("curl", "apache_serves_the_site_over_tls") {
        serves_the_site(
            &Yard::new(),
            &Spec::Product { product: Product::Apache, config: None, tls: true },
            true,
            3,
        );
    }
}

fn caddy(tls: bool) -> Spec {
    Spec::Product { product: Product::Caddy, config: None, tls }
}

#[test]
fn caddy_serves_the_site() {
    if has("caddy", "caddy_serves_the_site") {
        serves_the_site(&Yard::new(), &caddy(false), false, 2);
    }
}

#[test]
fn caddy_serves_the_site_over_tls() {
    if has("caddy", "caddy_serves_the_site_over_tls") && has("curl", "caddy_serves_the_site_over_tls") {
        serves_the_site(&Yard::new(), &caddy(true), true, 2);
    }
}

#[test]
fn caddy_speaks_http2_when_told() {
    if has("caddy", "caddy_speaks_http2_when_told") && has("curl", "caddy_speaks_http2_when_told") {
        for tls in [false, true] {
            speaks_http2(&caddy(tls), tls);
        }
    }
}

#[test]
fn caddy_takes_the_users_configuration_with_names_of_its_own() {
    if !has("caddy", "caddy_takes_the_users_configuration_with_names_of_its_own") {
        return;
    }
    let yard = Yard::new();
    let text = "{\n\tadmin off\n\tauto_https off\n}\nhttp://:{port} {\n\tbind {host}\n\troot * {root}\n\ttry_files {path} {path}.html\n\tfile_server\n}\n";
    let config = Some(yard.write("Caddyfile", text));
    let spec = Spec::Product { product: Product::Caddy, config, tls: false };
    let running = yard.start(&spec).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(get(&running, "/a%20b"), (200, "space".to_owned()));
    runs_unprivileged(&running.processes());
}

/// Over TLS by agreement, without it by prior knowledge.
fn speaks_http2(spec: &Spec, tls: bool) {
    let yard = Yard::new();
    let context = Context { http2: true, ..yard.context("it") };
    let running = bakeoff_subject::start(spec, &context).unwrap_or_else(|error| panic!("{error}"));
    let scheme = if tls { "https" } else { "http" };
    let said = Command::new("curl")
        .args(["-sS", "-4", "-w", "\n%{http_version} %{http_code}"])
        .arg(if tls { "--http2" } else { "--http2-prior-knowledge" })
        .arg("--cacert")
        .arg(&yard.certificate.ca)
        .arg(format!("{scheme}://localhost:{}/f", running.address.port()))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    assert_eq!(text, "hello\n2 200", "{}", String::from_utf8_lossy(&said.stderr));
}

#[test]
fn nginx_speaks_http2_when_told() {
    if has("nginx", "nginx_speaks_http2_when_told") && has("curl", "nginx_speaks_http2_when_told") {
        for tls in [false, true] {
            speaks_http2(&Spec::Product { product: Product::Nginx, config: None, tls }, tls);
        }
    }
}

#[test]
fn apache_speaks_http2_when_told() {
    if has("apache2", "apache_speaks_http2_when_told") && has("curl", "apache_speaks_http2_when_told") {
        for tls in [false, true] {
            speaks_http2(&Spec::Product { product: Product::Apache, config: None, tls }, tls);
        }
    }
}

#[test]
fn nginx_takes_the_users_configuration() {
    if !has("nginx", "nginx_takes_the_users_configuration") {
        return;
    }
    let yard = Yard::new();
    yard.write("extra.inc", "add_header X-Extra yes;\n");
    let text = "user www-data;\nevents { worker_connections 64; }\nhttp {\n  include mime.types;\n  server {\n    listen {port} ssl;\n    ssl_certificate {cert};\n    ssl_certificate_key {key};\n    root {root};\n    include extra.inc;\n    if ($uri ~ \"^/x{2,3}$\") { return 204; }\n  }\n}\n";
    let config = Some(yard.write("mine.conf", text));
    let running = yard
        .start(&Spec::Product { product: Product::Nginx, config, tls: true })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(get_tls(&running, &yard.certificate.ca, "/f"), (200, "hello".to_owned()));
    let dir = running.dir.clone().unwrap();
    // nginx writes the line when the reply is out.
    let logged = || std::fs::read_to_string(dir.join("access.log")).unwrap().contains("GET /f");
    assert!((0..12_000).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        logged()
    }));
    assert!(running.config.as_deref().unwrap().contains("extra.inc"));
    runs_unprivileged(&running.processes());
}

#[test]
fn apache_takes_the_users_configuration() {
    if !has("apache2", "apache_takes_the_users_configuration") {
        return;
    }
    let yard = Yard::new();
    let modules = "/usr/lib/apache2/modules";
    let text = format!(
        "LoadModule mpm_event_module {modules}/mod_mpm_event.so\nLoadModule authz_core_module {modules}/mod_authz_core.so\nServerName x\nListen {{port}}\nDocumentRoot {{root}}\nUser www-data\nLogFormat \"%{{cookie}}i %U\" mine\n"
    );
    let config = Some(yard.write("mine.conf", &text));
    let running = yard
        .start(&Spec::Product { product: Product::Apache, config, tls: false })
        .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(get(&running, "/f"), (200, "hello".to_owned()));
    runs_unprivileged(&running.processes());
}

#[test]
fn a_configuration_without_port_is_refused_with_the_line_to_write() {
    if !has("nginx", "a_configuration_without_port_is_refused_with_the_line_to_write") {
        return;
    }
    let yard = Yard::new();
    let config =
        Some(yard.write("mine.conf", "events {}\nhttp { server {\n  listen 80;\n  root {root};\n} }\n"));
    let message =
        yard.start(&Spec::Product { product: Product::Nginx, config, tls: false }).unwrap_err().to_string();
    assert!(message.contains("mine.conf"), "{message}");
    assert!(message.contains("line 3: `listen 80;` as `listen {host}:{port};`"), "{message}");
}

#[test]
fn the_servers_own_words_are_in_the_error() {
    for program in ["nginx", "apache2"] {
        if !has(program, "the_servers_own_words_are_in_the_error") {
            continue;
        }
        let yard = Yard::new();
        let mpm = "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n";
        let text = format!("{}nonsense_directive {{port}};\n", if program == "nginx" { "" } else { mpm });
        let config = Some(yard.write("mine.conf", &text));
        let spec = match program {
            "nginx" => Spec::Product { product: Product::Nginx, config, tls: false },
            _ => Spec::Product { product: Product::Apache, config, tls: false },
        };
        let message = yard.start(&spec).unwrap_err().to_string();
        assert!(message.contains("ended before it was ready (exit status 1)"), "{message}");
        assert!(message.contains("nonsense_directive"), "{message}");
    }
}

#[test]
fn a_site_the_server_may_not_read_is_refused_before_the_start() {
    if !process::is_root() || !has("nginx", "a_site_the_server_may_not_read_is_refused_before_the_start") {
        println!("SKIP a_site_the_server_may_not_read_is_refused_before_the_start: needs root");
        return;
    }
    let yard = Yard::new();
    std::fs::set_permissions(yard.path("site"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let message = yard
        .start(&Spec::Product { product: Product::Nginx, config: None, tls: false })
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("user `nobody`, who may not enter") && message.contains("chmod o+x"),
        "{message}"
    );
}

/// As many as the load generator may open: all are answered, on connections that stay open.
#[test]
fn all_servers_hold_512_connections() {
    for (program, spec) in [
        ("nginx", Spec::Product { product: Product::Nginx, config: None, tls: false }),
        ("apache2", Spec::Product { product: Product::Apache, config: None, tls: false }),
        ("caddy", caddy(false)),
    ] {
        if !has(program, "all_servers_hold_512_connections") {
            continue;
        }
        let yard = Yard::new(); // must outlive the servers, whose files are in it
        let running = yard.start(&spec).unwrap_or_else(|error| panic!("{error}"));
        let mut all: Vec<TcpStream> =
            (0..512).map(|_| TcpStream::connect(running.address).unwrap()).collect();
        for _ in 0..3 {
            for stream in &mut all {
                stream.set_read_timeout(Some(support::PATIENCE)).unwrap();
                stream.write_all(b"GET /none HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
            }
            for stream in &mut all {
                let mut reply = [0; 4096];
                let length = stream.read(&mut reply).unwrap();
                assert!(reply[..length].starts_with(b"HTTP/1.1 404"), "{program}");
            }
        }
    }
}
