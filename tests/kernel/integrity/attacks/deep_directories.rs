//! Regression: directories deeper than the longest path were neither marked nor frozen, under degree `full`.

use crate::site::{Site, may_run, python};

#[test]
fn a_tree_deeper_than_a_path_is_never_full() {
    if !may_run("a_tree_deeper_than_a_path_is_never_full") {
        return;
    }
    let site = Site::tampered(&[]);
    let dig = "import os,sys\nos.chdir(sys.argv[1])\n\
               for _ in range(25):\n os.mkdir('d'*200)\n os.chdir('d'*200)\nopen('evil','w').write('evil')";
    python(dig, &[site.file("sub").to_str().unwrap()]);
    let guard = site.enforce(&["--mode", "deny"]);
    assert_eq!((guard.degree().as_str(), guard.number("gap-deep")), ("partial", 1), "{}", guard.armed);
    assert_eq!(guard.end(), Some(0));
    // All that was frozen can be removed again: else the directory stays.
    site.dir.close().unwrap();
}
