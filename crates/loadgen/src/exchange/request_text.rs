//! Text of one request, and of its reply's head where the source listens.
//!
//! Measuring side, hot: one piece of memory, used again for request after request. Does not know what they mean.

use bakeoff_wire::http1;
use bakeoff_workload::Ask;

/// The request, kept until the reply is there: it may have to be sent twice. Behind it the head of the reply, where the
/// source listens.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestText {
    bytes: Vec<u8>,
    /// Where the target ends, ...
    target: u32,
    /// ... and the request.
    asked: u32,
}

impl RequestText {
    /// The request target.
    pub(crate) fn target(&self) -> &[u8] {
        &self.bytes[..self.target as usize]
    }

    /// Further header lines, each ended by CRLF.
    pub(crate) fn headers(&self) -> &[u8] {
        &self.bytes[self.target as usize..self.asked as usize]
    }

    /// The part of the reply's head that is kept.
    pub(crate) fn reply_head(&self) -> &[u8] {
        &self.bytes[self.asked as usize..]
    }

    /// Takes the text of a request into this memory.
    pub(crate) fn of(mut self, ask: &Ask<'_>) -> Self {
        self.bytes.clear();
        self.bytes.extend_from_slice(ask.target);
        self.bytes.extend_from_slice(ask.headers);
        self.target = ask.target.len() as u32;
        self.asked = self.bytes.len() as u32;
        self
    }

    /// Replaces the header lines, before it is sent.
    pub(crate) fn set_headers(&mut self, headers: &[u8]) {
        self.bytes.truncate(self.target as usize);
        self.bytes.extend_from_slice(headers);
        self.asked = self.bytes.len() as u32;
    }

    /// Keeps bytes of the reply's head, which may begin with interim replies.
    pub(super) fn keep(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
        // A server may send interim replies without end.
        if self.reply_head().len() > 2 * http1::MAX_HEAD_BYTES {
            self.keep_last(http1::MAX_HEAD_BYTES);
        }
    }

    /// Keeps only the last bytes, which are the head.
    pub(super) fn keep_last(&mut self, head_bytes: usize) {
        let surplus = self.reply_head().len().saturating_sub(head_bytes);
        let asked = self.asked as usize;
        self.bytes.drain(asked..asked + surplus);
    }

    pub(super) fn forget_reply(&mut self) {
        self.bytes.truncate(self.asked as usize);
    }
}
