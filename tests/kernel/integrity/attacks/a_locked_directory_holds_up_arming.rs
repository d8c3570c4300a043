//! Regression: arming hung silently on a locked directory, and the whole worker could not even be killed. An attacker
//! who may list a directory of the tree can keep its lock as long as they like: the kernel copies names into their
//! memory meanwhile, which is a file of their own file system. Freezing the directory waits for the lock.

use crate::site::{Attacker, EPERM, Site, may_run, open, wait_until};

#[test]
fn arming_says_which_directory_holds_it_up_and_goes_on() {
    if !may_run("arming_says_which_directory_holds_it_up_and_goes_on") {
        return;
    }
    let site = Site::tampered(&["b"]);
    let (site, mut attacker) = (&site, Attacker::with_fuse(&site, "keep", &site.file("sub")));
    std::thread::scope(|scope| {
        scope.spawn(move || {
            wait_until("its name", || site.said().contains("site/sub holds everything up"));
            attacker.go_on("done");
        });
        let guard = site.enforce(&["--mode", "deny"]);
        assert_eq!(guard.degree(), "full", "{}", guard.armed);
        assert_eq!(
            (open(&site.file("sub/c")).unwrap().as_str(), open(&site.file("b"))),
            ("good sub/c", Err(EPERM))
        );
    });
}
