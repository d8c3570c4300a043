//! Steps of an HTTP/2 server's reading, and grants to send a body.
//!
//! The built-in origin.

use crate::h2::frame::FRAME_HEAD_BYTES;
use crate::h2::{ErrorCode, Malformed, StreamId};
use crate::http1::ServerMethod;

/// One request's head. Borrowed from the connection until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct H2RequestHead<'a> {
    /// The method.
    pub method: ServerMethod,
    /// The path as it was sent.
    pub path: &'a [u8],
    /// `If-Modified-Since`, as it was sent.
    pub if_modified_since: Option<&'a [u8]>,
    /// `Range`, as it was sent.
    pub range: Option<&'a [u8]>,
    /// Bytes of the frames that brought it.
    pub head_bytes: u64,
}

/// One step of reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerStep<'a> {
    /// All input is used; more must come.
    More,
    /// A request's head is complete.
    Request {
        /// Bytes of input used.
        used: usize,
        /// The stream.
        stream: StreamId,
        /// The head.
        head: H2RequestHead<'a>,
        /// Whether the request ends with it.
        end: bool,
    },
    /// Body bytes of a request: skip `skip` bytes of input, then `len` bytes are body.
    Body {
        /// Input before the body bytes.
        skip: usize,
        /// Body bytes.
        len: usize,
        /// The stream.
        stream: StreamId,
        /// Whether the request ends with them.
        end: bool,
    },
    /// The client ended a stream: its reply is not wanted any more.
    Reset {
        /// Bytes of input used.
        used: usize,
        /// The stream.
        stream: StreamId,
        /// The reason.
        code: ErrorCode,
    },
    /// The request, or what followed it, is malformed; its stream was ended, and the client was told.
    Malformed {
        /// Bytes of input used.
        used: usize,
        /// The stream; perhaps never seen before.
        stream: StreamId,
        /// The fault.
        why: Malformed,
    },
    /// The client will open no more streams.
    GoAway {
        /// Bytes of input used.
        used: usize,
        /// The reason.
        code: ErrorCode,
    },
}

/// Grant to send a piece of body: first the frame's head, then so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendGrant {
    /// The head of the DATA frame. Goes behind everything that is in the output now.
    pub head: [u8; FRAME_HEAD_BYTES],
    /// Bytes of body behind it.
    pub len: u32,
    /// Whether the stream ends with them.
    pub end: bool,
}
