//! Fuzz targets of the crate credentials. Claims are signed by a public key pair that every input may use, so that
//! the code behind the signature check is reached.

use bakeoff_layers_credentials::acl::{Acl, AclError};
use bakeoff_layers_credentials::bundle::DomainBundle;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::SecretKey;
use bakeoff_layers_credentials::name::{Domain, PrincipalName};
use bakeoff_layers_credentials::operation::Operations;
use bakeoff_layers_credentials::statement::{IdentityContent, StatusContent, Transfer};
use std::sync::LazyLock;

static KEY: LazyLock<SecretKey> = LazyLock::new(|| {
    let head =
        [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
    SecretKey::of_pkcs8(&[&head[..], &[7; 32]].concat()).expect("PKCS#8 of RFC 8410")
});

/// Chooses the parser by the first byte.
pub(super) fn try_any(data: &[u8]) {
    let Some((kind, data)) = data.split_first() else { return };
    match kind % 6 {
        0 => hello(data),
        1 => identity(data),
        2 => transfer(data),
        3 => status(data),
        4 => bundle(data),
        _ => acl(data),
    }
}

fn hello(data: &[u8]) {
    if let Ok(hello) = Hello::read(data) {
        assert_eq!(hello.write(), data);
    }
}

fn identity(claims: &[u8]) {
    let name: PrincipalName = "user:alice@home.example".parse().expect("a name");
    let statement = signed("bakeoff-identity/1", claims);
    if let Ok(identity) = IdentityContent::open(&statement, &name, &[KEY.public()]) {
        assert_eq!(identity.seal(&KEY), Ok(statement));
    }
}

fn transfer(claims: &[u8]) {
    let giver: PrincipalName = "user:alice@home.example".parse().expect("a name");
    let statement = signed("bakeoff-transfer/1", claims);
    if let Ok(transfer) = Transfer::open(&statement, &giver, KEY.public()) {
        let again = Transfer::give(&transfer.wish, &giver, &KEY, None, transfer.serial);
        assert!(transfer.parent.is_some() || again == Ok(statement), "{transfer:?}");
    }
}

fn status(claims: &[u8]) {
    let domain: Domain = "home.example".parse().expect("a domain");
    let statement = signed("bakeoff-status/2", claims);
    if let Ok(status) = StatusContent::open(&statement, &domain, &[KEY.public()]) {
        assert_eq!(status.seal(&KEY), Ok(statement));
    }
}

fn bundle(data: &[u8]) {
    match DomainBundle::read_unverified(data) {
        Ok(bundle) => {
            let text = bundle.text().expect("what was read can be written");
            let again = DomainBundle::read_unverified(text.as_bytes()).expect("what was written can be read");
            assert_eq!(again.text(), Ok(text));
        }
        Err(refusal) => assert!(!refusal.to_string().is_empty()),
    }
}

fn acl(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let acl = match Acl::of_text(text, "acl") {
        Ok(acl) => acl,
        Err(AclError(faults)) => {
            assert!(!faults.is_empty(), "nothing is wrong, and there is no list");
            for fault in faults {
                let last = text.matches('\n').count() + 1;
                assert!((1..=last).contains(&fault.line) && !fault.sentence.is_empty(), "{fault}");
            }
            return;
        }
    };
    for line in text.lines().filter(|line| !line.trim().starts_with(['#', '"'])) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [path, _, who, operations, ..] = words.as_slice() else { continue };
        let path: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
        let operations = Operations::of_words(operations).expect("a list without faults");
        assert!(operations.is_within(acl.decide(&[(*who).to_owned()], &path).operations), "{line}");
    }
}

/// A statement with these bytes for claims, after RFC 9052.
fn signed(label: &str, claims: &[u8]) -> Vec<u8> {
    let header = [0x43, 0xa1, 0x01, 0x27];
    let (label, claims) = (octets(label.as_bytes()), octets(claims));
    let message = [&[0x84, 0x6a][..], b"Signature1", &header, &label, &claims].concat();
    [&[0xd2, 0x84][..], &header, &[0xa0], &claims, &[0x58, 0x40], &KEY.sign(&message)].concat()
}

/// A string of bytes in CBOR.
fn octets(bytes: &[u8]) -> Vec<u8> {
    let [high, low] = u16::try_from(bytes.len()).unwrap_or(u16::MAX).to_be_bytes();
    let head = match (high, low) {
        (0, 0..24) => vec![0x40 | low],
        (0, _) => vec![0x58, low],
        _ => vec![0x59, high, low],
    };
    [head.as_slice(), bytes].concat()
}
