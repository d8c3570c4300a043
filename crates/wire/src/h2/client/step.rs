//! Steps of an HTTP/2 client's reading, and the reasons for which it cannot open a stream.
//!
//! The measuring side.

use crate::h2::{ErrorCode, Malformed, StreamId};
use crate::http1::ContentCoding;

/// The head of a final reply, as far as a client needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2ReplyHead {
    /// 200 to 999.
    pub status: u16,
    /// `Content-Length`, also where no body follows (HEAD, 304).
    pub content_length: Option<u64>,
    /// The coding of the body.
    pub coding: ContentCoding,
    /// Bytes of the frames that brought it.
    pub head_bytes: u64,
}

/// One step of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientStep {
    /// All input is used; more must come.
    More,
    /// A reply's head is complete.
    Head {
        /// Bytes of input used.
        used: usize,
        /// The stream.
        stream: StreamId,
        /// The head.
        head: H2ReplyHead,
        /// Whether the reply ends with it.
        end: bool,
    },
    /// Body bytes: skip `skip` bytes of input, then `len` bytes are body, none when a reply ends
    /// otherwise than with a byte of its body.
    Body {
        /// Input before the body bytes.
        skip: usize,
        /// Body bytes.
        len: usize,
        /// The stream.
        stream: StreamId,
        /// Whether the reply ends with them.
        end: bool,
    },
    /// The peer ended a stream; `RefusedStream` says that it did not look at the request.
    Reset {
        /// Bytes of input used.
        used: usize,
        /// The stream.
        stream: StreamId,
        /// The reason.
        code: ErrorCode,
    },
    /// The reply is malformed; its stream was ended, and the peer was told.
    Malformed {
        /// Bytes of input used.
        used: usize,
        /// The stream.
        stream: StreamId,
        /// The fault.
        why: Malformed,
    },
    /// The peer takes no more requests; see [`refused_by_goaway`](super::ClientConnection::refused_by_goaway).
    GoAway {
        /// Bytes of input used.
        used: usize,
        /// The last stream that the peer will answer, by its number.
        last_stream: u32,
        /// The reason.
        code: ErrorCode,
    },
}

/// The reason for which no stream can be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CannotOpen {
    /// As many are open as the peer allows.
    #[error("as many streams are open as the server allows")]
    TooMany,
    /// The peer said that it takes no more.
    #[error("the server takes no more requests on this connection")]
    GoingAway,
    /// All numbers of streams are used up.
    #[error("the connection has no numbers for streams left")]
    NoNumbers,
    /// The connection ended with an error.
    #[error("the connection ended with an error")]
    Failed,
    /// The request's fields are larger than the peer takes.
    #[error("the request's header is larger than the server takes")]
    TooLarge,
}
