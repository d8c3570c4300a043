//! HPACK decoder: from header blocks to fields.
//!
//! Hot, reads untrusted input. A plain string is a slice of the block; one in Huffman code is decoded into a buffer
//! that is reused.

use super::dynamic::{Dynamic, OVERHEAD};
use super::{DEFAULT_TABLE_BYTES, HpackError, fixed, huffman, sound};

/// The reader of one direction's header blocks.
#[derive(Clone, Debug)]
pub struct HpackDecoder {
    table: Dynamic,
    /// Largest table that the peer may choose.
    table_limit: usize,
    list_limit: usize,
    scratch: Vec<u8>,
}

/// A string of a field: part of the block, or so many bytes of the scratch buffer.
#[derive(Clone, Copy)]
enum Text<'a> {
    Plain(&'a [u8]),
    Decoded(usize, usize),
}

impl HpackDecoder {
    /// A decoder that has announced these limits, in bytes: of its dynamic table, and of a list of
    /// fields (names and values, and 32 for each field).
    pub fn new(table_bytes: u32, list_bytes: u32) -> Self {
        Self {
            // A peer that ignores a smaller limit uses the default, which costs little to keep.
            table: Dynamic::new(DEFAULT_TABLE_BYTES as usize),
            table_limit: table_bytes as usize,
            list_limit: list_bytes as usize,
            scratch: Vec::new(),
        }
    }

    /// Reads a whole header block, and hands each field to `field` as name and value.
    ///
    /// # Errors
    /// When the block breaks the grammar or a limit: the connection is of no further use.
    pub fn decode(&mut self, block: &[u8], mut field: impl FnMut(&[u8], &[u8])) -> Result<(), HpackError> {
        self.decode_checked(block, |name, value, _| field(name, value))
    }

    /// As `decode`, and says of each field whether its characters are such that it may be used.
    pub(in crate::h2) fn decode_checked(
        &mut self,
        block: &[u8],
        mut field: impl FnMut(&[u8], &[u8], bool),
    ) -> Result<(), HpackError> {
        let mut rest = block;
        let mut left = self.list_limit;
        let mut fields = 0_usize;
        while let Some(&first) = rest.first() {
            if first & 0xe0 == 0x20 {
                if fields > 0 {
                    return Err(HpackError::SizeUpdate);
                }
                let size = number(&mut rest, 5)?;
                if size > self.table_limit {
                    return Err(HpackError::SizeUpdate);
                }
                self.table.resize(size);
                continue;
            }
            fields += 1;
            let size = self.field(first, &mut rest, left, &mut field)?;
            left = left.checked_sub(size).ok_or(HpackError::ListTooLarge)?;
        }
        Ok(())
    }

    /// One field; its size.
    fn field(
        &mut self,
        first: u8,
        rest: &mut &[u8],
        left: usize,
        field: &mut impl FnMut(&[u8], &[u8], bool),
    ) -> Result<usize, HpackError> {
        if first & 0x80 != 0 {
            let index = number(rest, 7)?;
            let (name, value) = self.indexed(index)?;
            let size = name.len() + value.len() + OVERHEAD;
            if size > left {
                return Err(HpackError::ListTooLarge);
            }
            field(name, value, sound_at(&self.table, index));
            return Ok(size);
        }
        let keep = first & 0x40 != 0;
        let index = number(rest, if keep { 6 } else { 4 })?;
        let name = if index == 0 { Some(self.text(rest, 0, left)?) } else { None };
        let value_at = match name {
            Some(Text::Decoded(_, end)) => end,
            _ => 0,
        };
        let value = self.text(rest, value_at, left)?;
        let value = resolve(&self.scratch, value);
        let own_name = name.map(|name| resolve(&self.scratch, name));
        let name = match own_name {
            Some(name) => name,
            None => indexed(&self.table, index)?.0,
        };
        let size = name.len() + value.len() + OVERHEAD;
        if size > left {
            return Err(HpackError::ListTooLarge);
        }
        let name_sound = sound_at(&self.table, index) || sound::name(name);
        let sound = sound::value(value) && name_sound;
        field(name, value, sound);
        if keep {
            match (own_name, index.checked_sub(fixed::ENTRIES + 1)) {
                (Some(name), _) => self.table.insert(name, value, sound),
                (None, Some(number)) => self.table.insert_named_like(number, value, sound),
                (None, None) => self.table.insert(fixed::TABLE[index - 1].0, value, sound),
            }
        }
        Ok(size)
    }

    fn indexed(&self, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
        indexed(&self.table, index)
    }

    /// A string, decoded to the scratch buffer from `at` on when it is in code.
    fn text<'a>(&mut self, rest: &mut &'a [u8], at: usize, limit: usize) -> Result<Text<'a>, HpackError> {
        let first = *rest.first().ok_or(HpackError::Truncated)?;
        let length = number(rest, 7)?;
        if length > limit {
            return Err(HpackError::ListTooLarge);
        }
        let (string, behind) = rest.split_at_checked(length).ok_or(HpackError::Truncated)?;
        *rest = behind;
        if first & 0x80 == 0 {
            return Ok(Text::Plain(string));
        }
        let needed = at + huffman::room(length);
        if self.scratch.len() < needed {
            self.scratch.resize(needed, 0);
        }
        let decoded = huffman::decode(string, &mut self.scratch[at..]).ok_or(HpackError::Huffman)?;
        Ok(Text::Decoded(at, at + decoded))
    }
}

fn resolve<'a>(scratch: &'a [u8], text: Text<'a>) -> &'a [u8] {
    match text {
        Text::Plain(bytes) => bytes,
        Text::Decoded(start, end) => &scratch[start..end],
    }
}

fn indexed(table: &Dynamic, index: usize) -> Result<(&[u8], &[u8]), HpackError> {
    match index.checked_sub(1).ok_or(HpackError::Index)? {
        entry if entry < fixed::ENTRIES => Ok(fixed::TABLE[entry]),
        entry => table.field(entry - fixed::ENTRIES).ok_or(HpackError::Index),
    }
}

/// Whether the field with this index is sound, and so its name.
fn sound_at(table: &Dynamic, index: usize) -> bool {
    match index.checked_sub(fixed::ENTRIES + 1) {
        Some(number) => table.is_sound(number),
        None => index > 0,
    }
}

/// A number with a prefix of so many bits (RFC 7541 section 5.1), of 32 bits at most.
fn number(rest: &mut &[u8], prefix: u32) -> Result<usize, HpackError> {
    let (&first, mut bytes) = rest.split_first().ok_or(HpackError::Truncated)?;
    let most = (1_u64 << prefix) - 1;
    let mut value = u64::from(first) & most;
    if value == most {
        let mut shift = 0;
        loop {
            let (&byte, behind) = bytes.split_first().ok_or(HpackError::Truncated)?;
            bytes = behind;
            if shift > 28 {
                return Err(HpackError::Number);
            }
            value += u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = bytes;
    u32::try_from(value).map_err(|_| HpackError::Number).map(|value| value as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_the_appendix_and_beyond_32_bits() {
        assert_eq!(number(&mut &[0b1110_1010][..], 5), Ok(10));
        assert_eq!(number(&mut &[0b0001_1111, 0b1001_1010, 0b0000_1010][..], 5), Ok(1337));
        assert_eq!(number(&mut &[42][..], 8), Ok(42));
        assert_eq!(number(&mut &[0x7f, 0x80, 0xff, 0xff, 0xff, 0x0f][..], 7), Ok(u32::MAX as usize));
        assert_eq!(number(&mut &[0x7f, 0x81, 0xff, 0xff, 0xff, 0x0f][..], 7), Err(HpackError::Number));
        assert_eq!(number(&mut &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0][..], 7), Err(HpackError::Number));
        assert_eq!(number(&mut &[0x7f, 0x80][..], 7), Err(HpackError::Truncated));
        assert_eq!(number(&mut &[][..], 7), Err(HpackError::Truncated));
    }
}
