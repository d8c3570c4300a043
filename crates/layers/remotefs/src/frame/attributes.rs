//! What is known of an object besides its bytes and names.
//!
//! Measured side, pure.

use super::fields::Fields;
use crate::refusal::Refusal;

/// A moment: seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// Whole seconds; before 1970 they are negative.
    pub s: i64,
    /// And nanoseconds, below 1,000,000,000.
    pub ns: u32,
}

impl Moment {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.s.to_le_bytes());
        out.extend_from_slice(&self.ns.to_le_bytes());
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let moment = Self { s: fields.i64()?, ns: fields.u32()? };
        if moment.ns < 1_000_000_000 { Ok(moment) } else { Err(Refusal::BadValue) }
    }
}

/// What an object is. There are no devices, FIFOs and sockets here: their files are not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file.
    File = 1,
    /// A directory.
    Directory = 2,
    /// A symbolic link.
    Link = 3,
}

impl Kind {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        match fields.u8()? {
            1 => Ok(Self::File),
            2 => Ok(Self::Directory),
            3 => Ok(Self::Link),
            _ => Err(Refusal::BadValue),
        }
    }
}

/// Of an object. Whose it is does not travel: at the client everything belongs to whoever mounted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its number, which no other object has while the server lives.
    pub object: u64,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// When it was last read.
    pub atime: Moment,
    /// When its bytes changed.
    pub mtime: Moment,
    /// When anything of it changed.
    pub ctime: Moment,
    /// Names that it has.
    pub names: u32,
    /// Permission bits, at most 0o1777.
    pub mode: u16,
    /// What it is.
    pub kind: Kind,
}

/// Permission bits that travel: set-user-id and set-group-id do not.
pub(super) const MODE_BITS: u16 = 0o1777;

pub(super) fn mode(bits: u16) -> Result<u16, Refusal> {
    if bits & !MODE_BITS == 0 { Ok(bits) } else { Err(Refusal::BadValue) }
}

impl Attributes {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        for number in [self.object, self.size, self.blocks] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for moment in [self.atime, self.mtime, self.ctime] {
            moment.put(out);
        }
        out.extend_from_slice(&self.names.to_le_bytes());
        out.extend_from_slice(&self.mode.to_le_bytes());
        out.extend_from_slice(&[self.kind as u8, 0]);
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let attributes = Self {
            object: fields.u64()?,
            size: fields.u64()?,
            blocks: fields.u64()?,
            atime: Moment::read(fields)?,
            mtime: Moment::read(fields)?,
            ctime: Moment::read(fields)?,
            names: fields.u32()?,
            mode: mode(fields.u16()?)?,
            kind: Kind::read(fields)?,
        };
        if fields.u8()? == 0 { Ok(attributes) } else { Err(Refusal::StrayField) }
    }
}

/// When a file was read or written, as somebody wants it to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Times {
    /// As it is.
    #[default]
    Kept,
    /// The server's clock.
    Now,
    /// This.
    At(Moment),
}

impl Times {
    fn put(self, out: &mut Vec<u8>) {
        let (word, moment) = match self {
            Self::Kept => (0, Moment::default()),
            Self::Now => (1, Moment::default()),
            Self::At(moment) => (2, moment),
        };
        out.push(word);
        moment.put(out);
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let (word, moment) = (fields.u8()?, Moment::read(fields)?);
        match (word, moment == Moment::default()) {
            (0, true) => Ok(Self::Kept),
            (1, true) => Ok(Self::Now),
            (2, _) => Ok(Self::At(moment)),
            _ => Err(Refusal::BadValue),
        }
    }
}

/// Attributes that shall be others; what is `None` stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct New {
    /// Permission bits.
    pub mode: Option<u16>,
    /// Bytes: what is behind is cut off, what is missing reads as nought.
    pub size: Option<u64>,
    /// When it was read.
    pub atime: Times,
    /// When it was written.
    pub mtime: Times,
}

impl New {
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.mode.is_some().into(), self.size.is_some().into()]);
        out.extend_from_slice(&self.mode.unwrap_or(0).to_le_bytes());
        out.extend_from_slice(&self.size.unwrap_or(0).to_le_bytes());
        self.atime.put(out);
        self.mtime.put(out);
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let (has_mode, has_size) = (there(fields)?, there(fields)?);
        let (bits, size) = (mode(fields.u16()?)?, fields.u64()?);
        if (!has_mode && bits != 0) || (!has_size && size != 0) || size > i64::MAX as u64 {
            return Err(Refusal::BadValue);
        }
        let (atime, mtime) = (Times::read(fields)?, Times::read(fields)?);
        Ok(Self { mode: has_mode.then_some(bits), size: has_size.then_some(size), atime, mtime })
    }
}

fn there(fields: &mut Fields<'_>) -> Result<bool, Refusal> {
    match fields.u8()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(Refusal::BadValue),
    }
}
