//! Launcher: the process state that it leaves, its failures, its messages, and what its status proves.

use crate::stage::{LAYERS, PYTHON, Stage, may_run, output, said, script};
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

/// A stage whose domain may write to `out`, and not to `told`.
fn stage() -> Stage {
    let stage = Stage::new();
    for folder in ["out", "told"] {
        fs::create_dir(stage.path(folder)).unwrap();
    }
    stage.write("secret", "secret");
    stage.policy("out = [\"{dir}/out\"]", "out = \"read list write create\"", "");
    stage
}

/// Runs the launcher in a modified process, with a program that leaves a mark.
fn after(stage: &Stage, before: &[&str], flags: &[&str]) -> Output {
    let prepare = script("before.py");
    let before = [&[PYTHON, &prepare], before, &["--"]].concat();
    let mut words: Vec<String> = before.iter().map(|word| (*word).to_owned()).collect();
    words.extend(stage.run(flags));
    let mark = stage.text("out/ran");
    words.extend(["/bin/sh", "-c", "echo $$ > $0", &mark].map(str::to_owned));
    output(&words)
}

#[test]
fn whatever_step_fails_nothing_runs() {
    if !may_run("whatever_step_fails_nothing_runs") {
        return;
    }
    let (eperm, enosys) = (libc::EPERM.to_string(), libc::ENOSYS.to_string());
    // An answer of 0 is a kernel that says yes and does nothing: only the canaries can tell.
    let steps = [
        ("close_range", &*enosys, "cannot close the descriptors"),
        ("landlock_create_ruleset", &enosys, "this kernel has no Landlock"),
        ("landlock_create_ruleset", &eperm, "this kernel has no Landlock"),
        ("landlock_add_rule", &eperm, "does not take the rule for `/"),
        ("capset", &eperm, "cannot give up capabilities"),
        ("capset", "0", "capabilities, which its policy does not grant"),
        ("prctl-no-new-privileges", &eperm, "cannot give up capabilities"),
        ("landlock_restrict_self", &eperm, "does not take the domain's rules"),
        ("landlock_restrict_self", "0", "the domain does not hold"),
        ("seccomp", &eperm, "the filter of system calls"),
    ];
    for (call, error, sentence) in steps {
        let stage = stage();
        let status = stage.text("status");
        for flags in [&[][..], &["--status", &status]] {
            let done = after(&stage, &["answer", call, error], flags);
            let text = said(&done);
            assert_eq!(done.status.code(), Some(3), "{call} {error}: {text}");
            // The keeper of the status has the same problem, and may report it first.
            let told = text.contains(sentence)
                || (!flags.is_empty() && text.contains("cannot keep the status or the log"));
            assert!(told && text.ends_with("Nothing was run\n"), "{call} {error}: {text}");
            assert!(!stage.path("out/ran").exists(), "{call} {error}: it ran");
        }
        if stage.path("status").exists() {
            assert!(stage.status().starts_with("state failed\n"), "{call} {error}: {}", stage.status());
        }
    }
    let stage = stage();
    let done = after(&stage, &[], &["--status", &stage.text("nowhere/status")]);
    assert_eq!((done.status.code(), stage.path("out/ran").exists()), (Some(3), false), "{}", said(&done));
    assert_eq!(after(&stage, &[], &[]).status.code(), Some(0));
    assert!(stage.path("out/ran").exists(), "the mark of a program that did run");
}

#[test]
fn a_seventeenth_ruleset_is_refused_in_a_sentence() {
    if !may_run("a_seventeenth_ruleset_is_refused_in_a_sentence") {
        return;
    }
    let stage = stage();
    let done = after(&stage, &["layers", "15"], &[]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    fs::remove_file(stage.path("out/ran")).unwrap();
    let done = after(&stage, &["layers", "16"], &[]);
    assert_eq!(done.status.code(), Some(3));
    assert!(said(&done).contains("under 16 Landlock rulesets already"), "{}", said(&done));
    assert!(!stage.path("out/ran").exists());
}

/// State of a program under the policy, as it sees it.
fn found(stage: &Stage, flags: &[&str], command: &str) -> String {
    let done = stage.under(flags, &["/bin/sh", "-c", command]);
    assert!(done.status.success(), "{}", said(&done));
    String::from_utf8(done.stdout).unwrap()
}

#[test]
fn nothing_is_left_but_what_was_asked_for() {
    if !may_run("nothing_is_left_but_what_was_asked_for") {
        return;
    }
    let stage = stage();
    let held = fs::File::open(stage.path("secret")).unwrap();
    let list = "cd /proc/self/fd && echo *; grep -E '^(Cap|NoNew|Seccomp:)' /proc/self/status";
    let words = stage.run(&["--keep-fd", "8"]);
    let mut command = Command::new("/bin/sh");
    let held = held.as_raw_fd();
    let inherit = format!("exec 7< /proc/{}/fd/{held} 8<&7; exec \"$@\"", std::process::id());
    command.args(["-c", &inherit, "sh"]).args(&words).args(["/bin/sh", "-c", list]);
    let done = command.output().unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    let mut lines = text.lines();
    // The shell's own, for the directory that `*` is read from, is closed by the time of the echo.
    let numbers: Vec<&str> = lines.next().unwrap().split(' ').filter(|number| *number != "3").collect();
    assert_eq!(numbers, ["0", "1", "2", "8"]);
    for line in lines {
        let (name, value) = line.split_once(":\t").unwrap();
        let wanted = match name {
            "NoNewPrivs" => "1",
            "Seccomp" => "2",
            _ => "0000000000000000",
        };
        assert_eq!(value, wanted, "{name}");
    }
    // Ports below 1024 are for domains that listen on one.
    stage.policy("", "", "listen = [443]");
    let capabilities = found(&stage, &[], "grep -E 'Cap(Eff|Bnd|Amb)' /proc/self/status");
    assert_eq!(
        capabilities,
        "CapEff:\t0000000000000400\nCapBnd:\t0000000000000400\nCapAmb:\t0000000000000000\n"
    );
}

#[test]
fn an_older_kernel_leaves_gaps_that_have_names() {
    if !may_run("an_older_kernel_leaves_gaps_that_have_names") {
        return;
    }
    let stage = stage();
    let status = stage.text("status");
    let secret = stage.text("secret");
    let all = ["no-tcp", "no-ioctl", "no-scopes", "no-log"];
    for (abi, gaps) in
        [(7, &all[4..]), (6, &all[3..]), (5, &all[2..]), (4, &all[1..]), (3, &all[..]), (1, &all[..])]
    {
        let abi_word = abi.to_string();
        let flags = ["--status", &status, "--most-abi", &abi_word, "--allow-none"];
        let done = stage.under(&flags[..if abi < 4 { 5 } else { 4 }], &["/bin/cat", &secret]);
        assert_eq!(done.status.code(), Some(1), "ABI {abi}: the file could be read: {}", said(&done));
        let text = stage.status();
        let told: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("gap-")).collect();
        assert_eq!(told, gaps.iter().map(|gap| format!("{gap} 1")).collect::<Vec<_>>(), "ABI {abi}");
        let degree = text.lines().find(|line| line.starts_with("degree ")).unwrap();
        assert_eq!(degree == "degree full", abi >= 6, "ABI {abi}: {degree}");
    }
    let done = stage.under(&["--most-abi", "3"], &["/bin/true"]);
    assert_eq!(done.status.code(), Some(3));
    assert!(said(&done).contains("ABI 3; a domain needs ABI 4"), "{}", said(&done));
    let done = stage.under(&["--most-abi", "0", "--allow-none", "--status", &status], &["/bin/cat", &secret]);
    assert_eq!(String::from_utf8_lossy(&done.stdout), "secret");
    assert!(stage.status().contains("\ndegree none: this kernel has no Landlock\n"), "{}", stage.status());
    // The remaining protection.
    let seccomp = found(&stage, &["--most-abi", "0", "--allow-none"], "grep Seccomp: /proc/self/status");
    assert_eq!(seccomp, "Seccomp:\t2\n");
}

#[test]
fn a_path_that_is_gone_is_named_and_not_granted() {
    if !may_run("a_path_that_is_gone_is_named_and_not_granted") {
        return;
    }
    let stage = stage();
    stage.policy(
        "gone = [\"{dir}/gone\"]\nfile = [\"{dir}/secret\"]",
        "gone = \"read\", file = \"list\"",
        "",
    );
    let status = stage.text("status");
    let done = stage.under(&["--status", &status], &["/bin/true"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let text = stage.status();
    let degree = text.lines().find(|line| line.starts_with("degree ")).unwrap();
    assert!(degree.starts_with("degree partial: ") && degree.contains("/gone` ("), "{degree}");
    assert!(degree.contains("/secret` ("), "{degree}");
    assert!(text.contains("\ngap-not-granted 1\n"), "{text}");
    let done = stage.under(&["--proof"], &[]);
    assert!(said(&done).contains("partial: "), "{}", said(&done));
    assert_eq!(done.status.code(), Some(0));
}

#[test]
fn a_program_that_cannot_be_executed_is_named() {
    if !may_run("a_program_that_cannot_be_executed_is_named") {
        return;
    }
    let stage = stage();
    let no_loader = fs::read_to_string(stage.path("policy.toml")).unwrap().replace("\"/lib64\", ", "");
    stage.write("policy.toml", &no_loader.replace("\"/usr\", \"/lib\"", "\"/usr/bin\""));
    for (program, why) in [
        (stage.text("secret"), "has no type in"),
        ("/usr/bin/true".to_owned(), "/ld-linux"),
        (stage.text("nothing"), "may be missing"),
    ] {
        let done = stage.under(&["--status", &stage.text("status")], &[&program]);
        assert_eq!(done.status.code(), Some(3));
        let text = said(&done);
        assert!(
            text.contains(&format!("cannot execute {program} in domain d: ")) && text.contains(why),
            "{text}"
        );
        assert!(stage.status().starts_with("state failed\n"));
    }
    let done =
        output(&[LAYERS, "mac", "run", &stage.text("policy.toml"), "--domain", "d"].map(str::to_owned));
    assert_eq!(done.status.code(), Some(2), "{}", said(&done));
}

#[test]
fn a_program_that_may_change_what_tells_of_it_has_a_gap() {
    if !may_run("a_program_that_may_change_what_tells_of_it_has_a_gap") {
        return;
    }
    let stage = stage();
    std::os::unix::fs::symlink("out", stage.path("link")).unwrap();
    fs::write(stage.path("out/log"), "").unwrap();
    for (file, gap) in [("told/status", false), ("out/status", true), ("link/status", true)] {
        let done = stage.under(&["--status", &stage.text(file)], &["/bin/true"]);
        assert_eq!(done.status.code(), Some(0), "{}", said(&done));
        let text = fs::read_to_string(stage.path(file)).unwrap();
        assert_eq!(text.contains("\ngap-own-files 1\n"), gap, "{file}: {text}");
        assert_eq!(text.contains("\ndegree full\n"), !gap, "{file}: {text}");
    }
    // By a mount, and by a second name of the policy.
    let gap = "mount --bind {dir}/out {dir}/bound && \"$@\" && grep -c '^gap-own-files' {dir}/bound/status";
    let mut words = stage.run(&["--status", &stage.text("bound/status")]);
    words.push("/bin/true".to_owned());
    fs::create_dir(stage.path("bound")).unwrap();
    let mut bound = Command::new("unshare");
    bound
        .args(["-m", "sh", "-c", &gap.replace("{dir}", stage.text("").trim_end_matches('/')), "sh"])
        .args(words);
    assert_eq!(bound.output().unwrap().stdout, b"1\n");
    fs::hard_link(stage.path("policy.toml"), stage.path("second")).unwrap();
    assert!(said(&stage.under(&["--proof"], &[])).contains("partial: "));
    fs::remove_file(stage.path("second")).unwrap();
    let log = ["--status", &stage.text("told/status"), "--log", &stage.text("out/log")];
    assert_eq!(stage.under(&log, &["/bin/true"]).status.code(), Some(0));
    let text = fs::read_to_string(stage.path("told/status")).unwrap();
    assert!(text.contains("\ngap-own-files 1\n"), "{text}");
}

#[test]
fn the_memory_of_a_program_goes_nowhere() {
    if !may_run("the_memory_of_a_program_goes_nowhere") {
        return;
    }
    let limits =
        found(&stage(), &[], "grep 'core file' /proc/self/limits; ulimit -c unlimited && echo raised; :");
    let words: Vec<&str> = limits.split_whitespace().collect();
    assert_eq!(words, ["Max", "core", "file", "size", "1", "1", "bytes"]);
}

#[test]
fn what_cannot_begin_is_said_and_nothing_is_made_up() {
    if !may_run("what_cannot_begin_is_said_and_nothing_is_made_up") {
        return;
    }
    let stage = stage();
    let done = after(&stage, &[], &["--keep-fd", "99"]);
    assert!(done.status.code() == Some(2) && said(&done).contains("--keep-fd 99"), "{}", said(&done));
    assert!(!stage.path("out/ran").exists());
    let done = output(&[LAYERS, "mac", "learn", "--", "/nothere"].map(str::to_owned));
    assert_eq!((done.status.code(), done.stdout.len()), (Some(3), 0), "{}", said(&done));
    assert!(said(&done).contains("cannot execute /nothere: "), "{}", said(&done));
    let (code, why) = proof(1, &stage);
    assert!(code == Some(1) && why.contains("told/status is no status"), "{why}");
}

/// A program that runs until it is ended.
struct Sleeper(Child);

impl Sleeper {
    fn under(stage: &Stage, user: Option<u32>) -> Self {
        let words = stage.run(&["--status", &stage.text("told/status")]);
        let mut command = Command::new(LAYERS);
        // It prints once it runs.
        command.args(&words[1..]).args(["/bin/sh", "-c", "echo on; read x"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        if let Some(user) = user {
            // The executable may lie where only its owner may go.
            stage.copy_program(LAYERS, "layers");
            let mut of_user = Command::new(stage.path("layers"));
            of_user.args(command.get_args()).stdin(Stdio::piped()).stdout(Stdio::piped());
            command = of_user;
            command.uid(user).gid(user).current_dir("/");
        }
        let mut child = command.spawn().unwrap();
        let mut first = [0; 3];
        std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
        Self(child)
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn proof(pid: u32, stage: &Stage) -> (Option<i32>, String) {
    let (pid, status) = (pid.to_string(), stage.text("told/status"));
    let done = output(&[LAYERS, "mac", "proof", "--pid", &pid, "--status", &status].map(str::to_owned));
    (done.status.code(), said(&done).trim_end().to_owned())
}

#[test]
fn a_proof_is_of_the_process_that_runs() {
    if !may_run("a_proof_is_of_the_process_that_runs") {
        return;
    }
    let stage = stage();
    assert_eq!(proof(1, &stage).0, Some(1), "without a status");
    let sleeper = Sleeper::under(&stage, None);
    let pid = sleeper.0.id();
    assert_eq!(proof(pid, &stage), (Some(0), "full".to_owned()));
    assert_eq!(proof(std::process::id(), &stage), (Some(0), "full".to_owned()), "as it is below");
    let mut stranger = Command::new("/bin/sleep").arg("60").spawn().unwrap();
    let (code, why) = proof(stranger.id(), &stage);
    let said = fs::read_to_string(stage.path("told/status")).unwrap();
    fs::write(stage.path("told/status"), said.replace(&pid.to_string(), &stranger.id().to_string())).unwrap();
    let (forged, _) = proof(stranger.id(), &stage);
    stranger.kill().unwrap();
    stranger.wait().unwrap();
    assert_eq!(code, Some(1));
    assert!(why.contains("which is neither"), "{why}");
    assert_eq!(forged, Some(1), "a process that is in no domain");
    fs::write(stage.path("told/status"), said).unwrap();
    drop(sleeper);
    let (code, why) = proof(pid, &stage);
    assert_eq!(code, Some(1), "{why}");
}

#[test]
fn a_user_without_rights_confines_as_root_does() {
    if !may_run("a_user_without_rights_confines_as_root_does") {
        return;
    }
    let stage = stage();
    let nobody = bakeoff_sys::process::user_named("nobody").unwrap();
    std::os::unix::fs::chown(stage.path("told"), Some(nobody.uid), Some(nobody.gid)).unwrap();
    let sleeper = Sleeper::under(&stage, Some(nobody.uid));
    assert_eq!(proof(sleeper.0.id(), &stage), (Some(0), "full".to_owned()));
}
