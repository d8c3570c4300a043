//! Answers of a server.
//!
//! Measured side, pure, hot at both ends.

use super::fields::{Fields, FileName, put_text};
use super::{
    Attributes, FileType, HEAD_BYTES, MOST_DATA_BYTES, MOST_SMALL_BYTES, MessageHead, VERSION, end, flag, put,
};
use crate::refusal::Refusal;

/// Parts of an object that a break is about, besides attributes, which are always included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BreakScope {
    /// Contents of a file.
    pub contents: bool,
    /// Names in a directory.
    pub names: bool,
}

/// Space of the export's file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Bytes of a block.
    pub block_bytes: u32,
    /// Blocks.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Free blocks available without privileges.
    pub available: u64,
    /// Limit on objects.
    pub objects: u64,
    /// Objects that can still be made.
    pub free_objects: u64,
}

/// Answer of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "a field is what its name and the protocol's table say")]
pub enum ServerReply<'b> {
    /// To HELLO.
    Welcome { boot: u64, session: u32, term_ms: u32 },
    /// Attributes of an object that was looked up, made or asked for; for a small file that was looked up its
    /// contents, too, unless empty.
    Attributes { attributes: Attributes, leased: bool, contents: &'b [u8] },
    /// The name does not exist.
    Absent { leased: bool },
    /// Bytes of a file or a symbolic link.
    Bytes { bytes: &'b [u8], leased: bool, end: bool },
    /// Entries of a directory; see [`entries`].
    Entries { bytes: &'b [u8], leased: bool, end: bool },
    /// Number of bytes written, and their end in the file.
    Written { length: u32, end: u64 },
    /// Space of the file system.
    Space(Space),
    /// Done.
    Done,
    /// The session lives for this long, counted from the sending of the ping with this stamp.
    Alive { stamp: u64, left_ms: u64 },
    /// On the callback connection: forget this, and acknowledge it.
    Break { number: u64, object: u64, what: BreakScope },
    /// On the callback connection: the session's rights have changed, and all that it was told is void.
    Changed,
    /// On the callback connection: these credentials are refused, or no longer valid. The session is over.
    Refused { name: &'b str, sentence: &'b str },
    /// It was not done: the kernel's error number, and a refusal's (0 for none).
    Error { errno: u32, refusal: u32 },
}

mod kind {
    pub(super) const WELCOME: u16 = 64;
    pub(super) const ATTRIBUTES: u16 = 65;
    pub(super) const ABSENT: u16 = 66;
    pub(super) const BYTES: u16 = 67;
    pub(super) const ENTRIES: u16 = 68;
    pub(super) const WRITTEN: u16 = 69;
    pub(super) const SPACE: u16 = 70;
    pub(super) const DONE: u16 = 71;
    pub(super) const ALIVE: u16 = 72;
    pub(super) const BREAK: u16 = 73;
    pub(super) const ERROR: u16 = 74;
    pub(super) const CHANGED: u16 = 75;
    pub(super) const REFUSED: u16 = 76;
}

impl<'b> ServerReply<'b> {
    /// Appends the frame to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, self.head(), |out| self.body(out));
    }

    /// Reads an answer from head and body.
    ///
    /// # Errors
    /// They are no answer.
    pub fn read(head: &MessageHead, body: &'b [u8]) -> Result<Self, Refusal> {
        let mut fields = Fields(body);
        let answer = Self::of(head, &mut fields)?;
        fields.end()?;
        if answer.head().same(head) { Ok(answer) } else { Err(Refusal::StrayField) }
    }

    /// Puts [`ServerReply::Bytes`] with bytes that `fill` writes into the frame itself, at most `most`; it returns their
    /// number, and whether they reach the end.
    ///
    /// # Errors
    /// The error of `fill`; `out` is as it was.
    pub fn put_bytes<E>(
        out: &mut Vec<u8>,
        most: u32,
        leased: bool,
        fill: impl FnOnce(&mut [u8]) -> Result<(usize, bool), E>,
    ) -> Result<(), E> {
        let start = out.len();
        out.resize(start + HEAD_BYTES + most as usize, 0);
        let filled = fill(out.get_mut(start + HEAD_BYTES..).unwrap_or_default());
        let (length, at_end) = filled.inspect_err(|_| out.truncate(start))?;
        out.truncate(start + HEAD_BYTES + length);
        let head = ServerReply::Bytes { bytes: &[], leased, end: at_end }.head();
        if let Some(room) = out.get_mut(start..start + HEAD_BYTES) {
            room.copy_from_slice(&head.bytes());
        }
        end(out, start);
        Ok(())
    }

    fn head(&self) -> MessageHead {
        let of = MessageHead::of;
        match *self {
            Self::Welcome { boot, session, term_ms } => MessageHead {
                object: session.into(),
                offset: term_ms.into(),
                a: VERSION,
                b: boot,
                ..of(kind::WELCOME)
            },
            Self::Attributes { leased, .. } => of(kind::ATTRIBUTES).flagged(flag::LEASED, leased),
            Self::Absent { leased } => of(kind::ABSENT).flagged(flag::LEASED, leased),
            Self::Bytes { leased, end, .. } => {
                of(kind::BYTES).flagged(flag::LEASED, leased).flagged(flag::END, end)
            }
            Self::Entries { leased, end, .. } => {
                of(kind::ENTRIES).flagged(flag::LEASED, leased).flagged(flag::END, end)
            }
            Self::Written { length, end } => {
                MessageHead { offset: end, a: length.into(), ..of(kind::WRITTEN) }
            }
            Self::Space(_) => of(kind::SPACE),
            Self::Done => of(kind::DONE),
            Self::Alive { stamp, left_ms } => MessageHead { a: stamp, b: left_ms, ..of(kind::ALIVE) },
            Self::Break { number, object, what } => MessageHead { object, a: number, ..of(kind::BREAK) }
                .flagged(flag::CONTENTS, what.contents)
                .flagged(flag::NAMES, what.names),
            Self::Changed => of(kind::CHANGED),
            Self::Refused { .. } => of(kind::REFUSED),
            Self::Error { errno, refusal } => {
                MessageHead { a: errno.into(), b: refusal.into(), ..of(kind::ERROR) }
            }
        }
    }

    fn body(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Attributes { attributes, contents, .. } => {
                attributes.put(out);
                out.extend_from_slice(contents);
            }
            Self::Bytes { bytes, .. } | Self::Entries { bytes, .. } => out.extend_from_slice(bytes),
            Self::Refused { name, sentence } => {
                put_text(out, name.as_bytes());
                put_text(out, sentence.as_bytes());
            }
            Self::Space(Space { block_bytes, blocks, free, available, objects, free_objects }) => {
                out.extend_from_slice(&block_bytes.to_le_bytes());
                for number in [blocks, free, available, objects, free_objects] {
                    out.extend_from_slice(&number.to_le_bytes());
                }
            }
            _ => {}
        }
    }

    fn of(head: &MessageHead, fields: &mut Fields<'b>) -> Result<Self, Refusal> {
        let leased = head.has(flag::LEASED);
        let at_end = head.has(flag::END);
        Ok(match head.kind {
            kind::WELCOME if head.a != VERSION => return Err(Refusal::OtherVersion),
            kind::WELCOME => {
                Self::Welcome { boot: head.b, session: short(head.object)?, term_ms: short(head.offset)? }
            }
            kind::ATTRIBUTES => {
                Self::Attributes { attributes: Attributes::read(fields)?, leased, contents: small(fields)? }
            }
            kind::ABSENT => Self::Absent { leased },
            kind::BYTES => Self::Bytes { bytes: rest(fields)?, leased, end: at_end },
            kind::ENTRIES => {
                let bytes = rest(fields)?;
                entries(bytes).try_for_each(|entry| entry.map(drop))?;
                Self::Entries { bytes, leased, end: at_end }
            }
            kind::WRITTEN => Self::Written { length: short(head.a)?, end: head.offset },
            kind::SPACE => Self::Space(Space {
                block_bytes: fields.u32()?,
                blocks: fields.u64()?,
                free: fields.u64()?,
                available: fields.u64()?,
                objects: fields.u64()?,
                free_objects: fields.u64()?,
            }),
            kind::DONE => Self::Done,
            kind::ALIVE => Self::Alive { stamp: head.a, left_ms: head.b },
            kind::BREAK => Self::Break {
                number: head.a,
                object: head.object,
                what: BreakScope { contents: head.has(flag::CONTENTS), names: head.has(flag::NAMES) },
            },
            kind::CHANGED => Self::Changed,
            kind::REFUSED => Self::Refused { name: words(fields)?, sentence: words(fields)? },
            kind::ERROR => Self::Error { errno: short(head.a)?, refusal: short(head.b)? },
            _ => return Err(Refusal::UnknownKind),
        })
    }
}

fn short(number: u64) -> Result<u32, Refusal> {
    u32::try_from(number).map_err(|_| Refusal::BadValue)
}

fn small<'b>(fields: &mut Fields<'b>) -> Result<&'b [u8], Refusal> {
    let bytes = rest(fields)?;
    if bytes.len() <= MOST_SMALL_BYTES { Ok(bytes) } else { Err(Refusal::BadValue) }
}

fn words<'b>(fields: &mut Fields<'b>) -> Result<&'b str, Refusal> {
    str::from_utf8(fields.text()?).map_err(|_| Refusal::BadValue)
}

fn rest<'b>(fields: &mut Fields<'b>) -> Result<&'b [u8], Refusal> {
    let bytes = fields.take(fields.0.len())?;
    if bytes.len() <= MOST_DATA_BYTES as usize { Ok(bytes) } else { Err(Refusal::BadValue) }
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectoryEntry<'b> {
    /// Cookie for continuing behind it.
    pub cookie: u64,
    /// Its kind.
    pub kind: FileType,
    /// Its name.
    pub name: FileName<'b>,
}

/// Entries gathered for an answer.
#[derive(Debug, Default)]
pub struct Entries(Vec<u8>);

impl Entries {
    /// Adds an entry, unless that exceeds `most_bytes`; returns whether it did.
    pub fn add(&mut self, entry: &DirectoryEntry<'_>, most_bytes: u32) -> bool {
        let longer = self.0.len() + 8 + 1 + 2 + entry.name.bytes().len();
        let fits = longer <= most_bytes as usize;
        if fits {
            self.0.extend_from_slice(&entry.cookie.to_le_bytes());
            self.0.push(entry.kind as u8);
            put_text(&mut self.0, entry.name.bytes());
        }
        fits
    }

    /// The body of the answer.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

/// The entries of an [`ServerReply::Entries`], up to the first malformed one.
pub fn entries(bytes: &[u8]) -> impl Iterator<Item = Result<DirectoryEntry<'_>, Refusal>> {
    let mut fields = Fields(bytes);
    std::iter::from_fn(move || {
        if fields.0.is_empty() {
            return None;
        }
        let entry = entry(&mut fields);
        if entry.is_err() {
            fields.0 = &[];
        }
        Some(entry)
    })
}

fn entry<'b>(fields: &mut Fields<'b>) -> Result<DirectoryEntry<'b>, Refusal> {
    Ok(DirectoryEntry { cookie: fields.u64()?, kind: FileType::read(fields)?, name: fields.name()? })
}
