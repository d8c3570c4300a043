//! Stand-ins for the tests of this crate: a supervisor, a bakeoff that gets killed, and several servers.
//!
//! `play supervisor` is what `bakeoff supervisor` is. `play bakeoff BASE ROOT` starts subjects, prints their processes and
//! waits to be killed. `play http PORT [STATUS]` and `play origin --port PORT` answer every request; `play burner PORT`
//! spends CPU in threads and children on demand, and `play shell PORT` runs each line it is sent as a command.

#![allow(clippy::print_stdout)] // the test that started it reads it

use bakeoff_subject::{Context, Product, Running, Spec, supervisor};
use bakeoff_sys::{cpu_clock, process, thread};
use bakeoff_units::Nanos;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::AtomicBool;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["supervisor"] => return supervisor::main(),
        ["bakeoff", base, root] => bakeoff(Path::new(base), Path::new(root)),
        ["http", port] => http(port, "200"),
        ["http", port, status] => http(port, status),
        ["origin", "--port", port, ..] => http(port, "200"),
        ["burner", port] => burner(port),
        ["shell", port] => shell(port),
        ["burn", millis] => burn(Nanos::from_millis(millis.parse().expect("milliseconds"))),
        _ => return ExitCode::FAILURE,
    }
    ExitCode::SUCCESS
}

fn bakeoff(base: &Path, root: &Path) {
    static NEVER: AtomicBool = AtomicBool::new(false);
    let context = |arm| Context::new(arm, base, root, &NEVER);
    let play = std::env::current_exe().expect("own path").display().to_string();
    // One child detaches itself, one detaches itself and will not end when asked.
    let script = format!(
        "(setsid sleep 1000 &); (setsid sh -c 'trap \"\" TERM INT HUP; while :; do sleep 1; done' &); exec {play} http {{port}}"
    );
    let argv = ["sh", "-c", &script].map(str::to_owned).to_vec();
    let specs = [
        ("nginx", Spec::Product { product: Product::Nginx, config: None, tls: false }),
        ("apache", Spec::Product { product: Product::Apache, config: None, tls: false }),
        ("command", Spec::Command { argv, ready: None, env: Vec::new(), tls: false }),
    ];
    let running: Vec<Running> = specs
        .iter()
        .map(|(arm, spec)| {
            bakeoff_subject::start(spec, &context(arm)).unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    for subject in &running {
        let pids = subject.supervisor_process().into_iter().chain(subject.processes());
        let pids: Vec<String> = pids.map(|pid| pid.to_string()).collect();
        println!("{} {}", subject.arm, pids.join(" "));
    }
    println!("ready");
    std::io::stdin().read_exact(&mut [0]).expect("to be killed first");
}

fn http(port: &str, status: &str) {
    for stream in listen(port) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 2) {
            line.clear();
        }
        let _ = write!(
            stream.get_mut(),
            "HTTP/1.1 {status} Because\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
        );
    }
}

/// For each line: starts two threads and three children that burn CPU and end; answers the CPU used so far.
fn burner(port: &str) {
    for stream in listen(port) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            let threads =
                [40, 60].map(|millis| std::thread::spawn(move || burn_thread(Nanos::from_millis(millis))));
            threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
            for millis in ["30", "50", "70"] {
                let play = std::env::current_exe().expect("own path");
                Command::new(play).args(["burn", millis]).status().expect("a child");
            }
            let children = process::children_used().expect("rusage");
            let used =
                cpu_clock::process(std::process::id()).expect("clock") + children.user + children.system;
            writeln!(stream.get_mut(), "{}", used.get()).expect("a reader");
        }
    }
}

/// Answers each line with the status of that command.
fn shell(port: &str) {
    for stream in listen(port) {
        let mut stream = BufReader::new(stream);
        let mut line = String::new();
        while stream.read_line(&mut line).is_ok_and(|read| read > 0) {
            let status = Command::new("sh").args(["-c", &line]).status().expect("a shell");
            writeln!(stream.get_mut(), "{status}").expect("a reader");
            line.clear();
        }
    }
}

fn burn(goal: Nanos) {
    while cpu_clock::own_process().expect("clock") < goal {}
}

fn burn_thread(goal: Nanos) {
    while thread::cpu_time() < goal {}
}

fn listen(port: &str) -> impl Iterator<Item = TcpStream> {
    let port: u16 = port.parse().expect("a port");
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap_or_else(|error| panic!("bind: {error}"));
    std::iter::from_fn(move || listener.accept().ok().map(|(stream, _)| stream))
}
