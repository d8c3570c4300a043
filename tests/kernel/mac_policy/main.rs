//! `bakeoff layer mac check` and `explain` from outside: their output, their exit codes, and their agreement with the
//! kernel.
//!
//! Needs no root; the comparison with the kernel needs Landlock.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed
#![allow(clippy::print_stdout, reason = "the SKIP line is for whoever runs the tests")]

use std::fs;
use std::process::{Command, Output};
use tempfile::TempDir;

const POLICY: &str = "[types]
site = [\"{dir}/site\"]
log = [\"{dir}/log\"]
secret = [\"{dir}/secret\"]

[domain.web]
allow = { site = \"read list\", log = \"read list write create\" }
listen = [\"{port}\"]

[[never]]
domain = \"*\"
type = \"secret\"
access = \"any\"
";

/// A directory with a policy and its trees; `{dir}` stands for it.
fn yard(policy: &str) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["site", "secret"] {
        fs::create_dir(dir.path().join(name)).unwrap();
        fs::write(dir.path().join(name).join("file"), name).unwrap();
    }
    fs::create_dir(dir.path().join("log")).unwrap();
    fs::write(dir.path().join("p.toml"), policy).unwrap();
    dir
}

/// Exit code, standard output, standard error, without the directory's name.
fn mac(dir: &TempDir, words: &[&str]) -> (i32, String, String) {
    let real = dir.path().canonicalize().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
    command.current_dir(&real).args(["mac", words[0], "p.toml", "--let", "port=8080"]);
    command.arg("--let").arg(format!("dir={}", real.display())).args(&words[1..]);
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap().replace(real.to_str().unwrap(), "DIR");
    (status.code().unwrap(), text(stdout), text(stderr))
}

#[test]
fn check_prints_what_each_domain_may_do() {
    let dir = yard(POLICY);
    let (code, out, err) = mac(&dir, &["check", "--tree"]);
    assert_eq!((code, err.as_str()), (0, ""));
    let (head, table) = out.split_once("\n\n").unwrap();
    assert!(head.starts_with("nothing is wrong; domains 1, assertions 1, sha256 "), "{head}");
    let expected = "domain web
  may                     type    path
  read list write create  log     DIR/log
  nothing                 secret  DIR/secret
  read list               site    DIR/site
  may listen on TCP 8080
  may connect to no TCP port
  may not change modes, owners, times and extended attributes
";
    assert_eq!(table, expected);
}

#[test]
fn check_tells_all_faults_by_line_and_ends_with_2() {
    let dir =
        yard(&POLICY.replace("{dir}/secret", "{dir}/site/secret").replace("[\"{port}\"]", "[\"{prot}\"]"));
    let (code, out, err) = mac(&dir, &["check"]);
    assert_eq!((code, out.as_str()), (2, ""));
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines[0], "bakeoff layer: the policy has faults:");
    assert!(
        lines[1].starts_with("p.toml:7: domain web would also get `read list` on `DIR/site/secret`"),
        "{err}"
    );
    assert_eq!(lines[2], "p.toml:8: {prot} has no value; did you mean `port`?");
    assert!(lines[3].starts_with("p.toml:10: this must never be, and domain web gets `read list`"), "{err}");
    assert_eq!(lines.len(), 4, "{err}");
}

#[test]
fn check_warns_of_what_is_not_there_and_of_hard_links_only_when_it_walks() {
    let dir = yard(POLICY);
    fs::remove_dir(dir.path().join("log")).unwrap();
    fs::hard_link(dir.path().join("secret/file"), dir.path().join("site/way-in")).unwrap();
    let (code, out, err) = mac(&dir, &["check"]);
    assert!(code == 0 && out.contains("log     DIR/log (not there)"), "{code} {out}");
    assert!(err.starts_with("bakeoff layer: warning: p.toml:3: `DIR/log` is not there"), "{err}");
    let (code, _, err) = mac(&dir, &["check", "--tree"]);
    assert_eq!(code, 2);
    assert!(err.contains("`DIR/site/way-in` (type site)") && err.contains("make it a copy"), "{err}");
}

#[test]
fn a_policy_that_is_not_there_ends_with_3() {
    let dir = yard(POLICY);
    fs::remove_file(dir.path().join("p.toml")).unwrap();
    let (code, out, err) = mac(&dir, &["check"]);
    assert_eq!((code, out.as_str()), (3, ""));
    assert!(err.starts_with("bakeoff layer: p.toml: No such file"), "{err}");
}

#[test]
fn explain_says_why_and_ends_with_0_or_7() {
    let dir = yard(POLICY);
    std::os::unix::fs::symlink("secret", dir.path().join("to-secret")).unwrap();
    for (words, code, said) in [
        (
            ["--path", "site/x", "--access", "read"],
            0,
            "read allowed: `DIR/site/x` is of type site (p.toml:2); domain web may read list there (p.toml:7)\n",
        ),
        (
            ["--path", "site/x", "--access", "read write"],
            7,
            "write refused: `DIR/site/x` is of type site (p.toml:2); domain web may read list there (p.toml:7), not write\n",
        ),
        (
            ["--path", "to-secret/file", "--access", "read"],
            7,
            "read refused: `DIR/secret/file` is of type secret (p.toml:4); domain web may do nothing there (p.toml:6)\n",
        ),
        // Creating is judged by the directory: a file of `log`, but not `log` itself.
        (
            ["--path", "log/new", "--access", "create"],
            0,
            "create allowed: `DIR/log` is of type log (p.toml:3); domain web may read list write create there (p.toml:7)\n",
        ),
        (
            ["--path", "log", "--access", "create"],
            7,
            "create refused: `DIR` has no type in p.toml; domain web may do nothing there (p.toml:6)\n",
        ),
    ] {
        let (ended, out, err) = mac(&dir, &[&["explain", "--domain", "web"], words.as_slice()].concat());
        assert_eq!((ended, err.as_str()), (code, ""), "{words:?}: {out}");
        assert!(out.ends_with(said), "{words:?}: {out}");
    }
    let (code, out, _) = mac(&dir, &["explain", "--domain", "web", "--listen", "8080"]);
    assert_eq!((code, out.as_str()), (0, "listen allowed: domain web may listen on port 8080 (p.toml:8)\n"));
    let (code, out, _) = mac(&dir, &["explain", "--domain", "web", "--connect", "8080"]);
    assert_eq!(
        (code, out.as_str()),
        (7, "connect refused: domain web may connect to no TCP port (p.toml:6), not 8080\n")
    );
}

#[test]
fn wrong_words_end_with_2_and_say_what_there_is() {
    let dir = yard(POLICY);
    for (words, said) in [
        (vec!["--domain", "wbe", "--listen", "1"], "there is no domain `wbe`; did you mean `web`?"),
        (vec!["--domain", "web", "--path", "x", "--access", "raed"], "did you mean `read`?"),
        (vec!["--domain", "web", "--path", "x"], "--access"),
        (vec!["--domain", "web"], "--listen"),
        (vec!["--domain", "web", "--listen", "1", "--let", "port=1"], "port is given twice"),
    ] {
        let (code, out, err) = mac(&dir, &[&["explain"], words.as_slice()].concat());
        assert_eq!((code, out.as_str()), (2, ""), "{words:?}");
        assert!(err.contains(said), "{words:?}: {err}");
    }
}

/// Types inside each other, a way in by a symbolic link, a missing directory, and the files that a shell needs.
const NESTED: &str = "[types]
system = [\"/usr\", \"/bin\", \"/lib\", \"/lib64\", \"/etc/ld.so.cache\"]
null = [\"/dev/null\"]
site = [\"{dir}/site\"]
drop = [\"{dir}/site/drop\", \"{dir}/link\"]
secret = [\"{dir}/secret\"]
gone = [\"{dir}/gone\"]

[domain.web]
allow = { system = \"read list exec\", null = \"read write\", site = \"read\", drop = \"read write create\", gone = \"any\" }
";

const PLACES: [&str; 8] = ["site", "site/drop", "site/drop/deep", "secret", "log", "log/x", "link/x", "."];

#[test]
fn the_kernel_does_what_explain_says() {
    let test = "the_kernel_does_what_explain_says";
    let dir = yard(NESTED);
    for name in ["site/drop/deep", "log/x"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    std::os::unix::fs::symlink("log", dir.path().join("link")).unwrap();
    let modules = fs::read_to_string("/sys/kernel/security/lsm").unwrap_or_else(|_| "landlock".to_owned());
    if !modules.contains("landlock") {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: no Landlock");
        return println!("SKIP {test}: the kernel has no Landlock");
    }
    let (mut script, mut asked) = (String::new(), Vec::new());
    for (place, new) in PLACES.iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"]) {
        fs::write(dir.path().join(place).join("there"), "x").unwrap();
        for (access, file, attempt) in [
            ("read", "there", "cat"),
            ("write", "there", "echo >>"),
            ("create", new, "mkdir"),
            ("delete", "there", "rm"),
        ] {
            script += &format!("({attempt} {place}/{file}) >/dev/null 2>&1; echo $?\n");
            asked.push((access, format!("{place}/{file}")));
        }
    }
    let (code, out, err) = mac(&dir, &["run", "--domain", "web", "--", "/bin/sh", "-c", &script]);
    assert_eq!((code, out.lines().count()), (0, asked.len()), "{out}{err}");
    let mut allowed = 0;
    for ((access, path), ended) in asked.iter().zip(out.lines()) {
        let (code, said, _) = mac(&dir, &["explain", "--domain", "web", "--path", path, "--access", access]);
        assert_eq!(code == 0, ended == "0", "{path}: {said}the kernel ended {access} with {ended}");
        allowed += usize::from(code == 0);
    }
    let (code, out, _) = mac(&dir, &["explain", "--domain", "web", "--path", "gone/x", "--access", "read"]);
    assert!(code == 7 && out.contains("`DIR/gone` was not there when the policy was read"), "{code} {out}");
    // Reading `site`; everything but deleting in its `drop`, two directories, and the link's target, three names for
    // two.
    assert_eq!(allowed, 1 + 3 * 5);
}
