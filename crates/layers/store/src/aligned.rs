//! Page-aligned buffers, as reads past the page cache need them.
//!
//! Measured side, hot path. Safe code: the buffer is one page longer than requested, and the window in it that begins
//! on a page is lent out.

use zeroize::Zeroize;

/// Address and length that any device takes for direct I/O.
pub(crate) const PAGE_BYTES: usize = 4096;

/// A reusable buffer whose window begins on a page. Wiped when dropped: it may hold plain text.
#[derive(Debug, Default)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
}

impl Aligned {
    /// A window of `length` bytes, with content left over from the last use.
    pub(crate) fn window(&mut self, length: usize) -> &mut [u8] {
        let wanted = length + PAGE_BYTES;
        if self.bytes.len() < wanted {
            self.bytes.zeroize();
            self.bytes.resize(wanted, 0);
        }
        let start = self.bytes.as_ptr().align_offset(PAGE_BYTES).min(PAGE_BYTES);
        let rest = self.bytes.get_mut(start..).unwrap_or_default();
        rest.get_mut(..length).unwrap_or_default()
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_on_a_page_and_grows() {
        let mut buffer = Aligned::default();
        for length in [0, 1, 4096, 100_000, 17] {
            let window = buffer.window(length);
            assert_eq!(window.len(), length);
            assert_eq!(window.as_ptr() as usize % PAGE_BYTES, 0);
        }
    }
}
