//! `bakeoff layer police check` and `explain` from outside: their output and exit codes. Needs nothing.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

use std::process::{Command, Output};

const RULES: &str = r#"[server]
listen = 80
classes = { high = 8200, low = 8201 }
[overload]
target = "20ms"
[[from]]
source = "10.0.0.0/8"
class = "high"
rate = "300/s"
per = "/24"
each = "20/min"
[[request]]
path = "/cgi-bin/*"
rate = "10/s"
burst = 2
refuse = "429"
[[request]]
path = "*noaccess*"
refuse = "reset"
"#;

/// Exit code, standard output, standard error; `rules.toml` has this text.
fn police(text: &str, words: &[&str]) -> (i32, String, String) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("rules.toml"), text).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
    command.current_dir(&dir).arg("police").args(words);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn check_prints_the_compiled_table() {
    let (code, out, err) = police(RULES, &["check", "rules.toml"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let (head, table) = out.split_once("\n\n").unwrap();
    assert!(head.starts_with("nothing is wrong; rules 3, sha256 "), "{head}");
    let expected = "listen 80
class high port 8200 share 1
class low port 8201 share 0.5
overload target 20 ms; rates hold always

rule                class  rate    burst  refused  line
from-10.0.0.0/8     high   300/s   300    drop     6
  each /24          -      20/min  1      drop     6
request-/cgi-bin/*  -      10/s    2      429      12
request-*noaccess*  -      none    -      reset    17
";
    assert_eq!(table, expected);
}

#[test]
fn faults_are_told_all_at_once_and_no_file_is_another_end() {
    let faulty = RULES.replace("10.0.0.0/8", "10.1.2.3/8").replace("\"20ms\"", "20");
    let (code, out, err) = police(&faulty, &["check", "rules.toml"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let expected = "bakeoff layer: the rules have faults:
rules.toml:5: `target` is how long one may wait in the queue: write target = \"20ms\"
rules.toml:7: `10.1.2.3/8` has bits behind the first 8: write 10.0.0.0/8, or 10.1.2.3 for it alone
";
    assert_eq!(err, expected);
    assert_eq!(police(&faulty, &["explain", "rules.toml", "--from", "10.1.2.3"]).0, 2);
    let (code, _, err) = police("", &["check", "none.toml"]);
    assert_eq!(code, 3);
    assert!(
        err.starts_with("bakeoff layer: none.toml: No such file") && err.contains("docs/layers/police.md"),
        "{err}"
    );
}

#[test]
fn a_warning_is_told_and_hinders_nothing() {
    let (code, out, err) = police(&RULES.replace("each = \"20/min\"\n", ""), &["check", "rules.toml"]);
    assert_eq!(code, 0);
    assert!(
        err.starts_with("bakeoff layer: warning: rules.toml:10: each /24 of 10.0.0.0/8 may take all"),
        "{err}"
    );
    assert!(out.contains("each /24          -      300/s  300"), "{out}");
}

#[test]
fn explain_says_which_rule_decides_and_ends_by_it() {
    let ask = |words: &[&str]| police(RULES, &[&["explain", "rules.toml"], words].concat());
    let from = "connection passes: 10.1.2.3 is in 10.0.0.0/8 (rules.toml:6); class high, at the server's port 8200; each /24 passes up \
                to 20/min, 1 at once, and all up to 300/s, 300 at once; above refused in silence (counted as rate-per or rate), and \
                is refused while the queue of its class is at its bound (counted as queue)\n";
    let plain = "request passes: plain, path /cgi-bin/a; no whole path matches, the longest beginning is /cgi-bin/* (rules.toml:12); \
                 passes up to 10/s, 2 at once; above refused with 429 (counted as rate)\n";
    let (code, out, _) = ask(&["--from", "10.1.2.3", "--to", ":80", "--head", "GET /cgi-bin/a?b HTTP/1.1"]);
    assert_eq!((code, out), (0, from.to_owned() + plain));
    let never = ask(&["--head", "GET /noaccess HTTP/1.1\r\nHost: x\r\n\r\n"]);
    assert_eq!(never.0, 7);
    assert!(never.1.starts_with("request refused: ") && never.1.contains("(rules.toml:17)"), "{}", never.1);
    let other = ask(&["--from", "2001:db8::1", "--to", "[2001:db8::2]:8080"]);
    assert_eq!(
        (other.0, other.1.as_str()),
        (0, "connection passes: port 8080 is none of [server] listen = 80\n")
    );
    for wrong in [
        &["--to", ":80"][..],
        &["--from", "::1", "--to", "127.0.0.1:80"],
        &["--from", "::1", "--to", "80"],
        &[],
    ] {
        assert_eq!(ask(wrong).0, 2, "{wrong:?}");
    }
}
