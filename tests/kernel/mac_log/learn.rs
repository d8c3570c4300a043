//! Learnt policies are sufficient: under the policy learnt from a run, the same program is refused nothing.

use crate::domain::{DEADLINE, Domain, count, may_run, skip, until};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A script that does much, restores everything, and depends on nothing that is refused.
const SCRIPT: &str = "set -e; cd open; mkdir a; echo one > a/1; cat a/1 ../site/page > a/2; sort -o a/3 a/2; mv a/3 b
    ln -s b c; cat c > /dev/null; ls a > /dev/null; wc < /proc/self/status > /dev/null; id > /dev/null; rm -r a b c
    for i in 1 2 3 4 5 6; do cat ../site/page > $i; done; rm 1 2 3 4 5 6";

#[test]
fn a_script_runs_under_what_was_learnt_of_it() {
    let Some(domain) = may_run("a_script_runs_under_what_was_learnt_of_it") else { return };
    fs::write(domain.path("site/page"), "page\n").unwrap();
    let learnt = domain.learn(&["/bin/sh", "-c", SCRIPT]).output().unwrap();
    assert!(learnt.status.success(), "{learnt:?}");
    fs::write(domain.path("policy.toml"), &learnt.stdout).unwrap();
    let text = String::from_utf8(learnt.stdout).unwrap();
    assert!(domain.check().status.success(), "{text}");
    assert!(!text.contains(&format!("{}\"", domain.path("secret"))), "{text}");
    let ran = domain.run(SCRIPT);
    assert!(ran.status.success(), "{ran:?}\n{text}");
    assert_eq!(count(&domain.ended(), "denied"), 0, "{:?}\n{text}", domain.told());
}

#[test]
fn nginx_serves_under_what_was_learnt_of_it() {
    let Some(domain) = may_run("nginx_serves_under_what_was_learnt_of_it") else { return };
    if !std::path::Path::new(NGINX).exists() {
        return skip("nginx_serves_under_what_was_learnt_of_it", "needs nginx");
    }
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    fs::write(domain.path("site/page"), "page\n").unwrap();
    fs::write(domain.path("site/nginx.conf"), config(&domain, port)).unwrap();
    let config = domain.path("site/nginx.conf");
    let words = [NGINX, "-e", "stderr", "-c", &config];
    let learning = domain.learn(&words).stdout(Stdio::piped()).spawn().unwrap();
    serves(port);
    let learnt = ended(learning);
    fs::write(domain.path("policy.toml"), &learnt).unwrap();
    let text = String::from_utf8(learnt).unwrap();
    assert!(domain.check().status.success(), "{text}");
    assert!(text.contains(&format!("listen = [{port}]\n")), "{text}");
    // As nobody, nginx may not read its own refusals: a daemon of root does, and there are none.
    let mut daemon = domain.daemon();
    let own = domain.path("open/own");
    let server = domain.nobody(&own, &words).spawn().unwrap();
    serves(port);
    ended(server);
    // A last refusal, to know that all earlier ones have come.
    domain.as_nobody(&own, "read x < secret/key; exit 0");
    let status = until(&domain, |status| count(status, "denied") > 0);
    let refused: Vec<_> = domain.told().iter().filter(|line| line["exe"] == NGINX).cloned().collect();
    assert!(refused.is_empty(), "{refused:#?}\n{status}\n{text}");
    daemon.end();
}

const NGINX: &str = "/usr/sbin/nginx";

fn config(domain: &Domain, port: u16) -> String {
    let (site, open) = (domain.path("site"), domain.path("open"));
    let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
        .map(|kind| format!("{kind}_temp_path {open}/{kind};\n"))
        .concat();
    format!(
        "daemon off; worker_processes 1; pid {open}/pid; error_log stderr;
         events {{}}
         http {{ access_log {open}/access; {temporary} server {{ listen 127.0.0.1:{port}; root {site}; }} }}"
    )
}

/// Waits until the page is served.
fn serves(port: u16) {
    let began = Instant::now();
    loop {
        let got = TcpStream::connect(("127.0.0.1", port)).and_then(|mut stream| {
            stream.write_all(b"GET /page HTTP/1.0\r\n\r\n")?;
            let mut reply = String::new();
            stream.read_to_string(&mut reply).map(|_| reply)
        });
        if got.as_ref().is_ok_and(|reply| reply.ends_with("page\n")) {
            return;
        }
        assert!(began.elapsed() < DEADLINE, "{got:?}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Output of a child, once it was asked to end and has.
fn ended(mut child: Child) -> Vec<u8> {
    kill(Pid::from_raw(child.id() as i32), Signal::SIGTERM).unwrap();
    let mut printed = Vec::new();
    if let Some(out) = &mut child.stdout {
        out.read_to_end(&mut printed).unwrap();
    }
    assert!(child.wait().unwrap().success());
    printed
}

impl Domain {
    /// Learns a policy of the domain `web`, as nobody.
    fn learn(&self, program: &[&str]) -> Command {
        self.nobodys(&["mac", "learn", "--domain", "web", "--"], program)
    }

    /// A program in the domain, as nobody.
    fn nobody(&self, status: &str, program: &[&str]) -> Command {
        self.nobodys(&["mac", "run", "policy.toml", "--domain", "web", "--status", status, "--"], program)
    }
}
