//! Wrong clocks, or clocks set during sessions: neither prolongs a grant, nor admits anybody by another machine's
//! time.

use crate::daemon::{can_mount, skips, until};
use crate::hosts::Hosts;
use crate::support::{Heard, ROOT, Site, bytes, command};
use crate::world::{World, code};
use bakeoff_layers_base::clock::now_unix_s;
use bakeoff_layers_credentials::notice::News;
use bakeoff_layers_remotefs::frame::ClientRequest;
use nix::errno::Errno;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::process::Command;
use std::time::{Duration, Instant};

const LIST: &str = "/ allow user:alice@home.example all\n";
/// A date for one process: the offset in a file is added to it. The monotonic clock stays as it is.
const CLOCK: &str = r#"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static volatile long *added;
__attribute__((constructor)) static void begin(void) {
    int file = open(getenv("ADDED"), O_RDONLY);
    added = mmap(0, sizeof *added, PROT_READ, MAP_SHARED, file, 0);
    close(file);
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int failed = syscall(SYS_clock_gettime, clock, time);
    if (!failed && clock == CLOCK_REALTIME && added)
        time->tv_sec += *added;
    return failed;
}
"#;

#[test]
fn by_an_agent_with_another_time_nobody_is_let_in() {
    if !can_mount("by_an_agent_with_another_time_nobody_is_let_in") {
        return;
    }
    let (site, world) = (Site::new(), World::new());
    let served = world.serve_for(&site, LIST, 60);
    let alice = world.person("user:alice@home.example");
    let says = || fs::read_to_string(&served.status).unwrap().contains("\nclock-skew home.example\n");
    let (_callback, mut data) = served.session(&world, &alice);
    for its in [now_unix_s() - 60, now_unix_s() + 60] {
        served.hears(News::Alive(its));
        until("it is told", says);
        let (mut raw, heard) = served.greets(&world, &alice);
        assert_eq!((heard, raw.hear()), (Heard::Refused("clock-skew".to_owned()), Heard::Closed));
        served.hears(News::Alive(now_unix_s() + 10));
        until("it is told no more", || !says());
        assert!(matches!(served.greets(&world, &alice).1, Heard::Welcome { .. }));
    }
    served.counts("refused.credentials.clock-skew", 2);
    assert!(matches!(data.ask(&ClientRequest::Attributes { object: ROOT }), Heard::Attributes(_)));
}

#[test]
fn a_clock_that_is_set_prolongs_nothing() {
    let test = "a_clock_that_is_set_prolongs_nothing";
    if !can_mount(test) {
        return;
    }
    let mut hosts = Hosts::new(&["alice"]);
    let [source, library, added] = ["clock.c", "clock.so", "added"].map(|name| hosts.yard.path(name));
    fs::write(&source, CLOCK).unwrap();
    let mut compiler = Command::new("cc");
    let Ok(compiled) = compiler.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status() else {
        return skips(test, "there is no cc");
    };
    assert!(compiled.success());
    fs::write(&added, [0; 8]).unwrap();
    let file = File::options().write(true).open(&added).unwrap();
    let set = |seconds: i64| file.write_all_at(&seconds.to_ne_bytes(), 0).unwrap();
    hosts.login("alice", &["--for", "25s"]);
    let until_then = Instant::now() + Duration::from_secs(25);
    let mut serve = command("serve");
    serve.env("LD_PRELOAD", &library).env("ADDED", &added);
    hosts.serve(LIST, serve);
    let mount = hosts.mount("alice", "a");
    let says = |line: &str| fs::read_to_string(&mount.status).unwrap().contains(&format!("\n{line}\n"));
    let open = File::open(mount.path("file")).unwrap();
    assert_eq!(bytes(&open), "text");
    // An hour back: the session ends when it would have.
    set(-3600);
    until("the server sees that its clock is wrong", || {
        hosts.server_says().contains("\nclock-skew home.example\n")
    });
    assert_eq!(bytes(&open), "text");
    until("the session ends", || code(open.read_at(&mut [0; 4], 0)) == Some(Errno::EACCES));
    assert!(Instant::now() < until_then + Duration::from_secs(120));
    until("the mount says why", || says("refused expired"));
    // Right again, and an hour on: a user logged in for a quarter of one is out.
    set(0);
    hosts.login("alice", &["--for", "15m"]);
    until("it goes on", || fs::read(mount.path("file")).is_ok_and(|text| text == b"text"));
    until("nothing is refused", || !says("refused expired"));
    set(3600);
    until("the session ends", || code(fs::read(mount.path("file"))) == Some(Errno::EACCES));
    until("the mount says why", || says("refused expired"));
}
