//! What a server is told: steps of reading, and leave to send.
//!
//! The built-in origin.

use crate::h2::frame::FRAME_HEAD_BYTES;
use crate::h2::{ErrorCode, Malformed, StreamId};
use crate::http1::ServerMethod;

/// One request's head. Borrowed from the connection until the next step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
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
        /// Whose.
        stream: StreamId,
        /// What it asks for.
        head: RequestHead<'a>,
        /// Whether the request ends with it.
        end: bool,
    },
    /// Body bytes of a request: skip `skip` bytes of input, then `len` bytes are body.
    Body {
        /// Input before the body bytes.
        skip: usize,
        /// Body bytes.
        len: usize,
        /// Whose.
        stream: StreamId,
        /// Whether the request ends with them.
        end: bool,
    },
    /// The client ended a stream: its reply is not wanted any more.
    Reset {
        /// Bytes of input used.
        used: usize,
        /// Which.
        stream: StreamId,
        /// Why.
        code: ErrorCode,
    },
    /// The request, or what followed it, is none; its stream was ended, and the client was told.
    Malformed {
        /// Bytes of input used.
        used: usize,
        /// Whose; perhaps never seen before.
        stream: StreamId,
        /// Why.
        why: Malformed,
    },
    /// The client will open no more streams.
    GoAway {
        /// Bytes of input used.
        used: usize,
        /// Why.
        code: ErrorCode,
    },
}

/// Leave to send a piece of body: first the frame's head, then so many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The head of the DATA frame. Goes behind everything that is in the output now.
    pub head: [u8; FRAME_HEAD_BYTES],
    /// Bytes of body behind it.
    pub len: u32,
    /// Whether the stream ends with them.
    pub end: bool,
}
