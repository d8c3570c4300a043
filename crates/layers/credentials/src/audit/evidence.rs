//! Evidence: what decisions stand on, as bytes, each known by its SHA-256.
//!
//! Measured side, cold: made once for a HELLO and once for a change of rules. Texts are those that people write, so
//! that `sha256sum` finds the file that an administrator has.

use crate::bundle::{Bundle, Draft};
use crate::cbor;
use crate::hello::Hello;
use crate::key::{Hash, Serial};
use crate::name::Domain;
use crate::refusal::{Piece, Refusal};
use crate::verify::{Item, Revoked};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ciborium::Value;

/// Longest HELLO with its leaf: HELLO as long as a frame may be, which is refused for it.
const MOST_SHOWN: usize = 2 << 20;

/// Something that decisions stand on.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// What somebody shows.
    Shown {
        /// The leaf, in DER.
        leaf: &'a [u8],
        /// HELLO, as it came.
        hello: &'a [u8],
    },
    /// The text of an access list.
    Acl(&'a str),
    /// A trust bundle.
    Bundle(&'a Bundle),
    /// All that was taken back.
    Revoked(&'a Revoked),
}

impl Evidence<'_> {
    /// Its bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Shown { leaf, hello } => {
                cbor::write(&Value::Array(vec![Value::Bytes(leaf.to_vec()), Value::Bytes(hello.to_vec())]))
            }
            Self::Acl(text) => text.as_bytes().to_vec(),
            Self::Bundle(bundle) => bundle_text(bundle).into_bytes(),
            Self::Revoked(revoked) => revoked_text(revoked).into_bytes(),
        }
    }
}

/// Leaf and HELLO of evidence; what is wrong with HELLO is the verifier's to say.
pub(super) fn shown(bytes: &[u8]) -> Option<(Vec<u8>, Result<Hello, Refusal>)> {
    let value = cbor::read(bytes, MOST_SHOWN, &Piece::of("what was shown")).ok()?;
    let [leaf, hello]: [Value; 2] = value.into_array().ok()?.try_into().ok()?;
    Some((leaf.into_bytes().ok()?, Hello::read(&hello.into_bytes().ok()?)))
}

/// A bundle as it is written: what was read has one spelling.
fn bundle_text(bundle: &Bundle) -> String {
    let roots: Vec<Vec<u8>> = bundle.roots().iter().map(|root| root.to_vec()).collect();
    let draft = Draft {
        domain: &bundle.domain,
        version: bundle.version,
        not_after_unix_s: bundle.not_after_unix_s,
        ca: &bundle.ca,
        roots: &roots,
        addresses: &bundle.addresses,
    };
    // What was read can be written.
    draft.text().unwrap_or_default()
}

/// A line for each: whose, `serial` or `key`, and which.
fn revoked_text(revoked: &Revoked) -> String {
    let line = |(domain, item): (&Domain, &Item)| match item {
        Item::Serial(serial) => format!("{domain} serial {}\n", URL_SAFE_NO_PAD.encode(serial.0)),
        Item::Key(thumbprint) => format!("{domain} key {}\n", URL_SAFE_NO_PAD.encode(thumbprint)),
    };
    let mut lines: Vec<String> = revoked.each().map(line).collect();
    lines.sort();
    lines.concat()
}

/// What was taken back, from the bytes of its evidence.
pub fn revoked(text: &[u8]) -> Option<Revoked> {
    let mut revoked = Revoked::default();
    for line in std::str::from_utf8(text).ok()?.lines() {
        let mut words = line.split(' ');
        let (domain, kind, value) = (words.next()?, words.next()?, words.next()?);
        let value = URL_SAFE_NO_PAD.decode(value).ok()?;
        let item = match kind {
            "serial" => Item::Serial(Serial(value.try_into().ok()?)),
            "key" => Item::Key(Hash::try_from(value).ok()?),
            _ => return None,
        };
        revoked.add(&domain.parse().ok()?, item);
    }
    Some(revoked)
}
