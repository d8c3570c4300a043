//! Refusals by rate and rule, their counts, and `explain`, which must agree.

use crate::stage::{Daemon, Got, LAYERS, NGINX, Site, may_run};
use std::time::Instant;

pub(crate) const RULES: &str = r#"
[server]
listen = 80
classes = { high = 8200, low = 8201 }

[[from]]
source = "127.0.1.0/24"
class = "high"

[[from]]
source = "127.0.2.0/24"
rate = "5/s"
burst = 8
refuse = "reset"

[[from]]
source = "127.0.3.0/24"
rate = "1/h"
burst = 1
refuse = "drop"

[[request]]
path = "/cgi-bin/*"
rate = "1/h"
burst = 2
refuse = "503"

[[request]]
path = "*noaccess*"
refuse = "reset"
"#;

#[test]
fn a_rate_lets_in_what_the_law_says_and_the_status_counts_the_same() {
    if !may_run("a_rate_lets_in_what_the_law_says_and_the_status_counts_the_same", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    let began = Instant::now();
    let got: Vec<Got> = (0..60).map(|_| site.ask("127.0.2.9", "/")).collect();
    let took_s = began.elapsed().as_secs_f64();
    let served = got.iter().filter(|got| got.is_served()).count() as u64;
    let resets = got.iter().filter(|got| **got == Got::Reset).count() as u64;
    assert_eq!(served + resets, 60, "{got:?}");
    // The burst, and one each 200 ms from then on.
    assert!(served >= 8 && served as f64 <= 9.0 + took_s * 5.0, "{served} in {took_s} s");
    daemon.await_line(&format!("rule.from-127.0.2.0/24.refused {resets}"));
    assert_eq!(daemon.count("rule.from-127.0.2.0/24.passed"), served);
    assert_eq!(daemon.count("refused.rate"), resets);
}

#[test]
fn what_happens_is_what_explain_says() {
    if !may_run("what_happens_is_what_explain_says", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, RULES, &[]);
    let rules = site.path("rules.toml").display().to_string();
    let explain = |from: &str, path: &str| {
        let head = format!("GET {path} HTTP/1.1");
        let output = site.run(&[LAYERS, "police", "explain", &rules, "--from", from, "--head", &head]);
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    for (from, path, expected, line) in [
        ("127.0.1.7", "/", Got::body("high"), "rules.toml:6"),
        ("127.0.9.7", "/", Got::body("low"), "no [[from]] holds"),
        ("127.0.1.7", "/x/noaccess.html", Got::Reset, "rules.toml:28"),
        ("127.0.9.7", "/cgi-bin/a?b", Got::body("low"), "rules.toml:22"),
    ] {
        let (code, said) = explain(from, path);
        assert_eq!(site.ask(from, path), expected, "{from} {path}");
        assert_eq!(code == Some(7), expected == Got::Reset, "{said}");
        assert!(said.contains(line), "{line} in {said}");
    }
    // The second of two conforms, a third does not: a whole reply, made in the kernel.
    assert_eq!(site.ask("127.0.9.7", "/cgi-bin/b"), Got::body("low"));
    assert_eq!(site.ask("127.0.9.7", "/cgi-bin/c"), Got::Reply(503, String::new()));
    assert!(site.ask("127.0.3.7", "/").is_served());
    assert_eq!(site.ask("127.0.3.8", "/"), Got::Silence);
    daemon.await_line("refused.refused 1");
    daemon.await_line("rule.request-/cgi-bin/*.refused 1");
}

#[test]
fn two_public_ports_have_the_same_classes_rules_and_buckets() {
    if !may_run("two_public_ports_have_the_same_classes_rules_and_buckets", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx();
    let daemon = Daemon::start(&site, &server, &RULES.replace("listen = 80", "listen = [80, 443]"), &[]);
    for port in [80, 443] {
        assert_eq!(site.ask_at(port, "127.0.1.1", "/"), Got::body("high"), "{port}");
        assert_eq!(site.ask_at(port, "127.0.9.1", "/"), Got::body("low"), "{port}");
        assert_eq!(site.ask_at(port, "127.0.9.1", "/noaccess"), Got::Reset, "{port}");
    }
    assert_eq!(site.ask_at(81, "127.0.1.1", "/"), Got::Reset, "nobody's port");
    // One at once, for either port.
    assert_eq!(site.ask_at(443, "127.0.3.1", "/"), Got::body("low"));
    assert_eq!(site.ask_at(80, "127.0.3.1", "/"), Got::Silence);
    daemon.await_line("refused.refused 2");
    daemon.await_line("rule.from-127.0.3.0/24.passed 1");
}

#[test]
fn log_counts_what_enforce_would_refuse_and_off_looks_at_nothing() {
    if !may_run("log_counts_what_enforce_would_refuse_and_off_looks_at_nothing", &[NGINX]) {
        return;
    }
    let site = Site::new();
    let server = site.nginx_of("server { listen 127.0.0.1:80; location / { return 200 \"all\"; } }");
    let rules = "[server]\nlisten = 80\n[[request]]\npath = \"/no\"\nrefuse = \"503\"\n";
    for (mode, would_refuse) in [("log", 3), ("off", 0)] {
        let mut daemon = Daemon::start(&site, &server, rules, &["--mode", mode]);
        assert!(daemon.armed.contains("; none: mode"), "{}", daemon.armed);
        assert!((0..3).all(|_| site.ask("127.0.0.1", "/no").is_served()), "{mode}");
        assert_eq!(site.deferral_s(&server), 0, "{mode} changes nothing");
        assert_eq!(daemon.end(nix::sys::signal::Signal::SIGTERM), Some(0));
        assert_eq!(daemon.count("would-refuse"), would_refuse, "{}", daemon.status());
    }
}
