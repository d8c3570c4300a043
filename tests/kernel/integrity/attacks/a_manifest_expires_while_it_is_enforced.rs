//! Regression: a manifest's expiry was checked only when it was read, so it was enforced as `full` for as long as the
//! process ran. When its worker died later, the next one refused the manifest, and with it every file.

use crate::site::{EPERM, Site, kill, may_run, open, wait_until};
use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::key::read_secret;
use bakeoff_layers_base::manifest::FaultAction;
use bakeoff_layers_base::manifest::seal::{Sealing, seal};
use std::time::{SystemTime, UNIX_EPOCH};

#[test]
fn an_expired_manifest_is_a_gap_and_goes_on_also_when_the_worker_dies() {
    if !may_run("an_expired_manifest_is_a_gap_and_goes_on_also_when_the_worker_dies") {
        return;
    }
    let site = Site::new();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
    let sealing = Sealing {
        algorithm: Algorithm::Blake3,
        version: 1,
        created_unix_s: now,
        not_after_unix_s: now + 4,
        action: FaultAction::Lock,
        exclude: Vec::new(),
        name: None,
    };
    let key = read_secret(&site.path("key"), None).unwrap();
    seal(&site.path("site"), &sealing, &key, &site.path("manifest")).unwrap();
    site.write("b", "evil b");
    let guard = site.enforce(&["--mode", "deny"]);
    wait_until("the end of its validity", || guard.number("gap-expired") == 1);
    assert_eq!(guard.degree(), "partial");
    wait_until("word of it", || site.said().contains("version 1 of the manifest has expired"));
    let worker = guard.pids()[1];
    kill(worker, "-KILL");
    wait_until("another worker", || guard.pids()[1] != worker);
    assert_eq!((open(&site.file("a")).unwrap().as_str(), open(&site.file("b"))), ("good a", Err(EPERM)));
    assert_eq!(guard.number("gap-expired"), 1);
}
