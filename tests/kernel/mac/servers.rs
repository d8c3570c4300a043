//! nginx and Apache in domains of their own: they serve their site, and reach neither a file outside nor another
//! port.

use crate::stage::{LAYERS, Stage, may_run, skip};
use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(120);

/// One of the two servers, and its configuration.
struct Kind {
    name: &'static str,
    program: &'static str,
    config: fn(&Stage, [u16; 3]) -> String,
    /// Further keys of its domain.
    keys: &'static str,
    words: &'static [&'static str],
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "nginx",
        program: "/usr/sbin/nginx",
        config: nginx,
        keys: "",
        words: &["-p", "{dir}own", "-e", "error.log", "-c", "{dir}conf/server.conf"],
    },
    Kind {
        name: "apache",
        program: "/usr/sbin/apache2",
        config: apache,
        // It sets the mode of its PID file.
        keys: "attributes = true",
        words: &["-d", "{dir}own", "-f", "{dir}conf/server.conf", "-DFOREGROUND"],
    },
];

fn nginx(stage: &Stage, [port, _, elsewhere]: [u16; 3]) -> String {
    let dir = stage.text("");
    format!(
        "daemon off; worker_processes 1; pid nginx.pid; error_log error.log;
         events {{}}
         http {{ access_log off;
           client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fcgi; uwsgi_temp_path uwsgi;
           scgi_temp_path scgi;
           server {{ listen 127.0.0.1:{port};
             location / {{ root {dir}site; }}
             location /outside/ {{ alias {dir}outside/; }}
             location /elsewhere/ {{ proxy_pass http://127.0.0.1:{elsewhere}/; }} }} }}"
    )
}

fn apache(stage: &Stage, [port, _, elsewhere]: [u16; 3]) -> String {
    let dir = stage.text("");
    let modules = ["mpm_event", "authz_core", "alias", "proxy", "proxy_http"];
    let load = |name: &&str| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n");
    let loads: String = modules.iter().map(load).collect();
    format!(
        "{loads}ServerName localhost
         Listen 127.0.0.1:{port}
         PidFile httpd.pid
         ErrorLog error.log
         Mutex file:{dir}own default
         StartServers 1
         DocumentRoot {dir}site
         Alias /outside {dir}outside
         <Directory {dir}>
             Require all granted
         </Directory>
         ProxyPass /elsewhere/ http://127.0.0.1:{elsewhere}/
         "
    )
}

/// A server as `nobody`, in its domain or not; it and its workers end with the test.
struct Running(Child);

impl Running {
    fn of(kind: &Kind, stage: &Stage, confined: bool) -> Self {
        let own = kind.words.iter().map(|word| word.replace("{dir}", &stage.text("")));
        let program: Vec<String> = [kind.program.to_owned()].into_iter().chain(own).collect();
        let before = if confined { stage.run(&[]) } else { Vec::new() };
        let mut words = [before, program].concat();
        if confined {
            words[0] = stage.text("layers");
        }
        let nobody = bakeoff_sys::process::user_named("nobody").unwrap();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).uid(nobody.uid).gid(nobody.gid).process_group(0).current_dir("/");
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap())
    }

    /// Waits for its own end; returns its exit code and output.
    fn end(mut self) -> (Option<i32>, String) {
        let deadline = Instant::now() + PATIENCE;
        while self.0.try_wait().unwrap().is_none() {
            assert!(Instant::now() < deadline, "it runs on");
            std::thread::sleep(Duration::from_millis(5));
        }
        let mut text = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut text).unwrap();
        (self.0.wait().unwrap().code(), text)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let group = Pid::from_raw(i32::try_from(self.0.id()).unwrap());
        let _ = kill(group, Signal::SIGTERM);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = killpg(group, Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// The status of a reply and the rest of it, once a server listens.
fn get(port: u16, path: &str) -> (u16, String) {
    let deadline = Instant::now() + PATIENCE;
    let mut stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(error) => assert!(Instant::now() < deadline, "nobody listens on {port}: {error}"),
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    let status = reply.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_else(|| panic!("no status in {reply:?}")), reply)
}

fn lay_out(kind: &Kind, ports: [u16; 3]) -> Stage {
    let stage = Stage::new();
    stage.write("site/index.html", "of the site");
    stage.write("outside/f", "of somebody else");
    stage.write("conf/server.conf", &(kind.config)(&stage, ports));
    fs::create_dir(stage.path("own")).unwrap();
    let nobody = bakeoff_sys::process::user_named("nobody").unwrap();
    std::os::unix::fs::chown(stage.path("own"), Some(nobody.uid), Some(nobody.gid)).unwrap();
    stage.copy_program(LAYERS, "layers");
    let types =
        "config = [\"{dir}/conf\"]\nsite = { paths = [\"{dir}/site\"], hot = true }\nown = [\"{dir}/own\"]";
    let allow =
        "config = \"read list\", site = \"read list\", own = \"read list write create delete rename\"";
    stage.policy(types, allow, &format!("listen = [{}]\n{}", ports[1], kind.keys));
    stage
}

#[test]
fn a_server_serves_its_site_and_nothing_else() {
    let test = "a_server_serves_its_site_and_nothing_else";
    if !may_run(test) {
        return;
    }
    for kind in &KINDS {
        if !Path::new(kind.program).exists() {
            skip(test, &format!("needs {}", kind.program));
            continue;
        }
        for confined in [false, true] {
            // Another server, to which a request may go.
            let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
            elsewhere.set_nonblocking(true).unwrap();
            let port_of = |listener: &TcpListener| listener.local_addr().unwrap().port();
            let (other, port) = (port_of(&elsewhere), port_of(&TcpListener::bind("127.0.0.1:0").unwrap()));
            let stage = lay_out(kind, [port, port, other]);
            let server = Running::of(kind, &stage, confined);
            let (status, body) = get(port, "/index.html");
            assert_eq!(status, 200, "{}: {body}", kind.name);
            assert!(body.ends_with("of the site"));
            assert_eq!(get(port, "/outside/f").0, if confined { 403 } else { 200 }, "{}", kind.name);
            if confined {
                let (status, _) = get(port, "/elsewhere/");
                assert!([502, 503].contains(&status), "{}: {status}", kind.name);
                assert!(elsewhere.accept().is_err(), "{}: it did connect", kind.name);
            }
            drop(server);
        }
    }
}

#[test]
fn a_server_cannot_listen_on_another_port() {
    let test = "a_server_cannot_listen_on_another_port";
    if !may_run(test) {
        return;
    }
    for kind in KINDS.iter().filter(|kind| Path::new(kind.program).exists()) {
        let [one, other] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let [one, other] = [one, other].map(|listener| listener.local_addr().unwrap().port());
        let stage = lay_out(kind, [other, one, one]);
        let (code, text) = Running::of(kind, &stage, true).end();
        assert_ne!(code, Some(0), "{}", kind.name);
        let log = fs::read_to_string(stage.path("own/error.log")).unwrap_or_default();
        assert!((text.clone() + &log).contains("Permission denied"), "{}: {text}{log}", kind.name);
    }
}
