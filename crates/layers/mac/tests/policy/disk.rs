//! Policies of real trees: links of both kinds, missing paths, unreadable files.

use bakeoff_layers_mac::policy::disk::{ObjectKind, see};
use bakeoff_layers_mac::policy::{Lets, Policy, PolicyError, PolicyFaultKind};
use bakeoff_sys::mount::listed;
use nix::fcntl::{OFlag, openat};
use nix::sys::stat::{Mode, mkdirat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// A tree of two types, `a` and `b`, and a policy beside it.
fn tree() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["a/deep/down", "b"] {
        fs::create_dir_all(dir.path().join(name)).unwrap();
    }
    fs::write(dir.path().join("a/deep/down/file"), "x").unwrap();
    let text = "[types]\na = [\"{dir}/a\", \"{dir}/a/deep\"]\nb = [\"{dir}/b\"]\n[domain.d]\nallow = { a = \"read\", b = \"write\" }\n";
    fs::write(dir.path().join("p.toml"), text).unwrap();
    dir
}

fn read(dir: &Path) -> Policy {
    let lets = Lets::of_words(&[format!("dir={}", dir.display())]).unwrap();
    Policy::read(&dir.join("p.toml"), &lets).unwrap()
}

#[test]
fn a_hard_link_that_joins_two_types_is_found_and_one_within_a_type_is_none() {
    let dir = tree();
    let file = dir.path().join("a/deep/down/file");
    fs::hard_link(&file, dir.path().join("a/same-type")).unwrap();
    fs::hard_link(&file, dir.path().join("of-no-type")).unwrap();
    symlink(&file, dir.path().join("b/symbolic")).unwrap();
    assert_eq!(read(dir.path()).check_trees().unwrap(), []);
    fs::hard_link(&file, dir.path().join("b/other-type")).unwrap();
    let Err(PolicyError::Wrong(faults)) = read(dir.path()).check_trees() else { panic!("it joins a and b") };
    assert!(faults.iter().all(|fault| fault.wrong == PolicyFaultKind::HardLink), "{faults:?}");
    let said = faults[0].to_string();
    assert!(said.contains("/b/other-type` (type b)") && said.contains("(type a)"), "{said}");
}

#[test]
fn a_mount_that_shows_the_same_files_elsewhere_breaks_an_assertion() {
    let mounts = |more: &str| listed(format!("1 0 8:1 / / rw - ext4 /dev/sda rw\n{more}").as_bytes());
    let faults = |secret: &str, granted: &str, more: &str| {
        let text = format!(
            "[types]\ns = [\"{secret}\"]\ng = [\"{granted}\"]\n[domain.d]\nallow = {{ g = \"read\" }}\n\
             [[never]]\ndomain = \"*\"\ntype = \"s\"\naccess = \"any\"\n"
        );
        let read = Policy::of_text(&text, "p", &Lets::default(), &|path| see(path, &mounts(more)));
        matches!(read, Err(PolicyError::Wrong(faults)) if faults.iter().any(|fault| fault.wrong == PolicyFaultKind::Broken))
    };
    let bind = |what: &str, at: &str| format!("2 1 8:1 {what} {at} rw - ext4 /dev/sda rw\n");
    for (what, at, secret, granted) in [
        ("/none/s", "/mnt/b", "/none/s", "/mnt/b"),
        ("/none/s", "/mnt/b", "/none/s", "/mnt"),
        ("/none", "/mnt/b", "/none/s", "/mnt/b/s"),
        ("/none/s/part", "/mnt/b", "/none/s", "/mnt"),
        ("/none", "/mnt/b", "/mnt/b/s", "/none"),
    ] {
        assert!(faults(secret, granted, &bind(what, at)), "{what} at {at}: {secret} by {granted}");
        assert!(!faults(secret, granted, ""), "{secret} by {granted}, without a mount");
    }
    let covered = bind("/none/s", "/mnt/b") + "3 2 8:2 / /mnt/b rw - ext4 /dev/sdb rw\n";
    assert!(!faults("/none/s", "/mnt/b", &covered), "it cannot be seen there");
    assert!(!faults("/none/s", "/mnt/b", &bind("/none/other", "/mnt/b")));
}

#[test]
fn paths_are_followed_as_far_as_they_are_there() {
    let dir = tree();
    let top = dir.path().canonicalize().unwrap();
    symlink(top.join("a"), top.join("link")).unwrap();
    symlink("nowhere", top.join("dangling")).unwrap();
    for (path, real, kind) in [
        ("link/deep", "a/deep", ObjectKind::Directory),
        ("link/deep/down/file", "a/deep/down/file", ObjectKind::File),
        ("link/new/x", "a/new/x", ObjectKind::Nothing),
        ("dangling", "dangling", ObjectKind::Nothing),
        ("link/deep/down/file/x", "a/deep/down/file/x", ObjectKind::Nothing),
    ] {
        let seen = see(&top.join(path), &[]);
        assert_eq!((seen.path, seen.kind), (top.join(real), kind), "{path}");
    }
    for own in ["/proc/self", "/proc/thread-self/fd", "/dev/fd"] {
        assert_eq!(see(Path::new(own), &[]).kind, ObjectKind::OfEachProcess, "{own}");
    }
}

#[test]
fn a_policy_that_cannot_be_read_is_told_as_such() {
    let dir = tree();
    fs::write(dir.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
    for name in ["none.toml", "bytes.toml", "a"] {
        let error = Policy::read(&dir.path().join(name), &Lets::default()).unwrap_err();
        assert!(matches!(error, PolicyError::Unreadable { .. }), "{error}");
        assert!(error.to_string().contains(name), "{error}");
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_told() {
    let dir = tree();
    // Deeper than a path can be long, which stops root, too.
    let name = "n".repeat(250);
    let mut at = fs::File::open(dir.path().join("a")).unwrap();
    for _ in 0..20 {
        mkdirat(&at, name.as_str(), Mode::S_IRWXU).unwrap();
        at = openat(&at, name.as_str(), OFlag::O_RDONLY | OFlag::O_CLOEXEC, Mode::empty()).unwrap().into();
    }
    let warnings = read(dir.path()).check_trees().unwrap();
    assert_eq!(
        warnings.iter().map(|fault| (fault.line, fault.wrong)).collect::<Vec<_>>(),
        [(2, PolicyFaultKind::Unread)]
    );
    assert!(warnings[0].sentence.ends_with("its hard links were not looked at"), "{}", warnings[0]);
}
