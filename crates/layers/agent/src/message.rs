//! Messages between an agent and its clients: questions and answers in deterministic CBOR.
//!
//! Measured side, both processes, pure, fed by strangers. A message is an array whose first item is its number. Only
//! the encoding that [`AgentRequest::write`] or [`AgentReply::write`] would produce is accepted.

use crate::refusal::No;
use bakeoff_layers_credentials::Item;
use bakeoff_layers_credentials::cbor::write;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::key::Hash;
use bakeoff_layers_credentials::name::PrincipalName;
use ciborium::Value;

/// Longest message.
pub const MOST_BYTES: usize = 64 * 1024;
/// Deepest nesting: an item within the list of an answer.
const DEPTH: usize = 4;

/// Question to an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentRequest {
    /// Asks for a leaf for the key of the last of these identities; those of a role's owners come before.
    Login {
        /// The identities; the rest is empty.
        shown: Hello,
        /// Requested lifetime.
        seconds: u64,
    },
    /// Asks for a status of those links of this chain that the agent's domain gave.
    Endorse(Hello),
    /// Asks to revoke something.
    Revoke {
        /// The asker's identities, as for a leaf; none by the agent's own key.
        shown: Hello,
        /// The object.
        what: RevocationTarget,
    },
    /// Subscribes to the domain's revocations, from now on.
    Subscribe,
    /// Asks to keep the last checkpoint of the audit log of the server with the key of the last of these identities.
    Keep {
        /// The identities, as for a leaf.
        shown: Hello,
        /// The checkpoint, as a signed note.
        note: String,
    },
    /// Asks for the kept checkpoint of a server. Anybody may ask: it is made to be shown.
    Kept(PrincipalName),
}

/// Object of a revocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RevocationTarget {
    /// A statement or a key.
    Item(Item),
    /// A transfer that may not have been endorsed yet.
    Transfer(Vec<u8>),
    /// All keys that logged in under a name.
    Name(PrincipalName),
}

/// Answer of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentReply {
    /// A leaf, in DER.
    Leaf(Vec<u8>),
    /// A status.
    Status(Vec<u8>),
    /// Revoked; with the number of revocations ever made.
    Done(u64),
    /// Number of revocations ever made, and some of the items that matter; the last page says so.
    Epoch {
        /// The number.
        epoch: u64,
        /// The items.
        items: Vec<Item>,
        /// Whether there are no more.
        last: bool,
    },
    /// The agent is alive: number of revocations ever made, and its clock in seconds since 1970.
    Alive(u64, u64),
    /// Refused: the name of the reason, and a sentence.
    No(String, String),
    /// The kept checkpoint; empty if there is none.
    Kept(String),
}

impl AgentRequest {
    /// Reads a question.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn read(bytes: &[u8]) -> Result<Self, No> {
        let (kind, rest) = parts(bytes)?;
        let question = match (kind, rest.as_slice()) {
            (1, [Value::Bytes(shown), seconds]) => {
                Self::Login { shown: Hello::read(shown)?, seconds: uint(seconds).ok_or(No::Malformed)? }
            }
            (2, [Value::Bytes(shown)]) => Self::Endorse(Hello::read(shown)?),
            (3, [Value::Bytes(shown), kind, what]) => {
                let what = RevocationTarget::of(kind, what).ok_or(No::Malformed)?;
                Self::Revoke { shown: Hello::read(shown)?, what }
            }
            (4, []) => Self::Subscribe,
            (5, [Value::Bytes(shown), Value::Text(note)]) => {
                Self::Keep { shown: Hello::read(shown)?, note: note.clone() }
            }
            (6, [Value::Text(name)]) => Self::Kept(name.parse().map_err(|_| No::Malformed)?),
            (1..=6, _) => return Err(No::Malformed),
            _ => return Err(No::UnknownQuestion),
        };
        Ok(question)
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        let items = match self {
            Self::Login { shown, seconds } => vec![1.into(), Value::Bytes(shown.write()), (*seconds).into()],
            Self::Endorse(shown) => vec![2.into(), Value::Bytes(shown.write())],
            Self::Revoke { shown, what } => {
                [vec![3.into(), Value::Bytes(shown.write())], what.items()].concat()
            }
            Self::Subscribe => vec![4.into()],
            Self::Keep { shown, note } => {
                vec![5.into(), Value::Bytes(shown.write()), Value::Text(note.clone())]
            }
            Self::Kept(name) => vec![6.into(), Value::Text(name.to_string())],
        };
        write(&Value::Array(items))
    }
}

impl RevocationTarget {
    fn of(kind: &Value, what: &Value) -> Option<Self> {
        match uint(kind)? {
            3 => Some(Self::Transfer(what.as_bytes()?.clone())),
            4 => what.as_text()?.parse().ok().map(Self::Name),
            _ => item(kind, what).map(Self::Item),
        }
    }

    fn items(&self) -> Vec<Value> {
        match self {
            Self::Item(item) => pair(item),
            Self::Transfer(bytes) => vec![3.into(), Value::Bytes(bytes.clone())],
            Self::Name(name) => vec![4.into(), Value::Text(name.to_string())],
        }
    }
}

impl AgentReply {
    /// Reads an answer.
    ///
    /// # Errors
    /// The bytes are malformed.
    pub fn read(bytes: &[u8]) -> Result<Self, No> {
        let (kind, rest) = parts(bytes)?;
        let answer = match (kind, rest.as_slice()) {
            (1, [Value::Bytes(leaf)]) => Some(Self::Leaf(leaf.clone())),
            (2, [Value::Bytes(status)]) => Some(Self::Status(status.clone())),
            (3, [epoch]) => uint(epoch).map(Self::Done),
            (4, [epoch, Value::Array(pairs), Value::Bool(last)]) => {
                let one = |value: &Value| match value.as_array()?.as_slice() {
                    [kind, what] => item(kind, what),
                    _ => None,
                };
                let items: Option<Vec<Item>> = pairs.iter().map(one).collect();
                uint(epoch).zip(items).map(|(epoch, items)| Self::Epoch { epoch, items, last: *last })
            }
            (5, [epoch, now]) => uint(epoch).zip(uint(now)).map(|(epoch, now)| Self::Alive(epoch, now)),
            (6, [Value::Text(name), Value::Text(sentence)]) => Some(Self::No(name.clone(), sentence.clone())),
            (7, [Value::Text(note)]) => Some(Self::Kept(note.clone())),
            _ => None,
        };
        answer.ok_or(No::Malformed)
    }

    /// Its bytes.
    pub fn write(&self) -> Vec<u8> {
        let items = match self {
            Self::Leaf(leaf) => vec![1.into(), Value::Bytes(leaf.clone())],
            Self::Status(status) => vec![2.into(), Value::Bytes(status.clone())],
            Self::Done(epoch) => vec![3.into(), (*epoch).into()],
            Self::Epoch { epoch, items, last } => {
                let items = items.iter().map(|item| Value::Array(pair(item))).collect();
                vec![4.into(), (*epoch).into(), Value::Array(items), (*last).into()]
            }
            Self::Alive(epoch, now) => vec![5.into(), (*epoch).into(), (*now).into()],
            Self::No(name, sentence) => {
                vec![6.into(), Value::Text(name.clone()), Value::Text(sentence.clone())]
            }
            Self::Kept(note) => vec![7.into(), Value::Text(note.clone())],
        };
        write(&Value::Array(items))
    }
}

/// Number of the message, and its arguments.
fn parts(bytes: &[u8]) -> Result<(u64, Vec<Value>), No> {
    if bytes.len() > MOST_BYTES {
        return Err(No::TooLarge);
    }
    let mut rest = bytes;
    let value: Value =
        ciborium::de::from_reader_with_recursion_limit(&mut rest, DEPTH).map_err(|_| No::Malformed)?;
    if !rest.is_empty() || write(&value) != bytes {
        return Err(No::Malformed);
    }
    let mut items = value.into_array().map_err(|_| No::Malformed)?;
    let kind = items.first().and_then(uint).ok_or(No::Malformed)?;
    items.remove(0);
    Ok((kind, items))
}

fn uint(value: &Value) -> Option<u64> {
    value.as_integer()?.try_into().ok()
}

fn item(kind: &Value, what: &Value) -> Option<Item> {
    let hash: Hash = what.as_bytes()?.as_slice().try_into().ok()?;
    match uint(kind)? {
        0 => Some(Item::Identity(hash)),
        1 => Some(Item::Transfer(hash)),
        2 => Some(Item::Key(hash)),
        _ => None,
    }
}

fn pair(item: &Item) -> Vec<Value> {
    let (kind, hash) = match item {
        Item::Identity(hash) => (0, hash),
        Item::Transfer(hash) => (1, hash),
        Item::Key(hash) => (2, hash),
    };
    vec![kind.into(), Value::Bytes(hash.to_vec())]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let name: PrincipalName = "user:alice@home.example".parse().unwrap();
        let shown = Hello { identities: vec![(name.clone(), vec![1, 2])], ..Hello::default() };
        let items = [Item::Identity([7; 32]), Item::Transfer([8; 32]), Item::Key([9; 32])];
        let revoke = |what| AgentRequest::Revoke { shown: shown.clone(), what };
        for question in [
            AgentRequest::Login { shown: shown.clone(), seconds: 900 },
            AgentRequest::Endorse(shown.clone()),
            AgentRequest::Keep { shown: shown.clone(), note: "x\n".to_owned() },
            AgentRequest::Kept(name.clone()),
            revoke(RevocationTarget::Item(items[0])),
            revoke(RevocationTarget::Item(items[1])),
            revoke(RevocationTarget::Item(items[2])),
            revoke(RevocationTarget::Transfer(vec![3])),
            revoke(RevocationTarget::Name(name)),
            AgentRequest::Subscribe,
        ] {
            assert_eq!(AgentRequest::read(&question.write()).unwrap(), question);
        }
        for answer in [
            AgentReply::Leaf(vec![1]),
            AgentReply::Status(vec![2]),
            AgentReply::Done(3),
            AgentReply::Epoch { epoch: u64::MAX, items: items.to_vec(), last: false },
            AgentReply::Alive(4, 1_764_000_000),
            AgentReply::No("expired".to_owned(), "its time is over".to_owned()),
            AgentReply::Kept("x\n".to_owned()),
        ] {
            assert_eq!(AgentReply::read(&answer.write()).unwrap(), answer);
        }
    }

    #[test]
    fn what_is_written_otherwise_is_none() {
        let name = |bytes: &[u8]| AgentRequest::read(bytes).map_err(|no| no.name());
        assert_eq!(name(&[0x81, 4]), Ok(AgentRequest::Subscribe));
        for bad in [
            &[][..],
            &[4],
            &[0x80],
            &[0x81, 0x18, 4],                                        // 4 in two bytes
            &[0x9f, 4, 0xff],                                        // a length left open
            &[0x81, 4, 0],                                           // something behind it
            &[0x82, 4, 0],                                           // one item too many
            &[0x82, 1, 0x40],                                        // no seconds
            &[0x83, 3, 0, 0x40],                                     // nothing shown
            &[0x84, 3, 0x44, 0x83, 0x80, 0x80, 0x80, 0, 0x40],       // an empty hash
            &[0x84, 3, 0x44, 0x83, 0x80, 0x80, 0x80, 5, 0x40],       // an unknown kind of thing
            &[0x84, 3, 0x44, 0x83, 0x80, 0x80, 0x80, 4, 0x61, b'x'], // no name
            &[0x82, 6, 0x61, b'x'],
            &[0x82, 5, 0x40], // no note
            &[0x81; 64],
        ] {
            assert_eq!(name(bad), Err("malformed"), "{bad:x?}");
        }
        assert_eq!(name(&[0x81, 7]), Err("unknown-question"));
        assert_eq!(name(&[0x82, 2, 0x40]), Err("malformed"), "an empty HELLO");
        assert_eq!(name(&vec![0x81; MOST_BYTES + 1]), Err("too-large"));
    }
}
