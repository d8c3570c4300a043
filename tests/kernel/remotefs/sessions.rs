//! Whose a mount is, and for how long: two sessions of one user, other users and root, logging out, an agent that is gone.

use crate::daemon::{can_mount, is_mounted, until};
use crate::hosts::Hosts;
use crate::support::{Mapping, bytes};
use crate::world::code;
use nix::errno::Errno;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::FileExt;

const LIST: &str = "/ allow user:alice@home.example all\n";

#[test]
fn who_logs_out_leaves_neither_a_mount_nor_a_page_of_it() {
    let test = "who_logs_out_leaves_neither_a_mount_nor_a_page_of_it";
    if !can_mount(test) {
        return;
    }
    let hosts = Hosts::serving(&["alice"], LIST, "8h");
    // A name of the key's file that stays: what was in it is overwritten.
    fs::hard_link(hosts.session("alice").join("key"), hosts.yard.path("kept")).unwrap();
    let mut mount = hosts.mount("alice", "a");
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "text");
    let Some(mut mapping) = Mapping::of(&mount.path("file"), b't', test) else { return };
    hosts.yard.good(&["logout", "--session", "alice@home.example.session"]);
    assert!(!hosts.session("alice").exists());
    assert!(fs::read(hosts.yard.path("kept")).unwrap().iter().all(|byte| *byte == 0));
    assert_eq!(mount.ended(), Some(0));
    assert!(!is_mounted(&mount.at) && fs::read_dir(&mount.at).unwrap().count() == 0);
    let gone = code(open.read_at(&mut [0; 4], 0));
    assert!(matches!(gone, Some(Errno::ENOTCONN | Errno::ECONNABORTED)), "{gone:?}");
    mapping.is_cut_off();
    let mut said = String::new();
    mount.daemon.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert!(said.contains("alice@home.example.session: logged out") && said.contains("log in"), "{said}");
    until("the server has no session", || hosts.server_says().contains("\nsessions-live 0\n"));
    // Who logs in again mounts again.
    hosts.login("alice", &[]);
    assert_eq!(hosts.mount("alice", "b").read("file"), "text");
}
