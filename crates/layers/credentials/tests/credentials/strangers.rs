//! Foreign implementations as judges: openssl reads leafs and signatures, pycose reads statements.

use crate::forger::{IDENTITY, Parts, STATUS, TRANSFER};
use crate::world::{House, MINUTE, NOW, World, scope};
use bakeoff_layers_credentials::key::PublicKey;
use bakeoff_layers_credentials::statement::{StatusContent, Transfer};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Whether a program runs as asked; otherwise prints the reason.
fn has(test: &str, program: &Path, words: &[&str], reason: &str) -> bool {
    let there = Command::new(program).args(words).output().is_ok_and(|output| output.status.success());
    if !there {
        assert!(std::env::var_os("BAKEOFF_ALLOW_SKIPS").is_some(), "{test}: {reason}");
        println!("SKIP {test}: {reason}");
    }
    there
}

fn has_openssl(test: &str) -> bool {
    has(test, "openssl".as_ref(), &["version"], "`openssl` is not installed (tests/prepare installs it)")
}

fn pem(what: &str, der: &[u8]) -> String {
    let text = STANDARD.encode(der);
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| str::from_utf8(line).unwrap()).collect();
    format!("-----BEGIN {what}-----\n{}\n-----END {what}-----\n", lines.join("\n"))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A temporary directory for the files of openssl.
struct Yard(tempfile::TempDir);

impl Yard {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    /// Whether openssl succeeds, and its output.
    fn openssl(&self, words: &[&str]) -> (bool, String) {
        let output = Command::new("openssl").args(words).current_dir(self.0.path()).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&said).into_owned())
    }
}

#[test]
fn openssl_takes_a_leaf_for_its_time_under_its_own_agent_alone() {
    if !has_openssl("openssl_takes_a_leaf_for_its_time_under_its_own_agent_alone") {
        return;
    }
    let (world, yard) = (World::new(), Yard::new());
    let leaf = world.home.leaf(&world.alice, &["group:staff@home.example", "group:ops@home.example"]);
    yard.write("leaf.pem", pem("CERTIFICATE", &leaf));
    yard.write("root.pem", pem("CERTIFICATE", &world.home.root));
    yard.write("stranger.pem", pem("CERTIFICATE", &House::new("home.example").root));
    let verify = |root: &str, purpose: &str, now: u64| {
        let now = now.to_string();
        let words =
            ["verify", "-x509_strict", "-purpose", purpose, "-attime", &now, "-CAfile", root, "leaf.pem"];
        yard.openssl(&words)
    };
    for purpose in ["sslclient", "sslserver"] {
        let (good, said) = verify("root.pem", purpose, NOW);
        assert!(good, "{said}");
    }
    let (good, said) = verify("root.pem", "sslclient", NOW + 16 * MINUTE);
    assert!(!good && said.contains("certificate has expired"), "{said}");
    let (good, said) = verify("stranger.pem", "sslclient", NOW);
    assert!(!good, "{said}");
    let (_, said) = yard.openssl(&["x509", "-in", "leaf.pem", "-noout", "-text"]);
    for shown in [
        "2.25.247781882573744415002592301549252040371",
        "URI:spiffe://home.example/user/alice, URI:spiffe://home.example/group/staff, URI:spiffe://home.example/group/ops",
        "Subject: CN = alice",
        "CA:FALSE",
    ] {
        assert!(said.contains(shown), "{shown} is not in\n{said}");
    }
}

/// A statement of each kind, with its label and the key that signed it.
fn statements(world: &World) -> [(&'static str, Vec<u8>, PublicKey); 3] {
    let link = world.alice.gives(&world.bob, None, |wish| {
        wish.grants = vec![scope("/", "list"), scope("/p/q", "read,write")];
    });
    let (_, status) = world.home.status(&[link.hash], |_| {});
    [
        (IDENTITY, world.alice.statement.clone(), world.home.ca.public()),
        (TRANSFER, link.statement, world.alice.key.public()),
        (STATUS, status, world.home.agent.public()),
    ]
}

#[test]
fn openssl_finds_that_each_statement_was_signed_as_its_kind_by_its_key() {
    if !has_openssl("openssl_finds_that_each_statement_was_signed_as_its_kind_by_its_key") {
        return;
    }
    let (world, yard) = (World::new(), Yard::new());
    // SubjectPublicKeyInfo of an Ed25519 key, RFC 8410.
    let head = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
    for (label, statement, key) in statements(&world) {
        let parts = Parts::of(&statement);
        yard.write("key.pem", pem("PUBLIC KEY", &[&head[..], key.bytes()].concat()));
        yard.write("signature", &parts.signature);
        for (as_label, expected) in [(label, true), ("bakeoff-other/1", false)] {
            yard.write("message", parts.to_be_signed(as_label));
            let (good, said) = yard.openssl(&[
                "pkeyutl",
                "-verify",
                "-pubin",
                "-inkey",
                "key.pem",
                "-rawin",
                "-in",
                "message",
                "-sigfile",
                "signature",
            ]);
            assert_eq!(good, expected, "{label} as {as_label}: {said}");
        }
    }
}

/// Parsed and verified by another implementation of COSE, and its claims read by another of CBOR.
#[test]
fn pycose_reads_what_each_statement_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let python = root.join("../../../target/python/bin/python");
    let reason = "there is no pycose in target/python (tests/prepare puts it there)";
    if !has("pycose_reads_what_each_statement_says", &python, &["-c", "import pycose"], reason) {
        return;
    }
    let (world, yard) = (World::new(), Yard::new());
    let cose_key = |key: PublicKey| format!("{{1: {{1: 1, -1: 6, -2: '{}'}}}}", hex(key.bytes()));
    let (alice, hour) = (&world.alice, 60 * MINUTE);
    for (label, statement, key) in statements(&world) {
        let expected = match label {
            IDENTITY => format!(
                "1: 'home.example'\n2: 'user:alice@home.example'\n4: {}\n5: {}\n7: '{}'\n8: {}\n",
                alice.identity.until_unix_s,
                alice.identity.from_unix_s,
                alice.identity.serial,
                cose_key(alice.key.public()),
            ),
            TRANSFER => format!(
                "1: 'user:alice@home.example'\n2: 'user:bob@home.example'\n3: ['*.home.example']\n4: {}\n5: {}\n7: '{}'\n8: {}\n\
                 -70001: [[[], 2, None], [['p', 'q'], 5, None]]\n-70002: 8\n-70003: None\n-70004: '{}'\n",
                NOW + hour,
                NOW - MINUTE,
                Transfer::open(&statement, &alice.name, key).unwrap().serial,
                cose_key(world.bob.key.public()),
                hex(&alice.key.public().thumbprint()),
            ),
            _ => format!(
                "1: 'home.example'\n4: {}\n6: {NOW}\n-70010: ['{}']\n-70011: 7\n",
                NOW + 30 * MINUTE,
                StatusContent::open(&statement, &world.home.domain, &[key])
                    .unwrap()
                    .good
                    .first()
                    .map(|hash| hex(hash))
                    .unwrap(),
            ),
        };
        let path = yard.write("statement", &statement);
        let said = |label: &str| {
            let script = root.join("tests/credentials/cose.py");
            Command::new(&python).arg(script).args([label, &hex(key.bytes())]).arg(&path).output().unwrap()
        };
        let output = said(label);
        assert!(output.status.success(), "{label}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected);
        assert!(!said("bakeoff-other/1").status.success(), "{label}: pycose takes it for another kind");
    }
}
