//! HPACK encoder: from fields to header blocks.
//!
//! Hot. Fields that repeat enter the dynamic table and are one byte from then on; the others are
//! written as literals. Strings are in Huffman code where that is shorter, as all clients and servers
//! in use do it.

use super::dynamic::Dynamic;
use super::{DEFAULT_TABLE_BYTES, fixed, huffman};

/// The writer of one direction's header blocks.
#[derive(Clone, Debug)]
pub struct Encoder {
    table: Dynamic,
    /// Smallest bound since the last block: it is written first, so that the peer's table shrinks, too.
    smallest: usize,
    /// Whether the bound changed since the last block.
    resized: bool,
}

impl Default for Encoder {
    fn default() -> Self {
        let bytes = DEFAULT_TABLE_BYTES as usize;
        Self { table: Dynamic::new(bytes), smallest: bytes, resized: false }
    }
}

impl Encoder {
    /// The peer's `SETTINGS_HEADER_TABLE_SIZE`, in bytes. More than the default is not used.
    pub fn limit_table(&mut self, bytes: u32) {
        let bytes = bytes.min(DEFAULT_TABLE_BYTES) as usize;
        if bytes != self.table.max() {
            self.smallest = if self.resized { self.smallest.min(bytes) } else { bytes.min(self.table.max()) };
            self.resized = true;
            self.table.resize(bytes);
        }
    }

    /// Starts a header block: writes the changes of the bound since the last one.
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if self.resized {
            self.resized = false;
            if self.smallest < self.table.max() {
                number(out, 0x20, 5, self.smallest);
            }
            number(out, 0x20, 5, self.table.max());
        }
    }

    /// Appends a field. Names are in lower case.
    pub fn field(&mut self, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        self.known(fixed::name_index(name), name, value, out);
    }

    /// Appends a field whose name has this index in the static table (0: none).
    pub(in crate::h2) fn known(&mut self, known: usize, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
        if let Some(index) = fixed::field_index(known, value) {
            return number(out, 0x80, 7, index);
        }
        if !fixed::repeats(known) {
            return literal(0, 4, known, name, value, out);
        }
        let (field, named) = self.table.find(name, value, known == 0);
        if let Some(entry) = field {
            return number(out, 0x80, 7, fixed::ENTRIES + 1 + entry);
        }
        let index = match named {
            _ if known > 0 => known,
            Some(entry) => fixed::ENTRIES + 1 + entry,
            None => 0,
        };
        // A field that is larger than half of the table would push out others that repeat more often.
        if (name.len() + value.len()) * 2 > self.table.max() {
            return literal(0, 4, index, name, value, out);
        }
        literal(0x40, 6, index, name, value, out);
        self.table.insert(name, value, true);
    }
}

fn literal(kind: u8, prefix: u32, index: usize, name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    number(out, kind, prefix, index);
    if index == 0 {
        string(name, out);
    }
    string(value, out);
}

fn string(plain: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::coded_len(plain);
    if coded < plain.len() {
        number(out, 0x80, 7, coded);
        huffman::encode(plain, out);
    } else {
        number(out, 0, 7, plain.len());
        out.extend_from_slice(plain);
    }
}

/// A number behind the bits of `kind`, with a prefix of so many bits (RFC 7541 section 5.1).
fn number(out: &mut Vec<u8>, kind: u8, prefix: u32, value: usize) {
    let most = (1_usize << prefix) - 1;
    if value < most {
        out.push(kind | value as u8);
        return;
    }
    out.push(kind | most as u8);
    let mut rest = value - most;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}
