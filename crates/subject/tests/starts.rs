//! Failed starts of commands and URLs, and their error messages.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Burn, CpuMissing, Spec, SubjectError};
use bakeoff_units::Nanos;
use std::io::Write;
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use support::{PATIENCE, Yard, all_gone, command, get, identity, play};

fn play_http(status: &str, ready: Option<&str>) -> Spec {
    let argv = [play().display().to_string(), "http".into(), "{port}".into(), status.into()].into();
    Spec::Command { argv, ready: ready.map(str::to_owned), env: Vec::new(), tls: false }
}

#[test]
fn a_command_serves_and_ends() {
    let yard = Yard::new();
    let running = yard.start(&play_http("200", None)).unwrap();
    assert_eq!(get(&running, "/").0, 200);
    running.alive().unwrap();
    let all: Vec<_> =
        running.processes().into_iter().chain(running.supervisor_process()).map(identity).collect();
    assert_eq!(all.len(), 2);
    drop(running);
    all_gone(&all, Duration::ZERO);
}

#[test]
fn the_origin_is_started_with_port_and_catalogue() {
    let yard = Yard::new();
    let mut context = yard.context("origin");
    let [request, in_flight, wakeup] = [2, 3, 4].map(|us| Some(Nanos::from_micros(us)));
    let burn = Burn { request, in_flight, wakeup };
    let spec = Spec::Origin { tls: false, burn };
    let error = bakeoff_subject::start(&spec, &context).unwrap_err();
    assert!(matches!(error, SubjectError::NoCatalogue { .. }), "{error}");
    context.catalogue = Some(yard.path("catalogue"));
    let running = bakeoff_subject::start(&spec, &context).unwrap();
    assert!(
        running
            .command_line
            .join(" ")
            .ends_with("--burn 2000ns --burn-in-flight 3000ns --burn-per-wakeup 4000ns"),
        "{:?}",
        running.command_line
    );
}

#[test]
fn dead_at_start_is_told_at_once_with_its_last_words() {
    let yard = Yard::new();
    let begin = Instant::now();
    let error = yard.start(&command(&["sh", "-c", "echo one; echo two >&2; exit 7"])).unwrap_err();
    let message = error.to_string();
    // Found before the time that a start may take is over.
    assert!(begin.elapsed() < PATIENCE / 2, "waited {:?}", begin.elapsed());
    assert!(
        message.starts_with("arm `it`: the server ended before it was ready (exit status 7)"),
        "{message}"
    );
    assert!(message.contains("\n    one\n    two") && message.contains("base/it"), "{message}");
}

#[test]
fn never_ready_is_told_after_the_timeout() {
    let yard = Yard::new();
    let mut context = yard.context("slow");
    context.start_timeout = Nanos::from_millis(200);
    let error = bakeoff_subject::start(&command(&["sleep", "100"]), &context).unwrap_err().to_string();
    assert!(error.contains("not ready after 200 ms: nobody listens on 127.0.0.1:"), "{error}");
    assert!(error.contains("start_timeout") && error.contains("printed nothing"), "{error}");
    // It has to listen before the time is over.
    support::with_limits(|limit| {
        context.start_timeout = limit;
        let error = bakeoff_subject::start(&play_http("503", Some("/health")), &context).unwrap_err();
        let error = error.to_string();
        assert!(error.contains(&format!("not ready after {limit}: ")), "{error}");
        error.contains("/health answers with status 503").then_some(())
    });
    context.start_timeout = yard.context("slow").start_timeout;
    bakeoff_subject::start(&play_http("404", Some("/health")), &context).unwrap();
}

#[test]
fn waiting_ends_when_interrupted() {
    static STOP: AtomicBool = AtomicBool::new(true);
    let yard = Yard::new();
    let mut context = yard.context("it");
    context.interrupted = &STOP;
    let error = bakeoff_subject::start(&command(&["sleep", "100"]), &context).unwrap_err();
    assert!(matches!(error, SubjectError::Interrupted { .. }), "{error}");
}

#[test]
fn a_port_answered_by_a_stranger_is_an_error_of_its_own() {
    let yard = Yard::new();
    // The stranger (this test) takes the port the command was given and tells it so by a file.
    let exchange = yard.path("port");
    let watched = exchange.clone();
    let (over, is_over) = std::sync::mpsc::channel::<()>();
    let taker = std::thread::spawn(move || {
        let mut taken = Vec::new();
        let begin = Instant::now();
        while taken.len() < 3 && begin.elapsed() < PATIENCE {
            if let Ok(text) = std::fs::read_to_string(&watched)
                && let Ok(port) = text.trim().parse::<u16>()
            {
                std::fs::remove_file(&watched).unwrap();
                taken.push(TcpListener::bind(("127.0.0.1", port)).unwrap());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        is_over.recv().unwrap_err(); // it listens as long as somebody may ask whose the port is
        taken.len()
    });
    let script = format!("echo {{port}} > {0}.new; mv {0}.new {0}; exec sleep 100", exchange.display());
    let error = yard.start(&command(&["sh", "-c", &script])).unwrap_err();
    drop(over);
    assert!(matches!(error, SubjectError::Stranger { .. }), "{error}");
    assert_eq!(taker.join().unwrap(), 3, "tried three ports");
}

#[test]
fn a_port_in_use_is_tried_again_with_another() {
    let yard = Yard::new();
    let script = format!(
        "if [ ! -e {0} ]; then touch {0}; echo 'bind: Address already in use' >&2; exit 1; fi; exec {1} http {{port}}",
        yard.path("tried").display(),
        play().display()
    );
    let running = yard.start(&command(&["sh", "-c", &script])).unwrap();
    assert!(running.dir.as_ref().unwrap().ends_with("it-2"));
}

#[test]
fn wrong_commands_say_what_is_wrong() {
    let yard = Yard::new();
    for (argv, expected) in [
        (&["x", "--port={prot}"][..], "`{prot}` is none of the substitutions"),
        (&["x", "{"], "a single brace in `{`"),
        (&[], "the command is empty"),
        (&["no-such-program-here"], "no program `no-such-program-here`"),
        (&["./no-such-program-here"], "no program"),
    ] {
        let message = yard.start(&command(argv)).unwrap_err().to_string();
        assert!(message.starts_with("arm `it`: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn a_command_gets_a_small_environment_and_its_substitutions() {
    let yard = Yard::new();
    let script = "env > env.txt; pwd > pwd.txt; echo \"$SITE\" > site.txt; exec \"$0\" http {port}";
    let argv = ["sh", "-c", script, &play().display().to_string()].map(str::to_owned).to_vec();
    let env = vec![("SITE".to_owned(), "{root}".to_owned())];
    let mut context = yard.context("it");
    context.padding = 100;
    let running =
        bakeoff_subject::start(&Spec::Command { argv, ready: None, env, tls: false }, &context).unwrap();
    let dir = running.dir.clone().unwrap();
    let read = |name| std::fs::read_to_string(dir.join(name)).unwrap();
    let names: Vec<String> =
        read("env.txt").lines().map(|line| line.split('=').next().unwrap().to_owned()).collect();
    for name in &names {
        let known = [
            "PATH",
            "HOME",
            "TMPDIR",
            "LANG",
            "SITE",
            "BAKEOFF_PADDING",
            "BAKEOFF_SUPERVISOR",
            "PWD",
            "_",
            "OLDPWD",
            "SHLVL",
        ];
        assert!(known.contains(&name.as_str()), "{names:?}");
    }
    assert_eq!(read("site.txt").trim(), yard.path("site").display().to_string());
    assert_eq!(read("pwd.txt").trim(), dir.display().to_string());
}

#[test]
fn a_command_dead_in_the_middle_is_told_with_its_last_words() {
    let yard = Yard::new();
    let running = yard.start(&play_http("200", None)).unwrap();
    let main = running.main_process().unwrap();
    let (pid, start) = identity(main);
    bakeoff_sys::process::send(pid, start, bakeoff_sys::process::Signal::Kill).unwrap();
    all_gone(&[(pid, start)], PATIENCE);
    let begin = Instant::now();
    let error = loop {
        if let Err(error) = running.alive() {
            break error.to_string();
        }
        assert!(begin.elapsed() < PATIENCE);
    };
    assert!(error.contains("ended during the run (killed by SIGKILL)"), "{error}");
}

#[test]
fn a_url_is_reached_and_left_alone() {
    let yard = Yard::new();
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let without = yard.start(&Spec::Url { url: url.clone(), pid: None }).unwrap();
    assert_eq!(without.cpu(), Err(CpuMissing::NoPid));
    assert!(without.processes().is_empty());
    let own = std::process::id();
    let with = yard.start(&Spec::Url { url, pid: Some(own) }).unwrap();
    assert!(with.processes().contains(&own));
    let before = with.cpu().unwrap();
    while with.cpu().unwrap().nanos.since(before.nanos) < Nanos::from_millis(5) {}
    with.alive().unwrap();
    with.stop();
    listener.accept().unwrap().0.write_all(b"still here").unwrap();
    for (url, expected) in [
        ("gopher://x", "http://"),
        ("http://127.0.0.1:1", "nobody answers"),
        ("http://x.invalid", "resolved"),
    ] {
        let message = yard.start(&Spec::Url { url: url.to_owned(), pid: None }).unwrap_err().to_string();
        assert!(message.contains(expected), "{message}");
    }
}
