//! Reply body in a content coding, on its way out.
//!
//! Hot where robots ask for gzip. Owned by the reply that sends it: it was made for that reply, and goes with it.

use crate::outgoing::Outgoing;

/// Most bytes that are put in the workspace at a time, as they are copied there.
const PIECE_BYTES: usize = 64 * 1024;

/// See the module.
#[derive(Debug)]
pub(crate) struct Coded {
    bytes: Vec<u8>,
    /// The bytes before this offset are on their way.
    at: usize,
}

impl Coded {
    pub(crate) const fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, at: 0 }
    }

    /// Puts the next bytes in the workspace. Returns whether they were the last.
    pub(crate) fn put(&mut self, out: &mut Outgoing) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let piece = &rest[..rest.len().min(PIECE_BYTES)];
        out.copy_body(piece);
        self.at += piece.len();
        self.at == self.bytes.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_goes_out_in_pieces_and_is_counted() {
        let bytes: Vec<u8> = (0..PIECE_BYTES + 5).map(|at| at as u8).collect();
        let (mut coded, mut out) = (Coded::new(bytes.clone()), Outgoing::default());
        assert!(!coded.put(&mut out) && out.is_full());
        assert!(coded.put(&mut out));
        assert_eq!((out.parts().0, out.account().body_bytes), (&bytes[..], bytes.len() as u64));
        assert!(Coded::new(Vec::new()).put(&mut out));
    }
}
