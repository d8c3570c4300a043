//! `bakeoff conformance`: missing programs, suites that fail, and a part of the public suite itself.

use crate::caches::plan;
use crate::support::{PATIENCE, Yard, has, signal, wait_until};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SERVER: &str = "import http from 'node:http'\n\
    http.createServer((_, response) => response.end('x')).listen(process.env.npm_config_port)\n";
const TESTS: &str = "export default [{ name: 'Made up', id: 'set', tests: [\n\
    { id: 'a', name: 'Does it a?', requests: [] },\n\
    { id: 'b', name: 'Does it b?', kind: 'optimal', depends_on: ['a'], requests: [] },\n\
    { id: 'c', name: 'Is it a browser?', browser_only: true, requests: [] }] }]\n";
/// Leaves a file beside itself, and does not end.
const ENDLESS: &str = "import fs from 'node:fs'\n\
    fs.writeFileSync(new URL('running', import.meta.url), '')\nsetInterval(() => {}, 1000)\n";

/// A suite of our own with this client, in the layout of the release or of the repository.
fn suite(yard: &Yard, engine: &str, client: &str) {
    for dir in [format!("suite/{engine}server"), "suite/tests".to_owned()] {
        fs::create_dir_all(yard.path(&dir)).unwrap();
    }
    yard.write("suite/package.json", r#"{"name": "http-cache-tests", "version": "0.0.1"}"#);
    yard.write("suite/tests/index.mjs", TESTS);
    yard.write(&format!("suite/{engine}server/server.mjs"), SERVER);
    yard.write(&format!("suite/{engine}cli.mjs"), client);
}

/// The suite's record in a directory.
fn kept(yard: &Yard, dir: &str) -> Value {
    serde_json::from_str(&yard.read(&format!("{dir}/conformance.json"))).unwrap()
}

#[test]
fn a_missing_suite_is_said_with_the_command_that_installs_it() {
    let yard = Yard::new();
    let said = yard.run(&["conformance", "--product", "nginx"]).exits(3);
    let said = said.says(&["`npm install --prefix http-cache-tests http-cache-tests@0.4.5`"]);
    assert_eq!(said.stdout, "");
    assert!(!yard.path("bakeoff-results").exists());
}

#[test]
fn a_missing_node_is_said() {
    let yard = Yard::new();
    suite(&yard, "", "");
    let mut command = yard.bakeoff(&["conformance", "--product", "nginx", "--suite", "suite"]);
    let said = yard.ended(yard.start({
        command.env("PATH", "");
        command
    }));
    assert_eq!(said.exits(3).says(&["no program `node`", "apt-get install nodejs"]).stdout, "");
}

#[test]
fn what_cannot_be_examined_exits_2_and_says_why() {
    let yard = Yard::new();
    yard.write("forward.toml", plan("400/s", 200).replace("rate =", "mode = \"forward\"\nrate ="));
    for (args, words) in [
        (&[][..], &["--product"][..]),
        (&["--product", "none"], &["--product none", "take it out"]),
        (&["--product", "squidd"], &["squidd", "squid", "varnish"]),
        (&["--into", "."], &["no results directory of a bake-off"]),
        (&["--into", ".", "--product", "nginx"], &["cannot be used with"]),
        (&["--product", "nginx", "--plan", "none.toml"], &["no such plan"]),
        (&["--product", "squid", "--plan", "forward.toml"], &["reverse proxies only"]),
    ] {
        let said = yard.run(&[&["conformance"], args].concat()).exits(2).says(words);
        assert_eq!(said.stdout, "", "{args:?}");
    }
}

#[test]
fn a_client_that_dies_hangs_or_talks_nonsense_is_a_product_without_figures() {
    const NAME: &str = "a_client_that_dies_hangs_or_talks_nonsense_is_a_product_without_figures";
    if !has("node", NAME) || !has("nginx", NAME) {
        return;
    }
    let yard = Yard::new();
    let examine = |client: &str, out: &str, limit: &str| {
        suite(&yard, "", client);
        let args =
            ["conformance", "--product", "nginx", "--suite", "suite", "--time-limit", limit, "--out", out];
        let said = yard.run(&args).exits(3).says(&["did not come to its end with 1 of 1 products"]);
        assert_eq!(said.last_line(), format!("results: {out}"));
        let product = kept(&yard, out)["products"][0].clone();
        assert!(product["entrant"]["version"].as_str().unwrap().starts_with("nginx/"), "{product}");
        assert!(yard.read(&format!("{out}/conformance-nginx.conf")).contains("proxy_cache"));
        product["came_to"]["failed"].as_str().unwrap().to_owned()
    };
    let died = examine("console.error('no more'); process.exit(7)", "died", "2min");
    assert!(died.contains('7') && died.contains("no more"), "{died}");
    let hung = examine(ENDLESS, "hung", "1s");
    assert!(hung.contains("had not ended after 1 s"), "{hung}");
    let nonsense = examine("console.log('Running undefined')", "nonsense", "2min");
    assert!(nonsense.contains("printed no results"), "{nonsense}");
    let again = yard.run(&["report", "died"]).exits(3);
    assert!(
        again.stdout.contains("no figures: ") && again.last_line() == "results: died",
        "{}",
        again.stdout
    );
}

#[test]
fn both_layouts_of_the_suite_are_known_and_its_server_is_on_loopback_alone() {
    const NAME: &str = "both_layouts_of_the_suite_are_known_and_its_server_is_on_loopback_alone";
    if !has("node", NAME) || !has("nginx", NAME) {
        return;
    }
    for engine in ["", "test-engine/"] {
        let yard = Yard::new();
        // Sends a request through the product, and prints the addresses of the machine's listeners.
        let client = "import fs from 'node:fs'\n\
            const reply = await (await fetch(process.env.npm_config_base)).text()\n\
            const lines = fs.readFileSync('/proc/net/tcp', 'latin1') + fs.readFileSync('/proc/net/tcp6', 'latin1')\n\
            console.log(JSON.stringify({ a: reply === 'x' ? true : ['Assertion', reply], b: ['Error', lines] }, null, 2))\n";
        suite(&yard, engine, client);
        let args = ["conformance", "--product", "nginx", "--suite", "suite", "--out", "out"];
        let said = yard.run(&args).exits(0);
        let kept = kept(&yard, "out");
        let product = &kept["products"][0];
        let score = &product["came_to"]["scored"];
        assert_eq!(
            (&score["required"]["all"], &score["required"]["passed"]),
            (&1.into(), &1.into()),
            "{score}"
        );
        assert_eq!((&score["optimal"]["all"], &score["optimal"]["failed"]), (&1.into(), &1.into()));
        assert!(said.stdout.contains("1 of 1") && said.stdout.contains("0 of 1"), "{}", said.stdout);
        let suite = &kept["suite"];
        assert_eq!((&suite["version"], &suite["tests"]), (&"0.0.1".into(), &2.into()), "browsers' left out");
        assert_eq!(suite["digest"].as_str().unwrap().len(), 64);
        let port = format!(":{:04X}", product["origin_port"].as_u64().unwrap());
        let lines = score["tests"][1]["said"][1].as_str().unwrap();
        let listening: Vec<&str> = lines
            .lines()
            .filter_map(|line| {
                let fields: Vec<&str> = line.split_whitespace().collect();
                (fields.get(3) == Some(&"0A")).then(|| fields[1])
            })
            .filter(|address| address.ends_with(&port))
            .collect();
        assert_eq!(listening, [format!("0100007F{port}")]);
    }
}

#[test]
fn ctrl_c_and_kill_leave_nothing_of_the_suite() {
    const NAME: &str = "ctrl_c_and_kill_leave_nothing_of_the_suite";
    if !has("node", NAME) || !has("nginx", NAME) {
        return;
    }
    let yard = Yard::new();
    suite(&yard, "", ENDLESS);
    let begin = || {
        let _ = fs::remove_file(yard.path("suite/running"));
        let run = yard.start(yard.bakeoff(&["conformance", "--product", "nginx", "--suite", "suite"]));
        wait_until(PATIENCE, || {
            if yard.path("suite/running").exists() { Ok(()) } else { Err(run.errors_so_far()) }
        });
        run
    };
    let run = begin();
    signal("INT", &run.pid().to_string());
    assert_eq!(yard.ended(run).exits(130).says(&["interrupted"]).stdout, "");
    let run = begin();
    signal("KILL", &run.pid().to_string());
    run.wait();
    yard.nobody_left_behind_the_killed();
}

/// The public suite, with some of its sets only: all of it takes minutes. The rule of skipped tests.
fn part_of_the_public_suite(yard: &Yard, test: &str) -> Option<()> {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cache-tests/node_modules");
    let there = modules.join("http-cache-tests/package.json").is_file();
    if !there {
        let reason = "the HTTP cache suite is not in target/cache-tests (tests/prepare puts it there)";
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
        return None;
    }
    copy(&modules.join("http-cache-tests"), &yard.path("suite"));
    std::os::unix::fs::symlink(fs::canonicalize(modules).unwrap(), yard.path("node_modules")).unwrap();
    let sets = "import fresh from './cc-freshness.mjs'\nimport etag from './conditional-etag.mjs'\n\
        import vary from './vary.mjs'\nexport default [fresh, etag, vary]\n";
    yard.write("suite/tests/index.mjs", sets);
    Some(())
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        let name = entry.file_name();
        match entry.path().is_dir() {
            true if ["node_modules", "results", "spec"].iter().any(|other| name == *other) => {}
            true => copy(&entry.path(), &to.join(&name)),
            false => {
                fs::copy(entry.path(), to.join(&name)).unwrap();
            }
        }
    }
}

/// Outcomes by the suite's own rules for the same results, by test.
fn judged_by_the_suite(yard: &Yard, tests: &Value) -> BTreeMap<String, String> {
    let script = "import fs from 'node:fs'\n\
        import { determineTestResult } from './lib/display.mjs'\n\
        import tests from './tests/index.mjs'\n\
        import surrogate from './tests/surrogate-control.mjs'\n\
        tests.push(surrogate)\n\
        const words = { '\u{2705}': 'passed', Y: 'passed', '\u{26d4}\u{fe0f}': 'failed', '\u{26a0}\u{fe0f}': 'failed', N: 'failed',\n\
          '\u{1f539}': 'setup-failed', '\u{21bb}': 'retried', '\u{26aa}\u{fe0f}': 'dependency-failed', '-': 'untested' }\n\
        const kept = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'))\n\
        const results = {}\n\
        for (const test of kept) if (test.outcome !== 'untested') results[test.id] = test.said ?? true\n\
        const judged = kept.map(test => [test.id, words[determineTestResult(tests, test.id, results)[2]]])\n\
        console.log(JSON.stringify(Object.fromEntries(judged)))\n";
    let script = yard.write("suite/judge.mjs", script);
    let results = yard.write("kept.json", tests.to_string());
    let said = Command::new("node").arg("--no-warnings").arg(script).arg(results).output().unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap()
}

#[test]
fn the_public_suite_judges_nginx_as_it_was_measured_and_joins_the_report() {
    const NAME: &str = "the_public_suite_judges_nginx_as_it_was_measured_and_joins_the_report";
    let yard = Yard::new();
    if !has("node", NAME) || !has("nginx", NAME) || part_of_the_public_suite(&yard, NAME).is_none() {
        return;
    }
    yard.write("tiny.toml", plan("400/s", 200));
    yard.run(&["run", "tiny.toml", "--product", "nginx", "--out", "out", "--quiet"]).exits(0);
    assert!(yard.results("out").get("conformance").is_none());
    let said = yard.run(&["conformance", "--into", "out", "--suite", "suite"]).exits(0);
    assert!(said.stdout.contains("nginx: required tests that failed") && said.last_line() == "results: out");

    let product = kept(&yard, "out")["products"][0].clone();
    let score = &product["came_to"]["scored"];
    let tests = &score["tests"];
    let outcome = |id: &str| {
        let found = tests.as_array().unwrap().iter().find(|test| test["id"] == id);
        found.unwrap_or_else(|| panic!("no {id} in {tests}"))["outcome"].as_str().unwrap().to_owned()
    };
    // nginx keeps replies that may be kept, and gives out none that must not be.
    for id in ["freshness-none", "freshness-max-age", "vary-match", "vary-no-match"] {
        assert_eq!(outcome(id), "passed", "{id}");
    }
    let ours: BTreeMap<String, String> = tests
        .as_array()
        .unwrap()
        .iter()
        .map(|test| (test["id"].as_str().unwrap().to_owned(), test["outcome"].as_str().unwrap().to_owned()))
        .collect();
    assert!(ours.len() > 30, "{ours:?}");
    assert_eq!(ours, judged_by_the_suite(&yard, tests));

    let shown = &yard.results("out")["conformance"]["products"][0];
    assert_eq!((shown["name"].as_str(), &shown["required"]), (Some("nginx"), &score["required"]));
    assert_eq!(shown["differs"], Value::Array(Vec::new()), "the same version and configuration");
    assert!(yard.read("out/report.html").contains("Required tests that nginx failed"));
    let config: PathBuf = yard.path("out/nginx.conf");
    fs::write(
        &config,
        yard.read("out/nginx.conf").replace("proxy_cache_revalidate on", "proxy_cache_revalidate off"),
    )
    .unwrap();
    let said = yard.run(&["report", "out"]).exits(0);
    assert!(said.stdout.contains("nginx: another configuration"), "{}", said.stdout);
}
