//! Evidence for decisions in the audit log: the bytes that they rest on, each identified by its SHA-256.
//!
//! Measured side, cold: made once for a HELLO and once for a change of rules. Texts are kept as people wrote them, so
//! that `sha256sum` finds the file that an administrator has.

use crate::bundle::{Bundles, DomainBundle};
use crate::cbor;
use crate::hello::Hello;
use crate::leaf::{Leaf, domain_of};
use crate::name::{Domain, PrincipalName};
use crate::refusal::{CredentialRefusal, Piece};
use crate::revoked::{Item, Revoked};
use bakeoff_layers_base::hex::from_hex;
use ciborium::Value;
use rustls_pki_types::CertificateDer;

/// Longest HELLO with its leaf: a HELLO may be as long as a frame, and is then refused for it.
const MOST_SHOWN: usize = 2 << 20;

/// A piece of evidence.
#[derive(Clone, Copy, Debug)]
pub enum Evidence<'a> {
    /// Leaf and HELLO of a client.
    Shown {
        /// The leaf, in DER.
        leaf: &'a [u8],
        /// HELLO, unchanged.
        hello: &'a [u8],
    },
    /// The text of an access list.
    Acl(&'a str),
    /// A trust bundle.
    Bundle(&'a DomainBundle),
    /// The revocations in force.
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
            Self::Bundle(bundle) => bundle.text().unwrap_or_default().into_bytes(),
            Self::Revoked(revoked) => revoked.text().into_bytes(),
        }
    }
}

/// Leaf and HELLO of evidence; the verifier judges the HELLO.
pub(super) fn shown(bytes: &[u8]) -> Option<(Vec<u8>, Result<Hello, CredentialRefusal>)> {
    let value = cbor::read(bytes, MOST_SHOWN, &Piece::of("what was shown")).ok()?;
    let [leaf, hello]: [Value; 2] = value.into_array().ok()?.try_into().ok()?;
    Some((leaf.into_bytes().ok()?, Hello::read(&hello.into_bytes().ok()?)))
}

/// The name in a leaf, if an agent that is known here signed it: only then is a refusal logged by name, with its
/// evidence.
pub fn peer(leaf: &[u8], bundles: &Bundles, now_unix_s: u64) -> Option<PrincipalName> {
    let (der, of) = (CertificateDer::from(leaf), Piece::of("the leaf"));
    let bundle = bundles.get(&domain_of(&der, &of).ok()?)?;
    Leaf::read(&der, bundle, now_unix_s, &of).ok().map(|leaf| leaf.name)
}

impl Revoked {
    /// As sorted lines, such as `home.example transfer 0123...`.
    pub fn text(&self) -> String {
        let line = |(domain, item): (&Domain, &Item)| format!("{domain} {item}\n");
        let mut lines: Vec<String> = self.each().map(line).collect();
        lines.sort();
        lines.concat()
    }

    /// From such lines, in any order.
    pub fn of_text(text: &str) -> Option<Self> {
        let mut revoked = Self::default();
        for line in text.lines() {
            let [domain, kind, hex] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
            revoked.add(&domain.parse().ok()?, Item::of_parts(kind, from_hex(hex)?)?);
        }
        Some(revoked)
    }
}
