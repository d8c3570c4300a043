//! Test stage: a directory, a policy and a program under it, all removed at the end.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// The layers' executable.
pub(crate) const LAYERS: &str = env!("CARGO_BIN_EXE_bakeoff-layers");

/// Returns false and prints the reason if the machine lacks something.
pub(crate) fn may_run(test: &str) -> bool {
    let missing = if !bakeoff_sys::process::is_root() {
        "needs root".to_owned()
    } else if !bakeoff_sys::landlock::abi().is_ok_and(|abi| abi >= 7) {
        "needs Landlock of ABI 7 (Linux 6.15)".to_owned()
    } else if !Path::new(PYTHON).exists() {
        format!("needs {PYTHON}")
    } else {
        return true;
    };
    skip(test, &missing);
    false
}

pub(crate) fn skip(test: &str, missing: &str) {
    assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {missing}");
    println!("SKIP {test}: {missing}");
}

/// A script beside this file.
pub(crate) fn script(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/kernel/mac").join(name);
    path.canonicalize().unwrap().display().to_string()
}

/// Types that every program needs to start; a test's own types follow.
pub(crate) const TYPES: &str = "[types]\nsystem = [\"/usr\", \"/lib\", \"/lib64\", \"/bin\", \"/etc\", \"/proc\"]\n\
    devices = { paths = [\"/dev/null\"] }\n";
/// The domain's accesses to them.
pub(crate) const ALLOW: &str = "system = \"read list exec\", devices = \"read write\"";

/// A directory for a test's files.
pub(crate) struct Stage(TempDir);

impl Stage {
    /// A copy of a program, made by another process: a child of another test could hold a copy of ours open for writing, and
    /// then it cannot be executed.
    pub(crate) fn copy_program(&self, from: &str, to: &str) {
        let done = Command::new("cp").arg(from).arg(self.path(to)).status().unwrap();
        assert!(done.success());
    }

    pub(crate) fn new() -> Self {
        let dir = tempfile::Builder::new().prefix("bakeoff-mac-").tempdir().unwrap();
        // Other users go in, too.
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        Self(dir)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// A policy of one domain, `d`: types and its accesses to them, besides those that every program needs, and its
    /// further keys.
    pub(crate) fn policy(&self, types: &str, allow: &str, keys: &str) {
        let types = types.replace("{dir}", &self.text(""));
        let text = format!("{TYPES}{types}\n[domain.d]\nallow = {{ {ALLOW}, {allow} }}\n{keys}\n");
        self.write("policy.toml", &text.replace(", }", " }"));
    }

    /// `run` up to the program's words.
    pub(crate) fn run(&self, flags: &[&str]) -> Vec<String> {
        let words = [LAYERS, "mac", "run", &self.text("policy.toml"), "--domain", "d"];
        words.iter().chain(flags).chain(&["--"]).map(|word| (*word).to_owned()).collect()
    }

    /// Runs the program under the policy, to its end.
    pub(crate) fn under(&self, flags: &[&str], program: &[&str]) -> Output {
        output(&[self.run(flags), program.iter().map(|word| (*word).to_owned()).collect()].concat())
    }

    pub(crate) fn status(&self) -> String {
        fs::read_to_string(self.path("status")).unwrap()
    }
}

pub(crate) fn output(words: &[String]) -> Output {
    Command::new(&words[0]).args(&words[1..]).output().unwrap()
}

pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
