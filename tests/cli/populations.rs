//! Populations: clients of several kinds that ask one server at the same time.

use crate::support::{Yard, has, plan};
use serde_json::Value;

fn yard(workload: &str, populations: &str, arms: &str) -> Yard {
    let yard = Yard::new();
    let text = plan("slice = \"1s\"", &format!("{workload}\ntimeout = \"900ms\""), arms);
    let text = text
        .replace("slice_requests = 200\n", "")
        .replace("[arm.plain]", &format!("{populations}\n[arm.plain]"));
    yard.write("plan.toml", text);
    yard
}

const GET: &str = "kind = \"get\"\nurls = [\"/bytes/500\"]";
const ARMS: &str = "[arm.plain]\nserver = \"origin\"\n\n[arm.other]\nserver = \"origin\"\nburn = \"20us\"\n";

fn of<'r>(results: &'r Value, population: &str, arm: &str) -> &'r Value {
    let all = results["populations"].as_array().unwrap();
    let found = all.iter().find(|of| of["population"] == population).unwrap_or_else(|| panic!("{results}"));
    &found["arms"][arm]
}

/// One queue for all clients, which serves this number of requests a second on any machine.
fn queue(per_second: u32) -> String {
    format!(
        "events {{}}\nhttp {{\n  access_log off;\n  limit_req_zone $server_port zone=z:1m rate={per_second}r/s;\n  \
         server {{\n    listen {{host}}:{{port}};\n    root {{root}};\n    location / {{\n      \
         limit_req zone=z burst=1000;\n      try_files $uri $uri/index.html =404;\n    }}\n  }}\n}}\n"
    )
}

/// Robots of two kinds and a Poisson population, before one queue; at two rates of the queue.
fn before_one_queue() -> Yard {
    let populations = "[population.few]\nrobots = 6\n[population.many]\nrobots = 18\n\
                       [population.chance]\nclock = \"poisson\"\nrate = \"40/s\"\n";
    let arms = "[arm.plain]\nserver = \"nginx\"\nconfig = \"200.conf\"\n\n[arm.faster]\nserver = \"nginx\"\nconfig = \"400.conf\"\n";
    let yard = yard("kind = \"get\"\nurls = [\"/\"]\nexpect = 404", populations, arms);
    for rate in [200, 400] {
        yard.write(&format!("{rate}.conf"), queue(rate));
    }
    yard.run(&["run", "plan.toml", "--out", "out"]);
    yard
}

/// A queue hands out turns, at any speed of the machine: no more than its rate in all, and to each robot as many as to
/// any other, within the turns that begin and end a slice.
#[test]
fn robots_before_one_queue_have_as_many_turns_as_others_and_no_more_than_there_are() {
    if !has("nginx", "robots_before_one_queue_have_as_many_turns_as_others_and_no_more_than_there_are") {
        return;
    }
    let yard = before_one_queue();
    let mut slices = 0;
    for line in yard.read("out/slices.jsonl").lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        let replies =
            |population: &str| slice["populations"][population]["counters"]["replies"].as_f64().unwrap();
        let capacity = if slice["arm"] == "faster" { 400.0 } else { 200.0 };
        let wall_s = slice["counters"]["wall_ns"].as_f64().unwrap() / 1e9;
        let all = replies("few") + replies("many") + replies("chance");
        // The queue lets the first go at once, and those that came due while it was not looked at.
        assert!(all > 0.0 && all <= 1.1 * capacity * wall_s + 2.0, "{all} of {capacity}/s: {line}");
        let turns = [replies("few") / 6.0, replies("many") / 18.0];
        assert!((turns[0] - turns[1]).abs() <= 2.0, "{turns:?} turns of a robot: {line}");
        slices += 1;
    }
    assert_eq!(slices, 9);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let load = setup["load"].as_str().unwrap();
    assert_eq!(
        load,
        "few: closed loop, 6 robots; many: closed loop, 18 robots; \
         chance: open loop, poisson 40/s; slices of 1 s"
    );
}

/// All wait in one queue. Robots without think time get the server in proportion to their number, N = rate x response
/// time (Little). Poisson arrivals wait as long as others (arrivals see time averages), and get what they ask for.
#[test]
#[ignore = "holds where the machine keeps up with a rate: make calibrate"]
fn populations_share_one_nginx_as_queueing_says() {
    if !has("nginx", "populations_share_one_nginx_as_queueing_says") {
        return;
    }
    let yard = before_one_queue();
    let results = yard.results("out");
    for (arm, capacity) in [("plain", 200.0), ("faster", 400.0)] {
        let mean =
            |population: &str| of(&results, population, arm)["response_mean_ns"].as_f64().unwrap() / 1e9;
        let rate = |population: &str| {
            of(&results, population, arm)["meters"]["replies_per_second"].as_f64().unwrap()
        };
        let all = rate("few") + rate("many") + rate("chance");
        assert!((all / capacity - 1.0).abs() < 0.1, "{arm}: {all} of {capacity}/s");
        let shares = rate("many") / rate("few");
        assert!((2.4..3.7).contains(&shares), "{arm}: 18 robots get {shares} times what 6 get");
        for (population, robots) in [("few", 6.0), ("many", 18.0)] {
            let in_flight = rate(population) * mean(population) / robots;
            assert!((in_flight - 1.0).abs() < 0.15, "{arm}: {in_flight} of the robots of {population} wait");
        }
        let waits = mean("chance") / mean("many");
        assert!((0.75..1.25).contains(&waits), "{arm}: who comes by chance waits {waits} times as long");
    }
}

/// Load goes up in the middle of a slice and down again; each population sends for its stated time, and its rate is of
/// that time.
#[test]
fn populations_ask_in_parts_of_a_slice() {
    let of_part = |name: &str, rate, during| {
        format!("[population.{name}]\nclock = \"constant\"\nrate = \"{rate}/s\"\nduring = \"{during}\"\n")
    };
    let populations = of_part("before", 100, "0s-200ms")
        + &of_part("peak", 500, "200ms-700ms")
        + &of_part("after", 100, "700ms-1s");
    let yard = yard(GET, &populations, ARMS);
    yard.run(&["run", "plan.toml", "--out", "out"]);
    let setup: Value = serde_json::from_str(&yard.read("out/setup.json")).unwrap();
    let load = setup["load"].as_str().unwrap();
    assert!(load.contains("peak: open loop, constant 500/s, from 200 ms to 700 ms"), "{load}");
    let slices = yard.read("out/slices.jsonl");
    assert_eq!(slices.lines().count(), 9);
    let mut asked_in_all = [0; 3];
    for line in slices.lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        for (at, (name, wall_ns, due)) in
            [("before", 200_000_000, 20), ("peak", 500_000_000, 250), ("after", 300_000_000, 30)]
                .into_iter()
                .enumerate()
        {
            let counters = &slice["populations"][name]["counters"];
            assert_eq!(counters["wall_ns"], wall_ns, "{line}");
            let asked = counters["requests"].as_u64().unwrap();
            // No population sends for longer than it should.
            assert!(asked <= due + 1, "{name}: {asked} of {due}: {line}");
            asked_in_all[at] += asked;
        }
        assert_eq!(slice["counters"]["wall_ns"], 1_000_000_000, "{line}");
    }
    // A machine that is busy elsewhere comes too late for some, and not for all of nine slices.
    assert!(asked_in_all.iter().zip([20, 250, 30]).all(|(asked, due)| *asked >= due), "{asked_in_all:?}");
}

#[test]
fn what_all_counted_is_what_each_counted() {
    let populations = "[population.a]\nrobots = 2\nthink = \"5ms\"\n[population.b]\nrobots = 1\nthink = \"2ms\"\n\
                       urls = [\"/bytes/9000\"]\n";
    let yard = yard(GET, populations, ARMS);
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(0).stdout;
    assert!(
        said.contains("Populations, each by itself") && said.contains("a: closed loop, 2 robots"),
        "{said}"
    );
    let slices = yard.read("out/slices.jsonl");
    assert_eq!(slices.lines().count(), 9);
    for line in slices.lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        for count in ["requests", "replies", "bytes", "connections"] {
            let count = |counters: &Value| counters[count].as_u64().unwrap();
            let each = ["a", "b"].map(|population| count(&slice["populations"][population]["counters"]));
            assert_eq!(each[0] + each[1], count(&slice["counters"]), "{line}");
        }
    }
    let results = yard.results("out");
    let bytes_each = |slice: &Value, of: &str| {
        let counters = &slice["populations"][of]["counters"];
        counters["bytes"].as_u64().unwrap() / counters["replies"].as_u64().unwrap()
    };
    let slice: Value = serde_json::from_str(slices.lines().next().unwrap()).unwrap();
    assert!((500..1000).contains(&bytes_each(&slice, "a")) && bytes_each(&slice, "b") > 9000);
    let compared = &results["populations"][0]["comparisons"];
    assert!(
        compared
            .as_array()
            .unwrap()
            .iter()
            .any(|c| c["arm"] == "other" && c["meter"] == "replies_per_second")
    );
    yard.run(&["verify", "out"]).exits(0);
}

/// One request a second is served for each address, and 20 that come at once; the preferred address has no limit.
const LIMITED: &str = "events {}\nhttp {\n  access_log off;\n  map $remote_addr $limited { 127.0.0.2 ''; default $remote_addr; }\n  \
    limit_req_zone $limited zone=z:1m rate=1r/s;\n  server {\n    listen {host}:{port};\n    root {root};\n    location / {\n      \
    limit_req zone=z burst=20 nodelay;\n    try_files $uri $uri/index.html =404;\n    }\n  }\n}\n";

/// Two populations that come from addresses of their own, before a server that limits one of them.
fn limited(greedy: &str) -> Value {
    let populations = format!(
        "[population.preferred]\nclock = \"constant\"\nrate = \"40/s\"\nfrom = \"127.0.0.2\"\n\
         [population.greedy]\nrobots = 4\nthink = \"5ms\"\nfrom = \"127.0.0.3\"\n{greedy}"
    );
    let arms =
        "[arm.plain]\nserver = \"nginx\"\n\n[arm.limited]\nserver = \"nginx\"\nconfig = \"limited.conf\"\n";
    let yard = yard("kind = \"get\"\nurls = [\"/\"]\nexpect = 404", &populations, arms);
    yard.write("limited.conf", LIMITED);
    yard.run(&["run", "plan.toml", "--out", "out"]);
    yard.results("out")
}

#[test]
fn who_is_refused_is_told_population_by_population() {
    if !has("nginx", "who_is_refused_is_told_population_by_population") {
        return;
    }
    let results = limited("refused = [503]\n");
    let [preferred, greedy] = ["preferred", "greedy"].map(|name| of(&results, name, "limited"));
    // None of its requests is turned away; those that a machine standing still does not send, or cuts, are not served
    // either.
    assert!(
        preferred["replies"].as_u64() > Some(0) && preferred["errors"]["server-error"].is_null(),
        "{preferred}"
    );
    let (served, asked) = (greedy["replies"].as_u64().unwrap(), greedy["requests"].as_u64().unwrap());
    let refused = greedy["refused"]["503"].as_u64().unwrap();
    let cut = greedy["cut"].as_u64().unwrap();
    assert_eq!(asked, served + refused + cut, "{greedy}");
    // The burst, and one for each second of the run. Four robots that hardly think ask for more.
    let seconds = results["duration_ns"].as_u64().unwrap() / 1_000_000_000;
    assert!((1..=22 + seconds).contains(&served) && refused > 0, "{served} in {seconds} s: {greedy}");
    assert_eq!(results["arms"]["limited"]["refused"]["503"], refused);
}

#[test]
fn each_population_has_a_limit_on_errors_of_its_own() {
    if !has("nginx", "each_population_has_a_limit_on_errors_of_its_own") {
        return;
    }
    let strict = limited("");
    assert!(strict["arms"]["limited"]["invalid"].is_string());
    let why = of(&strict, "greedy", "limited")["invalid"].as_str().unwrap();
    assert!(why.contains("the population greedy: ") && why.contains("most by server-error"), "{why}");
    let lax = limited("max_errors = \"100%\"\n");
    assert_eq!(of(&lax, "greedy", "limited")["invalid"], Value::Null);
}

/// Each arm is asked at the rate of its level, beside a population that is the same for all.
#[test]
fn a_rate_may_be_the_level_of_a_factor() {
    let populations = "[population.same]\nclock = \"constant\"\nrate = \"50/s\"\n\
                       [population.more]\nclock = \"constant\"\nrate = \"{offered}/s\"\n";
    let arms = "[factors]\noffered = [40, 100, 200]\n\n[arm.plain]\nserver = \"origin\"\n";
    let yard = yard(GET, populations, arms);
    let said = yard.run(&["check", "plan.toml"]).exits(0).stdout;
    assert!(said.contains("more: open loop, constant 40/s to 200/s, each arm its own"), "{said}");
    let ended = yard.run(&["run", "plan.toml", "--out", "out"]);
    assert!(ended.stdout.contains("Over a factor in its order"), "{ended:?}");
    let mut slices = 0;
    for line in yard.read("out/slices.jsonl").lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        let level = slice["arm"].as_str().unwrap().trim_start_matches("offered-").trim_end_matches('\'');
        let requests =
            |population: &str| slice["populations"][population]["counters"]["requests"].as_i64().unwrap();
        // One more or less, as the second begins and ends.
        assert!((requests("more") - level.parse::<i64>().unwrap()).abs() <= 1, "{line}");
        assert!((requests("same") - 50).abs() <= 1, "{line}");
        slices += 1;
    }
    assert_eq!(slices, 3 * 4, "three arms, and the baseline twice");
    let results = yard.results("out");
    let load = results["arms"]["offered-200"]["subject"]["load"].as_str().unwrap();
    assert!(load.contains("more: open loop, constant 200/s"), "{load}");
    let page = yard.read("out/report.html");
    for caption in ["Replies per second of more, against offered", "response time of same, against offered"] {
        assert!(page.contains(caption), "{caption}");
    }
    let more = &results["populations"][1];
    assert_eq!(
        (more["population"].as_str(), more["max_lateness_ns"].as_u64()),
        (Some("more"), Some(1_000_000))
    );
    // Of 600; a request that a machine standing still does not send is not late, but never sent.
    assert!(more["arms"]["offered-200"]["lateness_ns"]["count"].as_u64().unwrap() > 100, "{more}");
}
