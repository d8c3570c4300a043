//! Arms whose server misbehaves.

use crate::contract;
use crate::support::{Ended, GET, Origin, SLOW_GET, Yard, is_root, plan, python};

/// The origin against a server of `bad_server.py`.
fn against(yard: &Yard, mode: &str, more: &str) -> Ended {
    let script = yard.write("bad_server.py", include_str!("bad_server.py"));
    let (mode, number) = mode.split_once(' ').unwrap_or((mode, "0"));
    let arms = format!(
        "[arm.plain]\nserver = \"origin\"\n\n[arm.bad]\ncommand = [\"{}\", \"{}\", \"{mode}\", \"{{port}}\", \"{number}\"]\n{more}",
        python(),
        script.display()
    );
    // One start of each: with more, most requests to a server are not measured.
    yard.write("plan.toml", plan("restart_every = 0", GET, &arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]);
    // With output or measurements the directory is kept; else there is none.
    assert_eq!(said.last_line() == "results: out", yard.path("out").exists());
    said
}

#[test]
fn one_that_serves_well_is_measured() {
    let yard = Yard::new();
    against(&yard, "good", "").exits(0);
    contract::kept(&yard, "out", &["plain", "bad"], "subject_cpu_per_request");
}

#[test]
fn one_that_is_not_there() {
    let yard = Yard::new();
    let arms = "[arm.plain]\nserver = \"origin\"\n\n[arm.mine]\ncommand = [\"./no-such-server\", \"{port}\"]";
    yard.write("plan.toml", plan("", GET, arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(2);
    said.says(&["plan.toml:", "no-such-server", "install it, or give its path"]);
}

/// Hidden in a mount namespace of its own.
#[test]
fn nginx_that_is_not_installed() {
    if !is_root("nginx_that_is_not_installed") {
        return;
    }
    let yard = Yard::new();
    yard.write(
        "plan.toml",
        plan("", GET, "[arm.plain]\nserver = \"nginx\"\n\n[arm.tls]\nserver = \"nginx\"\ntls = true"),
    );
    let hide = "for nginx in /usr/sbin/nginx /usr/bin/nginx /usr/local/sbin/nginx; do \
                if [ -e $nginx ]; then mount --bind /dev/null $nginx || exit 99; fi; done; exec \"$@\"";
    let line = format!("exec unshare -m sh -c '{hide}' sh \"$@\"");
    let said = yard.ended(yard.start(yard.shell(&line, &["run", "plan.toml", "--out", "out"])));
    said.exits(3).says(&["arm `plain`", "no program `nginx`", "install"]);
}

#[test]
fn one_that_dies_at_the_start_is_quoted() {
    let said = against(&Yard::new(), "die-at-start", "").exits(3);
    said.says(&[
        "arm `bad`",
        "ended before it was ready",
        "exit status 7",
        "no settings found",
        "out/logs/bad",
    ]);
}

#[test]
fn one_that_is_never_ready_is_quoted() {
    let said = against(&Yard::new(), "never", "start_timeout = \"5s\"").exits(3);
    said.says(&["arm `bad`", "not ready after 5 s", "start_timeout", "thinking about it"]);
}

/// 200 requests in the pilot, about 200 in each round.
#[test]
fn one_that_dies_in_the_middle_is_quoted_and_what_was_measured_is_kept() {
    let yard = Yard::new();
    let said = against(&yard, "die-after 500", "").exits(3);
    let said =
        said.says(&["arm `bad`", "ended during the run", "exit status 9", "out of cheese", "out/logs/bad"]);
    assert!(yard.read("out/logs/bad/stderr.log").contains("out of cheese"));
    assert!(said.stdout.contains("what does bad cost?"), "the partial report:\n{}", said.stdout);
    let results = contract::kept(&yard, "out", &["plain", "bad"], "subject_cpu_per_request");
    assert_eq!(results["stopped_by"], "failed");
    assert_eq!(results["rounds"], 1);
    assert!(yard.path("out/report.html").is_file());
}

#[test]
fn one_that_closes_every_connection() {
    let said = against(&Yard::new(), "close", "").exits(3);
    said.says(&["bad: nothing but failures", "closed-early", "The server closes connections"]);
}

#[test]
fn one_that_is_no_web_server() {
    let said = against(&Yard::new(), "garbage", "").exits(3);
    said.says(&["bad: nothing but failures", "malformed", "Is it an HTTP/1.1 server"]);
}

#[test]
fn one_that_sends_less_than_it_promised() {
    let said = against(&Yard::new(), "less", "").exits(3);
    said.says(&["bad: nothing but failures", "truncated"]);
}

#[test]
fn one_that_sends_more_than_it_promised_is_not_believed() {
    let yard = Yard::new();
    let said = against(&yard, "more", "");
    // The kernel decides whether the surplus comes with the reply or behind it.
    assert!(matches!(said.code(), Some(3 | 4)), "{said:?}");
    assert!((said.stdout + &said.stderr).contains("surplus"));
}

#[test]
fn a_url_where_nobody_listens() {
    let yard = Yard::new();
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap().port()
    };
    let arms = format!("[arm.plain]\nserver = \"origin\"\n\n[arm.there]\nurl = \"http://127.0.0.1:{port}\"");
    yard.write("plan.toml", plan("", GET, &arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(3);
    said.says(&["arm `there`", &port.to_string(), "start the server first"]);
}

/// The throw-away certificate of `bakeoff origin --tls`, whose authority no client knows. Robots that think: the time
/// of a reply is invalid if the generator was the limit.
#[test]
fn a_url_with_a_certificate_that_nobody_trusts() {
    let yard = Yard::new();
    let there = Origin::start(&yard, &["--tls"]);
    let arms = format!("[arm.plain]\nserver = \"origin\"\n\n[arm.there]\nurl = \"{}\"", there.url);
    yard.write("plan.toml", plan("", SLOW_GET, &arms));
    let said = yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "out"])).wait().exits(3);
    said.says(&["there: nothing but failures", "tls-untrusted", "cacert", "insecure"]);
    yard.write("plan.toml", plan("", SLOW_GET, &(arms + "\ninsecure = true")));
    yard.start(yard.bakeoff(&["run", "plan.toml", "--out", "again"])).wait().exits(0);
}

#[test]
fn a_command_that_fails_is_quoted() {
    let yard = Yard::new();
    let arms = "[arm.plain]\ncommand = [\"true\"]\n\n[arm.bad]\ncommand = [\"sh\", \"-c\", \"echo no such luck >&2; exit 5\"]";
    yard.write("plan.toml", plan("", "kind = \"command\"", arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out"]).exits(3);
    said.says(&["bad: `sh -c", "5", "no such luck"]);
}

/// It works in the pilot and fails afterwards: an error of its own, not a time.
#[test]
fn a_command_that_fails_later_makes_its_arm_invalid() {
    let yard = Yard::new();
    let arms = "[arm.plain]\ncommand = [\"true\"]\n\n[arm.bad]\ncommand = [\"sh\", \"-c\", \"if [ -e was ]; then exit 5; fi; : > was\"]";
    yard.write("plan.toml", plan("", "kind = \"command\"", arms));
    let said = yard.run(&["run", "plan.toml", "--out", "out", "--quiet"]).exits(4);
    said.says(&["bakeoff: bad is invalid: ", "exit-status"]);
    let results = contract::kept(&yard, "out", &["plain", "bad"], "elapsed");
    assert_eq!(results["arms"]["bad"]["errors"], serde_json::json!({ "exit-status": 3 }));
    let row = contract::row(&results, "bad");
    assert_eq!(row["verdict"], "invalid");
    assert!(row["sentence"].as_str().unwrap().contains("exit-status"), "{row}");
}
