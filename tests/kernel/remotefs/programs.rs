//! Programs that use a mount as they use any file system.

use crate::daemon::{Mount, can_mount, skips};
use crate::support::{Site, command, refused};
use crate::world::World;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// A program, and what it does in a directory of its own.
const SCRIPTS: [(&str, &str); 7] = [
    (
        "git",
        "export HOME=$PWD GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
         git init -q one && cd one && echo x > x && git add x && git commit -qm x && git gc -q && git fsck
         git clone -q -l . ../two && git worktree add -q ../three && test -z \"$(git -C ../two status --porcelain)\"",
    ),
    ("sqlite3", "sqlite3 db 'create table t(x); insert into t values(7);' && test $(sqlite3 db 'select x from t') = 7"),
    (
        "sqlite3",
        "sqlite3 db 'pragma journal_mode=wal; create table t(x); begin immediate; insert into t values(7); commit' \
         && test $(sqlite3 db 'select x from t') = 7",
    ),
    ("cargo", "export HOME=${HOME:-/root}; cargo init -q --vcs none --name x . && cargo check -q --offline"),
    ("flock", "flock lock sh -c '! flock -n lock true' && flock -n lock true"),
    (
        "python3",
        "python3 -c \"
import mailbox
box = mailbox.Maildir('box'); key = box.add('Subject: x\\n\\nx'); box.lock(); box.flush()
assert box[key]['Subject'] == 'x' and len(box) == 1
old = mailbox.mbox('old'); old.lock(); old.add('Subject: x\\n\\nx'); old.flush(); old.unlock()
assert len(old) == 1\"",
    ),
    (
        "rsync",
        "mkdir from && echo x > from/x && ln from/x from/twin && chmod 640 from/x && ln -s x from/link
         rsync -aH from/ to/ && test -z \"$(rsync -aHi from/ to/)\"",
    ),
];

fn runs(at: &Path, script: &str) {
    let output = Command::new("sh").args(["-ec", script]).current_dir(at).output().unwrap();
    assert!(output.status.success(), "{script}: {output:?}");
}

#[test]
fn programs_that_lock_files_run_where_locks_are_local() {
    let test = "programs_that_lock_files_run_where_locks_are_local";
    if !can_mount(test) {
        return;
    }
    let site = Site::new();
    let server = site.serve();
    let mount = |at: &str| -> Mount { site.mount(&server, at, &["--locks", "local"]) };
    let (a, b) = (mount("a"), mount("b"));
    for (number, (program, script)) in SCRIPTS.into_iter().enumerate() {
        let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
        if !found.status.success() {
            skips(test, &format!("there is no {program}"));
            continue;
        }
        let place = a.path(&number.to_string());
        fs::create_dir(&place).unwrap();
        runs(&place, script);
    }
    // As it is said: a lock excludes nobody at another mount.
    let held = fs::File::create(a.path("lock")).unwrap();
    held.lock().unwrap();
    assert!(fs::File::open(a.path("lock")).unwrap().try_lock().is_err());
    fs::File::open(b.path("lock")).unwrap().try_lock().unwrap();
}

/// As `rsync -a`, `cp -al` and `rm -r` need it, of a user with rights.
#[test]
fn a_tree_with_hard_links_and_modes_is_its_owners() {
    if !can_mount("a_tree_with_hard_links_and_modes_is_its_owners") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    // Made at the server: nobody has looked up either name.
    fs::create_dir_all(site.export("x/one")).unwrap();
    fs::create_dir_all(site.export("x/two")).unwrap();
    fs::write(site.export("x/one/file"), "text").unwrap();
    fs::hard_link(site.export("x/one/file"), site.export("x/two/file")).unwrap();
    let deep = (0..300).fold(site.export("deep"), |path, _| path.join("d"));
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("file"), "deep").unwrap();
    let served = world.serve(&site, "/ allow any@home.example all\n/closed only user:bob@home.example all\n/x allow user:alice@home.example read\n");
    let alice = world.mount(&site, &served, "a", &world.person("user:alice@home.example"));
    // Rights differ at `/closed`, where she has none: there the other name may be.
    assert!(fs::read(alice.path("x/one/file")).is_err());
    assert_eq!(
        fs::read_to_string(
            alice.path("deep").join(deep.strip_prefix(site.export("deep")).unwrap()).join("file")
        )
        .unwrap(),
        "deep"
    );
    let bob = world.mount(&site, &served, "b", &world.person("user:bob@home.example"));
    assert_eq!(fs::read_to_string(bob.path("x/one/file")).unwrap(), "text");
    for mode in [0o640, 0o444, 0o755, 0o600] {
        fs::set_permissions(bob.path("x/one/file"), Permissions::from_mode(mode)).unwrap();
        let shown = fs::metadata(bob.path("x/two/file")).unwrap().permissions().mode() & 0o7777;
        assert_eq!(shown, mode, "{mode:o}");
    }
    fs::remove_dir_all(bob.path("x")).unwrap();
    assert!(!site.export("x").exists());
    drop(alice);
    // Each use is logged once, and all of it can be decided again.
    let log = fs::read_dir(site.path("")).unwrap().map(|entry| entry.unwrap().path());
    let log = log.into_iter().find(|path| path.to_string_lossy().contains("/audit-")).unwrap();
    let audit = |word: &str| {
        let mut layers = Command::new(env!("CARGO_BIN_EXE_bakeoff-layers"));
        let output = layers.args(["audit", word]).arg(&log).output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let used = |operation: &str, file: &str| {
        let text = audit("show").1;
        text.lines()
            .filter(|line| line.contains(&format!(": {operation} of {file}")) && line.contains("bob"))
            .count()
    };
    crate::support::until("it is logged", || {
        used("attributes", "/x/two/file") + used("attributes", "/x/one/file") > 0
    });
    assert_eq!(used("read", "/x/one/file") + used("read", "/x/two/file"), 1);
    assert_eq!(audit("replay").0, Some(0), "{}", audit("replay").1);
}

#[test]
fn a_directory_has_one_server() {
    if !can_mount("a_directory_has_one_server") {
        return;
    }
    let site = Site::new();
    let server = site.serve();
    let again = || {
        let mut again = command("serve");
        again.arg(site.path("export")).args(["--plain", "--listen", "127.0.0.1:0"]);
        again
    };
    assert!(refused(&mut again(), 3).contains("another server serves"));
    drop(server);
    site.serve();
}
