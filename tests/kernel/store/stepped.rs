//! Names that another user exchanges at every single system call of a command that reads or writes by them.

use crate::daemon::can_mount;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

const OTHER: u32 = 65_534;
const POLICY: &str = "[types]\nall = [\"/usr\"]\n[domain.d]\nallow = { all = \"read\" }\n";

/// A directory of root's with files that nobody else may reach by a name of his own, and one that all share.
fn yard() -> TempDir {
    let yard = tempfile::tempdir().unwrap();
    let at = |name: &str| yard.path().join(name);
    fs::set_permissions(yard.path(), fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["roots", "shared", "his", "his/roots", "shared/his", "shared/roots"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("policy.toml"), POLICY).unwrap();
    }
    for (of_his, mode) in [("his", 0o755), ("shared/his", 0o755)] {
        chown(at(of_his), Some(OTHER), None).unwrap();
        fs::set_permissions(at(of_his), fs::Permissions::from_mode(mode)).unwrap();
    }
    for link in ["shared/link", "his/link"] {
        symlink(at("roots"), at(link)).unwrap();
        lchown(at(link), Some(OTHER), None).unwrap();
    }
    fs::set_permissions(at("shared"), fs::Permissions::from_mode(0o1777)).unwrap();
    yard
}

/// Exit codes of all runs, and whether the other user could exchange the names.
fn stepped(yard: &Path, (one, two): (&str, &str), words: &[&str]) -> (Vec<i32>, bool) {
    let at = |name: &str| yard.join(name).display().to_string();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/kernel/store/stepped.py");
    let mut command = Command::new("/usr/bin/python3");
    command.arg(script).args([OTHER.to_string(), at(one), at(two)]).arg(env!("CARGO_BIN_EXE_bakeoff-layers"));
    let output = command.args(words).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut numbers: Vec<i32> = text.split_whitespace().map(|number| number.parse().unwrap()).collect();
    let (exchanged, runs) = (numbers.pop().unwrap(), numbers.pop().unwrap());
    assert!(runs > 20, "{runs} runs: {:?}", output.stderr);
    (numbers, exchanged > 0)
}

#[test]
fn at_no_system_call_does_an_exchange_of_names_lead_elsewhere() {
    if !can_mount("at_no_system_call_does_an_exchange_of_names_lead_elsewhere") {
        return;
    }
    let yard = yard();
    let at = |name: &str| yard.path().join(name).display().to_string();
    // Two names of his own where all may have some; one of root's in a directory of his.
    for (one, two) in [("shared/link", "shared/his"), ("his/link", "his/roots")] {
        for way in [one, two] {
            let read =
                stepped(yard.path(), (one, two), &["mac", "check", &at(&format!("{way}/policy.toml"))]);
            assert_eq!(read, (vec![3], true), "{way} was read");
            let key = at(&format!("{way}/new.key"));
            let written = stepped(yard.path(), (one, two), &["store", "keygen", "--key", &key]);
            assert_eq!(written, (vec![3], true), "{way} was written");
        }
    }
    for folder in ["roots", "shared/his", "his/roots"] {
        assert_eq!(fs::read_dir(at(folder)).unwrap().count(), 1, "{folder}: something was made there");
    }
    // Root's own name in the shared directory, which he cannot exchange.
    let (own, his) = ("shared/roots", "shared/his");
    let read = stepped(yard.path(), (own, his), &["mac", "check", &at("shared/roots/policy.toml")]);
    assert_eq!(read, (vec![0], false));
}
