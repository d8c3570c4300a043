//! Checked-in BPF object: it must be exactly what its source compiles to.

use crate::stage::skip;
use std::path::Path;
use std::process::Command;

/// The compiler of Debian 12, which made the checked-in object.
const CLANG: &str = "14.0.6";

#[test]
fn the_object_is_what_the_source_gives() {
    let test = "the_object_is_what_the_source_gives";
    let version = Command::new("clang").arg("--version").output();
    let version =
        version.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    if !version.contains(&format!("version {CLANG}")) {
        return skip(test, &format!("needs clang {CLANG}"));
    }
    if Command::new("llvm-strip").arg("--version").output().is_err() {
        return skip(test, "needs llvm-strip");
    }
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let made = tempfile::tempdir().unwrap();
    for name in ["police.bpf.c", "bpf_min.h", "compile"] {
        std::fs::copy(sources.join(name), made.path().join(name)).unwrap();
    }
    assert!(Command::new(made.path().join("compile")).status().unwrap().success());
    let [made, kept] = [made.path(), &sources].map(|dir| std::fs::read(dir.join("police.bpf.o")).unwrap());
    assert!(made == kept, "bpf/police.bpf.o is of another source: `make bpf` makes it anew");
}
