//! The generator against nginx, and nginx's own count of requests.

use crate::support::{Authority, closed, errors, expecting, run, within_patience};
use bakeoff_content::{Body, ObjectId};
use bakeoff_loadgen::{Reuse, Target, TlsOptions, Trust};
use bakeoff_workload::{Expect, RequestTable, Slice};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rustls::pki_types::ServerName;
use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

const SIZES: [u64; 4] = [0, 500, 50_000, 1_500_000];

/// Without nginx the test fails, unless skipping is allowed; then it says so.
fn has_nginx(test: &str) -> bool {
    let found = ["/usr/sbin/nginx", "/usr/bin/nginx"].iter().any(|path| Path::new(path).exists());
    if !found {
        let reason = "`nginx` is not installed (apt-get install nginx-light)";
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

struct Nginx {
    child: Child,
    dir: tempfile::TempDir,
    address: SocketAddr,
}

impl Nginx {
    fn start(authority: Option<&Authority>) -> Self {
        // Between choosing a port and listening there, another program may take it.
        (0..5).find_map(|_| Self::attempt(authority)).expect("nginx serves")
    }

    fn attempt(authority: Option<&Authority>) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for size in SIZES {
            let mut file = fs::File::create(dir.path().join(format!("{size}"))).unwrap();
            object(size).write_to(&mut file).unwrap();
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (root, tls) = (dir.path().display(), if authority.is_some() { "ssl" } else { "" });
        let certificate = authority.map_or(String::new(), |authority| {
            fs::write(dir.path().join("key.pem"), &authority.key).unwrap();
            format!(
                "ssl_certificate {}; ssl_certificate_key {root}/key.pem;",
                authority.file.path().display()
            )
        });
        let config = format!(
            "daemon off; pid {root}/pid; error_log stderr; worker_processes 2;
             events {{ worker_connections 256; }}
             http {{
               log_format count '$connection $status $bytes_sent $request_uri';
               access_log {root}/access.log count;
               client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
               uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
               server {{ listen {address} {tls}; {certificate} root {root}; keepalive_requests 100; }}
             }}"
        );
        fs::write(dir.path().join("nginx.conf"), config).unwrap();
        let child = Command::new("nginx")
            .args(["-e", "stderr", "-c"])
            .arg(dir.path().join("nginx.conf"))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut nginx = Self { child, dir, address };
        while TcpStream::connect(address).is_err() {
            if nginx.child.try_wait().unwrap().is_some() {
                return None;
            }
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        Some(nginx)
    }

    /// Ends it; (connection, status, bytes) of each request that it logged.
    fn stop(mut self) -> Vec<(u64, u16, u64)> {
        self.end();
        let log = fs::read_to_string(self.dir.path().join("access.log")).unwrap();
        let line = |line: &str| {
            let mut fields = line.split(' ').map(str::parse::<u64>);
            let mut field = || fields.next().unwrap().unwrap();
            (field(), field() as u16, field())
        };
        log.lines().map(line).collect()
    }

    fn end(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGQUIT);
        let _ = self.child.wait();
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.end();
        }
    }
}

fn object(size: u64) -> Body {
    Body::new(ObjectId::of_name(format!("/{size}").as_bytes()), size)
}

/// 6 robots with 120 requests each: more than the server allows a connection.
fn slice() -> Slice {
    let mut requests: Vec<_> =
        SIZES.iter().map(|size| expecting(&format!("/{size}"), Expect::Body(object(*size)))).collect();
    requests.push(expecting("/none", Expect::Status(404)));
    let list = |robot: u32| {
        (0..120).map(move |i| if i % 30 == 0 { 3 } else { [0, 1, 2, 4][((i + robot) % 4) as usize] })
    };
    Slice {
        table: Arc::new(RequestTable { requests }),
        lists: Arc::new((0..6).map(|robot| list(robot).collect()).collect()),
        at: Arc::default(),
    }
}

fn is_counted_alike(tls: bool, keep_alive: bool) {
    let authority = tls.then(|| Authority::new("one"));
    let nginx = Nginx::start(authority.as_ref());
    let tls = authority.as_ref().map(|authority| {
        let config = TlsOptions::new(Trust::File(authority.file.path().to_owned())).load().unwrap();
        (config, ServerName::try_from("localhost").unwrap())
    });
    let host = "localhost".to_owned();
    let target = Target { tls, reuse: Reuse::kept(keep_alive), ..Target::plain(nginx.address, host) };
    let mut station = crate::Station::new(target, 2, Vec::new()).unwrap();
    let recording = run(&mut station, closed(&slice(), 2));
    drop(station);
    assert_eq!(errors(&recording), []);
    let log = nginx.stop();
    let counters = recording.counters;
    assert_eq!((counters.requests, counters.replies, log.len()), (720, 720, 720));
    let connections: BTreeSet<_> = log.iter().map(|(connection, ..)| connection).collect();
    assert_eq!(counters.connections, connections.len() as u64);
    assert_eq!(counters.connections, if keep_alive { 12 } else { 720 });
    assert_eq!(counters.bytes, log.iter().map(|(.., bytes)| bytes).sum::<u64>());
    for status in [200, 404] {
        assert_eq!(counters.statuses[&status], log.iter().filter(|(_, s, _)| *s == status).count() as u64);
    }
}

#[test]
fn nginx_counts_what_we_count() {
    if has_nginx("nginx_counts_what_we_count") {
        within_patience(|| is_counted_alike(false, true));
    }
}

#[test]
fn nginx_counts_what_we_count_with_a_connection_per_request() {
    if has_nginx("nginx_counts_what_we_count_with_a_connection_per_request") {
        within_patience(|| is_counted_alike(false, false));
    }
}

#[test]
fn nginx_counts_what_we_count_over_tls() {
    if has_nginx("nginx_counts_what_we_count_over_tls") {
        within_patience(|| is_counted_alike(true, true));
    }
}

#[test]
fn nginx_counts_what_we_count_over_tls_with_a_connection_per_request() {
    if has_nginx("nginx_counts_what_we_count_over_tls_with_a_connection_per_request") {
        within_patience(|| is_counted_alike(true, false));
    }
}
