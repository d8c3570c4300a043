//! Regression: a FIFO in place of the daemon's status or lock blocked it for ever.

use crate::support::{Site, can_mount, command, until};
use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use std::process::{Child, Stdio};

/// A process that is ended with its test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_fifo_in_place_of_the_status_or_the_lock_holds_nobody_up() {
    if !can_mount("a_fifo_in_place_of_the_status_or_the_lock_holds_nobody_up") {
        return;
    }
    let site = Site::new();
    let fifo = |name: &str| mkfifo(&site.path(name), Mode::from_bits_truncate(0o666)).unwrap();
    fifo("status.new");
    fifo("status");
    let mount = site.mount();
    assert_eq!(mount.state(), "state mounted");
    // It counts as a lock, as it cannot be told from one.
    fifo("site.vault.key.locked");
    until("the daemon notices", || mount.state() == "state locked");
    drop(mount);
    let mut next = command();
    next.args(["mount", &site.text("site.vault"), &site.text("mnt")]).args(site.key_flags());
    let mut next = Ended(next.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("the next mount is refused", || next.0.try_wait().unwrap().is_some());
    assert_eq!(next.0.wait().unwrap().code(), Some(3));
}
