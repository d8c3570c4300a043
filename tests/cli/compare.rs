//! `bakeoff compare`, as its first user has it: two configurations and a log.

use crate::contract;
use crate::support::{Origin, Yard, has};

const LOG: &str = include_str!("access.log");

fn config(extra: &str, listen: &str) -> String {
    format!(
        "events {{ worker_connections 256; }}\nhttp {{\n  server {{\n    listen {listen};\n    root {{root}};\n    {extra}\n  }}\n}}\n"
    )
}

#[test]
fn two_configurations_of_nginx_on_a_log() {
    if !has("nginx", "two_configurations_of_nginx_on_a_log") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.conf", config("", "{host}:{port}"));
    yard.write("b.conf", config("add_header X-Served-By bakeoff;", "{host}:{port}"));
    yard.write("access.log", LOG);
    let args = ["compare", "--server", "nginx", "a.conf", "b.conf", "--log", "access.log", "--robots", "4"];
    // With so wide a margin it ends at its first look, long before its budget.
    let said = yard
        .run(&[&args[..], &["--out", "out", "--budget", "120s", "--seed", "5", "--margin", "60%"]].concat())
        .exits(0);
    assert_eq!(said.last_line(), "results: out");
    assert!(said.stderr.contains("of the plan out/plan.toml"), "{}", said.stderr);
    let results = contract::kept(&yard, "out", &["a", "b"], "subject_cpu_per_request");
    assert_eq!((&results["seed"], &results["margin"]), (&5.into(), &0.6.into()));
    assert_eq!(results["arms"]["b"]["errors"], serde_json::json!({}));
    assert!(results["arms"]["b"]["subject"]["config"].as_str().unwrap().contains("X-Served-By"));
    // The plan that ran is named, kept, and runs as it stands.
    let plan = yard.read("out/plan.toml");
    assert!(plan.contains("[arm.b]") || plan.contains("[arm.\"b\"]"), "{plan}");
    yard.write("kept.toml", &plan);
    yard.run(&["check", "kept.toml"]).exits(0);
}

/// Before requests had an `Accept-Encoding`, and while no byte of the site compressed, this cost nothing and changed
/// nothing.
#[test]
fn gzip_makes_texts_smaller_and_the_replies_are_checked() {
    if !has("nginx", "gzip_makes_texts_smaller_and_the_replies_are_checked") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.conf", config("", "{host}:{port}"));
    yard.write("b.conf", config("gzip on; gzip_types *;", "{host}:{port}"));
    let line = |path| format!("1.2.3.4 - - [10/Oct/2026:13:55:36 +0000] \"GET {path} HTTP/1.1\" 200 20000\n");
    yard.write("access.log", ["/", "/a.css", "/b.js", "/c.jpg"].map(line).concat());
    let args = [
        "compare",
        "--server",
        "nginx",
        "a.conf",
        "b.conf",
        "--log",
        "access.log",
        "--margin",
        "50%",
        "--budget",
        "120s",
    ];
    let of = |out: &str, more: &[&str]| {
        yard.run(&[&args[..], &["--quiet", "--out", out], more].concat()).exits(0);
        let arms = yard.results(out)["arms"].clone();
        assert_eq!(arms["b"]["errors"], serde_json::json!({}));
        let [a, b] = ["a", "b"]
            .map(|arm| arms[arm]["bytes"].as_f64().unwrap() / arms[arm]["replies"].as_f64().unwrap());
        b / a
    };
    // Three of four are texts, of which a quarter is left; the image is packed again in vain.
    let left = of("as-browsers-do", &[]);
    assert!((0.4..0.5).contains(&left), "{left}");
    let left = of("as-asked", &["--header", "accept-encoding: identity"]);
    assert!((0.99..1.01).contains(&left), "{left}");
}

#[test]
fn two_urls_with_their_pids() {
    let yard = Yard::new();
    let (a, b) = (Origin::start(&yard, &[]), Origin::start(&yard, &["--burn", "4ms"]));
    let [one, two] = [&a, &b].map(|origin| format!("{}/bytes/500", origin.url));
    let args = ["compare", &one, &two, "--pid", &a.pid(), "--pid", &b.pid(), "--robots", "4"];
    let said = yard
        .start(yard.bakeoff(
            &[&args[..], &["--out", "out", "--budget", "60s", "--margin", "60%", "--quiet"]].concat(),
        ))
        .wait()
        .exits(0);
    assert_eq!(said.stdout, "results: out\n");
    drop((a, b));
    let names = [&one, &two].map(|url| format!("127.0.0.1-{}", url.split([':', '/']).nth(4).unwrap()));
    let results = contract::kept(&yard, "out", &[&names[0], &names[1]], "subject_cpu_per_request");
    assert!(contract::row(&results, &names[1])["effect"].as_f64().unwrap() > 1.0);
}

/// Each reply over HTTP/2 has a head that HPACK makes shorter than HTTP/1.1 can.
#[test]
fn http2_is_asked_for_over_tls() {
    let yard = Yard::new();
    let origins = [&["--tls"][..], &["--tls", "--burn", "2ms"]].map(|more| Origin::start(&yard, more));
    let [one, two] = [0, 1].map(|at| format!("{}/bytes/500", origins[at].url));
    let args = [
        "compare",
        &one,
        &two,
        "--pid",
        &origins[0].pid(),
        "--pid",
        &origins[1].pid(),
        "--insecure",
        "--robots",
        "4",
    ];
    let few = ["--budget", "60s", "--margin", "60%", "--quiet", "--http2", "--streams", "2"];
    yard.start(yard.bakeoff(&[&args[..], &few, &["--out", "both"]].concat())).wait().exits(0);
    drop(origins);
    assert!(yard.read("both/plan.toml").contains("http2 = { streams = 2 }"));
    let results = yard.results("both");
    for (name, arm) in results["arms"].as_object().unwrap() {
        assert_eq!(arm["errors"], serde_json::json!({}), "{name}");
        let bytes = arm["bytes"].as_f64().unwrap() / arm["replies"].as_f64().unwrap();
        assert!((500.0..560.0).contains(&bytes), "{name}: {bytes} bytes a reply");
    }
}

#[test]
fn a_server_that_has_no_http2_is_told() {
    if !has("nginx", "a_server_that_has_no_http2_is_told") {
        return;
    }
    let yard = Yard::new();
    yard.write("one.conf", config("", "{host}:{port}"));
    yard.write("two.conf", config("add_header A b;", "{host}:{port}"));
    let nginx = [
        "compare", "--server", "nginx", "one.conf", "two.conf", "--http2", "--budget", "60s", "--out", "none",
    ];
    let said = yard.run(&nginx);
    assert!(matches!(said.code(), Some(3 | 4)), "{said:?}");
    said.says(&["HTTP/2", "switched on"]);
}

#[test]
fn http2_is_refused_where_nothing_speaks_it() {
    let yard = Yard::new();
    let fronts = ["compare", "--front", "none", "--front", "haproxy", "--http2"];
    yard.run(&fronts).exits(2).says(&["--http2 and --front", "HTTP/1.1", "take one of both out"]);
    yard.run(&["compare", "--http2", "--", "true", "--", "false"])
        .exits(2)
        .says(&["--http2", "cannot be used with"]);
    yard.run(&["compare", "http://127.0.0.1:1", "http://127.0.0.1:2", "--streams", "2"])
        .exits(2)
        .says(&["--http2"]);
}

#[test]
fn a_configuration_without_port_is_refused_with_the_line_to_write() {
    if !has("nginx", "a_configuration_without_port_is_refused_with_the_line_to_write") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.conf", config("", "{host}:{port}"));
    yard.write("b.conf", config("gzip on;", "8080"));
    yard.write("access.log", LOG);
    let args = ["compare", "--server", "nginx", "a.conf", "b.conf", "--log", "access.log", "--out", "out"];
    let said = yard.run(&args);
    assert!(matches!(said.code(), Some(2 | 3)), "{said:?}");
    said.says(&["b.conf", "line 4: `listen 8080;` as `listen {host}:{port};`"]);
    assert!(!yard.path("out").exists(), "nothing was measured");
}

#[test]
fn what_the_server_says_of_a_wrong_configuration_is_shown() {
    if !has("nginx", "what_the_server_says_of_a_wrong_configuration_is_shown") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.conf", config("", "{host}:{port}"));
    yard.write("b.conf", config("gzap on;", "{host}:{port}"));
    yard.write("access.log", LOG);
    let args = ["compare", "--server", "nginx", "a.conf", "b.conf", "--log", "access.log", "--out", "out"];
    let own = format!("{}:6", yard.path("b.conf").display());
    yard.run(&args).exits(3).says(&["arm `b`", "gzap", &own, "out/logs/b"]);
    assert!(yard.read("out/logs/b/error.log").contains("gzap"));
}

#[test]
fn what_came_in_place_of_the_site_is_shown() {
    if !has("nginx", "what_came_in_place_of_the_site_is_shown") {
        return;
    }
    let yard = Yard::new();
    yard.write("a.conf", config("", "{host}:{port}"));
    yard.write("b.conf", config("return 301 /x;", "{host}:{port}"));
    yard.write("access.log", LOG);
    let said =
        yard.run(&["compare", "--server", "nginx", "a.conf", "b.conf", "--log", "access.log"]).exits(3);
    said.says(&["b: nothing but failures", "such as GET /", ": 301 where 200 was expected"]);
}

#[test]
fn two_commands_are_compared_under_names_of_the_users() {
    let yard = Yard::new();
    yard.write("a.txt", "some words\n");
    let args = [
        "compare", "--budget", "60s", "--margin", "60%", "--name", "plain", "--name", "awk", "--out", "out",
        "--json",
    ];
    let commands = ["--", "cat", "a.txt", "--", "awk", "{print $1}", "a.txt"];
    let said = yard.run(&[&args[..], &commands].concat()).exits(0).says(&["results: out\n"]);
    assert!(yard.read("out/plan.toml").contains("command = [\"awk\", \"{{print $1}}\", \"a.txt\"]"));
    let results = yard.results("out");
    assert_eq!(said.json(), results);
    assert_eq!(results["workload"]["kind"], "command");
    assert_eq!(results["order"], serde_json::json!(["plain", "plain'", "awk"]));
    assert_eq!(results["arms"]["awk"]["errors"], serde_json::json!({}));
    for (args, words) in [
        (&["compare", "--", "true", "a"][..], &["each behind a --"][..]),
        (&["compare", "--log", "x", "--", "true", "--", "false"], &["--log"]),
        (
            &["compare", "--name", "x", "--", "true", "--", "false"],
            &["given 1 times for 2 arms (true, false)"],
        ),
        (&["compare", "--server", "nginx", "a", "b", "--name", "x"], &["given 1 times"]),
    ] {
        yard.run(args).exits(2).says(words);
    }
}
