//! Opens by a mount of one's own, and changes of a file of one's own: they end no server and hold up nobody.

use crate::site::{EPERM, Mounted, Site, kill, may_run, open, wait_until};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

#[test]
fn what_is_opened_by_a_mount_of_ones_own_is_refused_at_most() {
    if !may_run("what_is_opened_by_a_mount_of_ones_own_is_refused_at_most") {
        return;
    }
    let site = Site::new();
    site.write("log", "excluded");
    // A gap, so that the marks stay.
    fs::set_permissions(site.file("a"), fs::Permissions::from_mode(0o4755)).unwrap();
    site.seal(1, &["--exclude", "log"]);
    site.write("b", "evil b");
    site.write("new", "unlisted");
    let mut server = Command::new("sleep").arg("300").spawn().unwrap();
    let pid = server.id().to_string();
    let guard = site.enforce(&["--mode", "stop", "--stop-pid", &pid, "--exclude", "log"]);
    fs::create_dir(site.path("own")).unwrap();
    let own = Mounted::bind(&site.path("site"), &site.path("own"));
    let by_mount = ["log", "a", "b", "new"].map(|name| open(&site.path("own").join(name)));
    assert_eq!(by_mount, [Ok("excluded".to_owned()), Ok("good a".to_owned()), Err(EPERM), Err(EPERM)]);
    guard.wait_for("violations", 1);
    guard.signal("-USR1");
    assert!(server.try_wait().unwrap().is_none() && guard.number("stopped") == 0);
    drop(own);
    assert_eq!(open(&site.file("new")), Err(EPERM));
    assert!(!server.wait().unwrap().success(), "by its own path it ends the server");
}

#[test]
fn a_signed_file_that_became_endless_costs_nothing() {
    if !may_run("a_signed_file_that_became_endless_costs_nothing") {
        return;
    }
    let site = Site::tampered(&[]);
    let grown = fs::OpenOptions::new().write(true).open(site.file("b")).unwrap();
    // 15 TiB on ext4; what the file system takes.
    let sizes = [44, 40, 35].into_iter().map(|bits| (1_u64 << bits) - (1 << 30));
    assert!(sizes.into_iter().any(|size| grown.set_len(size).is_ok()));
    drop(grown);
    let guard = site.enforce(&["--mode", "deny", "--no-freeze"]);
    let wrong = std::thread::scope(|scope| {
        let opens: Vec<_> = (0..8).map(|_| scope.spawn(|| open(&site.file("b")))).collect();
        assert_eq!(open(&site.file("a")).unwrap(), "good a");
        opens.into_iter().map(|open| open.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(wrong, vec![Err(EPERM); 8]);
    wait_until("all are counted", || guard.number("wrong-size") == 8);
    assert_eq!((guard.number("timeout"), guard.number("overflow")), (0, 0));
    let hashed = guard.number("hashed-bytes");
    assert!(hashed < 1 << 20, "{hashed} bytes were read");
    let [_, worker] = guard.pids();
    kill(worker, "-KILL");
    wait_until("another worker arms", || guard.number("restarts") == 1);
}
