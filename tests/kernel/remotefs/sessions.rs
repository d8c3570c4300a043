//! Owner and lifetime of a mount: two sessions of one user, other users and root, logging out, a vanished agent.

use crate::daemon::{Mount, can_mount, is_mounted, until};
use crate::hosts::Hosts;
use crate::support::{Mapping, Reader, bytes, count};
use crate::world::code;
use bakeoff_layers_base::clock::now_unix_s;
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::thread::sleep;
use std::time::Duration;

const LIST: &str = "/ allow user:alice@home.example all\n";

fn says(mount: &Mount, line: &str) -> bool {
    fs::read_to_string(&mount.status).unwrap().contains(&format!("\n{line}\n"))
}

#[test]
fn who_logs_out_leaves_neither_a_mount_nor_a_page_of_it() {
    let test = "who_logs_out_leaves_neither_a_mount_nor_a_page_of_it";
    if !can_mount(test) {
        return;
    }
    let hosts = Hosts::serving(&["alice"], LIST, "8h");
    // A lasting name of the key's file: its content is overwritten.
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
    // A user who logs in again mounts again.
    hosts.login("alice", &[]);
    assert_eq!(hosts.mount("alice", "b").read("file"), "text");
}

#[test]
fn two_sessions_of_one_user_share_nothing() {
    if !can_mount("two_sessions_of_one_user_share_nothing") {
        return;
    }
    let hosts = Hosts::serving(&["alice"], LIST, "8h");
    fs::create_dir(hosts.yard.path("export/open")).unwrap();
    fs::write(hosts.yard.path("export/open/file"), "shared").unwrap();
    fs::write(hosts.yard.path("phrase"), "open sesame\n").unwrap();
    let words = ["role", "create", "editor", "--grant", "/open=read,list", "--at", "*.home.example"];
    let more = ["--out", "editor", "--session", "alice@home.example.session"];
    hosts.yard.good(&[&words[..], &more, &["--passphrase-file", "phrase"]].concat());
    let words =
        ["login", "role:editor.alice@home.example", "--role", "editor", "--passphrase-file", "phrase"];
    let more = ["--session", "editor@home.example.session", "--trust", "trust"];
    hosts.yard.good(&[&words[..], &more].concat());
    let own = hosts.mount("alice", "a");
    let mut role = hosts.mount("editor", "b");
    // One user's content in the kernel's caches is not visible to the other.
    assert_eq!((own.read("file"), own.read("open/file")), ("text".into(), "shared".into()));
    assert_eq!(code(fs::read(role.path("file"))), Some(Errno::EACCES));
    let [asked] = role.counts(["reads"]);
    assert_eq!(role.read("open/file"), "shared");
    assert!(role.counts(["reads"])[0] > asked, "it asked the server for itself");
    let device = |mount: &Mount| fs::metadata(mount.path("open/file")).unwrap().dev();
    assert_ne!(device(&own), device(&role));
    assert_eq!(code(fs::write(role.path("open/file"), "mine")), Some(Errno::EACCES));
    own.write("open/file", "by alice");
    assert_eq!(role.read("open/file"), "by alice");
    // The role ends, and its owner continues.
    hosts.yard.good(&["logout", "--session", "editor@home.example.session"]);
    assert_eq!(role.ended(), Some(0));
    assert_eq!(own.read("file"), "text");
}

#[test]
fn what_is_taken_back_while_the_daemon_is_stopped_ends_with_the_term() {
    if !can_mount("what_is_taken_back_while_the_daemon_is_stopped_ends_with_the_term") {
        return;
    }
    let hosts = Hosts::serving(&["alice"], LIST, "8h");
    let mount = hosts.mount("alice", "a");
    // A file opened here is closed in each child process: the kernel must know that nobody waits for that.
    assert_eq!(mount.read("file"), "text");
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "text");
    mount.signal(Signal::SIGSTOP);
    hosts.yard.good(&["revoke", "user:alice@home.example", "--ola", "home.example/ola"]);
    let revoked = || hosts.server_says().contains("\nrefused.credentials.revoked 1\n");
    until("the server ends the session", revoked);
    // The kernel keeps it till the term is over, and then nobody can read it any more.
    sleep(Duration::from_secs(1));
    let reader = Reader::of(open);
    reader.waits();
    mount.signal(Signal::SIGCONT);
    assert_eq!(code(reader.told()), Some(Errno::EACCES));
    until("the mount says why", || says(&mount, "refused revoked"));
}

#[test]
fn while_an_agent_is_away_sessions_go_on_till_their_leafs_end() {
    if !can_mount("while_an_agent_is_away_sessions_go_on_till_their_leafs_end") {
        return;
    }
    let mut hosts = Hosts::serving(&["alice"], LIST, "30s");
    let mount = hosts.mount("alice", "a");
    let open = File::open(mount.path("file")).unwrap();
    let ends = count(&mount.status, "leaf-until");
    assert!((now_unix_s() + 5..=now_unix_s() + 30).contains(&ends), "{ends}");
    let silent = |hosts: &Hosts| hosts.server_says().contains("\nola-silent home.example\n");
    let address = hosts.yard.kill("home.example");
    until("the server says that the agent is silent", || silent(&hosts));
    assert_eq!(bytes(&open), "text");
    mount.write("new", "written");
    let refused = hosts.yard.login("user", "alice@home.example", &[]);
    assert!(refused.0 == 3 && refused.2.contains("the agent of home.example is not reached"), "{refused:?}");
    assert!(refused.2.contains("is `bakeoff layer ola serve` running there?"), "{refused:?}");
    until("the leaf ends", || code(open.read_at(&mut [0; 4], 0)) == Some(Errno::EACCES));
    assert_eq!(code(fs::write(mount.path("new"), "more")), Some(Errno::EACCES));
    until("the mount says why", || says(&mount, "refused expired"));
    assert_eq!(hosts.yard.start("home.example", &address), address);
    hosts.login("alice", &[]);
    until("it goes on with the new leaf", || fs::read(mount.path("new")).is_ok_and(|new| new == b"written"));
    until("nothing is refused or silent any more", || !says(&mount, "refused expired") && !silent(&hosts));
}
