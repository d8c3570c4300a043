//! Standalone robots of a bake-off: source addresses of their connections, and several processes that make one run.

use crate::caches::{lines, plan, prints};
use crate::support::{Origin, PATIENCE, Started, Yard, signal, wait_until};
use serde_json::Value;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Passes each connection on to the origin after a while, as a reverse proxy without a store would, and notes the
/// client's address.
struct Relay {
    address: String,
    callers: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Relay {
    fn start(to: &str, after: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = Self { address: listener.local_addr().unwrap().to_string(), callers: Arc::default() };
        let (callers, to) = (relay.callers.clone(), to.to_owned());
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, to) = (stream.unwrap(), to.clone());
                callers.lock().unwrap().push(stream.peer_addr().unwrap());
                thread::spawn(move || hand_on(&stream, &to, after));
            }
        });
        relay
    }
}

fn hand_on(stream: &TcpStream, to: &str, after: Duration) {
    thread::sleep(after);
    let onward = TcpStream::connect(to).unwrap();
    let carry = |mut from: &TcpStream, mut to: &TcpStream| {
        let _ = to.set_nodelay(true);
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    };
    thread::scope(|scope| {
        scope.spawn(|| carry(stream, &onward));
        carry(&onward, stream);
    });
}

/// A request a connection.
fn short_connections(plan: &str) -> String {
    plan.replace("connections = \"64\"", "connections = \"400\"\nrequests_per_connection = \"const:1\"")
}

fn origin(yard: &Yard) -> (Origin, String) {
    let origin = Origin::start(yard, &["--threads", "1", "--plan", "tiny.toml"]);
    let address = origin.url.strip_prefix("http://").unwrap().to_owned();
    (origin, address)
}

/// Addresses of this process alone: beside another run of these tests the same ports of the same addresses are taken.
fn own_addresses() -> String {
    let [.., high, low] = std::process::id().to_be_bytes();
    format!("127.{}.{}.", 64 + high % 128, low)
}

#[test]
fn robots_come_from_the_addresses_and_ports_that_were_named() {
    let yard = Yard::new();
    yard.write("tiny.toml", short_connections(&plan("400/s", 200)));
    let (_origin, address) = origin(&yard);
    let relay = Relay::start(&address, Duration::ZERO);
    let args = ["robots", "tiny.toml", "--origin", &address, "--reverse", &relay.address, "--log", "log"];
    let own = own_addresses();
    let (range, single) = (format!("{own}1-{own}2"), format!("{own}9"));
    let from = ["--from", &range, "--from", &single, "--ports", "22000:22199"];
    let said = yard.start(yard.bakeoff(&[&args[..], &from].concat())).wait().exits(0);
    prints(&said.says(&["local ports 22000:22199: 200 on each of 3 address(es)"]), &["faults: none\n"]);
    let callers = relay.callers.lock().unwrap().clone();
    assert!(callers.len() >= 300, "{} connections", callers.len());
    for address in ["1", "2", "9"].map(|last| own.clone() + last) {
        assert!(callers.iter().any(|caller| caller.ip().to_string() == address), "{address}: {callers:?}");
    }
    let strangers = |caller: &&SocketAddr| {
        !caller.ip().to_string().starts_with(&own) || !(22_000..=22_199).contains(&caller.port())
    };
    assert_eq!(callers.iter().find(strangers), None);
    let setup: Value = serde_json::from_str(&yard.read("log/bakeoff.json")).unwrap();
    assert!(setup["facts"].to_string().contains("22000:22199, given out by"), "{setup}");
    assert!(setup["flags"].to_string().contains(&format!("--from {range}")), "{setup}");
}

#[test]
fn too_few_ports_are_said_before_anything_is_asked() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan("400/s", 200));
    let (origin, address) = origin(&yard);
    let robots = |more: &[&str]| {
        let args = ["robots", "tiny.toml", "--origin", &address];
        yard.start(yard.bakeoff(&[&args[..], more].concat())).wait()
    };
    robots(&["--ports", "22200:22262"]).exits(3).says(&[
        "64 connections at once",
        "have 63",
        "--ports",
        "--from",
    ]);
    robots(&["--ports", "9:8"]).exits(2).says(&["9:8", "1024:30000"]);
    robots(&["--from", "here"]).exits(2).says(&["here", "127.0.0.2-127.0.0.9"]);
    let (_, _, closing) = origin.end_with_closing_lines();
    assert!(closing.contains("requests: 0\n"), "{closing}");
}

/// A second of warm-up, then some requests.
fn plan_of_parts(requests: u32) -> String {
    short_connections(&plan("200/s", requests)).replacen("{ transactions = 100 }", "{ duration = \"1s\" }", 1)
}

fn part(yard: &Yard, origin: &str, which: &str, more: &[&str]) -> Started {
    let args = ["robots", "tiny.toml", "--origin", origin, "--part", which];
    yard.start(yard.bakeoff(&[&args[..], more].concat()))
}

fn waits_for_others(part: &Started) {
    wait_until(PATIENCE, || {
        let said = part.errors_so_far();
        if said.contains("waiting for part") { Ok(()) } else { Err(format!("it does not wait: {said}")) }
    });
}

/// The run of a part's directory, and its phases by name.
fn run_of(yard: &Yard, log: &str) -> (Value, [Value; 2]) {
    let run = lines(yard, &format!("{log}/runs.jsonl")).remove(0);
    let phase = |name: &str| {
        let all = run["phases"].as_array().unwrap();
        all.iter()
            .find(|line| line["phase"]["phase"] == name)
            .unwrap_or_else(|| panic!("{name}: {run}"))
            .clone()
    };
    let phases = [phase("warm"), phase("meas")];
    (run, phases)
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// The second part has its replies so late that the first would have ended long before.
#[test]
fn two_parts_begin_and_end_their_phases_together_and_are_one_run() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan_of_parts(100));
    let (origin, address) = origin(&yard);
    let slow = Relay::start(&address, Duration::from_millis(1_500));
    let first = part(&yard, &address, "1/2", &["--log", "one"]);
    waits_for_others(&first);
    part(&yard, &address, "1/3", &[]).wait().exits(3).says(&["part 1/3", "another number of parts"]);
    let second = part(&yard, &address, "2/2", &["--log", "two", "--reverse", &slow.address]);
    let [first, second] = [first, second].map(|part| part.wait().exits(0));
    prints(&first, &["to all parts; ended: its time was over\n", "faults: none\n"]);
    prints(&second, &["faults: none\n"]);
    let [(one, [_, meas]), (two, [_, late])] = ["one", "two"].map(|log| run_of(&yard, log));
    let ended = |line: &Value| number(&line["phase"]["ended_ns"]);
    let apart = ended(&meas).abs_diff(ended(&late));
    assert!(apart < 5_000_000_000, "an interval is 5 s, and they are {apart} ns apart");
    for line in [&meas, &late] {
        assert_eq!(line["ended"], "it had its requests");
    }
    // Its share is 50; it went on until the other one had as many.
    let finished = |line: &Value| number(&line["phase"]["sums"]["finished"]);
    assert!(finished(&meas) > 60 && finished(&late) >= 50, "{} and {}", finished(&meas), finished(&late));
    let setup =
        |log: &str| -> Value { serde_json::from_str(&yard.read(&format!("{log}/bakeoff.json"))).unwrap() };
    let [of_one, of_two] = ["one", "two"].map(|log| setup(log)["part"].clone());
    assert_eq!((&of_one["number"], &of_two["number"], &of_one["of"]), (&1.into(), &2.into(), &2.into()));
    assert_eq!(of_one["run"], of_two["run"]);
    assert_eq!((&one["purpose"]["rate_per_s"], &one["without"]), (&100.0.into(), &Value::Array(vec![])));
    // The origin's replies equal the requests of both: no request is missing, and none is counted twice.
    let good = |run: &Value| -> u64 {
        run["phases"].as_array().unwrap().iter().map(|line| number(&line["phase"]["sums"]["good"])).sum()
    };
    let (_, _, closing) = origin.end_with_closing_lines();
    assert!(closing.contains(&format!("requests: {}\n", good(&one) + good(&two))), "{closing}\n{one}\n{two}");
    yard.start(yard.bakeoff(&["report", "one"])).wait().exits(0);
    let warnings = yard.results("one")["warnings"].to_string();
    assert!(warnings.contains("part 1/2 of a run"), "{warnings}");
}

#[test]
fn a_part_that_is_killed_holds_the_others_for_a_while_and_not_for_ever() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan_of_parts(100));
    let (_origin, address) = origin(&yard);
    let first = part(&yard, &address, "1/2", &["--log", "one", "--wait", "15s"]);
    let second = part(&yard, &address, "2/2", &["--log", "two", "--wait", "15s"]);
    wait_until(PATIENCE, || {
        if yard.path("two/bakeoff.json").exists() {
            Ok(())
        } else {
            Err("the second has not begun".to_owned())
        }
    });
    signal("KILL", &second.pid().to_string());
    assert_eq!(second.wait().code(), None);
    let first = first.wait().exits(0);
    let why =
        "other parts of the run had not come to its end after the longest wait: it went on without them";
    prints(&first, &[why, "went on without part 2 of the run\n"]);
    let (run, [warm, meas]) = run_of(&yard, "one");
    assert_eq!((&warm["ended"], &meas["ended"]), (&why.into(), &"it had its requests".into()));
    assert_eq!(run["without"], Value::Array(vec![2.into()]));
    let lasted = number(&warm["phase"]["ended_ns"]);
    assert!(lasted >= 16_000_000_000, "a second of its own and fifteen of waiting: {lasted} ns");
}

#[test]
fn a_part_whose_others_do_not_come_asks_for_nothing() {
    let yard = Yard::new();
    yard.write("tiny.toml", plan_of_parts(100));
    let (origin, address) = origin(&yard);
    let alone = part(&yard, &address, "2/3", &["--wait", "300ms"]).wait();
    alone.exits(3).says(&["waiting for part 1 and 3 of 3", "no part 1 and 3 of 3", "--wait"]);
    part(&yard, &address, "3/2", &[]).wait().exits(2).says(&["3/2", "1/2"]);
    let without = yard.bakeoff(&["robots", "tiny.toml", "--origin", &address, "--wait", "1s"]);
    yard.start(without).wait().exits(2).says(&["--part"]);
    let patient = part(&yard, &address, "1/2", &[]);
    waits_for_others(&patient);
    signal("INT", &patient.pid().to_string());
    patient.wait().exits(130);
    // The slot of the part that left is free.
    let next = part(&yard, &address, "1/2", &[]);
    waits_for_others(&next);
    signal("INT", &next.pid().to_string());
    next.wait().exits(130);
    let (_, _, closing) = origin.end_with_closing_lines();
    assert!(closing.contains("requests: 0\n"), "{closing}");
}
