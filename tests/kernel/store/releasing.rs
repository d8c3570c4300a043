//! Release of the store's key, and effects of a lock on a mounted store.

use crate::support::{Site, assert_done, can_mount, until};
use nix::errno::Errno;
use nix::sys::signal::Signal;
use std::fs;

fn refused(site: &Site) -> String {
    site.refused_mount(&site.key_flags().each_ref().map(String::as_str))
}

#[test]
fn a_lock_that_nobody_obeys_is_not_told_as_one() {
    if !can_mount("a_lock_that_nobody_obeys_is_not_told_as_one") {
        return;
    }
    let site = Site::new();
    let lock = |words: &[&str]| {
        let output = site.layers(&[&["lock"], words].concat());
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let (code, said) = lock(&[&site.text("mistyped.vault")]);
    assert!(code == Some(3) && said.contains("nothing was locked"), "{said}");
    assert!(!site.path("mistyped.vault.key.locked").exists());
    // Found by another name of its key.
    std::os::unix::fs::symlink(site.path("site.vault.key"), site.path("link")).unwrap();
    let mount = site.mount();
    mount.signal(Signal::SIGSTOP);
    let (code, said) = lock(&[&site.text("site.vault"), "--sealed", &site.text("link")]);
    assert!(code == Some(3) && said.contains("its files are still open"), "{said}");
    mount.signal(Signal::SIGCONT);
    until("the daemon notices", || mount.state() == "state locked");
    until("the daemon lets go", || lock(&[&site.text("site.vault")]).0 == Some(0));
}

#[test]
fn a_lock_takes_away_what_was_read_already() {
    if !can_mount("a_lock_takes_away_what_was_read_already") {
        return;
    }
    let site = Site::new();
    let mount = site.mount();
    mount.read("index.html").unwrap();
    let open = fs::File::open(mount.at.join("index.html")).unwrap();
    let vault = site.vault().display().to_string();
    assert_done(&site.layers(&["lock", &vault, "--reason", "index.html was changed"]));
    // At once, as the lock was answered: a new read is refused, and of an old one nothing is left.
    assert_eq!(mount.read("img/large.bin").unwrap_err().raw_os_error(), Some(Errno::EIO as i32));
    let stopped = std::os::unix::fs::FileExt::read_at(&open, &mut [0], 0).unwrap_err();
    assert_eq!(stopped.raw_os_error(), Some(Errno::EIO as i32));
    until("the kernel has dropped all of it", || mount.dropped() == "names");
    // The page cache is empty: neither a new open nor an old descriptor gives bytes.
    let mut byte = [0];
    let error = std::os::unix::fs::FileExt::read_at(&open, &mut byte, 0).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::EIO as i32));
    assert_eq!(mount.read("index.html").unwrap_err().raw_os_error(), Some(Errno::EIO as i32));
    assert!(mount.count("refused.locked") > 0);
    drop(mount);
    let said = refused(&site);
    assert!(said.contains("locked (index.html was changed)"), "{said}");
    assert_done(&site.with_key("unlock"));
    site.mount().read("index.html").unwrap();
}

#[test]
fn wrong_secrets_and_lost_keys_are_a_sentence_each() {
    if !can_mount("wrong_secrets_and_lost_keys_are_a_sentence_each") {
        return;
    }
    let site = Site::new();
    let other = site.path("other").display().to_string();
    assert_done(&site.layers(&["keygen", "--key", &other]));
    let says = |flags: &[&str], words: &str| {
        let said = site.refused_mount(flags);
        assert!(said.contains(words), "{said}");
    };
    says(&["--key", &other], "the key file is not the one");
    fs::write(site.path("words"), "correct horse\n").unwrap();
    let words = site.path("words").display().to_string();
    says(&["--passphrase-file", &words], "sealed under a key file, and a passphrase was given");
    fs::rename(site.path("site.vault.key"), site.path("away")).unwrap();
    let said = refused(&site);
    assert!(said.contains("without the sealed key nobody can read the vault"), "{said}");
}

#[test]
fn a_passphrase_opens_and_a_wrong_one_does_not() {
    if !can_mount("a_passphrase_opens_and_a_wrong_one_does_not") {
        return;
    }
    let site = Site::new();
    let path = |name: &str| site.path(name).display().to_string();
    fs::write(site.path("right"), "correct horse\n").unwrap();
    fs::write(site.path("wrong"), "incorrect horse\n").unwrap();
    fs::remove_file(site.path("site.vault.key")).unwrap();
    let seal = ["seal", &path("tree"), "--out", &path("site.vault"), "--passphrase-file", &path("right")];
    assert_done(&site.layers(&seal));
    assert_done(&site.layers(&["verify", &path("site.vault"), "--passphrase-file", &path("right")]));
    let said = site.refused_mount(&["--passphrase-file", &path("wrong")]);
    assert!(said.contains("the passphrase is not the one"), "{said}");
}

#[test]
fn a_vault_that_was_put_back_is_refused() {
    if !can_mount("a_vault_that_was_put_back_is_refused") {
        return;
    }
    let site = Site::new();
    fs::copy(site.vault(), site.path("older")).unwrap();
    site.seal();
    site.mount().read("index.html").unwrap();
    fs::copy(site.path("older"), site.vault()).unwrap();
    let said = refused(&site);
    assert!(said.contains("vault 1 is older than vault 2"), "{said}");
}

#[test]
fn a_key_that_is_bound_to_an_admin_needs_a_machine_as_the_admin_signed_it() {
    if !can_mount("a_key_that_is_bound_to_an_admin_needs_a_machine_as_the_admin_signed_it") {
        return;
    }
    let site = Site::new();
    let path = |name: &str| site.text(name);
    fs::remove_file(site.path("site.vault.key")).unwrap();
    fs::create_dir(site.path("bin")).unwrap();
    fs::write(site.path("bin/server"), "the server").unwrap();
    let integrity = |words: &[&str]| site.integrity(words);
    integrity(&["keygen", "--key", &path("admin.key"), "--pub", &path("admin.pub")]);
    integrity(&["keygen", "--key", &path("other.key"), "--pub", &path("other.pub")]);
    integrity(&["seal", &path("bin"), "--key", &path("admin.key"), "--out", &path("good")]);
    let [flag, key] = site.key_flags();
    let state = |manifest: &str, public: &str| {
        let (manifest, public, root) = (path(manifest), path(public), path("bin"));
        let words = ["--manifest", &manifest, "--pub", &public, "--root", &root, &flag, &key];
        words.map(str::to_owned)
    };
    let says = |flags: &[String], words: &str| {
        let said = site.refused_mount(&flags.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains(words), "{said}");
    };
    let good = state("good", "admin.pub");
    let seal =
        [&["seal".to_owned(), path("tree"), "--out".to_owned(), path("site.vault")], &good[..]].concat();
    assert_done(&site.layers(&seal.iter().map(String::as_str).collect::<Vec<_>>()));

    let verify = [&["verify".to_owned(), path("site.vault")], &good[..]].concat();
    let verify: Vec<&str> = verify.iter().map(String::as_str).collect();
    assert_done(&site.layers(&verify));
    says(&site.key_flags(), "only with a signed manifest");
    integrity(&["seal", &path("bin"), "--key", &path("other.key"), "--out", &path("theirs")]);
    says(&state("theirs", "other.pub"), "another admin");
    says(&state("theirs", "admin.pub"), "refused (wrong-key)");
    fs::write(site.path("bin/server"), "a trojan").unwrap();
    says(&good, "server is not as the manifest says");
    fs::write(site.path("bin/server"), "the server").unwrap();
    assert_done(&site.layers(&verify));

    // Only the admin can end a lock: the secret that mounts the store is not enough.
    assert_done(&site.layers(&["lock", &path("site.vault")]));
    let unlock = ["unlock", &path("site.vault"), &flag, &key];
    for further in [&[][..], &["--admin-key", &path("other.key")]] {
        let output = site.layers(&[&unlock, further].concat());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(3) && said.contains("bound to an admin"), "{said}");
    }
    says(&good, "the store is locked");
    assert_done(&site.layers(&[&unlock[..], &["--admin-key", &path("admin.key")]].concat()));
    assert_done(&site.layers(&verify));
}
