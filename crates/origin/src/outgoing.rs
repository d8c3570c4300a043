//! Outgoing bytes: those written here, and behind them a body that needs no copy.
//!
//! Hot; one for a thread. Replies to requests that came together gather here and go out by one write; a body is copied
//! only when bytes follow it.

/// Most bytes that are gathered.
const GATHERED_AT_MOST: usize = 64 * 1024;
/// A body longer than this is worth a write of its own: nothing is put behind it.
const COPIED_AT_MOST: usize = 16 * 1024;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    bytes: Vec<u8>,
    body: &'static [u8],
    account: Account,
}

/// The counts to be made when all of it is with the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Account {
    /// Replies whose last byte is in it.
    pub(crate) replies: u64,
    /// Bytes of bodies.
    pub(crate) body_bytes: u64,
}

impl Outgoing {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.body = &[];
        self.account = Account::default();
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty() && self.body.is_empty()
    }

    /// Whether it should be sent before more is added.
    pub(crate) const fn is_full(&self) -> bool {
        self.body.len() > COPIED_AT_MOST || self.bytes.len() + self.body.len() >= GATHERED_AT_MOST
    }

    /// The buffer for heads.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        if !self.body.is_empty() {
            self.bytes.extend_from_slice(self.body);
            self.body = &[];
        }
        &mut self.bytes
    }

    /// Puts a piece of a body at the end.
    pub(crate) fn put_body(&mut self, body: &'static [u8]) {
        self.account.body_bytes += body.len() as u64;
        self.bytes();
        self.body = body;
    }

    /// The same for a body without a static pool: it is copied.
    pub(crate) fn copy_body(&mut self, body: &[u8]) {
        self.account.body_bytes += body.len() as u64;
        self.bytes().extend_from_slice(body);
    }

    /// Counts replies that are complete with the bytes so far.
    pub(crate) const fn end_replies(&mut self, replies: u64) {
        self.account.replies += replies;
    }

    pub(crate) fn parts(&self) -> (&[u8], &'static [u8]) {
        (&self.bytes, self.body)
    }

    /// The same for encryption, which copies the start of the body behind the head where that saves a record.
    pub(crate) const fn for_encryption(&mut self) -> (&mut Vec<u8>, &'static [u8]) {
        (&mut self.bytes, self.body)
    }

    pub(crate) const fn account(&self) -> Account {
        self.account
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_copied_when_something_follows_it_and_only_then() {
        let mut out = Outgoing::default();
        out.bytes().extend_from_slice(b"head ");
        out.put_body(b"body ");
        assert_eq!(out.parts(), (&b"head "[..], &b"body "[..]));
        out.bytes().extend_from_slice(b"head ");
        out.put_body(b"last");
        out.end_replies(1);
        assert_eq!(out.parts(), (&b"head body head "[..], &b"last"[..]));
        assert_eq!(out.account(), Account { replies: 1, body_bytes: 9 });
        assert!(!out.is_full());
        static LONG: [u8; COPIED_AT_MOST + 1] = [0; COPIED_AT_MOST + 1];
        out.put_body(&LONG);
        assert!(out.is_full());
        out.clear();
        assert!(out.is_empty() && out.account() == Account::default());
    }
}
