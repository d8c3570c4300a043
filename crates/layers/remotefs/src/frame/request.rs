//! Requests of a client.
//!
//! Measured side, pure, hot at the server, where strangers control the input.

use super::attributes::mode;
use super::fields::{Fields, FileName, put_text};
use super::{MOST_CREDENTIALS_BYTES, MOST_DATA_BYTES, MessageHead, New, VERSION, flag, put};
use crate::refusal::Refusal;

/// Purpose of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionPurpose {
    /// The server sends on it, too. It is a session's first, and ends with it.
    Callback,
    /// Requests and answers, in turn.
    Data,
}

/// Treatment of an existing new name in a rename.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is replaced.
    Replace,
    /// It must not exist.
    NoReplace,
    /// Both are exchanged.
    Exchange,
}

/// Request of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "a field is what its name and the protocol's table say")]
pub enum ClientRequest<'b> {
    /// First on each connection. A callback connection begins a session, by credentials where there are any, and ends
    /// the one that it names, whose answers the client no longer keeps. A data connection names the session and its
    /// boot id.
    Hello { class: ConnectionPurpose, session: u32, boot: u64, credentials: &'b [u8] },
    /// Look up a name in a directory.
    Lookup { directory: u64, name: FileName<'b> },
    /// Get attributes.
    Attributes { object: u64 },
    /// Set attributes.
    SetAttributes { object: u64, new: New },
    /// Read the target of a symbolic link.
    ReadLink { object: u64 },
    /// Get the space of the file system.
    Space,
    /// List entries behind a cookie, up to this number of bytes.
    List { directory: u64, cookie: u64, most_bytes: u32 },
    /// Read bytes.
    Read { object: u64, offset: u64, length: u32 },
    /// Write bytes.
    Write { object: u64, offset: u64, append: bool, bytes: &'b [u8] },
    /// Write everything so far to the disk.
    Commit { object: u64 },
    /// Create a file.
    Create { directory: u64, name: FileName<'b>, mode: u16, exclusive: bool, truncate: bool },
    /// Make a directory.
    MakeDirectory { directory: u64, name: FileName<'b>, mode: u16 },
    /// Make a symbolic link.
    SymLink { directory: u64, name: FileName<'b>, target: &'b [u8] },
    /// Add a name.
    Link { object: u64, directory: u64, name: FileName<'b> },
    /// Remove a name of a file or a link.
    Remove { directory: u64, name: FileName<'b> },
    /// Remove an empty directory.
    RemoveDirectory { directory: u64, name: FileName<'b> },
    /// Rename.
    Rename { from: u64, name: FileName<'b>, to: u64, new_name: FileName<'b>, way: Way },
    /// Sign of life of the session. The stamp comes back.
    Ping { stamp: u64 },
    /// Acknowledgement of a break: nothing of its object is kept any more.
    Ack { number: u64 },
    /// The kernel forgot this number of mentions of an object.
    Forget { object: u64, count: u64 },
    /// The session ends, and nothing is kept.
    Bye,
    /// Explain the decisions on an object, or on a name in a directory.
    Why { object: u64, name: Option<FileName<'b>> },
}

/// Longest target of a symbolic link (`PATH_MAX` without its final zero).
const MOST_TARGET_BYTES: usize = 4095;

mod kind {
    pub(super) const HELLO: u16 = 1;
    pub(super) const LOOKUP: u16 = 2;
    pub(super) const ATTRIBUTES: u16 = 3;
    pub(super) const SET_ATTRIBUTES: u16 = 4;
    pub(super) const READ_LINK: u16 = 5;
    pub(super) const SPACE: u16 = 6;
    pub(super) const LIST: u16 = 7;
    pub(super) const READ: u16 = 8;
    pub(super) const WRITE: u16 = 9;
    pub(super) const COMMIT: u16 = 10;
    pub(super) const CREATE: u16 = 11;
    pub(super) const MAKE_DIRECTORY: u16 = 12;
    pub(super) const SYM_LINK: u16 = 13;
    pub(super) const LINK: u16 = 14;
    pub(super) const REMOVE: u16 = 15;
    pub(super) const REMOVE_DIRECTORY: u16 = 16;
    pub(super) const RENAME: u16 = 17;
    pub(super) const PING: u16 = 18;
    pub(super) const ACK: u16 = 19;
    pub(super) const FORGET: u16 = 20;
    pub(super) const BYE: u16 = 21;
    pub(super) const WHY: u16 = 22;
}

impl<'b> ClientRequest<'b> {
    /// Appends the frame to `out`.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, self.head(), |out| self.body(out));
    }

    /// Reads a request from head and body.
    ///
    /// # Errors
    /// They are no request.
    pub fn read(head: &MessageHead, body: &'b [u8]) -> Result<Self, Refusal> {
        let mut fields = Fields(body);
        let request = Self::of(head, &mut fields)?;
        fields.end()?;
        // A field that the request does not use must be zero.
        if request.head().same(head) { Ok(request) } else { Err(Refusal::StrayField) }
    }

    /// Whether it may be asked again if no answer came: the second time has the same result as the first.
    pub const fn may_be_repeated(&self) -> bool {
        match self {
            Self::Lookup { .. }
            | Self::Attributes { .. }
            | Self::SetAttributes { .. }
            | Self::ReadLink { .. }
            | Self::Space
            | Self::List { .. }
            | Self::Read { .. }
            | Self::Why { .. }
            | Self::Commit { .. }
            | Self::Write { append: false, .. } => true,
            Self::Create { exclusive, .. } => !*exclusive,
            _ => false,
        }
    }

    /// Whether it may also be asked on the callback connection: its answer is small, and it changes nothing.
    pub const fn is_small(&self) -> bool {
        matches!(self, Self::Lookup { .. } | Self::Attributes { .. })
    }

    fn head(&self) -> MessageHead {
        let of = MessageHead::of;
        match *self {
            Self::Hello { class, session, boot, .. } => {
                let class = u64::from(class == ConnectionPurpose::Data);
                MessageHead { object: session.into(), offset: boot, a: VERSION, b: class, ..of(kind::HELLO) }
            }
            Self::Lookup { directory, .. } => MessageHead { object: directory, ..of(kind::LOOKUP) },
            Self::Attributes { object } => MessageHead { object, ..of(kind::ATTRIBUTES) },
            Self::SetAttributes { object, .. } => MessageHead { object, ..of(kind::SET_ATTRIBUTES) },
            Self::ReadLink { object } => MessageHead { object, ..of(kind::READ_LINK) },
            Self::Space => of(kind::SPACE),
            Self::List { directory, cookie, most_bytes } => {
                MessageHead { object: directory, offset: cookie, a: most_bytes.into(), ..of(kind::LIST) }
            }
            Self::Read { object, offset, length } => {
                MessageHead { object, offset, a: length.into(), ..of(kind::READ) }
            }
            Self::Write { object, offset, append, .. } => {
                MessageHead { object, offset, ..of(kind::WRITE) }.flagged(flag::APPEND, append)
            }
            Self::Commit { object } => MessageHead { object, ..of(kind::COMMIT) },
            Self::Create { directory, mode, exclusive, truncate, .. } => {
                MessageHead { object: directory, a: mode.into(), ..of(kind::CREATE) }
                    .flagged(flag::EXCLUSIVE, exclusive)
                    .flagged(flag::TRUNCATE, truncate)
            }
            Self::MakeDirectory { directory, mode, .. } => {
                MessageHead { object: directory, a: mode.into(), ..of(kind::MAKE_DIRECTORY) }
            }
            Self::SymLink { directory, .. } => MessageHead { object: directory, ..of(kind::SYM_LINK) },
            Self::Link { object, directory, .. } => MessageHead { object, a: directory, ..of(kind::LINK) },
            Self::Remove { directory, .. } => MessageHead { object: directory, ..of(kind::REMOVE) },
            Self::RemoveDirectory { directory, .. } => {
                MessageHead { object: directory, ..of(kind::REMOVE_DIRECTORY) }
            }
            Self::Rename { from, to, way, .. } => MessageHead { object: from, a: to, ..of(kind::RENAME) }
                .flagged(flag::NO_REPLACE, way == Way::NoReplace)
                .flagged(flag::EXCHANGE, way == Way::Exchange),
            Self::Ping { stamp } => MessageHead { a: stamp, ..of(kind::PING) },
            Self::Ack { number } => MessageHead { a: number, ..of(kind::ACK) },
            Self::Forget { object, count } => MessageHead { object, a: count, ..of(kind::FORGET) },
            Self::Bye => of(kind::BYE),
            Self::Why { object, .. } => MessageHead { object, ..of(kind::WHY) },
        }
    }

    fn body(&self, out: &mut Vec<u8>) {
        match *self {
            Self::Lookup { name, .. }
            | Self::Create { name, .. }
            | Self::MakeDirectory { name, .. }
            | Self::Link { name, .. }
            | Self::Remove { name, .. }
            | Self::RemoveDirectory { name, .. }
            | Self::Why { name: Some(name), .. } => put_text(out, name.bytes()),
            Self::SymLink { name, target, .. } => {
                put_text(out, name.bytes());
                put_text(out, target);
            }
            Self::Rename { name, new_name, .. } => {
                put_text(out, name.bytes());
                put_text(out, new_name.bytes());
            }
            Self::SetAttributes { new, .. } => new.put(out),
            Self::Write { bytes, .. } | Self::Hello { credentials: bytes, .. } => {
                out.extend_from_slice(bytes)
            }
            _ => {}
        }
    }

    fn of(head: &MessageHead, fields: &mut Fields<'b>) -> Result<Self, Refusal> {
        let MessageHead { object, offset, a, .. } = *head;
        let directory = object;
        Ok(match head.kind {
            kind::HELLO => hello(head, fields)?,
            kind::LOOKUP => Self::Lookup { directory, name: fields.name()? },
            kind::ATTRIBUTES => Self::Attributes { object },
            kind::SET_ATTRIBUTES => Self::SetAttributes { object, new: New::read(fields)? },
            kind::READ_LINK => Self::ReadLink { object },
            kind::SPACE => Self::Space,
            kind::LIST => Self::List { directory, cookie: offset, most_bytes: length(a)? },
            kind::READ => Self::Read { object, offset: place(offset)?, length: length(a)? },
            kind::WRITE => {
                let bytes = fields.take(fields.0.len())?;
                length(bytes.len() as u64)?;
                Self::Write { object, offset: place(offset)?, append: head.has(flag::APPEND), bytes }
            }
            kind::COMMIT => Self::Commit { object },
            kind::CREATE => Self::Create {
                directory,
                name: fields.name()?,
                mode: bits(a)?,
                exclusive: head.has(flag::EXCLUSIVE),
                truncate: head.has(flag::TRUNCATE),
            },
            kind::MAKE_DIRECTORY => Self::MakeDirectory { directory, name: fields.name()?, mode: bits(a)? },
            kind::SYM_LINK => {
                Self::SymLink { directory, name: fields.name()?, target: target(fields.text()?)? }
            }
            kind::LINK => Self::Link { object, directory: a, name: fields.name()? },
            kind::REMOVE => Self::Remove { directory, name: fields.name()? },
            kind::REMOVE_DIRECTORY => Self::RemoveDirectory { directory, name: fields.name()? },
            kind::RENAME => {
                let (name, new_name) = (fields.name()?, fields.name()?);
                Self::Rename { from: object, name, to: a, new_name, way: way(head)? }
            }
            kind::PING => Self::Ping { stamp: a },
            kind::ACK => Self::Ack { number: a },
            kind::FORGET => Self::Forget { object, count: a },
            kind::BYE => Self::Bye,
            kind::WHY => {
                let name = (!fields.0.is_empty()).then(|| fields.name()).transpose()?;
                Self::Why { object, name }
            }
            _ => return Err(Refusal::UnknownKind),
        })
    }
}

fn hello<'b>(head: &MessageHead, fields: &mut Fields<'b>) -> Result<ClientRequest<'b>, Refusal> {
    if head.a != VERSION {
        return Err(Refusal::OtherVersion);
    }
    let class = match head.b {
        0 => ConnectionPurpose::Callback,
        1 => ConnectionPurpose::Data,
        _ => return Err(Refusal::BadValue),
    };
    let session = u32::try_from(head.object).map_err(|_| Refusal::BadValue)?;
    let credentials = fields.take(fields.0.len())?;
    match credentials.len() <= MOST_CREDENTIALS_BYTES {
        true => Ok(ClientRequest::Hello { class, session, boot: head.offset, credentials }),
        false => Err(Refusal::BadValue),
    }
}

fn way(head: &MessageHead) -> Result<Way, Refusal> {
    match (head.has(flag::NO_REPLACE), head.has(flag::EXCHANGE)) {
        (false, false) => Ok(Way::Replace),
        (true, false) => Ok(Way::NoReplace),
        (false, true) => Ok(Way::Exchange),
        (true, true) => Err(Refusal::BadValue),
    }
}

fn length(number: u64) -> Result<u32, Refusal> {
    let length = u32::try_from(number).map_err(|_| Refusal::BadValue)?;
    if length <= MOST_DATA_BYTES { Ok(length) } else { Err(Refusal::BadValue) }
}

/// An offset in a file, with room for the data behind it (`loff_t`).
fn place(offset: u64) -> Result<u64, Refusal> {
    let most = i64::MAX as u64 - u64::from(MOST_DATA_BYTES);
    if offset <= most { Ok(offset) } else { Err(Refusal::BadValue) }
}

fn bits(number: u64) -> Result<u16, Refusal> {
    mode(u16::try_from(number).map_err(|_| Refusal::BadValue)?)
}

fn target(text: &[u8]) -> Result<&[u8], Refusal> {
    let fits = (1..=MOST_TARGET_BYTES).contains(&text.len());
    if fits && !text.contains(&0) { Ok(text) } else { Err(Refusal::BadValue) }
}
