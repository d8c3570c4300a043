//! Every workload, clock and kind of arm that a plan can name, each run once.

use crate::contract::{self, row};
use crate::support::{GET, ORIGINS, Origin, Yard, has, plan, python};
use serde_json::Value;

const CPU: &str = "subject_cpu_per_request";

fn run(workload: &str, arms: &str, codes: &[i32], primary: &str) -> Value {
    let yard = Yard::new();
    run_in(&yard, &plan("", workload, arms), codes, primary)
}

/// Runs it and checks the contract; the arms are `plain` and those that the plan names.
fn run_in(yard: &Yard, text: &str, codes: &[i32], primary: &str) -> Value {
    yard.write("plan.toml", text);
    let said = yard.run(&["run", "plan.toml", "--out", "out"]);
    assert!(said.code().is_some_and(|code| codes.contains(&code)), "{said:#?}");
    assert_eq!(said.last_line(), "results: out");
    let names: Vec<&str> = text.split("[arm.").skip(1).map(|part| part.split(']').next().unwrap()).collect();
    contract::kept(yard, "out", &names, primary)
}

/// All slices are there and nothing failed.
fn all_answered(results: &Value) {
    for (name, arm) in results["arms"].as_object().unwrap() {
        assert_eq!(arm["requests"], arm["replies"], "{name}: {}", arm["errors"]);
        assert_eq!(arm["requests"], 600, "{name}");
    }
}

#[test]
fn get_by_weight_at_a_rate() {
    for clock in ["constant", "poisson"] {
        let workload = format!(
            "kind = \"get\"\nurls = [\"/bytes/0\", {{ path = \"/bytes/9000\", weight = 9 }}]\nclock = \"{clock}\"\nrate = \"2000/s\""
        );
        let results = run(&workload, ORIGINS, &[0, 4], CPU);
        all_answered(&results);
        late_or_judged(&results);
        let bytes = results["arms"]["plain"]["bytes"].as_u64().unwrap();
        assert!((600 * 9000 * 7 / 10..600 * 9300).contains(&bytes), "{bytes} of 90 % large ones");
        assert!(results["load"].as_str().unwrap().contains(clock));
    }
}

/// The machine may be too busy for an open loop; then every verdict says so.
fn late_or_judged(results: &Value) {
    let row = row(results, "tls");
    if row["verdict"] == "invalid" {
        assert!(row["sentence"].as_str().unwrap().contains("late"), "{row}");
    }
}

#[test]
fn the_bundled_log_is_replayed_by_every_clock() {
    for (clock, words, codes) in [
        ("shuffled", "robots = 4", &[0][..]),
        ("original", "speed = 20000", &[0, 4]),
        ("constant", "rate = \"1000/s\"", &[0, 4]),
        ("poisson", "rate = \"1000/s\"", &[0, 4]),
    ] {
        let workload = format!("kind = \"replay\"\nlog = \"builtin:weblog\"\nclock = \"{clock}\"\n{words}");
        let results = run(&workload, ORIGINS, codes, CPU);
        all_answered(&results);
        late_or_judged(&results);
        assert!(!results["workload"]["skipped"].as_object().unwrap().is_empty(), "{clock}");
        assert_eq!(results["arms"]["tls"]["statuses"].as_object().unwrap().keys().count(), 2, "200 and 404");
    }
}

#[test]
fn webstone_on_the_origin_opens_a_connection_for_each_request() {
    let results = run("kind = \"webstone\"\nrobots = 4", ORIGINS, &[0], CPU);
    all_answered(&results);
    for arm in ["plain", "tls"] {
        assert_eq!(results["arms"][arm]["connect_ns"]["count"], 600, "{arm}");
    }
}

#[test]
fn a_command_is_judged_by_its_elapsed_time() {
    let arms = "[arm.plain]\ncommand = [\"sleep\", \"0.05\"]\n\n[arm.loop]\ncommand = [\"sh\", \"-c\", \"i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; sleep 0.3\"]";
    let results = run_in(&Yard::new(), &plan("max_rounds = 10", "kind = \"command\"", arms), &[0], "elapsed");
    let row = row(&results, "loop");
    assert_eq!(row["unit"], "ns");
    // No sleep is shorter than asked for. How much longer it is, and which verdict that earns, depends on the machine;
    // no machine may report that it is less.
    assert!(
        row["value"].as_f64().unwrap() >= 0.3e9 && row["baseline_value"].as_f64().unwrap() >= 0.05e9,
        "{row}"
    );
    assert!(["costs", "not-resolved", "no-verdict"].contains(&row["verdict"].as_str().unwrap()), "{row}");
    assert_eq!(results["arms"]["loop"]["requests"], results["rounds"]);
    let user = &results["arms"]["loop"]["meters"]["user_cpu"];
    assert!(user.as_f64().unwrap() > 1e6, "{user}");
}

/// Sleeping takes time and no CPU: the verdict stands on what the plan names, and the other figure beside it.
#[test]
fn a_command_may_be_judged_by_its_cpu() {
    let command =
        |name: &str, text: &str| format!("[arm.{name}]\ncommand = [\"sh\", \"-c\", \"{text}\"]\n\n");
    let work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
    let arms = command("plain", "sleep 0.3") + &command("loop", work);
    let experiment = "max_rounds = 10\nprimary = \"command_cpu\"";
    let results = run_in(&Yard::new(), &plan(experiment, "kind = \"command\"", &arms), &[0], "command_cpu");
    let row = row(&results, "loop");
    assert!(row["value"].as_f64() > row["baseline_value"].as_f64(), "{row}");
    let meters = |arm: &str| &results["arms"][arm]["meters"];
    for arm in ["plain", "loop"] {
        let [cpu, user, system] =
            ["command_cpu", "user_cpu", "system_cpu"].map(|meter| meters(arm)[meter].as_f64().unwrap());
        assert!((cpu - user - system).abs() <= 0.5 * cpu, "medians of parts: {cpu}, {user}, {system}");
    }
    assert!(meters("plain")["elapsed"].as_f64().unwrap() >= 0.3e9);
    let beside = results["comparisons"].as_array().unwrap().iter().filter(|row| row["primary"] == false);
    assert!(beside.into_iter().all(|row| row["meter"] != "command_cpu"));
}

#[test]
fn hooks_of_commands_run_when_they_should() {
    let yard = Yard::new();
    let log = |word: &str| format!("[\"sh\", \"-c\", \"echo {word} >> log\"]");
    let workload = format!(
        "kind = \"command\"\nsetup = {}\nprepare = {}\ncleanup = {}",
        log("setup"),
        log("prepare"),
        log("cleanup")
    );
    let arms = format!(
        "[arm.plain]\ncommand = {}\n\n[arm.other]\ncommand = [\"sh\", \"-c\", \"echo run >> log; sleep 0.01\"]",
        log("run")
    );
    run_in(&yard, &plan("", &workload, &arms), &[0], "elapsed");
    let log = yard.read("log");
    let count = |word: &str| log.lines().filter(|line| *line == word).count();
    assert_eq!((count("setup"), count("cleanup")), (3, 3), "once for each arm");
    assert_eq!(count("prepare"), count("run"));
    assert_eq!(count("run"), 4 * 3, "the pilot and three rounds of three arms");
    let mut lines = log.lines().skip(3);
    assert_eq!((lines.next(), lines.next()), (Some("prepare"), Some("run")));
}

#[test]
fn a_budget_that_is_spent_sets_up_no_further_arm_and_cleans_up_none() {
    let yard = Yard::new();
    let workload = "kind = \"command\"\nsetup = [\"sh\", \"-c\", \"echo setup >> log\"]\ncleanup = [\"sh\", \"-c\", \"echo cleanup >> log\"]";
    let arms = "[arm.plain]\ncommand = [\"true\"]\n\n[arm.other]\ncommand = [\"sleep\", \"0\"]";
    yard.write("plan.toml", plan("", workload, arms));
    let ended = yard.run(&["run", "plan.toml", "--out", "out", "--budget", "1ms"]);
    ended.exits(3).says(&["the budget of 1 ms ended before the first slice"]);
    assert!(!yard.path("log").exists(), "{}", yard.read("log"));
}

#[test]
fn any_program_that_serves_is_an_arm() {
    let arms = format!(
        "[arm.plain]\nserver = \"origin\"\n\n[arm.python]\ncommand = [\"{}\", \"-m\", \"http.server\", \"{{port}}\", \"--bind\", \"{{host}}\", \"--directory\", \"{{root}}\"]",
        python()
    );
    let workload = "kind = \"replay\"\nlog = \"access.log\"\nrobots = 2";
    let yard = Yard::new();
    let line = |path: &str, bytes: u32| {
        format!("10.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"-\" \"-\"\n")
    };
    yard.write("access.log", line("/a.txt", 500) + &line("/b/c.bin", 7000));
    // The arm serves the site that was rebuilt from the log: every reply is checked.
    let results = run_in(&yard, &plan("", workload, &arms), &[0], CPU);
    all_answered(&results);
    assert!(row(&results, "python")["effect"].as_f64().unwrap() > 1.0, "an interpreter");
    assert_eq!(results["arms"]["python"]["subject"]["server"], "command");
}

#[test]
fn urls_are_judged_by_cpu_with_pids_and_by_response_time_without() {
    let yard = Yard::new();
    let (a, b) = (Origin::start(&yard, &[]), Origin::start(&yard, &["--burn", "2ms"]));
    let arms = |pids: [String; 2]| {
        format!(
            "[arm.plain]\nurl = \"{}\"\n{}\n\n[arm.burning]\nurl = \"{}\"\n{}",
            a.url, pids[0], b.url, pids[1]
        )
    };
    let without = plan("", GET, &arms([String::new(), String::new()]));
    yard.write("plan.toml", &without);
    let said = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "without", "--quiet"])).wait();
    assert!(matches!(said.code(), Some(0 | 4)), "{said:?}");
    let yard2 = Yard::new();
    std::fs::rename(yard.path("without"), yard2.path("without")).unwrap();
    contract::kept(&yard2, "without", &["plain", "burning"], "response_p50");

    yard.write(
        "plan.toml",
        plan("", GET, &arms([format!("pid = {}", a.pid()), format!("pid = {}", b.pid())])),
    );
    yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "with", "--quiet"])).wait().exits(0);
    std::fs::rename(yard.path("with"), yard2.path("with")).unwrap();
    let results = contract::kept(&yard2, "with", &["plain", "burning"], CPU);
    assert!(row(&results, "burning")["effect"].as_f64().unwrap() > 1.0);
    assert_eq!(a.end().0, Some(0), "a server of the user's is not stopped");
    assert_eq!(b.end().0, Some(0));
}

fn real_server(server: &str) {
    let workload = "kind = \"replay\"\nlog = \"builtin:weblog\"\nrobots = 4";
    let arms = format!("[arm.plain]\nserver = \"{server}\"\n\n[arm.tls]\nserver = \"{server}\"\ntls = true");
    let results = run(workload, &arms, &[0], CPU);
    all_answered(&results);
    let subject = &results["arms"]["tls"]["subject"];
    assert!(subject["version"].as_str().unwrap().contains('/'), "{subject}");
    assert!(subject["tls"].as_str().unwrap().contains("TLS"), "{subject}");
    assert!(subject["config"].as_str().unwrap().len() > 100);
}

#[test]
fn nginx_serves_the_rebuilt_site_over_http_and_https() {
    if has("nginx", "nginx_serves_the_rebuilt_site_over_http_and_https") {
        real_server("nginx");
    }
}

/// Suites of TLS 1.2 have the kind of the certificate in their names.
#[test]
fn arms_have_certificates_of_the_kinds_that_the_plan_names() {
    if !has("nginx", "arms_have_certificates_of_the_kinds_that_the_plan_names") {
        return;
    }
    let arm = |name: &str, kind: &str| {
        format!(
            "[arm.{name}]\nserver = \"nginx\"\ntls = true\ncertificate = \"{kind}\"\n\
             tls_client = {{ version = \"1.2\" }}\n\n"
        )
    };
    let yard = Yard::new();
    yard.write("access.log", include_str!("access.log"));
    let workload = "kind = \"replay\"\nlog = \"access.log\"\nrobots = 2";
    let plan = plan("", workload, &(arm("plain", "p-384") + &arm("rsa", "rsa-4096")));
    let results = run_in(&yard, &plan, &[0], CPU);
    for (name, suite) in [("plain", "ECDHE_ECDSA"), ("rsa", "ECDHE_RSA")] {
        let tls = results["arms"][name]["subject"]["tls"].as_str().unwrap();
        assert!(tls.contains(suite), "{name}: {tls}");
    }
}

/// nginx answers 400 to a client without one, which fails where replies are judged.
#[test]
fn a_client_shows_the_certificate_that_the_run_makes() {
    if !has("nginx", "a_client_shows_the_certificate_that_the_run_makes") {
        return;
    }
    let arm = "server = \"nginx\"\ntls = true\n";
    let asks = "directives = \"ssl_client_certificate {client_ca}; ssl_verify_client on;\"\n";
    for (client, is_let_in) in [("tls_client = { cert = \"made\" }", true), ("", false)] {
        let yard = Yard::new();
        yard.write("access.log", include_str!("access.log"));
        let arms = format!("[arm.plain]\n{arm}\n[arm.asks]\n{arm}{asks}{client}\n");
        let workload = "kind = \"replay\"\nlog = \"access.log\"\nrobots = 2";
        yard.write("plan.toml", plan("", workload, &arms));
        let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]);
        assert_eq!(said.code() == Some(0), is_let_in, "{client}: {}", said.stderr);
    }
}

#[test]
fn apache_serves_the_rebuilt_site_over_http_and_https() {
    if has("apache2", "apache_serves_the_rebuilt_site_over_http_and_https") {
        real_server("apache");
    }
}
