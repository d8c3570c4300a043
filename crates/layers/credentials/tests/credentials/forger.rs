//! Forger of statements and leafs that break the rules. Written after RFC 9052 and RFC 5280, without the code under
//! test and without its library for COSE.

use bakeoff_layers_credentials::key::SecretKey;
use ciborium::Value;

pub(crate) const IDENTITY: &str = "bakeoff-identity/1";
pub(crate) const TRANSFER: &str = "bakeoff-transfer/1";
pub(crate) const STATUS: &str = "bakeoff-status/2";
/// `{1: -8}`.
pub(crate) const HEADER: &[u8] = &[0xa1, 0x01, 0x27];

pub(crate) type Claims = Vec<(Value, Value)>;

/// Parts of a statement.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) header: Vec<u8>,
    pub(crate) unprotected: Value,
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl Parts {
    pub(crate) fn of(statement: &[u8]) -> Self {
        let Value::Tag(18, inner) = ciborium::from_reader(statement).unwrap() else {
            panic!("no COSE_Sign1")
        };
        let [header, unprotected, payload, signature]: [Value; 4] =
            inner.into_array().unwrap().try_into().unwrap();
        let [header, payload, signature] =
            [header, payload, signature].map(|part| part.into_bytes().unwrap());
        Self { header, unprotected, payload, signature }
    }

    /// Sig_structure, RFC 9052 section 4.4.
    pub(crate) fn to_be_signed(&self, label: &str) -> Vec<u8> {
        cbor(&Value::Array(vec![
            Value::Text("Signature1".to_owned()),
            Value::Bytes(self.header.clone()),
            Value::Bytes(label.as_bytes().to_vec()),
            Value::Bytes(self.payload.clone()),
        ]))
    }

    pub(crate) fn signed(mut self, label: &str, key: &SecretKey) -> Vec<u8> {
        self.signature = key.sign(&self.to_be_signed(label));
        self.statement()
    }

    pub(crate) fn statement(self) -> Vec<u8> {
        let parts = [Value::Bytes(self.header), self.unprotected, Value::Bytes(self.payload)];
        let parts = parts.into_iter().chain([Value::Bytes(self.signature)]).collect();
        cbor(&Value::Tag(18, Box::new(Value::Array(parts))))
    }
}

pub(crate) fn cbor(value: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    ciborium::into_writer(value, &mut bytes).unwrap();
    bytes
}

/// A statement with changed claims, signed again.
pub(crate) fn lie(
    statement: &[u8],
    label: &str,
    key: &SecretKey,
    change: impl FnOnce(&mut Claims),
) -> Vec<u8> {
    let mut parts = Parts::of(statement);
    let Value::Map(mut claims) = ciborium::from_reader(parts.payload.as_slice()).unwrap() else {
        panic!("no claims")
    };
    change(&mut claims);
    parts.payload = cbor(&Value::Map(claims));
    parts.signed(label, key)
}

/// Replaces one claim.
pub(crate) fn set(claims: &mut Claims, label: i64, value: impl Into<Value>) {
    claims.iter_mut().find(|(key, _)| *key == Value::from(label)).unwrap().1 = value.into();
}

/// A leaf with some bytes replaced by others of the same length, signed again.
pub(crate) fn leaf(der: &[u8], agent: &SecretKey, from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!((from.len(), &der[..2], &der[4..6]), (to.len(), &[0x30, 0x82][..], &[0x30, 0x82][..]));
    let end = 8 + usize::from(u16::from_be_bytes([der[6], der[7]]));
    let mut der = der.to_vec();
    let at = der[..end].windows(from.len()).rposition(|window| window == from).unwrap();
    der[at..at + to.len()].copy_from_slice(to);
    let signature = agent.sign(&der[4..end]);
    let start = der.len() - signature.len();
    der[start..].copy_from_slice(&signature);
    der
}
