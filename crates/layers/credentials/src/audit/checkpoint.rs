//! Checkpoints of an audit log: its number of records and last link, signed by its server.
//!
//! Measured side, cold, pure. Written as signed notes (<https://c2sp.org/signed-note>, with the text of
//! <https://c2sp.org/tlog-checkpoint>), which others can read and countersign. The hash is our link, not the root of
//! a tree: a reader of the log always has all of it.

use super::chain::{ChainLink, LogEnd};
use crate::key::{PublicKey, SecretKey, hash};
use crate::name::PrincipalName;
use bakeoff_layers_base::hex::to_hex;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt;
use std::str::FromStr;

/// Start of a signature line.
const DASH: &str = "\u{2014} ";
/// Ed25519, by the algorithm numbers of notes.
const ED25519: u8 = 1;
/// Bytes that identify a key before a signature.
const ID_BYTES: usize = 4;
/// Limit on the keys that a server had one after the other.
const MOST_KEYS: usize = 1000;

/// A checkpoint with a verified signature, or one that is yet to be signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint(pub LogEnd);

/// Reasons for refusing a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCheckpoint {
    /// Malformed.
    #[error(
        "not a checkpoint: three lines, an empty one, and lines of signatures; take the file that the server wrote"
    )]
    Malformed,
    /// It belongs to another log.
    #[error("a checkpoint of the log {}, not of this one; take one that this server wrote", .0.escape_debug())]
    OtherLog(String),
    /// It is signed by none of the server's keys.
    #[error(
        "signed by none of the keys that this log names; it is another server's, or somebody made the log anew with a key of his own"
    )]
    OtherKey,
    /// It is signed by one of them, but over other bytes.
    #[error("its signature is not right; it was changed")]
    BadSignature,
}

/// Owner of a log, and the keys that verify its checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointKeys {
    /// The server.
    pub server: PrincipalName,
    /// Its keys, in the order of their use.
    pub keys: Vec<PublicKey>,
}

/// The text does not list the keys of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the keys of a log: a line for each, as <https://c2sp.org/signed-note> writes verifier keys, all of one server"
)]
pub struct NoKeys;

impl Checkpoint {
    /// Writes a note signed by the server.
    pub fn sign(&self, server: &PrincipalName, key: &SecretKey) -> String {
        let origin = origin(server);
        let text = format!("{origin}\n{}\n{}\n", self.0.size, STANDARD.encode(self.0.link));
        let signature = [id(&origin, &key.public()).as_slice(), &key.sign(text.as_bytes())].concat();
        format!("{text}\n{DASH}{origin} {}\n", STANDARD.encode(signature))
    }

    /// Reads a note, which one of the keys must have signed.
    ///
    /// # Errors
    /// It is another server's, or was changed.
    pub fn open(note: &str, keys: &CheckpointKeys) -> Result<Self, NoCheckpoint> {
        let origin = origin(&keys.server);
        let (text, signatures) = note.rsplit_once("\n\n").ok_or(NoCheckpoint::Malformed)?;
        let named = text.lines().next().unwrap_or_default();
        if named != origin {
            return Err(NoCheckpoint::OtherLog(named.to_owned()));
        }
        signed(&format!("{text}\n"), signatures, &origin, &keys.keys)?;
        Self::peek(note)
    }

    /// Reads a note without checking its signature: for one that was verified when it came.
    ///
    /// # Errors
    /// It is malformed.
    pub fn peek(note: &str) -> Result<Self, NoCheckpoint> {
        let (text, _) = note.rsplit_once("\n\n").ok_or(NoCheckpoint::Malformed)?;
        let lines: Vec<&str> = text.lines().collect();
        let [_, size, link] = lines.as_slice() else { return Err(NoCheckpoint::Malformed) };
        let link = STANDARD.decode(link).ok().and_then(|link| ChainLink::try_from(link).ok());
        let size = size.parse().ok().filter(|number: &u64| number.to_string() == *size);
        let chain = size.zip(link).map(|(size, link)| LogEnd { size, link });
        chain.map(Self).ok_or(NoCheckpoint::Malformed)
    }
}

/// Looks for a valid signature line of a known key; an invalid one of a known key refuses the note, and other keys'
/// do not count.
fn signed(text: &str, signatures: &str, origin: &str, keys: &[PublicKey]) -> Result<(), NoCheckpoint> {
    let mut found = false;
    for line in signatures.lines() {
        let (name, blob) =
            line.strip_prefix(DASH).and_then(|line| line.split_once(' ')).ok_or(NoCheckpoint::Malformed)?;
        let blob = STANDARD.decode(blob).map_err(|_| NoCheckpoint::Malformed)?;
        let (of, signature) = blob.split_at_checked(ID_BYTES).ok_or(NoCheckpoint::Malformed)?;
        if let Some(key) = keys.iter().find(|key| name == origin && id(origin, key) == of) {
            if !key.signed(text.as_bytes(), signature) {
                return Err(NoCheckpoint::BadSignature);
            }
            found = true;
        }
    }
    if found { Ok(()) } else { Err(NoCheckpoint::OtherKey) }
}

/// Origin of a log: the server's name as a path, without blanks and plus signs.
pub(super) fn origin(server: &PrincipalName) -> String {
    format!("{}/{}/{}/audit", server.domain(), server.kind().name(), server.local())
}

fn id(origin: &str, key: &PublicKey) -> [u8; ID_BYTES] {
    let named = [origin.as_bytes(), b"\n", &[ED25519], key.bytes()].concat();
    let [a, b, c, d, ..] = hash(&named);
    [a, b, c, d]
}

impl CheckpointKeys {
    /// The empty log of this server.
    pub fn start(&self) -> LogEnd {
        LogEnd::start(&origin(&self.server))
    }

    fn line(text: &str) -> Option<(PrincipalName, PublicKey)> {
        // The last part may contain a plus sign.
        let (origin, rest) = text.split_once('+')?;
        let (hex, key) = rest.split_once('+')?;
        let name = PrincipalName::of_uri(&format!("spiffe://{}", origin.strip_suffix("/audit")?))?;
        let key = STANDARD.decode(key).ok()?;
        let key = PublicKey::new(key.strip_prefix(&[ED25519])?.try_into().ok()?);
        (hex == to_hex(&id(origin, &key))).then_some((name, key))
    }
}

impl FromStr for CheckpointKeys {
    type Err = NoKeys;

    fn from_str(text: &str) -> Result<Self, NoKeys> {
        let lines: Option<Vec<(PrincipalName, PublicKey)>> =
            text.lines().take(MOST_KEYS).map(Self::line).collect();
        let lines = lines.ok_or(NoKeys)?;
        let (server, _) = lines.first().ok_or(NoKeys)?;
        if lines.iter().any(|(name, _)| name != server) {
            return Err(NoKeys);
        }
        Ok(Self { server: server.clone(), keys: lines.iter().map(|(_, key)| *key).collect() })
    }
}

impl fmt::Display for CheckpointKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = origin(&self.server);
        self.keys.iter().try_for_each(|key| {
            let typed = [[ED25519].as_slice(), key.bytes()].concat();
            writeln!(f, "{origin}+{}+{}", to_hex(&id(&origin, key)), STANDARD.encode(typed))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_of(base64: &str) -> PublicKey {
        PublicKey::new(STANDARD.decode(base64).unwrap()[1..].try_into().unwrap())
    }

    #[test]
    fn a_note_is_read_as_others_write_it() {
        // The example of golang.org/x/mod/sumdb/note.
        let (name, key) = ("PeterNeumann", key_of("ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"));
        assert_eq!(to_hex(&id(name, &key)), "c74f20a3");
        let text = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
        let line = "\u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
        assert_eq!(signed(text, line, name, &[key]), Ok(()));
        assert_eq!(signed("Other.\n", line, name, &[key]), Err(NoCheckpoint::BadSignature));
        assert_eq!(signed(text, line, "Other", &[key]), Err(NoCheckpoint::OtherKey));
        // The example of c2sp.org/signed-note.
        let key = key_of("AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k");
        assert_eq!(to_hex(&id("example.com/foo", &key)), "530d903a");
        let line = "\u{2014} example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
        assert_eq!(signed("This is an example message.\n", line, "example.com/foo", &[key]), Ok(()));
    }

    #[test]
    fn a_checkpoint_is_of_one_log_one_key_and_these_bytes() {
        let (own, other) = (SecretKey::generate().unwrap(), SecretKey::generate().unwrap());
        let server: PrincipalName = "node:files@site.example".parse().unwrap();
        let keys = CheckpointKeys { server: server.clone(), keys: vec![other.public(), own.public()] };
        assert_eq!(keys.to_string().parse(), Ok(keys.clone()));
        let made = Checkpoint(LogEnd { size: 17, link: [7; 32] });
        let note = made.sign(&server, &own);
        assert!(note.starts_with("site.example/node/files/audit\n17\nBwcHBwcHB"), "{note}");
        assert_eq!(Checkpoint::open(&note, &keys), Ok(made.clone()));
        let witnessed = format!("{note}{DASH}witness.example {}\n", STANDARD.encode([1; 72]));
        assert_eq!(Checkpoint::open(&witnessed, &keys), Ok(made.clone()));

        let refused = |note: &str, keys: &CheckpointKeys| Checkpoint::open(note, keys).unwrap_err();
        assert_eq!(refused(&note.replace("\n17\n", "\n16\n"), &keys), NoCheckpoint::BadSignature);
        assert_eq!(
            refused(&note, &CheckpointKeys { keys: vec![other.public()], ..keys.clone() }),
            NoCheckpoint::OtherKey
        );
        let elsewhere = made.sign(&"node:mail@site.example".parse().unwrap(), &own);
        assert_eq!(
            refused(&elsewhere, &keys),
            NoCheckpoint::OtherLog("site.example/node/mail/audit".to_owned())
        );
        for bad in [
            "",
            "\n\n",
            &note.replace('\u{2014}', "-"),
            &note.replace("\n17\n", "\n17\nmore\n"),
            &note[..note.len() / 2],
        ] {
            assert!(Checkpoint::open(bad, &keys).is_err(), "{bad:?}");
        }
        for bad in ["", "x", "site.example/node/files/audit+00000000+AQ=="] {
            assert_eq!(bad.parse::<CheckpointKeys>(), Err(NoKeys), "{bad:?}");
        }
    }
}
