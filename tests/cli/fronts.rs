//! Fronts before a server: their CPU, replies from a store, and fronts that do nothing.

use crate::support::{Ended, Yard, has, plan};
use serde_json::Value;

const WALK: &str = "kind = \"walk\"\nrobots = 3\n\
    site = { files = 40, bytes = \"200KB\", urls = 30, missing = \"0%\", mean_reply = \"3KB\" }";

/// A page takes the origin 300 us: the work that a cache saves it is worth more than the cache costs.
const ORIGIN: &str = "server = \"origin\"\nburn = \"300us\"\n";

fn arms(fronts: &str, arm: &str) -> String {
    format!("{fronts}\n[arm.plain]\n{ORIGIN}\n[arm.front]\n{ORIGIN}{arm}")
}

fn run(yard: &Yard, text: &str) -> Ended {
    yard.write("plan.toml", text);
    yard.run(&["run", "plan.toml", "--out", "out", "--verbose"])
}

fn meters(results: &Value, arm: &str) -> Value {
    results["arms"][arm]["meters"].clone()
}

/// Requests are passed on, all but the last; `rest` goes into the section that listens.
fn haproxy(rest: &str) -> String {
    format!(
        "defaults\n  mode http\n  timeout connect 5s\n  timeout client 5s\n  timeout server 5s\n\
         frontend f\n  bind {{host}}:{{port}}\n{rest}  default_backend b\nbackend b\n  server s {{upstream}}\n"
    )
}

#[test]
fn a_full_store_saves_the_server_and_an_empty_one_does_not() {
    if !has("varnishd", "a_full_store_saves_the_server_and_an_empty_one_does_not") {
        return;
    }
    let yard = Yard::new();
    let first = format!(
        "front = [\"varnish\"]\n\n[arm.first]\n{ORIGIN}front = [\"varnish\"]\nfresh = \"start\"\nfirst_use_of = \"front\"\n"
    );
    let ended = run(&yard, &plan("slice_requests = 60", WALK, &arms("", &first)));
    let said = ended.exits(0).stdout;
    assert!(said.contains("In front") && said.contains("before origin"), "{said}");
    let results = yard.results("out");
    let of = |arm: &str, meter: &str| meters(&results, arm)[meter].as_f64();
    assert_eq!(of("plain", "hit_ratio"), Some(0.0));
    assert_eq!((of("front", "hit_ratio"), of("front", "byte_hit_ratio")), (Some(1.0), Some(1.0)));
    // Of 60 requests for 30 objects half are first ones; robots that ask together may each fetch, the oftener the slower
    // the machine is.
    let first = of("first", "hit_ratio").unwrap();
    assert!(first > 0.0 && first <= 0.5, "{first}");
    let (sum, before, behind) = (
        of("front", "subject_cpu_per_request").unwrap(),
        of("front", "front_cpu_per_request").unwrap(),
        of("front", "server_cpu_per_request").unwrap(),
    );
    // Each is a mean over rounds of its own; a part counted twice, or not at all, is half of it.
    assert!((before + behind - sum).abs() < 0.4 * sum, "{before} + {behind} is not {sum}");
    // The origin burns as many turns as 300 us had when it started, at whatever speed a busy machine had then.
    let asked = of("plain", "subject_cpu_per_request").unwrap();
    assert!(behind < asked / 2.0, "a full store asks nobody: {behind} of {asked}");
    assert_eq!(of("plain", "front_cpu_per_request"), None, "nothing stands there");
    let fronts = &results["arms"]["front"]["subject"]["fronts"];
    assert_eq!(fronts[0]["front"], "varnish", "{fronts}");
    let hits = results["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| (row["arm"].as_str(), row["meter"].as_str()) == (Some("front"), Some("hit_ratio")));
    assert!(hits.is_some_and(|row| row["unit"] == "share"), "{hits:?}");
    yard.run(&["report", "out", "--fail-if", "front: hit_ratio < 50 points"]).exits(0);
    yard.run(&["report", "out", "--fail-if", "front: hit_ratio > 50 points"]).exits(5);
}

#[test]
fn fronts_are_asked_one_through_the_other_and_each_keeps_its_own_words() {
    if !has("haproxy", "fronts_are_asked_one_through_the_other_and_each_keeps_its_own_words")
        || !has("nginx", "fronts_are_asked_one_through_the_other_and_each_keeps_its_own_words")
    {
        return;
    }
    let yard = Yard::new();
    yard.write("a.cfg", haproxy("  http-response set-header X-Way outer\n"));
    let fronts = "[front.outer]\nproduct = \"haproxy\"\nconfig = \"a.cfg\"\n";
    let text = plan(
        "",
        WALK,
        &arms(fronts, "front = [\"outer\", \"nginx\"]\n").replace("origin\"\nburn = \"300us", "nginx"),
    );
    run(&yard, &text).exits(0);
    let subject = yard.results("out")["arms"]["front"]["subject"].clone();
    let names: Vec<&str> =
        subject["fronts"].as_array().unwrap().iter().filter_map(|f| f["front"].as_str()).collect();
    assert_eq!((subject["server"].as_str(), names), (Some("nginx"), vec!["haproxy", "nginx"]));
    let inner = subject["fronts"][1]["url"].as_str().unwrap();
    assert!(
        subject["fronts"][0]["config"].as_str().unwrap().contains(inner),
        "the outer asks the inner: {subject}"
    );
    // nginx with our configuration numbers its replies, too.
    assert_eq!(meters(&yard.results("out"), "front")["hit_ratio"], 1.0);
}

/// Caddy keeps nothing: all its replies are fetched. As a server it numbers what it sends.
#[test]
fn caddy_stands_before_a_server_and_a_cache_stands_before_caddy() {
    let test = "caddy_stands_before_a_server_and_a_cache_stands_before_caddy";
    if !["caddy", "nginx", "varnishd"].iter().all(|program| has(program, test)) {
        return;
    }
    let yard = Yard::new();
    let arms = "[arm.plain]\nserver = \"caddy\"\n\n[arm.front]\nserver = \"nginx\"\nfront = [\"caddy\"]\n\n\
                [arm.cached]\nserver = \"caddy\"\nfront = [\"varnish\"]\n";
    run(&yard, &plan("slice_requests = 60", WALK, arms)).exits(0);
    let results = yard.results("out");
    let hits = |arm: &str| meters(&results, arm)["hit_ratio"].as_f64();
    assert_eq!((hits("plain"), hits("front"), hits("cached")), (Some(0.0), Some(0.0), Some(1.0)));
    assert_eq!(results["arms"]["front"]["subject"]["fronts"][0]["front"], "caddy");
}

/// Each front that can speak TLS with our configuration, beside one that speaks none.
#[test]
fn fronts_speak_tls_with_clients_and_plain_http_with_the_server() {
    let test = "fronts_speak_tls_with_clients_and_plain_http_with_the_server";
    let products = [("haproxy", "haproxy"), ("nginx", "nginx"), ("apache", "apache2"), ("caddy", "caddy")];
    if !products.iter().all(|(_, program)| has(program, test)) {
        return;
    }
    let yard = Yard::new();
    let mut arms = "[arm.plain]\nserver = \"nginx\"\nfront = [\"haproxy\"]\n".to_owned();
    for (product, _) in products {
        arms += &format!(
            "[front.{product}-tls]\nproduct = \"{product}\"\ntls = true\n\
             [arm.{product}]\nserver = \"nginx\"\nfront = [\"{product}-tls\"]\n"
        );
    }
    run(&yard, &plan("slice_requests = 60", WALK, &arms)).exits(0);
    let results = yard.results("out");
    let subject = |arm: &str| results["arms"][arm]["subject"].clone();
    assert_eq!(subject("plain")["tls"], Value::Null);
    for (product, _) in products {
        let subject = subject(product);
        assert!(subject["url"].as_str().is_some_and(|url| url.starts_with("https://")), "{subject}");
        assert!(subject["tls"].as_str().is_some_and(|said| said.starts_with("TLSv1_3")), "{subject}");
        assert_eq!(results["arms"][product]["failures"].as_u64().unwrap_or(0), 0);
    }
}

#[test]
fn what_answers_by_itself_makes_its_arm_invalid() {
    if !has("haproxy", "what_answers_by_itself_makes_its_arm_invalid") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.cfg", haproxy("  http-response del-header X-Bakeoff\n"));
    let fronts = "[front.forger]\nproduct = \"haproxy\"\nconfig = \"a.cfg\"\n";
    let ended = run(&yard, &plan("", WALK, &arms(fronts, "front = [\"forger\"]\n")));
    let said = ended.exits(4).stdout;
    assert!(said.contains("answers by itself"), "{said}");
}

#[test]
fn what_does_not_ask_the_server_behind_is_no_front() {
    if !has("haproxy", "what_does_not_ask_the_server_behind_is_no_front") {
        return;
    }
    let yard = Yard::new();
    // It contains {upstream}, and never uses it.
    let rest = "  http-request return status 200 content-type text/plain string x\n";
    yard.write("never.cfg", haproxy(rest));
    yard.write("nowhere.cfg", haproxy("").replace("{upstream}", "127.0.0.1:9"));
    let fronts = |config: &str| format!("[front.f]\nproduct = \"haproxy\"\nconfig = \"{config}\"\n");
    let text = |config| plan("", WALK, &arms(&fronts(config), "front = [\"f\"]\n"));
    run(&yard, &text("never.cfg")).exits(3).says(&["never asked"]);
    let again = Yard::new();
    again.write("nowhere.cfg", yard.read("nowhere.cfg"));
    run(&again, &text("nowhere.cfg")).exits(3).says(&["{upstream}", "nowhere.cfg"]);
}

#[test]
fn a_front_that_dies_ends_the_run_by_its_name() {
    let yard = Yard::new();
    let fronts = "[front.watcher]\nattach = [\"sh\", \"-c\", \"echo ready {pid} {interface} {port}; sleep 1\"]\nready = \"ready \"\n";
    let ended = run(
        &yard,
        &plan("max_rounds = 60\nslice_requests = 2000", WALK, &arms(fronts, "front = [\"watcher\"]\n")),
    );
    ended.exits(3).says(&["front.watcher"]);
    assert!(yard.read("out/logs/front/watcher/stdout.log").contains(" lo "), "it was told the device");
}

/// A layer that reports a hundred times the use of its programs: each run takes 55 ns.
#[test]
fn what_a_layer_says_of_its_programs_in_the_kernel_stands_beside_cpu() {
    let yard = Yard::new();
    yard.write(
        "count.sh",
        "n=0\nwhile :; do\n  n=$((n + 7))\n  printf 'mode log\\nruns %s\\nrun-ns %s\\n' $n $((n * 55)) > \"$1.new\"\n  \
         mv \"$1.new\" \"$1\"\n  [ $n -gt 7 ] || echo ready\n  sleep 0.02\ndone\n",
    );
    let fronts = "[front.counts]\nattach = [\"sh\", \"count.sh\", \"{dir}/status\"]\nready = \"ready\"\n\
                  status = \"{dir}/status\"\n";
    let text = plan("slice_requests = 60", WALK, &arms(fronts, "front = [\"counts\"]\n"));
    let said = run(&yard, &text).exits(0).stdout;
    assert!(said.contains("Programs in the kernel"), "{said}");
    let mut slices = 0;
    for line in yard.read("out/slices.jsonl").lines() {
        let slice: Value = serde_json::from_str(line).unwrap();
        let of = |name: &str| slice["counters"][name].as_u64();
        if slice["arm"] == "front" {
            slices += 1;
            let runs = of("program_runs").unwrap();
            assert_eq!((runs % 7, of("program_ns")), (0, Some(55 * runs)), "{line}");
        } else {
            assert_eq!((of("program_runs"), of("program_ns")), (None, None), "nobody counts: {line}");
        }
    }
    assert_eq!(slices, 3);
    let found = meters(&yard.results("out"), "front");
    let [time, runs] = ["program_ns", "program_runs"].map(|meter| found[meter].as_f64().unwrap());
    assert!(runs > 0.0 && (time / runs - 55.0).abs() < 1e-6, "{found}");
    assert_eq!(meters(&yard.results("out"), "plain")["program_ns"].as_f64(), None);
}

#[test]
fn two_configurations_of_a_proxy_are_compared_before_one_origin() {
    if !has("haproxy", "two_configurations_of_a_proxy_are_compared_before_one_origin") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.cfg", haproxy(""));
    yard.write("b.cfg", haproxy("  http-response del-header ETag\n"));
    let common =
        ["--path", "/bytes/500", "--budget", "120s", "--margin", "60%", "--design", "pairs", "--out", "out"];
    yard.run(&[&["compare", "--front", "haproxy", "a.cfg", "b.cfg"][..], &common].concat()).exits(0);
    let results = yard.results("out");
    for arm in ["a", "b"] {
        assert_eq!(results["arms"][arm]["subject"]["fronts"][0]["front"], "haproxy");
        assert_eq!(meters(&results, arm)["hit_ratio"], 0.0, "these configurations keep nothing");
    }
    let heads = |arm: &str| results["arms"][arm]["heads"].clone();
    assert_eq!(heads("a")["faults"], serde_json::json!({}), "it changes nothing");
    assert!(heads("b")["judged"].as_u64() > Some(0));
    assert_eq!(heads("b")["faults"]["lost-validators"], heads("b")["judged"], "every one was without");
    yard.run(&["compare", "--front", "none"]).exits(2).says(&["nothing to compare"]);
}

#[test]
fn a_cache_that_is_passed_by_sustains_no_rate_and_its_hits_say_why() {
    if !has("haproxy", "a_cache_that_is_passed_by_sustains_no_rate_and_its_hits_say_why") {
        return;
    }
    let yard = Yard::new();
    // From the 300th request on the store is no longer used: after the low load, within the first trial of the search.
    // The switch is by a count, and not by a rate, as a machine that stands still makes rates of its own.
    let rest = "  stick-table type integer size 10 expire 1h store http_req_cnt\n  \
                http-request track-sc0 int(1)\n  \
                http-request cache-use store if { sc0_http_req_cnt lt 300 }\n  \
                http-response cache-store store\n";
    let store = "cache store\n  total-max-size 16\n  max-object-size 100000\n  max-age 3600\n";
    yard.write("a.cfg", format!("{store}{}", haproxy(rest)));
    let text = "[experiment]\nseed = 7\nkind = \"peak\"\nbaseline = \"cache\"\nbudget = \"20s\"\n\n\
                [peak]\nslo = \"50ms\"\nmax_rate = \"2400/s\"\nconfirm = \"2s\"\nprecision = \"10%\"\n\n\
                [workload]\nkind = \"get\"\nclock = \"constant\"\nurls = [\"/bytes/500\", \"/bytes/600\"]\n\n\
                [front.shy]\nproduct = \"haproxy\"\nconfig = \"a.cfg\"\n\n\
                [arm.cache]\nserver = \"origin\"\nfront = [\"shy\"]\n";
    let said = run(&yard, text);
    let arm = yard.results("out")["peak"]["arms"]["cache"].clone();
    let trials = arm["trials"].as_array().unwrap();
    assert!(trials.len() > 1, "{said:?} {arm}");
    for trial in trials.iter().skip(1).filter(|trial| trial["verdict"] != "void") {
        let reasons = trial["reasons"].as_array().unwrap();
        assert_eq!(trial["verdict"], "failed", "{trial}");
        assert!(reasons.iter().any(|reason| reason == "hit-ratio"), "{trial}");
    }
    // Beside other work trials may all be void; then no rate may be reported as sustained.
    match arm["finding"].as_str() {
        Some("no-rate-passes") => {
            assert!(arm["sentence"].as_str().unwrap().contains("hits get fewer"), "{arm}")
        }
        other => assert_eq!(other, Some("not-measured"), "{arm}"),
    }
}
