//! Manifests seen from outside: sealed, signed, read, refused; and verified by the stock minisign.

// The SKIP line is for the person who runs the tests.
#![allow(clippy::unwrap_used, clippy::print_stdout, missing_docs)]

use bakeoff_layers_base::digest::Algorithm;
use bakeoff_layers_base::key;
use bakeoff_layers_base::manifest::check::{self, Deviation, FileFinding, ManifestChange};
use bakeoff_layers_base::manifest::load::{self, LoadError, TrustConditions};
use bakeoff_layers_base::manifest::seal::{self, ManifestSealError, Sealing};
use bakeoff_layers_base::manifest::signature::AdminPublicKey;
use bakeoff_layers_base::manifest::{FaultAction, Manifest};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A key pair, a tree of three files, and where its manifest goes.
struct Yard {
    dir: TempDir,
}

impl Yard {
    fn new() -> Self {
        let yard = Self { dir: tempfile::tempdir().unwrap() };
        key::generate(&yard.path("admin.key"), &yard.path("admin.pub"), None).unwrap();
        fs::create_dir_all(yard.path("site/sub")).unwrap();
        for (name, text) in [("index.html", "hello"), ("sub/a.css", "a"), ("sub/b.css", "")] {
            fs::write(yard.path("site").join(name), text).unwrap();
            fs::set_permissions(yard.path("site").join(name), fs::Permissions::from_mode(0o644)).unwrap();
        }
        yard
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn seal(&self, version: u64) -> Result<Manifest, ManifestSealError> {
        self.seal_with(version, None)
    }

    fn seal_with(&self, version: u64, passphrase: Option<String>) -> Result<Manifest, ManifestSealError> {
        let key = key::read_secret(&self.path("admin.key"), passphrase).unwrap();
        let sealing = Sealing {
            algorithm: Algorithm::Blake3,
            version,
            created_unix_s: 100,
            not_after_unix_s: 200,
            action: FaultAction::Lock,
            exclude: vec!["cache".to_owned()],
            name: None,
        };
        seal::seal(&self.path("site"), &sealing, &key, &self.path("site.manifest"))
    }

    fn load(&self, now_unix_s: u64, seen_version: u64) -> Result<Manifest, &'static str> {
        let public = AdminPublicKey::read(&self.path("admin.pub")).unwrap();
        let trust = TrustConditions { key: &public, now_unix_s, seen_version };
        load::load(&self.path("site.manifest"), &trust).map_err(|error| match error {
            LoadError::Refused { refusal, .. } => refusal.name(),
            _ => "unreadable",
        })
    }

    fn findings(&self, manifest: &Manifest) -> Vec<(String, Deviation)> {
        let found = check::tree(manifest, &self.path("site"), &["cache".to_owned()]).unwrap();
        found.into_iter().map(|FileFinding { path, wrong }| (path, wrong)).collect()
    }
}

#[test]
fn a_sealed_tree_is_as_its_manifest_says_and_every_change_is_named() {
    let yard = Yard::new();
    yard.seal(1).unwrap();
    let manifest = yard.load(150, 0).unwrap();
    assert_eq!(manifest.len(), 3);
    assert_eq!(yard.findings(&manifest), []);
    fs::write(yard.path("site/index.html"), "hellO").unwrap();
    fs::write(yard.path("site/sub/a.css"), "aa").unwrap();
    fs::remove_file(yard.path("site/sub/b.css")).unwrap();
    fs::write(yard.path("site/shell.php"), "").unwrap();
    fs::create_dir(yard.path("site/cache")).unwrap();
    fs::write(yard.path("site/cache/x"), "").unwrap();
    let found = yard.findings(&manifest);
    let expected = [
        ("index.html", Deviation::Digest),
        ("shell.php", Deviation::Unlisted),
        ("sub/a.css", Deviation::Size),
        ("sub/b.css", Deviation::Missing),
    ];
    assert_eq!(found, expected.map(|(path, wrong)| (path.to_owned(), wrong)));
    symlink("a.css", yard.path("site/sub/b.css")).unwrap();
    fs::set_permissions(yard.path("site/sub/a.css"), fs::Permissions::from_mode(0o4755)).unwrap();
    fs::write(yard.path("site/sub/a.css"), "a").unwrap();
    let found = yard.findings(&manifest);
    assert!(found.contains(&("sub/b.css".to_owned(), Deviation::NotAFile)), "{found:?}");
    assert!(found.contains(&("sub/a.css".to_owned(), Deviation::Mode)), "{found:?}");
}

#[test]
fn a_signature_stands_before_everything_else() {
    let yard = Yard::new();
    yard.seal(5).unwrap();
    assert!(yard.load(150, 5).is_ok());
    assert_eq!(yard.load(201, 0).unwrap_err(), "expired");
    assert_eq!(yard.load(150, 6).unwrap_err(), "rolled-back");
    let path = yard.path("site.manifest");
    let good = fs::read(&path).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&path, &bad).unwrap();
        assert_eq!(yard.load(150, 0).unwrap_err(), "bad-signature", "byte {at}");
    }
    fs::write(&path, [good.as_slice(), b"x"].concat()).unwrap();
    assert_eq!(yard.load(150, 0).unwrap_err(), "bad-signature");
    fs::write(&path, &good).unwrap();
    // Another key of the same administrator.
    fs::rename(yard.path("admin.pub"), yard.path("old.pub")).unwrap();
    key::generate(&yard.path("new.key"), &yard.path("admin.pub"), None).unwrap();
    assert_eq!(yard.load(150, 0).unwrap_err(), "wrong-key");
    fs::rename(yard.path("old.pub"), yard.path("admin.pub")).unwrap();
    let signature = load::signature_path(&path);
    for odd in ["", "untrusted comment: x\nAAAA\n", "\u{e9}\n\n\n\n"] {
        fs::write(&signature, odd).unwrap();
        assert_eq!(yard.load(150, 0).unwrap_err(), "unreadable-signature", "{odd:?}");
    }
    fs::remove_file(&signature).unwrap();
    assert_eq!(yard.load(150, 0).unwrap_err(), "unreadable");
}

#[test]
fn what_a_manifest_cannot_name_is_not_sealed() {
    let odd = |make: &dyn Fn(&Path)| {
        let yard = Yard::new();
        make(&yard.path("site"));
        let error = yard.seal(1).unwrap_err().to_string();
        assert!(!yard.path("site.manifest").exists(), "{error}");
        error
    };
    let said = odd(&|site| symlink("/etc/passwd", site.join("p")).unwrap());
    assert!(said.contains("leads out of the tree"), "{said}");
    let said = odd(&|site| {
        // By a link outside, which its owner may lead elsewhere.
        symlink(site.join("index.html"), site.with_file_name("outside")).unwrap();
        symlink("../outside", site.join("p")).unwrap();
    });
    assert!(said.contains("leads out of the tree"), "{said}");
    let said = odd(&|site| symlink("nowhere", site.join("p")).unwrap());
    assert!(said.contains("leads nowhere"), "{said}");
    let said = odd(&|site| drop(std::os::unix::net::UnixListener::bind(site.join("s")).unwrap()));
    assert!(said.contains("neither a file nor a directory"), "{said}");
    let said = odd(&|site| fs::write(site.join("INDEX.html"), "").unwrap());
    assert!(said.contains("(twins)"), "{said}");
    let said = odd(&|site| fs::write(site.join("a\nb"), "").unwrap());
    assert!(said.contains("a name with a control character"), "{said}");
    let yard = Yard::new();
    symlink("../index.html", yard.path("site/sub/link")).unwrap();
    symlink(yard.path("site/sub"), yard.path("site/other")).unwrap();
    assert_eq!(yard.seal(1).unwrap().len(), 3, "a link inside the tree is no file of its own");
}

#[test]
fn two_manifests_differ_by_name() {
    let yard = Yard::new();
    let old = yard.seal(1).unwrap();
    fs::write(yard.path("site/a"), "").unwrap();
    fs::write(yard.path("site/index.html"), "other").unwrap();
    fs::set_permissions(yard.path("site/sub/a.css"), fs::Permissions::from_mode(0o600)).unwrap();
    fs::remove_file(yard.path("site/sub/b.css")).unwrap();
    let new = yard.seal(2).unwrap();
    let found: Vec<(String, ManifestChange)> =
        check::diff(&old, &new).into_iter().map(|found| (found.path, found.change)).collect();
    let expected = [
        ("a", ManifestChange::Added),
        ("index.html", ManifestChange::Content),
        ("sub/a.css", ManifestChange::Attributes),
        ("sub/b.css", ManifestChange::Removed),
    ];
    assert_eq!(found, expected.map(|(path, change)| (path.to_owned(), change)));
    assert_eq!(check::diff(&new, &new), []);
}

/// Returns false and prints the reason where minisign is not installed.
fn has_minisign(test: &str) -> bool {
    let found = Path::new("/usr/bin/minisign").exists();
    if !found {
        let reason = "`minisign` is not installed (tests/prepare installs it)";
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    found
}

#[test]
fn the_stock_minisign_checks_our_signature() {
    if !has_minisign("the_stock_minisign_checks_our_signature") {
        return;
    }
    let yard = Yard::new();
    yard.seal(1).unwrap();
    assert!(minisign(&yard, &["-Vm", "site.manifest", "-p", "admin.pub"]));
    fs::write(yard.path("other"), "x").unwrap();
    let check = ["-Vm", "other", "-x", "site.manifest.minisig", "-p", "admin.pub"];
    assert!(!minisign(&yard, &check), "minisign takes a signature of other bytes");
}

/// Minisign asks for a gigabyte of memory and half a minute to open a key that has a passphrase.
#[test]
#[ignore = "takes a minute"]
fn a_key_that_minisign_made_signs_here() {
    if !has_minisign("a_key_that_minisign_made_signs_here") {
        return;
    }
    let yard = Yard::new();
    for name in ["admin.key", "admin.pub"] {
        fs::remove_file(yard.path(name)).unwrap();
    }
    assert!(minisign(&yard, &["-G", "-p", "admin.pub", "-s", "admin.key"]));
    yard.seal_with(2, Some("secret".to_owned())).unwrap();
    assert!(minisign(&yard, &["-Vm", "site.manifest", "-p", "admin.pub"]));
    assert_eq!(yard.load(150, 0).unwrap().header().version, 2);
}

/// Whether minisign succeeds; it is handed a passphrase in case it asks.
fn minisign(yard: &Yard, arguments: &[&str]) -> bool {
    let mut child = Command::new("minisign")
        .args(arguments)
        .current_dir(yard.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // A minisign that needs no passphrase does not read it.
    let _ = child.stdin.take().unwrap().write_all(b"secret\nsecret\n");
    child.wait().unwrap().success()
}
