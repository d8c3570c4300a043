//! Real servers of HTTP/2, without and with TLS, and their own records of what they served.

use crate::support::{Authority, PATIENCE};
use bakeoff_content::{Body, ObjectId};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, geteuid};
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Sizes of the files, each called by its own.
pub(crate) const SIZES: [u64; 4] = [0, 500, 50_000, 5_000_000];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Nginx,
    Apache,
    Nghttpd,
}

impl Kind {
    const fn program(self) -> (&'static str, &'static str) {
        match self {
            Self::Nginx => ("nginx", "nginx-light"),
            Self::Apache => ("apache2", "apache2"),
            Self::Nghttpd => ("nghttpd", "nghttp2-server"),
        }
    }
}

/// Without the program the test fails, unless skipping is allowed; then it says so.
pub(crate) fn has(kind: Kind, test: &str) -> bool {
    let (program, package) = kind.program();
    let found = ["/usr/sbin", "/usr/bin"].iter().any(|dir| Path::new(dir).join(program).exists());
    if !found {
        let reason = format!("`{program}` is not installed (apt-get install {package})");
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

pub(crate) fn object(size: u64) -> Body {
    Body::new(ObjectId::of_name(format!("/{size}").as_bytes()), size)
}

/// A request, as the server has seen it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// The connection's number or port, which no other has.
    pub(crate) connection: String,
    pub(crate) status: u16,
    pub(crate) method: String,
    pub(crate) target: String,
}

pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    kind: Kind,
    child: Child,
    dir: tempfile::TempDir,
}

impl Server {
    /// Starts it with further lines in its configuration, or further arguments.
    pub(crate) fn start(kind: Kind, authority: Option<&Authority>, more: &str) -> Self {
        // Between choosing a port and listening there, another program may take it.
        (0..5).find_map(|_| Self::attempt(kind, authority, more)).expect("the server serves")
    }

    fn attempt(kind: Kind, authority: Option<&Authority>, more: &str) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for size in SIZES {
            let mut file = fs::File::create(dir.path().join(format!("{size}"))).unwrap();
            object(size).write_to(&mut file).unwrap();
        }
        if let Some(authority) = authority {
            fs::write(dir.path().join("key.pem"), &authority.key).unwrap();
            fs::copy(authority.file.path(), dir.path().join("cert.pem")).unwrap();
        }
        let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let tls = authority.is_some();
        let child = command(kind, dir.path(), address, tls, more).spawn().unwrap();
        let mut server = Self { address, kind, child, dir };
        server.is_ready().then_some(server)
    }

    fn is_ready(&mut self) -> bool {
        while TcpStream::connect(self.address).is_err() {
            if self.child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        true
    }

    /// Has it read its configuration again, as administrators do, under load.
    pub(crate) fn reload(&self) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGHUP).unwrap();
    }

    /// Ends nginx at once and starts it again in the same place.
    pub(crate) fn restart(&mut self) {
        self.end(Signal::SIGTERM);
        let mut again = Command::new("nginx");
        again.args(["-e", "stderr", "-c"]).arg(self.dir.path().join("nginx.conf"));
        self.child = again.env("PATH", SYSTEM).stderr(Stdio::null()).spawn().unwrap();
        assert!(self.is_ready());
    }

    /// Ends it when it has recorded so many requests; returns its records.
    pub(crate) fn stop(mut self, requests: usize) -> Vec<Served> {
        let patience = Instant::now() + PATIENCE;
        while self.record().len() < requests && Instant::now() < patience {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end(Signal::SIGTERM);
        self.record()
    }

    fn record(&self) -> Vec<Served> {
        let text = fs::read_to_string(self.dir.path().join("access.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        if self.kind == Kind::Nghttpd { frames_of_nghttpd(whole) } else { whole.lines().map(line).collect() }
    }

    fn end(&mut self, signal: Signal) {
        let _ = kill(Pid::from_raw(self.child.id() as i32), signal);
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            self.end(Signal::SIGTERM);
        }
    }
}

const SYSTEM: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

fn command(kind: Kind, dir: &Path, address: SocketAddr, tls: bool, more: &str) -> Command {
    let (program, _) = kind.program();
    let mut command = Command::new(program);
    command.env("PATH", SYSTEM).stdout(Stdio::null()).stderr(Stdio::null());
    match kind {
        Kind::Nginx => {
            fs::write(dir.join("nginx.conf"), nginx(dir, address, tls, more)).unwrap();
            command.args(["-e", "stderr", "-c"]).arg(dir.join("nginx.conf"));
        }
        Kind::Apache => {
            fs::write(dir.join("httpd.conf"), apache(dir, address, tls, more)).unwrap();
            command.arg("-d").arg(dir).args(["-f", "httpd.conf", "-DFOREGROUND"]);
        }
        Kind::Nghttpd => {
            // It has no access log, but says what it does.
            command.stdout(fs::File::create(dir.join("access.log")).unwrap());
            command.args(["-v", "-a", "127.0.0.1", "-d"]).arg(dir).args(more.split_whitespace());
            command.args((!tls).then_some("--no-tls")).arg(address.port().to_string());
            command.args(tls.then(|| dir.join("key.pem"))).args(tls.then(|| dir.join("cert.pem")));
        }
    }
    command
}

fn nginx(dir: &Path, address: SocketAddr, tls: bool, more: &str) -> String {
    let root = dir.display();
    let (listen, certificate) = match tls {
        true => {
            ("ssl http2", format!("ssl_certificate {root}/cert.pem; ssl_certificate_key {root}/key.pem;"))
        }
        false => ("http2", String::new()),
    };
    format!(
        "daemon off; pid {root}/pid; error_log stderr; worker_processes 2;
         events {{ worker_connections 256; }}
         http {{
           log_format count '$remote_port $status $request_method $request_uri $server_protocol';
           access_log {root}/access.log count;
           client_body_temp_path {root}/b; proxy_temp_path {root}/p; fastcgi_temp_path {root}/f;
           uwsgi_temp_path {root}/u; scgi_temp_path {root}/s;
           server {{ listen {address} {listen}; {certificate} root {root}; {more} }}
         }}"
    )
}

fn apache(dir: &Path, address: SocketAddr, tls: bool, more: &str) -> String {
    let root = dir.display();
    let modules = ["/usr/lib/apache2/modules", "/usr/lib64/httpd/modules", "/usr/libexec/apache2"];
    let modules = modules.into_iter().find(|place| Path::new(place).exists()).unwrap();
    let load = |name: &str| format!("LoadModule {name}_module {modules}/mod_{name}.so\n");
    let load: String = ["mpm_event", "authz_core", "http2"].into_iter().map(load).collect();
    let user = if geteuid().is_root() { "User nobody\nGroup nogroup\n" } else { "" };
    let security = match tls {
        true => format!(
            "LoadModule ssl_module {modules}/mod_ssl.so\nSSLEngine on\nProtocols h2 http/1.1\n\
             SSLCertificateFile {root}/cert.pem\nSSLCertificateKeyFile {root}/key.pem\n"
        ),
        false => "Protocols h2c http/1.1\n".to_owned(),
    };
    format!(
        "{load}{user}{security}ServerName localhost\nListen {address}\nPidFile {root}/pid\n\
         DefaultRuntimeDir {root}\nMutex file:{root}\nErrorLog {root}/error.log\nDocumentRoot {root}\n\
         <Directory {root}>\nRequire all granted\n</Directory>\nThreadsPerChild 16\nStartServers 1\n\
         LogFormat \"%{{remote}}p %>s %m %U%q %H\" count\nCustomLog {root}/access.log count\n{more}\n"
    )
}

fn line(line: &str) -> Served {
    let mut fields = line.split(' ').map(str::to_owned);
    let mut field = || fields.next().unwrap();
    let served =
        Served { connection: field(), status: field().parse().unwrap(), method: field(), target: field() };
    assert_eq!(field(), "HTTP/2.0", "{line}");
    served
}

/// `[id=1] [  0.5] recv (stream_id=13) :path: /x`, and below `send HEADERS frame <..., stream_id=13>` a line
/// with the status.
fn frames_of_nghttpd(text: &str) -> Vec<Served> {
    let mut served: BTreeMap<(String, String), Served> = BTreeMap::new();
    let mut last = (String::new(), String::new());
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("[id=") {
            let connection = rest.split(']').next().unwrap().to_owned();
            let stream =
                line.split("stream_id=").nth(1).unwrap_or("0").split([')', '>', ' ']).next().unwrap();
            last = (connection, stream.to_owned());
        }
        let value = |name: &str| line.split_once(name).map(|(_, value)| value.to_owned());
        let new =
            || Served { connection: last.0.clone(), status: 0, method: String::new(), target: String::new() };
        if let Some(method) = value(" :method: ") {
            served.entry(last.clone()).or_insert_with(new).method = method;
        } else if let Some(path) = value(" :path: ") {
            served.entry(last.clone()).or_insert_with(new).target = path;
        } else if let Some(status) = value(" :status: ") {
            served.entry(last.clone()).or_insert_with(new).status = status.parse().unwrap();
        }
    }
    served.into_values().collect()
}
