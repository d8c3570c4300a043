//! Regression: the worker reported to the supervisor in lines, with names of the tree in them. A name with a line end
//! began another line: a command of the worker, or an entry of the log.

use crate::site::{EPERM, Server, Site, may_run, open, wait_until};
use std::fs;

#[test]
fn a_name_with_a_line_end_stays_a_name() {
    if !may_run("a_name_with_a_line_end_stays_a_name") {
        return;
    }
    let site = Site::tampered(&[]);
    let long = "n".repeat(250);
    let name = "x\nnote all is well\narmed \u{1b}[2J";
    site.write(name, "nobody signed this");
    fs::create_dir(site.file(&long)).unwrap();
    let deep = format!("{long}/{long}\nnote all is well");
    // Too long for one part of a path.
    let deep = deep.replacen(&format!("/{long}"), &format!("/{}", "m".repeat(200)), 1);
    site.write(&deep, "nor this");
    let mut server = Server::start();
    let pid = server.0.id().to_string();
    let guard = site.enforce(&["--mode", "stop", "--stop-pid", &pid]);
    assert_eq!(open(&site.file(name)), Err(EPERM));
    assert_eq!(open(&site.file(&deep)), Err(EPERM));
    guard.wait_for("unlisted", 2);
    wait_until("the server's end", || !server.is_alive());
    wait_until("what happened", || site.said().contains("is not as the manifest says"));
    let said = site.said();
    assert!(said.contains("x\\u{a}note all is well\\u{a}armed \\u{1b}[2J"), "{said}");
    assert!(!said.lines().any(|line| line.ends_with(": all is well")), "{said}");
    assert!(guard.says("violation 1 unlisted x\\u{a}note all is well\\u{a}armed \\u{1b}[2J"));
    assert!(said.lines().all(|line| line.len() < 1200));
}
