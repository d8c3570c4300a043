//! Additions of a plan to a start: values, preparatory commands, the proof that a layer is on.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // helpers of tests are tests too

mod support;

use bakeoff_subject::{Context, Enforcement, Product, Proof, Running, Spec, prove};
use bakeoff_sys::process;
use bakeoff_units::Nanos;
use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use support::{Yard, all_gone, command, get, has, identity, play};

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).to_vec()
}

fn with_rules(yard: &Yard) -> (Spec, Context<'static>) {
    let text = "events {}\nhttp {\n  server {\n    listen {host}:{port};\n    root {root};\n    include {dir}/rules.conf;\n  }\n}\n";
    let config = Some(yard.write("mine.conf", text));
    let mut context = yard.context("ruled");
    context.values.insert("rules".into(), "200".into());
    context.prepare = vec![
        shell(
            "for n in $(seq {rules}); do echo \"location = /r$n {{ return 204; }}\"; done > {dir}/rules.conf",
        ),
        shell("env > {dir}/env.txt"),
    ];
    (Spec::Product { product: Product::Nginx, config, tls: false }, context)
}

#[test]
fn a_prepared_file_is_the_servers_and_new_for_each_start() {
    if !has("nginx", "a_prepared_file_is_the_servers_and_new_for_each_start") {
        return;
    }
    let yard = Yard::new();
    let (spec, mut context) = with_rules(&yard);
    context.padding = 100;
    let running = bakeoff_subject::start(&spec, &context).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((get(&running, "/r200").0, get(&running, "/r201").0), (204, 404));
    let dir = running.dir.clone().unwrap();
    let owner = |name: &str| std::fs::metadata(dir.join(name)).unwrap().uid();
    assert_eq!(owner("rules.conf"), owner("nginx.conf"));
    assert!(!process::is_root() || owner("rules.conf") != 0);
    let env = std::fs::read_to_string(dir.join("env.txt")).unwrap();
    assert!(env.lines().any(|line| line == format!("HOME={}", dir.display())), "{env}");
    assert!(!env.contains("BAKEOFF_PADDING"), "{env}");
    context.values.insert("rules".into(), "2".into());
    let other = bakeoff_subject::start(&spec, &context).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((get(&other, "/r2").0, get(&other, "/r200").0), (204, 404));
}

#[test]
fn a_name_nobody_gave_is_an_error_with_its_line() {
    if !has("nginx", "a_name_nobody_gave_is_an_error_with_its_line") {
        return;
    }
    let yard = Yard::new();
    let config = Some(yard.write("mine.conf", "events {}\nhttp { server { listen {port}; # {rules}\n} }\n"));
    let message =
        yard.start(&Spec::Product { product: Product::Nginx, config, tls: false }).unwrap_err().to_string();
    assert!(message.contains("line 2: `{rules}` is none of the substitutions"), "{message}");
}

#[test]
fn preparation_that_fails_ends_the_start_with_its_last_words() {
    let yard = Yard::new();
    let mut context = yard.context("it");
    let server = command(&["sh", "-c", "touch {dir}/started; sleep 1000"]);
    let cases = [
        (shell("echo no rules >&2; exit 3"), "failed (exit status 3); its last 1 lines"),
        (vec!["no-such-program-here".to_owned()], "no program `no-such-program-here`"),
        (shell("{nothing}"), "prepare: `{nothing}` is none of the substitutions"),
    ];
    let fails = |context: &Context<'_>, expected: &str| {
        let message = bakeoff_subject::start(&server, context).unwrap_err().to_string();
        assert!(message.starts_with("arm `it`: ") && message.contains(expected), "{message}");
    };
    for (argv, expected) in cases {
        context.prepare = vec![shell("true"), argv];
        fails(&context, expected);
    }
    assert!(!yard.path("base/it/started").exists());
    // A command that hangs has to have begun before its time is over.
    let pid_file = yard.path("pid");
    context.prepare = vec![shell(&format!("echo $$ > {}; exec sleep 1000", pid_file.display()))];
    let pid = support::with_limits(|limit| {
        context.start_timeout = limit;
        fails(&context, "failed (ended at the time limit)");
        std::fs::read_to_string(&pid_file).ok()?.trim().parse().ok()
    });
    all_gone(&[identity(pid)], Duration::ZERO);
}

/// As root bakeoff writes into a directory that belongs to another user by then.
#[test]
fn links_in_the_private_directory_lead_nowhere() {
    if !has("nginx", "links_in_the_private_directory_lead_nowhere") {
        return;
    }
    let yard = Yard::new();
    let victim = yard.write("victim", "mine");
    let owner = std::fs::metadata(&victim).unwrap().uid();
    let spec = Spec::Product { product: Product::Nginx, config: None, tls: false };
    for name in ["nginx.conf", "error.log.link"] {
        let mut context = yard.context("it");
        context.prepare = vec![shell(&format!("ln -s {} {{dir}}/{name}", victim.display()))];
        let started = bakeoff_subject::start(&spec, &context);
        assert_eq!(started.is_err(), name == "nginx.conf", "{started:?}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "mine");
        assert_eq!(std::fs::metadata(&victim).unwrap().uid(), owner);
    }
    let mut context = yard.context("it");
    context.prepare = vec![shell(&format!("rm {{dir}}/std*; ln -s {} {{dir}}/stdout.log", victim.display()))];
    let message = bakeoff_subject::start(&spec, &context).unwrap_err().to_string();
    assert!(message.contains("opening its output files failed"), "{message}");
    assert_eq!(std::fs::metadata(&victim).unwrap().uid(), owner);
}

fn proved(running: &Running, context: &Context<'_>, script: &str) -> Proof {
    prove(running, context, &shell(script)).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_proof_says_whether_the_layer_is_on_and_how_far() {
    let yard = Yard::new();
    let mut context = yard.context("it");
    context.values.insert("rules".into(), "7".into());
    let spec = command(&[&play().display().to_string(), "http", "{port}"]);
    let running = bakeoff_subject::start(&spec, &context).unwrap();
    let pid = running.main_process().unwrap();
    let proof = proved(&running, &context, "test -d /proc/{pid} && echo {pid} {rules} {port}");
    let words = format!("{pid} 7 {}", running.address.port());
    assert_eq!(proof, Proof { active: true, enforcement: Enforcement::Full, words });
    let proof = proved(&running, &context, "echo partial: no UDP; echo more");
    assert_eq!(proof.enforcement, Enforcement::Partial("no UDP".into()));
    let proof = proved(&running, &context, "echo not loaded >&2; exit 1");
    let off = Enforcement::None("not loaded".into());
    assert_eq!(proof, Proof { active: false, enforcement: off, words: "not loaded".into() });
    let message = prove(&running, &context, &shell("echo what >&2; exit 2")).unwrap_err().to_string();
    assert!(message.contains("(exit status 2; 0 means on, 1 means off)"), "{message}");
    assert!(message.ends_with("what"), "{message}");
    context.start_timeout = Nanos::from_millis(200);
    let message = prove(&running, &context, &shell("sleep 100")).unwrap_err().to_string();
    assert!(message.contains("ended at the time limit"), "{message}");
    assert_eq!(names_in(&yard.path("base")), ["it", "it-proof", "it-proof-2"].map(str::to_owned).into());
}

#[test]
fn a_running_server_is_proved_too_but_not_prepared_or_limited() {
    let yard = Yard::new();
    let server = yard.start(&command(&[&play().display().to_string(), "http", "{port}"])).unwrap();
    let pid = server.main_process();
    let spec = Spec::Url { url: format!("http://{}", server.address), pid };
    let mut context = yard.context("there");
    let running = bakeoff_subject::start(&spec, &context).unwrap();
    let proof = proved(&running, &context, "test -d {dir} && test -d /proc/{pid} && echo {host} {port}");
    assert_eq!(proof.words, format!("127.0.0.1 {}", server.address.port()));
    context.limits.cpus = Some(1.0);
    let message = bakeoff_subject::start(&spec, &context).unwrap_err().to_string();
    assert!(message.contains("leave out `limits` and `prepare`"), "{message}");
}

fn names_in(dir: &Path) -> BTreeSet<String> {
    let entries = std::fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect()
}
