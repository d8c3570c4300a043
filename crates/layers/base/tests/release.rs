//! Key release: required behaviour of a sealed key, whatever it is sealed under.

#![allow(clippy::unwrap_used)] // a test that cannot set up has failed

use bakeoff_layers_base::name::EscapedName;
use bakeoff_layers_base::release::{
    AdminKey, Counter, ExpectedManifest, MeasuredState, ReleasePolicy, ReleaseRefusal, SealedFile, Secret,
    StoreKey, StoreLock, make_key_file,
};
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const ADMIN: AdminKey = [1; 32];
const OTHER_ADMIN: AdminKey = [2; 32];

const VAULT: &str = "site.vault";

/// Bound to the manifest of `/srv` that the admin signed, from version 5 on.
fn policy() -> ReleasePolicy {
    let (name, root) = (EscapedName::of("system"), EscapedName::of("/srv"));
    let wanted = ExpectedManifest { admin: ADMIN, name, root, least_version: 5 };
    ReleasePolicy { vault: EscapedName::of(VAULT), manifest: Some(wanted) }
}

fn of(name: &str, root: &str, admin: AdminKey, version: u64, wrong: &[&str]) -> MeasuredState {
    let wrong = wrong.iter().map(|path| (*path).to_owned()).collect();
    MeasuredState::Measured {
        admin,
        name: EscapedName::of(name),
        root: EscapedName::of(root),
        version,
        wrong,
    }
}

fn measured(admin: AdminKey, version: u64, wrong: &[&str]) -> MeasuredState {
    of("system", "/srv", admin, version, wrong)
}

/// Asks for the right vault's key.
fn release(mut place: SealedFile, state: &MeasuredState) -> Result<StoreKey, ReleaseRefusal> {
    place.release(&EscapedName::of(VAULT), state)
}

fn label(result: Result<StoreKey, ReleaseRefusal>) -> String {
    result.map_or_else(|refusal| variant(&refusal), |_| "released".to_owned())
}

/// The name of a refusal's variant, in small letters: `rolled-back`.
fn variant(refusal: &ReleaseRefusal) -> String {
    let name = format!("{refusal:?}");
    let mut words = String::new();
    for letter in name.chars().take_while(char::is_ascii_alphanumeric) {
        words.push_str(if letter.is_ascii_uppercase() && !words.is_empty() { "-" } else { "" });
        words.push(letter.to_ascii_lowercase());
    }
    words
}

fn contract(place: &InFile) {
    let key = StoreKey::generate().unwrap();
    let good = measured(ADMIN, 7, &[]);
    place.open().keep(&key, policy()).unwrap();

    // The right state gets the key, after a restart, too.
    for _ in 0..2 {
        assert_eq!(release(place.open(), &good).unwrap().bytes(), key.bytes());
    }
    // Anything else does not, each for its own reason.
    assert_eq!(label(release(place.open_wrongly(), &good)), "wrong-secret");
    assert_eq!(label(release(place.open(), &MeasuredState::Unmeasured)), "unmeasured");
    assert_eq!(label(release(place.open(), &measured(OTHER_ADMIN, 7, &[]))), "wrong-admin");
    assert_eq!(label(release(place.open(), &measured(ADMIN, 7, &["bin/x"]))), "long-lived-changed");
    // Version 7 was used, so 6 is a rollback although the policy would take 5; 4 never was good.
    assert_eq!(label(release(place.open(), &measured(ADMIN, 6, &[]))), "rolled-back");
    assert_eq!(label(release(place.open(), &measured(ADMIN, 4, &[]))), "rolled-back");
    // A refusal raises nothing.
    assert_eq!(label(release(place.open(), &measured(OTHER_ADMIN, 99, &[]))), "wrong-admin");
    assert_eq!(label(release(place.open(), &measured(ADMIN, 99, &["bin/x"]))), "long-lived-changed");
    assert_eq!(place.open().newest(Counter::Manifest).unwrap(), 7);
    assert_eq!(label(release(place.open(), &measured(ADMIN, 8, &[]))), "released");
    assert_eq!(label(release(place.open(), &good)), "rolled-back");

    nothing_else_is_taken_for_it(place);
    counters_only_rise(place);
    locks_hold(place, &measured(ADMIN, 8, &[]));

    // A key that is kept anew, for a policy without an admin, needs the secret alone.
    let next = StoreKey::generate().unwrap();
    place.open().keep(&next, ReleasePolicy { vault: EscapedName::of(VAULT), manifest: None }).unwrap();
    // A manifest would protect nothing, and its giver would believe that it does.
    assert_eq!(label(release(place.open(), &good)), "not-bound");
    assert_eq!(release(place.open(), &MeasuredState::Unmeasured).unwrap().bytes(), next.bytes());
    assert_eq!(label(release(place.open_wrongly(), &MeasuredState::Unmeasured)), "wrong-secret");
}

/// Neither another vault, nor another manifest of the same admin, nor the same manifest of another directory is
/// accepted; and none of them turns the honest one into an old one.
fn nothing_else_is_taken_for_it(place: &InFile) {
    let good = measured(ADMIN, 8, &[]);
    let other = place.open().release(&EscapedName::of("other.vault"), &good);
    assert_eq!(label(other), "wrong-vault");
    let another = of("other", "/srv", ADMIN, u64::MAX, &[]);
    assert_eq!(label(release(place.open(), &another)), "wrong-manifest");
    let elsewhere = of("system", "/tmp/srv", ADMIN, u64::MAX, &[]);
    assert_eq!(label(release(place.open(), &elsewhere)), "wrong-root");
    assert_eq!(label(release(place.open(), &good)), "released");
}

fn counters_only_rise(place: &InFile) {
    place.open().advance(Counter::Vault, 3).unwrap();
    place.open().advance(Counter::Vault, 3).unwrap();
    let lower = place.open().advance(Counter::Vault, 2).unwrap_err();
    assert_eq!(variant(&lower), "rolled-back");
    assert_eq!(place.open().newest(Counter::Vault).unwrap(), 3);
    assert_eq!(place.open().newest(Counter::Manifest).unwrap(), 8);
}

fn locks_hold(place: &InFile, good: &MeasuredState) {
    StoreLock::of(&place.path()).unwrap().lock("a file was changed").unwrap();
    let refused = release(place.open(), good).unwrap_err();
    assert_eq!(variant(&refused), "locked");
    assert!(refused.to_string().contains("a file was changed"), "{refused}");
    assert_eq!(variant(&place.open_wrongly().unlock(Some(&ADMIN)).unwrap_err()), "wrong-secret");
    // Who has the secret alone can mount, and not undo a lock.
    for other in [None, Some(&[7; 32])] {
        assert_eq!(variant(&place.open().unlock(other).unwrap_err()), "not-the-admin");
    }
    assert_eq!(label(release(place.open(), good)), "locked");
    place.open().unlock(Some(&ADMIN)).unwrap();
    assert_eq!(label(release(place.open(), good)), "released");
}

/// A sealed key in a file.
struct InFile {
    folder: TempDir,
    by_passphrase: bool,
}

impl InFile {
    fn new(by_passphrase: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        make_key_file(&folder.path().join("right")).unwrap();
        make_key_file(&folder.path().join("wrong")).unwrap();
        Self { folder, by_passphrase }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("site.vault.key")
    }

    fn with(&self, word: &str) -> SealedFile {
        let secret = match self.by_passphrase {
            true => Secret::passphrase(format!("{word} horse\n").into_bytes()).unwrap(),
            false => Secret::key_file(&self.folder.path().join(word)).unwrap(),
        };
        SealedFile::new(&self.path(), secret)
    }

    /// Opens it as after a restart of the machine.
    fn open(&self) -> SealedFile {
        self.with("right")
    }

    /// Opens it with a secret of the same kind that is not the right one.
    fn open_wrongly(&self) -> SealedFile {
        self.with("wrong")
    }
}

#[test]
fn a_file_under_a_key_file_keeps_the_contract() {
    contract(&InFile::new(false));
}

#[test]
fn a_file_under_a_passphrase_keeps_the_contract() {
    contract(&InFile::new(true));
}

fn kept() -> InFile {
    let place = InFile::new(false);
    place.open().keep(&StoreKey::from_bytes(&[9; 32]).unwrap(), policy()).unwrap();
    place
}

#[test]
fn every_changed_character_of_the_sealed_key_is_refused() {
    let place = kept();
    let text = fs::read(place.path()).unwrap();
    for at in 0..text.len() {
        let mut other = text.clone();
        other[at] = if other[at] == b'0' { b'1' } else { b'0' };
        fs::write(place.path(), &other).unwrap();
        let result = release(place.open(), &measured(ADMIN, 7, &[]));
        assert!(["damaged", "wrong-secret", "altered"].contains(&label(result).as_str()), "character {at}");
    }
    for end in 0..text.len() {
        fs::write(place.path(), &text[..end]).unwrap();
        assert_eq!(label(release(place.open(), &measured(ADMIN, 7, &[]))), "damaged", "{end}");
    }
}

#[test]
fn a_policy_cannot_be_written_out_of_the_file() {
    let place = kept();
    let text = fs::read_to_string(place.path()).unwrap();
    let without = |words: &[&str]| -> String {
        let kept = text.lines().filter(|line| !words.iter().any(|word| line.starts_with(word)));
        kept.map(|line| format!("{line}\n")).collect()
    };
    let open = without(&["manifest ", "root ", "version "]).replace(&line(&text, "admin "), "admin none");
    fs::write(place.path(), open).unwrap();
    assert_eq!(label(release(place.open(), &MeasuredState::Unmeasured)), "altered");
    for (word, other, state) in [
        ("manifest ", "manifest other", of("other", "/srv", ADMIN, 7, &[])),
        ("root ", "root /tmp", of("system", "/tmp", ADMIN, 7, &[])),
        ("version ", "version 1", measured(ADMIN, 7, &[])),
    ] {
        fs::write(place.path(), text.replace(&line(&text, word), other)).unwrap();
        assert_eq!(label(release(place.open(), &state)), "altered", "{word}");
    }
    fs::write(place.path(), text.replace("vault site.vault", "vault other.vault")).unwrap();
    let other = place.open().release(&EscapedName::of("other.vault"), &measured(ADMIN, 7, &[]));
    assert_eq!(label(other), "altered");
}

fn line(text: &str, word: &str) -> String {
    text.lines().find(|line| line.starts_with(word)).unwrap().to_owned()
}

#[test]
fn a_key_of_before_is_refused_and_says_what_to_do() {
    let place = kept();
    let text = fs::read_to_string(place.path()).unwrap();
    fs::write(place.path(), text.replace("bakeoff sealed key 2", "bakeoff sealed key 1")).unwrap();
    let refused = release(place.open(), &measured(ADMIN, 7, &[])).unwrap_err();
    assert_eq!(variant(&refused), "old-format");
    assert!(refused.to_string().contains("seal the tree again"), "{refused}");
}

#[test]
fn a_lost_key_and_a_lost_memory_are_a_sentence_each() {
    let place = kept();
    let memory = PathBuf::from(format!("{}.memory", place.path().display()));
    fs::remove_file(&memory).unwrap();
    let good = measured(ADMIN, 7, &[]);
    let refused = release(place.open(), &good).unwrap_err();
    assert_eq!(variant(&refused), "memory-lost");
    assert!(refused.to_string().contains("store unlock"), "{refused}");
    assert_eq!(variant(&place.open().unlock(None).unwrap_err()), "not-the-admin");
    place.open().unlock(Some(&ADMIN)).unwrap();
    assert_eq!(label(release(place.open(), &good)), "released");
    fs::remove_file(place.path()).unwrap();
    let refused = release(place.open(), &good).unwrap_err();
    assert_eq!(variant(&refused), "key-lost");
    assert!(refused.to_string().contains("nobody can read the vault"), "{refused}");
}

#[test]
fn the_memory_cannot_be_set_back_without_the_secret() {
    let place = kept();
    release(place.open(), &measured(ADMIN, 7, &[])).unwrap();
    let memory = PathBuf::from(format!("{}.memory", place.path().display()));
    let text = fs::read_to_string(&memory).unwrap().replace("manifest 7", "manifest 6");
    fs::write(&memory, text).unwrap();
    assert_eq!(label(release(place.open(), &measured(ADMIN, 6, &[]))), "altered");
}

#[test]
fn key_files_that_others_can_read_and_that_are_none_are_refused() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    let refused = |path: &Path| variant(&Secret::key_file(path).unwrap_err());
    make_key_file(&path).unwrap();
    Secret::key_file(&path).unwrap();
    assert_eq!(variant(&make_key_file(&path).unwrap_err()), "io", "a key is never overwritten");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    assert_eq!(refused(&path), "open-key-file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(&path, "abc\n").unwrap();
    assert_eq!(refused(&path), "no-key-file");
    assert_eq!(refused(&folder.path().join("none")), "missing-key-file");
}
