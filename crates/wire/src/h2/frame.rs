//! Frames (RFC 9113 sections 4 to 7): their heads, and the numbers in them.
//!
//! Both sides. Hot, reads untrusted input. Owns all that can be said of a frame from its head alone.

/// Bytes of a frame's head.
pub const FRAME_HEAD_BYTES: usize = 9;
/// Smallest and default bound of a frame's payload, in bytes.
pub const MIN_MAX_FRAME: u32 = 16_384;
/// Largest payload that a frame can have, in bytes.
pub const MAX_MAX_FRAME: u32 = (1 << 24) - 1;
/// Largest window, and largest stream identifier.
pub const MAX_31: u32 = (1 << 31) - 1;
/// The first bytes of a client (RFC 9113 section 3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameKind {
    /// Body bytes.
    Data,
    /// A header block, or its start.
    Headers,
    /// Obsolete advice.
    Priority,
    /// A stream ends at once.
    RstStream,
    /// Parameters, or their acknowledgement.
    Settings,
    /// A pushed reply, without a request.
    PushPromise,
    /// A question whether the peer is there, or the answer.
    Ping,
    /// The connection takes no new streams.
    GoAway,
    /// More may be sent.
    WindowUpdate,
    /// More of a header block.
    Continuation,
    /// Anything else: to be passed over.
    Unknown(u8),
}

impl FrameKind {
    /// The kind with this number.
    pub const fn of(number: u8) -> Self {
        match number {
            0 => Self::Data,
            1 => Self::Headers,
            2 => Self::Priority,
            3 => Self::RstStream,
            4 => Self::Settings,
            5 => Self::PushPromise,
            6 => Self::Ping,
            7 => Self::GoAway,
            8 => Self::WindowUpdate,
            9 => Self::Continuation,
            other => Self::Unknown(other),
        }
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        match self {
            Self::Data => 0,
            Self::Headers => 1,
            Self::Priority => 2,
            Self::RstStream => 3,
            Self::Settings => 4,
            Self::PushPromise => 5,
            Self::Ping => 6,
            Self::GoAway => 7,
            Self::WindowUpdate => 8,
            Self::Continuation => 9,
            Self::Unknown(number) => number,
        }
    }
}

/// The stream has no more frames of this sender behind this one.
pub const END_STREAM: u8 = 0x1;
/// The frame answers one of the same kind.
pub const ACK: u8 = 0x1;
/// The header block ends with this frame.
pub const END_HEADERS: u8 = 0x4;
/// The first byte of the payload says how many bytes at its end are padding.
pub const PADDED: u8 = 0x8;
/// Five bytes of obsolete advice stand before the header block.
pub const PRIORITY: u8 = 0x20;

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameHead {
    /// Bytes of payload, below 2^24.
    pub length: u32,
    /// The kind.
    pub kind: FrameKind,
    /// Flags, whose meaning depends on the kind.
    pub flags: u8,
    /// The stream, or 0 for the connection.
    pub stream: u32,
}

impl FrameHead {
    /// Reads a head.
    pub const fn parse(bytes: &[u8; FRAME_HEAD_BYTES]) -> Self {
        let [l2, l1, l0, kind, flags, s3, s2, s1, s0] = *bytes;
        Self {
            length: u32::from_be_bytes([0, l2, l1, l0]),
            kind: FrameKind::of(kind),
            flags,
            stream: u32::from_be_bytes([s3, s2, s1, s0]) & MAX_31,
        }
    }

    /// Writes a head.
    pub const fn bytes(&self) -> [u8; FRAME_HEAD_BYTES] {
        let [_, l2, l1, l0] = self.length.to_be_bytes();
        let [s3, s2, s1, s0] = self.stream.to_be_bytes();
        [l2, l1, l0, self.kind.number(), self.flags, s3, s2, s1, s0]
    }

    /// Whether a flag is set.
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Parameters (RFC 9113 section 6.5.2).
pub(super) mod setting {
    pub(in crate::h2) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in crate::h2) const ENABLE_PUSH: u16 = 2;
    pub(in crate::h2) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in crate::h2) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in crate::h2) const MAX_FRAME_SIZE: u16 = 5;
    pub(in crate::h2) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Error codes of streams and connections (RFC 9113 section 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// Nothing is wrong.
    NoError,
    /// The protocol was broken in a way that has no code of its own.
    ProtocolError,
    /// The sender failed.
    InternalError,
    /// More was sent than the window allowed.
    FlowControlError,
    /// Settings were not acknowledged in time.
    SettingsTimeout,
    /// A frame came for a stream that was closed.
    StreamClosed,
    /// A frame has a wrong size.
    FrameSizeError,
    /// The request was not looked at, and can be sent again.
    RefusedStream,
    /// The stream is not wanted any more.
    Cancel,
    /// A header block could not be read.
    CompressionError,
    /// The connection of a CONNECT request was reset.
    ConnectError,
    /// The peer asks for too much.
    EnhanceYourCalm,
    /// The transport is not safe enough.
    InadequateSecurity,
    /// HTTP/1.1 is required instead.
    Http11Required,
    /// A code that the RFC does not have.
    Unknown(u32),
}

impl ErrorCode {
    /// All codes of the RFC, each at the place of its number.
    const ALL: [Self; 14] = [
        Self::NoError,
        Self::ProtocolError,
        Self::InternalError,
        Self::FlowControlError,
        Self::SettingsTimeout,
        Self::StreamClosed,
        Self::FrameSizeError,
        Self::RefusedStream,
        Self::Cancel,
        Self::CompressionError,
        Self::ConnectError,
        Self::EnhanceYourCalm,
        Self::InadequateSecurity,
        Self::Http11Required,
    ];

    /// The code with this number.
    pub fn of(number: u32) -> Self {
        Self::ALL.get(number as usize).copied().unwrap_or(Self::Unknown(number))
    }

    /// Its number.
    pub fn number(self) -> u32 {
        match self {
            Self::Unknown(number) => number,
            known => Self::ALL.iter().position(|&code| code == known).unwrap_or(0) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_kinds_and_codes_go_there_and_back() {
        for number in 0..=255 {
            assert_eq!(FrameKind::of(number).number(), number);
            assert_eq!(ErrorCode::of(u32::from(number)).number(), u32::from(number));
        }
        assert_eq!(ErrorCode::of(0xb), ErrorCode::EnhanceYourCalm);
        assert_eq!(ErrorCode::of(0xd), ErrorCode::Http11Required);
        let head = FrameHead { length: 0x01_0203, kind: FrameKind::Headers, flags: 5, stream: 0x0405_0607 };
        assert_eq!(head.bytes(), [1, 2, 3, 1, 5, 4, 5, 6, 7]);
        assert_eq!(FrameHead::parse(&head.bytes()), head);
        let reserved = FrameHead::parse(&[0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(reserved.stream, MAX_31, "the reserved bit is passed over");
    }
}
