//! Connection errors and stream errors of HTTP/2 (RFC 9113 section 5.4).
//!
//! Both sides. Closed lists: each reason is also the label under which it is counted.

use super::ErrorCode;
use super::hpack::HpackError;

/// Error of a connection, which is then of no further use. The peer has been told by a GOAWAY in the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectionError {
    /// The peer's first bytes are not those of HTTP/2.
    #[error("the peer does not speak HTTP/2")]
    NoPreface,
    /// A frame is larger than agreed, or not as large as its kind must be.
    #[error("a frame has a wrong size")]
    FrameSize,
    /// A frame came on a stream where its kind has no place.
    #[error("a frame came on an unexpected stream")]
    UnexpectedStream,
    /// Another frame stands inside a header block, or a part of a block outside.
    #[error("a header block is interleaved with other frames")]
    Interleaved,
    /// More padding than the frame has bytes.
    #[error("a frame has more padding than bytes")]
    Padding,
    /// A header block cannot be read.
    #[error("a header block cannot be read: {0}")]
    Compression(HpackError),
    /// The header fields of a message are larger than agreed.
    #[error("a message's header fields are larger than agreed")]
    HeaderListTooLarge,
    /// A header block in more frames than anybody needs.
    #[error("a header block came in too many frames")]
    ContinuationFlood,
    /// More body bytes than the window allowed.
    #[error("more was sent than the flow-control window allowed")]
    FlowControl,
    /// A window was opened beyond 2^31 - 1.
    #[error("a flow-control window was made too large")]
    WindowTooLarge,
    /// A window was opened by zero.
    #[error("a flow-control window was opened by 0")]
    ZeroIncrement,
    /// A setting has a value that it cannot have.
    #[error("a setting is out of range")]
    Setting,
    /// The setting of the initial window is beyond 2^31 - 1.
    #[error("the setting of the initial window is out of range")]
    WindowSetting,
    /// A push that was switched off.
    #[error("the peer pushes though that was switched off")]
    PushPromise,
    /// Body frames without a byte, one after the other.
    #[error("too many empty frames")]
    EmptyFrameFlood,
    /// More PING or SETTINGS than answers could be sent.
    #[error("too many frames that want an answer")]
    ControlFlood,
    /// More streams were reset than served, or streams that were closed long ago.
    #[error("too many streams were reset")]
    ResetFlood,
    /// A message went on behind its end.
    #[error("a frame came on a stream that was closed")]
    StreamClosed,
}

impl ConnectionError {
    /// The code that the peer is told.
    pub const fn code(self) -> ErrorCode {
        match self {
            Self::FrameSize => ErrorCode::FrameSizeError,
            Self::Compression(_) => ErrorCode::CompressionError,
            Self::FlowControl | Self::WindowTooLarge | Self::WindowSetting => ErrorCode::FlowControlError,
            Self::StreamClosed => ErrorCode::StreamClosed,
            Self::HeaderListTooLarge
            | Self::ContinuationFlood
            | Self::EmptyFrameFlood
            | Self::ControlFlood
            | Self::ResetFlood => ErrorCode::EnhanceYourCalm,
            Self::NoPreface
            | Self::UnexpectedStream
            | Self::Interleaved
            | Self::Padding
            | Self::ZeroIncrement
            | Self::Setting
            | Self::PushPromise => ErrorCode::ProtocolError,
        }
    }
}

impl From<HpackError> for ConnectionError {
    fn from(error: HpackError) -> Self {
        match error {
            HpackError::ListTooLarge => Self::HeaderListTooLarge,
            other => Self::Compression(other),
        }
    }
}

/// Fault of a malformed message (RFC 9113 section 8.1.1). It ends its stream, not the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A pseudo-header field is missing, doubled, unknown, misplaced or has no such value.
    #[error("the message's pseudo-header fields are wrong")]
    Pseudo,
    /// A name or value has characters that it must not have.
    #[error("a header field has characters that it must not have")]
    Field,
    /// A field about the connection, as HTTP/1.1 has them.
    #[error("a header field of HTTP/1.1 connections")]
    ConnectionField,
    /// A malformed length, or two that differ, or another number of bytes than announced.
    #[error("the message's length is not what was said")]
    Length,
    /// Body bytes before the head.
    #[error("body bytes came before the head")]
    NoHead,
    /// A second head, where only trailers with the end of the stream may come.
    #[error("a head came behind the head")]
    Trailers,
    /// An interim reply that ends the stream, that switches protocols, or one too many.
    #[error("an interim reply that cannot be one")]
    Interim,
    /// A window of the stream was opened by zero or too far.
    #[error("the stream's window was opened by 0 or too far")]
    Window,
}
