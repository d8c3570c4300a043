//! Attributes of an object: everything except its bytes and names.
//!
//! Measured side, pure.

use super::fields::Fields;
use crate::refusal::Refusal;

/// A time: seconds and nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileTime {
    /// Whole seconds; before 1970 they are negative.
    pub s: i64,
    /// And nanoseconds, below 1,000,000,000.
    pub ns: u32,
}

impl FileTime {
    pub(super) fn put(self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.s.to_le_bytes());
        out.extend_from_slice(&self.ns.to_le_bytes());
    }

    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let moment = Self { s: fields.i64()?, ns: fields.u32()? };
        if moment.ns < 1_000_000_000 { Ok(moment) } else { Err(Refusal::BadValue) }
    }
}

/// Kind of an object. There are no devices, FIFOs and sockets: they are not exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A file.
    File = 1,
    /// A directory.
    Directory = 2,
    /// A symbolic link.
    Link = 3,
}

impl FileType {
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        match fields.u8()? {
            1 => Ok(Self::File),
            2 => Ok(Self::Directory),
            3 => Ok(Self::Link),
            _ => Err(Refusal::BadValue),
        }
    }
}

/// Attributes of an object. The owner is not sent: at the client everything belongs to the user who mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attributes {
    /// Its number, which no other object gets while the server lives.
    pub object: u64,
    /// Bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// Time of the last read.
    pub atime: FileTime,
    /// Time of the last change of its bytes.
    pub mtime: FileTime,
    /// Time of the last change of anything.
    pub ctime: FileTime,
    /// Number of its names.
    pub names: u32,
    /// Permission bits, at most 0o1777.
    pub mode: u16,
    /// Its kind.
    pub kind: FileType,
}

/// Permission bits that are sent: set-user-id and set-group-id are not.
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
            atime: FileTime::read(fields)?,
            mtime: FileTime::read(fields)?,
            ctime: FileTime::read(fields)?,
            names: fields.u32()?,
            mode: mode(fields.u16()?)?,
            kind: FileType::read(fields)?,
        };
        if fields.u8()? == 0 { Ok(attributes) } else { Err(Refusal::StrayField) }
    }
}

/// New time of reading or writing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimeUpdate {
    /// Unchanged.
    #[default]
    Kept,
    /// The server's clock.
    Now,
    /// A given time.
    At(FileTime),
}

impl TimeUpdate {
    fn put(self, out: &mut Vec<u8>) {
        let (word, moment) = match self {
            Self::Kept => (0, FileTime::default()),
            Self::Now => (1, FileTime::default()),
            Self::At(moment) => (2, moment),
        };
        out.push(word);
        moment.put(out);
    }

    fn read(fields: &mut Fields<'_>) -> Result<Self, Refusal> {
        let (word, moment) = (fields.u8()?, FileTime::read(fields)?);
        match (word, moment == FileTime::default()) {
            (0, true) => Ok(Self::Kept),
            (1, true) => Ok(Self::Now),
            (2, _) => Ok(Self::At(moment)),
            _ => Err(Refusal::BadValue),
        }
    }
}

/// New attributes; `None` leaves one unchanged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct New {
    /// Permission bits.
    pub mode: Option<u16>,
    /// Length: a shorter one cuts the file, a longer one adds zeros.
    pub size: Option<u64>,
    /// Time of the last read.
    pub atime: TimeUpdate,
    /// Time of the last write.
    pub mtime: TimeUpdate,
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
        let (atime, mtime) = (TimeUpdate::read(fields)?, TimeUpdate::read(fields)?);
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
