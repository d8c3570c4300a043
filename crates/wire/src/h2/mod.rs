//! HTTP/2 (RFC 9113): bytes to messages and back, for client and server, without I/O.
//!
//! Both sides of the wall. Hot, reads untrusted input: nothing here panics, allocates without a bound or trusts a
//! length. Owns framing, streams, windows and header compression; knows nothing of sockets, workloads or whether a
//! status is welcome. Whether a peer speaks HTTP/2 (ALPN, prior knowledge) is for the caller to settle.
//!
//! A connection has two ends: `step` takes bytes in, and `output` holds the bytes to be sent. Body bytes are never
//! copied: a step says where in the input they are.

mod client;
mod error;
mod fields;
pub mod frame;
pub mod hpack;
mod intake;
mod server;
mod session;
mod streams;
mod window;

pub use client::{CannotOpen, ClientConnection, ClientStep, H2ReplyHead};
pub use error::{ConnectionError, Malformed};
pub use fields::field_fits;
pub use frame::ErrorCode;
pub use server::{H2RequestHead, MAX_STREAMS, SendGrant, ServerConnection, ServerStep};

/// The limits that a connection announces for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Window of each stream, in bytes; at most 2^31 - 1.
    pub initial_window: u32,
    /// Window of the connection, in bytes; 65 535 (which cannot be made smaller) to 2^31 - 1.
    pub connection_window: u32,
    /// Largest payload of a frame, in bytes; 16 384 to 2^24 - 1.
    pub max_frame: u32,
    /// Largest dynamic table for incoming headers, in bytes.
    pub header_table: u32,
    /// Largest header of a message, counted as HPACK counts: 32 bytes a field beside its strings.
    pub max_header_list: u32,
}

impl Default for Settings {
    /// The RFC's defaults, and the bound of heads that HTTP/1.1 has here.
    fn default() -> Self {
        Self {
            initial_window: session::DEFAULT_WINDOW,
            connection_window: session::DEFAULT_WINDOW,
            max_frame: frame::MIN_MAX_FRAME,
            header_table: hpack::DEFAULT_TABLE_BYTES,
            max_header_list: crate::http1::MAX_HEAD_BYTES as u32,
        }
    }
}

impl Settings {
    /// With every value in the range that it may have.
    fn clamped(self) -> Self {
        Self {
            initial_window: self.initial_window.min(frame::MAX_31),
            connection_window: self.connection_window.clamp(session::DEFAULT_WINDOW, frame::MAX_31),
            max_frame: self.max_frame.clamp(frame::MIN_MAX_FRAME, frame::MAX_MAX_FRAME),
            ..self
        }
    }
}

/// Number of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(u32);

impl StreamId {
    /// As it stands in frames.
    pub const fn number(self) -> u32 {
        self.0
    }
}
