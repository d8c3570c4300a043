//! Regression: the directory above the tree was renamed or mounted over, and the server opened another tree, under
//! degree `full`.

use crate::site::{Mounted, Site, may_run, open, wait_until};
use std::fs;

#[test]
fn a_tree_that_is_not_where_it_was_is_a_gap() {
    if !may_run("a_tree_that_is_not_where_it_was_is_a_gap") {
        return;
    }
    let site = Site::at("up/site");
    site.seal(1, &[]);
    fs::create_dir_all(site.path("evil/site")).unwrap();
    fs::write(site.path("evil/site/a"), "evil").unwrap();
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-moved")), ("full", 0), "{}", guard.armed);
    let over = Mounted::bind(&site.path("evil"), &site.path("up"));
    assert_eq!(open(&site.file("a")).unwrap(), "evil", "nobody can keep that from happening");
    wait_until("the gap", || guard.number("gap-moved") == 1 && guard.degree() == "partial");
    drop(over);
    wait_until("full", || guard.degree() == "full");
    fs::rename(site.path("up"), site.path("gone")).unwrap();
    fs::rename(site.path("evil"), site.path("up")).unwrap();
    wait_until("the gap", || guard.number("gap-moved") == 1 && guard.degree() == "partial");
    fs::rename(site.path("up"), site.path("evil")).unwrap();
    fs::rename(site.path("gone"), site.path("up")).unwrap();
    assert_eq!(open(&site.file("a")).unwrap(), "good a");
}
