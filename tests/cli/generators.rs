//! Generators of a run in processes of their own, as launchers start them on other hosts.

use crate::contract;
use crate::support::{ORIGINS, PATIENCE, SLOW, SLOW_GET, Yard, plan, signal, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{OpenOptions, Permissions};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::Command;
use std::sync::{Arc, Mutex};

/// The words of a generator with so many threads.
fn via(threads: usize) -> String {
    format!("via:{} generator --stdio --threads {threads}", env!("CARGO_BIN_EXE_bakeoff"))
}

/// A server that writes down what is asked for, as long as the test lasts.
#[derive(Clone, Default)]
struct Logging(Arc<Mutex<BTreeMap<String, u64>>>);

impl Logging {
    fn start(&self) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let own = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let own = own.clone();
                std::thread::spawn(move || own.serve(stream));
            }
        });
        format!("http://{address}")
    }

    fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut input = BufReader::new(stream.try_clone().ok()?);
        loop {
            let mut first = String::new();
            let mut line = String::new();
            while line != "\r\n" {
                line.clear();
                if input.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if first.is_empty() {
                    first.clone_from(&line);
                }
            }
            *self.0.lock().unwrap().entry(first).or_default() += 1;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").ok()?;
        }
    }

    fn take(&self) -> BTreeMap<String, u64> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

fn slices(yard: &Yard, dir: &str) -> Vec<Value> {
    yard.read(&format!("{dir}/slices.jsonl"))
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Requests and replies of all slices, and whether their parts add up to them.
fn totals(yard: &Yard, dir: &str) -> (u64, u64) {
    let (mut requests, mut replies) = (0, 0);
    for slice in slices(yard, dir) {
        let count = |of: &Value, key: &str| of[key].as_u64().unwrap();
        requests += count(&slice["counters"], "requests");
        replies += count(&slice["counters"], "replies");
        for part in slice["parts"].as_array().into_iter().flatten() {
            assert!(count(part, "requests") > 0, "every generator had a share: {slice}");
        }
    }
    (requests, replies)
}

#[test]
fn lanes_elsewhere_ask_for_what_lanes_here_do_and_no_request_is_lost() {
    for clock in ["robots = 6", "clock = \"poisson\"\nrate = \"400/s\"\nconnections = 6"] {
        let (yard, log) = (Yard::new(), Logging::default());
        let (a, b) = (log.start(), log.start());
        let urls = ["/a", "/b", "/c", "/d", "/e"].map(|path| format!("\"{path}\"")).join(", ");
        let workload = format!("kind = \"get\"\nurls = [{urls}]\n{clock}");
        let arms = format!("[arm.plain]\nurl = \"{a}/\"\n[arm.other]\nurl = \"{b}/\"");
        let primary = "primary = \"response_p50\"\nslice_requests = 100";
        yard.write("plan.toml", plan(primary, &workload, &arms));
        let run = |out: &str, places: &[String]| {
            let mut args = vec!["run", "plan.toml", "--quiet", "--out", out];
            places.iter().for_each(|place| args.extend(["--generator", place.as_str()]));
            let ended = yard.run(&args);
            assert!([Some(0), Some(4)].contains(&ended.code()), "{ended:?}");
            (log.take(), totals(&yard, out))
        };
        let here = run("here", &[]);
        assert_eq!(here.1, (900, 900), "three processes, three rounds");
        for places in [vec![via(3)], vec![via(1), via(1)], vec![via(1), via(2), via(1)]] {
            let out = format!("there-{}", places.len());
            let there = run(&out, &places);
            assert_eq!(there, here, "{clock}: {places:?}");
            yard.run(&["verify", &out]).exits(0);
        }
    }
}

#[test]
fn a_run_with_two_generators_has_one_directory_that_counts_their_parts() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("design = \"duet\"", crate::support::GET, ORIGINS));
    let places = format!("{},{}", via(1), via(1));
    yard.run(&["run", "plan.toml", "--out", "out", "--generator", &places]).exits(0);
    contract::kept(&yard, "out", &["plain", "tls"], "subject_cpu_per_request");
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let lanes: Vec<_> =
        setup["places"].as_array().unwrap().iter().map(|place| &place["first_lane"]).collect();
    assert_eq!(lanes, [1, 2]);
    assert!(setup["places"][0]["round_trip_ns"].as_u64().unwrap() > 0, "{setup}");
    for slice in slices(&yard, "out") {
        let of: Vec<_> = slice["parts"].as_array().unwrap().iter().map(|part| &part["generator"]).collect();
        assert_eq!(of, [1, 2]);
    }
    let text = yard.read("out/slices.jsonl");
    let mut first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    first["parts"].as_array_mut().unwrap().pop();
    let rest: String = text.lines().skip(1).map(|line| format!("{line}\n")).collect();
    yard.write("out/slices.jsonl", format!("{first}\n{rest}"));
    let found = yard.run(&["verify", "out"]).exits(7).stdout;
    assert!(found.contains("the part of generator 2") && found.contains("is missing"), "{found}");

    yard.run(&["run", "plan.toml", "--quiet", "--out", "alone"]).exits(0);
    let said = yard.run(&["compare-results", "alone", "out"]).exits(2);
    said.says(&["the new run was loaded from other hosts", "interrupts", "--anyway"]);
}

#[test]
fn a_lost_generator_ends_the_run_and_the_rest_is_measured_when_it_is_back() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(SLOW, SLOW_GET, ORIGINS));
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    yard.write(
        "launch",
        format!("echo $$ > pid.new; mv pid.new pid; echo far away >&2; exec {bakeoff} generator --stdio --threads 1"),
    );
    let places = format!("{},via:sh launch", via(1));
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out", "--generator", &places]));
    wait_until(PATIENCE, || {
        let lines =
            std::fs::read_to_string(yard.path("out/slices.jsonl")).unwrap_or_default().lines().count();
        if lines >= 4 { Ok(()) } else { Err(format!("{lines} slices")) }
    });
    signal("KILL", yard.read("pid").trim());
    let ended = yard.ended(started).exits(3);
    ended.says(&["generator 2 (", "via:sh launch) was lost", "closed before", "far away", "--resume"]);
    let end = yard.read("out/end.json");
    assert!(end.contains("generator-lost") && end.contains("generator 2"), "{end}");
    assert_eq!(yard.read("out/logs/launcher-2.log"), "far away\n");
    let before = yard.read("out/slices.jsonl");
    assert!((4..18).contains(&before.lines().count()));

    yard.run(&["run", "--resume", "out", "--quiet"]).exits(0);
    let after = yard.read("out/slices.jsonl");
    assert!(after.starts_with(&before) && after.lines().count() == 18);
    yard.run(&["verify", "out"]).exits(0);
}

#[test]
fn what_a_login_shell_prints_is_skipped_and_ctrl_c_is_the_run_s_own() {
    let yard = Yard::new();
    yard.write("plan.toml", plan(SLOW, SLOW_GET, ORIGINS));
    let words = format!("{} generator --stdio", env!("CARGO_BIN_EXE_bakeoff"));
    let noisy = format!("via:sh -c \"echo Welcome; echo '{{\\\"n\\\":0}}'; {words}\"");
    let started = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out", "--generator", &noisy]));
    wait_until(PATIENCE, || match yard.path("out/slices.jsonl").exists() {
        true => Ok(()),
        false => Err(started.errors_so_far()),
    });
    signal("INT", &started.pid().to_string());
    yard.ended(started).exits(130);
}

#[test]
fn generators_that_cannot_be_used_are_named_with_their_own_words() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", crate::support::GET, ORIGINS));
    let bakeoff = env!("CARGO_BIN_EXE_bakeoff");
    std::fs::copy(bakeoff, yard.path("other")).unwrap();
    let mut other = OpenOptions::new().append(true).open(yard.path("other")).unwrap();
    other.write_all(b"one byte more").unwrap();
    drop(other);
    yard.write("fake.py", FAKE);
    let other = format!("via:{} generator --stdio", yard.path("other").display());
    for (place, words) in [
        (other.as_str(), &["generator 1 (", "of another build", "copy the run's executable"][..]),
        (
            "via:sh -c 'echo no route to host >&2; exit 255'",
            &["is not there", "no route to host", "Nothing was sent"],
        ),
        ("via:/no/such/launcher", &["the launcher of via:/no/such/launcher cannot be started"]),
        (
            &format!("via:{bakeoff} generator --stdio --only 10.0.0.0/24"),
            &["it may load 10.0.0.1-10.0.0.254 alone"],
        ),
        ("via:python3 fake.py", &["generator 1 (nowhere", "their digests differ"]),
    ] {
        yard.run(&["run", "plan.toml", "--quiet", "--out", "out", "--generator", place]).exits(3).says(words);
        assert!(!yard.path("out/slices.jsonl").exists(), "{place}");
        let _ = std::fs::remove_dir_all(yard.path("out"));
    }
}

#[test]
fn the_other_nodes_of_a_slurm_job_lend_their_lanes() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", crate::support::GET, ORIGINS));
    programs(&yard, &[("scontrol", SCONTROL), ("srun", SRUN)]);
    let within = |nodes: &str, out: &str| {
        let mut command = from(&yard, "home", "slurm", out);
        command.env("SLURM_JOB_NODELIST", nodes).env("SLURMD_NODENAME", "sut");
        yard.ended(yard.start(command))
    };
    within("g1 sut g2", "out").exits(0);
    yard.run(&["verify", "out"]).exits(0);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let places: Vec<_> = setup["places"].as_array().unwrap().iter().map(|place| &place["place"]).collect();
    assert_eq!(places, ["slurm:g1", "slurm:g2"]);
    assert_eq!(setup["address"], "127.0.0.1", "where scontrol says that this node is");
    assert!(yard.read("srun.log").contains("--overlap --nodes=1 --ntasks=1"), "{}", yard.read("srun.log"));

    within("sut", "alone").exits(2).says(&["no node but this one, sut", "sbatch -N3"]);
    within("unknown", "unknown").exits(2).says(&["`scontrol show hostnames unknown`", "Invalid hostlist"]);
    let check = ["check", "plan.toml", "--generator", "slurm"];
    yard.run(&check).exits(2).says(&["SLURMD_NODENAME is not set", "sbatch"]);
}

/// What Slurm 22.05 prints of a job's nodes, and of one.
const SCONTROL: &str = r#"
case "$*" in
"show hostnames unknown") echo "Invalid hostlist: unknown" >&2; exit 1 ;;
"show hostnames "*) printf '%s\n' $3 ;;
"--oneliner show node sut") echo "NodeName=sut Arch=x86_64 CoresPerSocket=1 NodeAddr=127.0.0.1 NodeHostName=sut" ;;
*) exit 2 ;;
esac"#;

/// A step that runs here.
const SRUN: &str =
    r#"echo "$@" >>srun.log; while [ "$1" != -- ]; do shift; done; shift; exec "$@" --threads 1"#;

/// Puts scripts where `from` finds them.
fn programs(yard: &Yard, scripts: &[(&str, &str)]) {
    let _ = std::fs::create_dir(yard.path("bin"));
    for (name, script) in scripts {
        let path = yard.write(&format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
}

/// A run with this home, and the scripts before other programs.
fn from(yard: &Yard, home: &str, place: &str, out: &str) -> Command {
    let mut command = yard.bakeoff(&["run", "plan.toml", "--quiet", "--out", out, "--generator", place]);
    let path = format!("{}:{}", yard.path("bin").display(), std::env::var("PATH").unwrap());
    command.env("PATH", path).env("HOME", yard.path(home)).env_remove("XDG_CACHE_HOME");
    command
}

/// A host that is this one; ssh joins the words for a login shell.
const SSH: &str = r#"while [ "$1" != -- ]; do shift; done; shift 2; exec sh -c "$* --threads 1""#;

#[test]
fn a_host_that_lacks_the_executable_gets_it_by_ssh_and_has_it_from_then_on() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", crate::support::GET, ORIGINS));
    programs(&yard, &[("ssh", SSH)]);
    let run = |home: &str, out: &str| yard.ended(yard.start(from(&yard, home, "ssh:a,ssh:b", out)));
    let kept = yard.path("home/.cache/bakeoff");
    let inode = || std::fs::metadata(kept.join("bakeoff")).unwrap().ino();
    run("home", "first").exits(0);
    let names: Vec<_> = kept.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["bakeoff"]);
    let before = inode();
    run("home", "second").exits(0);
    assert_eq!(inode(), before, "it was not sent again");
    yard.run(&["verify", "second"]).exits(0);

    programs(&yard, &[("uname", "echo Linux sparc64")]);
    let refused = run("other", "other").exits(3);
    refused.says(&["refuses: it is a Linux sparc64, and the run's executable is for Linux"]);
    assert!(!yard.path("other/.cache").exists());
    programs(&yard, &[("mktemp", "echo disk full >&2; exit 1"), ("uname", "echo Linux $(arch)")]);
    run("other", "full").exits(3).says(&["is not there", "the executable did not get to", "hostname`"]);
}

/// A generator of the right build that makes other requests.
const FAKE: &str = r#"
import hashlib, json, os, sys
boot = open("/proc/sys/kernel/random/boot_id").read().strip()
info = {"host": "nowhere", "boot": boot, "network": os.readlink("/proc/self/ns/net"), "build": "", "threads": 1}
while line := sys.stdin.buffer.readline():
    order = json.loads(line)
    say = order["say"]
    word = say if isinstance(say, str) else next(iter(say))
    if word == "take":
        sys.stdin.buffer.read(say["take"]["bytes"])
    if word == "own":
        word = next(iter(say["own"]))
    say = {"hello": {"here": info}, "take": "taken", "plan": {"own": "read"},
           "load": {"own": {"armed": {"digest": "0" * 64}}}, "beat": {"beat": {"mono_ns": 1, "wall_ns": 1}}, "stop": "stopped"}[word]
    print(json.dumps({"n": order["n"], "say": say}), flush=True)
    if word == "stop":
        break
"#;

#[test]
fn a_generator_ends_when_its_run_does_and_follows_no_other_order() {
    let yard = Yard::new();
    for (input, words) in
        [("", "the run closed the channel"), ("run rm -rf /\n", "the run says what is no order")]
    {
        let ended = yard.ended(
            yard.start(yard.shell(&format!("printf '%s' \"{input}\" | \"$@\""), &["generator", "--stdio"])),
        );
        ended.exits(3).says(&[words]);
    }
    let other = r#"{"n":1,"say":{"take":{"name":"../x","bytes":1,"sha256":""}}}"#;
    let line = format!("(echo '{other}'; printf x; echo '{{\"n\":2,\"say\":\"stop\"}}') | \"$@\"");
    let ended = yard.ended(yard.start(yard.shell(&line, &["generator", "--stdio"]))).exits(0);
    assert!(ended.stdout.contains("`../x` is no name"), "{}", ended.stdout);
    assert!(ended.stdout.ends_with("{\"n\":2,\"say\":\"stopped\"}\n"), "{}", ended.stdout);
}

#[test]
fn check_refuses_what_no_generator_elsewhere_can_do() {
    let yard = Yard::new();
    let urls = "[arm.plain]\nurl = \"http://127.0.0.1:1/\"\n[arm.tls]\nurl = \"http://10.0.0.1/\"";
    let get = crate::support::GET;
    let from = format!("{ORIGINS}\nfrom = \"127.0.0.2\"");
    let (ssh, two) = (vec!["ssh:load-1"], vec!["ssh:load-1", "ssh:load-2"]);
    let commands = "[arm.plain]\ncommand = [\"true\"]\n[arm.tls]\ncommand = [\"false\"]";
    for (workload, arms, more, places, words) in [
        (get, ORIGINS, "", vec![], "good"),
        (get, urls, "", ssh.clone(), "plain: its URL is on 127.0.0.1, which generator 1 (ssh:load-1)"),
        (get, ORIGINS, "link = \"100Mbit\"", ssh.clone(), "a link is made on one machine"),
        (get, &from, "", ssh.clone(), "`from` names addresses of this machine"),
        ("kind = \"command\"", commands, "", ssh.clone(), "commands are made where they are measured"),
        ("kind = \"get\"\nurls = [\"/\"]\nrobots = 1", ORIGINS, "", two, "2 generators share 1 connections"),
    ] {
        yard.write("plan.toml", plan(more, workload, arms));
        let mut args = vec!["check", "plan.toml"];
        places.iter().for_each(|place| args.extend(["--generator", *place]));
        let ended = yard.run(&args);
        assert_eq!(ended.code(), Some(if words == "good" { 0 } else { 2 }), "{words}: {ended:?}");
        assert!(ended.stderr.contains(words) || ended.stdout.contains(words), "{words}: {ended:?}");
    }
    yard.run(&["check", "plan.toml", "--generator", "load-1"]).exits(2).says(&["`load-1` is no place"]);
}

#[test]
fn a_check_calls_the_generators_of_a_laboratory_and_says_what_each_would_have() {
    let yard = Yard::new();
    yard.write("plan.toml", plan("", crate::support::GET, ORIGINS));
    yard.write("lab.toml", format!("[generator]\nat = [{:?}, {:?}]\n", via(1), via(2)));
    let said = yard.run(&["check", "plan.toml", "--on", "lab.toml"]).exits(0).stdout;
    for words in ["plan: good\n", "  generator 1: ", " away, lanes 1 to 1 of 3\n", ", lanes 2 to 3 of 3\n"] {
        assert!(said.contains(words), "{words}: {said}");
    }
    yard.run(&["run", "plan.toml", "--on", "lab.toml", "--quiet", "--out", "out"]).exits(0);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    assert_eq!(setup["places"].as_array().unwrap().len(), 2);

    yard.write("lab.toml", "[generator]\nat = [\"via:sh -c 'echo gone >&2'\"]\n");
    yard.run(&["check", "plan.toml", "--on", "lab.toml"]).exits(3).says(&["is not there", "gone"]);
    yard.write("lab.toml", "[subject]\nhost = \"a\"\n");
    yard.run(&["run", "plan.toml", "--on", "lab.toml"])
        .exits(2)
        .says(&["lab.toml: ", "unknown field `host`"]);
    yard.write("lab.toml", "[subject]\nat = \"ssh:a\"\n");
    let compare = ["compare", "http://127.0.0.1:1/", "http://127.0.0.1:2/", "--on", "lab.toml"];
    yard.run(&compare).exits(2).says(&["is for `run` and `check`"]);
}
