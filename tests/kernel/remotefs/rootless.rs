//! Mounts without root, or without the means to mount: a user's mount is private and leaves nothing, and missing
//! means are reported.

use crate::support::{Mount, Server, Site, can_mount, until};
use crate::world::code;
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The user nobody.
const USER: u32 = 65534;

/// A mount namespace with a /dev of its own, until the test ends. Nobody outside sees its mounts.
struct Room(Child);

impl Room {
    /// A room with these devices, which everybody may use.
    fn new(site: &Site, devices: &str) -> Self {
        fs::set_permissions(site.path(""), Permissions::from_mode(0o755)).unwrap();
        // The program may lie where nobody but root can go.
        // Another process copies it: a child of another test could hold ours open for writing.
        let program = env!("CARGO_BIN_EXE_bakeoff-layers");
        assert!(Command::new("cp").arg(program).arg(site.path("layers")).status().unwrap().success());
        ["a", "b"].iter().for_each(|at| chown(site.path(at), Some(USER), Some(USER)).unwrap());
        let script = format!(
            "mount -t tmpfs none /dev && umask 0 && mknod /dev/null c 1 3 && {devices} && echo ready && read over"
        );
        let mut room = Command::new("unshare");
        let room = room.args(["--mount", "sh", "-c", &script]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut room = Self(room.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(room.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        room
    }

    /// A command of a user there.
    fn user(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["--mount", "--target", &self.0.id().to_string(), "setpriv"]);
        command.args([format!("--reuid={USER}"), format!("--regid={USER}"), "--clear-groups".to_owned()]);
        command.arg(program.as_ref());
        command
    }

    fn mounting(&self, site: &Site, server: &Server) -> Command {
        let mut command = self.user(site.path("layers"));
        command.args(["remotefs", "mount", &server.address.to_string(), "--plain"]).arg(site.path("a"));
        command
    }

    fn mount(&self, site: &Site, server: &Server) -> Mount {
        Mount::of(self.mounting(site, server), site.path("a"), PathBuf::new())
    }

    fn is_mounted(&self, at: &Path) -> bool {
        let mounts = fs::read_to_string(format!("/proc/{}/mountinfo", self.0.id())).unwrap();
        mounts.lines().any(|line| line.split(' ').nth(4) == at.to_str())
    }

    fn says(&self, mut command: Command) -> String {
        let ended = command.output().unwrap();
        assert_eq!(ended.status.code(), Some(3), "{ended:?}");
        String::from_utf8(ended.stderr).unwrap()
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn a_users_mount_is_his_alone_and_leaves_nothing() {
    if !can_mount("a_users_mount_is_his_alone_and_leaves_nothing") {
        return;
    }
    let site = Site::new();
    fs::write(site.export("file"), "text").unwrap();
    let (server, room) = (site.serve_at("127.0.0.1:0", "60"), Room::new(&site, "mknod /dev/fuse c 10 229"));
    let read = || {
        let mut cat = room.user("cat");
        cat.arg(site.path("a/file")).output().unwrap().stdout
    };
    let mut mount = room.mount(&site, &server);
    // The user's kernel has the page, and shows it to the user; root, who has no session, is not let in.
    assert_eq!((read(), read()), (b"text".to_vec(), b"text".to_vec()));
    let seen = PathBuf::from(format!("/proc/{}/root{}", room.0.id(), mount.path("file").display()));
    assert_eq!(code(fs::read(seen)), Some(Errno::EACCES));
    // fusermount3 unmounted it.
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
    assert!(!room.is_mounted(&mount.at));
    let killed = room.mount(&site, &server);
    assert_eq!(read(), b"text");
    killed.signal(Signal::SIGKILL);
    until("the keeper unmounts", || !room.is_mounted(&killed.at));
    drop(killed);
    // A mount that has lost its keeper is dead, and the next one removes it.
    let mut mount = room.mount(&site, &server);
    let children = format!("/proc/{0}/task/{0}/children", mount.daemon.id());
    let keeper = fs::read_to_string(children).unwrap().trim().parse().unwrap();
    kill(Pid::from_raw(keeper), Signal::SIGKILL).unwrap();
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(3));
    assert!(room.is_mounted(&mount.at));
    let mut mount = room.mount(&site, &server);
    assert_eq!(read(), b"text");
    mount.signal(Signal::SIGTERM);
    assert_eq!(mount.ended(), Some(0));
    assert!(!room.is_mounted(&mount.at));
}

#[test]
fn what_a_mount_needs_and_is_not_there_is_said() {
    if !can_mount("what_a_mount_needs_and_is_not_there_is_said") {
        return;
    }
    let site = Site::new();
    let server = site.serve();
    let needs = |text: &str| {
        let at = site.path("a");
        assert!(text.contains(&format!("cannot mount on {}", at.display())), "{text}");
        assert!(text.contains("it needs /dev/fuse, and root or fusermount3"), "{text}");
        assert_eq!(fs::read_dir(at).unwrap().count(), 0);
    };
    let room = Room::new(&site, "mknod /dev/fuse c 10 229");
    let mut without = room.mounting(&site, &server);
    needs(&room.says({
        without.env("FUSERMOUNT_PATH", "/nowhere/fusermount3");
        without
    }));
    // A device for root alone, and none at all.
    let room = Room::new(&site, "mknod -m 600 /dev/fuse c 10 229");
    needs(&room.says(room.mounting(&site, &server)));
    let room = Room::new(&site, "true");
    needs(&room.says(room.mounting(&site, &server)));
}
