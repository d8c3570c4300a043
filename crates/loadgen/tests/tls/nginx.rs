//! TLS against nginx, which has another TLS library, and its own log of resumed sessions.

use crate::support::{Holder, client, share};
use bakeoff_loadgen::{HandshakeKind, HandshakeLedger, TlsOptions, TlsSession, Versions};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

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
    /// One process, so that all its connections share tickets, with these lines for the server.
    fn start(holder: &Holder, lines: &str) -> Self {
        // Between choosing a port and listening there, another program may take it.
        (0..5).find_map(|_| Self::attempt(holder, lines)).expect("nginx serves")
    }

    fn attempt(holder: &Holder, lines: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let (root, identity) = (dir.path().display(), holder.identity());
        let config = format!(
            "daemon off; pid {root}/pid; error_log stderr; worker_processes 1;
             events {{ worker_connections 256; }}
             http {{
               log_format tls '$ssl_session_reused $ssl_protocol $ssl_cipher $ssl_client_verify';
               access_log {root}/access.log tls;
               client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
               uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
               server {{ listen {address} ssl; ssl_protocols TLSv1.2 TLSv1.3; ssl_certificate {};
                 ssl_certificate_key {}; {lines} location / {{ return 200 hello; }} }}
             }}",
            identity.certificate.display(),
            identity.key.display()
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
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(nginx)
    }

    /// Sends a request on a connection of its own; true when the reply came whole and was ended as it should.
    fn ask(&self, session: &mut TlsSession) -> bool {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let (mut buffer, mut out, mut heard) = (vec![0; 65_536], Vec::new(), Vec::new());
        let mut asked = false;
        loop {
            session.take_output(&mut out);
            if !session.is_handshaking() && !asked {
                asked = true;
                session
                    .write(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", &mut out)
                    .unwrap();
            }
            stream.write_all(&out).unwrap();
            out.clear();
            let n = stream.read(&mut buffer).unwrap();
            let progress = session.receive(&buffer[..n], &mut |plain| {
                heard.extend_from_slice(plain);
                Ok(())
            });
            let progress = progress.unwrap();
            if progress.ended || n == 0 {
                return progress.ended && heard.starts_with(b"HTTP/1.1 200") && heard.ends_with(b"hello");
            }
        }
    }

    fn end(&mut self) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGQUIT);
        let _ = self.child.wait();
    }

    /// Ends it; the words of each line of its log.
    fn stop(mut self) -> Vec<Vec<String>> {
        self.end();
        let log = fs::read_to_string(self.dir.path().join("access.log")).unwrap();
        log.lines().map(|line| line.split(' ').map(str::to_owned).collect()).collect()
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.end();
        }
    }
}

/// Makes connections one after the other; returns our counts, after comparison with the log.
fn series(holder: &Holder, options: &TlsOptions, lines: &str, connections: usize) -> HandshakeLedger {
    let nginx = Nginx::start(holder, lines);
    let mut client = client(options, 1);
    let mut ledger = HandshakeLedger::default();
    let mut resumed = Vec::new();
    for _ in 0..connections {
        let mut session = client.session().unwrap();
        assert!(nginx.ask(&mut session));
        ledger.record(&session);
        resumed.push(session.kind() == Some(HandshakeKind::Resumed));
    }
    let log: Vec<_> = nginx.stop().iter().map(|words| words[0] == "r").collect();
    assert_eq!(log, resumed, "which connections were resumed");
    ledger
}

#[test]
fn nginx_logs_as_resumed_what_we_count_as_resumed() {
    if !has_nginx("nginx_logs_as_resumed_what_we_count_as_resumed") {
        return;
    }
    let holder = Holder::new();
    let by_number = "ssl_session_tickets off; ssl_session_cache shared:ours:1m;";
    for versions in [Versions::Tls12, Versions::Tls13] {
        for lines in ["", by_number] {
            for (text, resumed) in [("0%", 0), ("25%", 9), ("100%", 39)] {
                let options = holder.options().versions(versions).resume(share(text));
                let ledger = series(&holder, &options, lines, 40);
                assert_eq!(ledger.resumed.count, resumed, "{versions:?} `{lines}` {text}");
                assert_eq!((ledger.offered, ledger.completed()), (resumed, 40));
            }
        }
    }
}

#[test]
fn an_nginx_that_resumes_nothing_shows() {
    if !has_nginx("an_nginx_that_resumes_nothing_shows") {
        return;
    }
    let holder = Holder::new();
    for versions in [Versions::Tls12, Versions::Tls13] {
        let lines = "ssl_session_tickets off; ssl_session_cache off;";
        let ledger = series(&holder, &holder.options().versions(versions), lines, 10);
        assert_eq!((ledger.wanted, ledger.resumed.count, ledger.full.count), (10, 0, 10));
    }
}

#[test]
fn nginx_demands_a_certificate_and_gets_it_with_the_suite_that_was_named() {
    if !has_nginx("nginx_demands_a_certificate_and_gets_it_with_the_suite_that_was_named") {
        return;
    }
    let (holder, customer) = (Holder::new(), Holder::new());
    let ca = customer.certificate();
    let lines = format!("ssl_verify_client on; ssl_client_certificate {};", ca.display());
    let nginx = Nginx::start(&holder, &lines);
    let options = holder
        .options()
        .identity(Some(customer.identity()))
        .suites(["TLS_CHACHA20_POLY1305_SHA256"])
        .groups(["secp384r1"]);
    let mut session = client(&options, 1).session().unwrap();
    assert!(nginx.ask(&mut session));
    let words = "TLSv1_3 TLS13_CHACHA20_POLY1305_SHA256 secp384r1";
    assert_eq!(session.description().as_deref(), Some(words));
    assert_eq!(nginx.stop(), [[".", "TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256", "SUCCESS"]]);
}
