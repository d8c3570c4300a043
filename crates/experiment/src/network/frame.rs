//! What is said: frames of 16 bytes, each with the same mark and version.
//!
//! ```text
//! 0        4         5      6     8               16
//! | "bkof" | version | kind | 0 0 | value, big end first |
//! ```

use super::BLOCK;

/// Bytes of a frame.
pub(super) const FRAME: usize = 16;
/// The version of this exchange.
pub(super) const VERSION: u8 = 1;

const MARK: [u8; 4] = *b"bkof";

/// One thing said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// Client: I want to measure for so many ns.
    Hello(u64),
    /// Listener: you have so many ns.
    Welcome(u64),
    /// Client: answer this number.
    Ping(u64),
    /// Listener: that number.
    Pong(u64),
    /// Either: so many bytes follow, at most [`BLOCK`].
    Block(u32),
    /// Either: no more blocks.
    End,
    /// Listener: so many bytes came since the first block.
    Received(u64),
    /// Listener: in so many ns.
    Took(u64),
    /// Client: send blocks for so many ns.
    Send(u64),
    /// Client: that was all.
    Bye,
}

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoFrame {
    /// Not ours at all.
    Stranger,
    /// Another version.
    Version(u8),
    /// Ours, but it means nothing.
    Meaningless,
}

impl Frame {
    /// As bytes.
    pub(super) fn bytes(self) -> [u8; FRAME] {
        let (kind, value) = match self {
            Self::Hello(ns) => (1, ns),
            Self::Welcome(ns) => (2, ns),
            Self::Ping(number) => (3, number),
            Self::Pong(number) => (4, number),
            Self::Block(length) => (5, u64::from(length)),
            Self::End => (6, 0),
            Self::Received(bytes) => (7, bytes),
            Self::Took(ns) => (8, ns),
            Self::Send(ns) => (9, ns),
            Self::Bye => (10, 0),
        };
        let mut bytes = [0; FRAME];
        bytes[..4].copy_from_slice(&MARK);
        (bytes[4], bytes[5]) = (VERSION, kind);
        bytes[8..].copy_from_slice(&u64::to_be_bytes(value));
        bytes
    }

    /// What the bytes say.
    pub(super) fn parse(bytes: &[u8; FRAME]) -> Result<Self, NoFrame> {
        let [m0, m1, m2, m3, version, kind, r0, r1, value @ ..] = *bytes;
        if [m0, m1, m2, m3] != MARK {
            return Err(NoFrame::Stranger);
        }
        if version != VERSION {
            return Err(NoFrame::Version(version));
        }
        let value = u64::from_be_bytes(value);
        match (kind, value, [r0, r1]) {
            (1, ns, [0, 0]) => Ok(Self::Hello(ns)),
            (2, ns, [0, 0]) => Ok(Self::Welcome(ns)),
            (3, number, [0, 0]) => Ok(Self::Ping(number)),
            (4, number, [0, 0]) => Ok(Self::Pong(number)),
            (5, length @ 1.., [0, 0]) if length <= BLOCK as u64 => Ok(Self::Block(length as u32)),
            (6, 0, [0, 0]) => Ok(Self::End),
            (7, bytes, [0, 0]) => Ok(Self::Received(bytes)),
            (8, ns, [0, 0]) => Ok(Self::Took(ns)),
            (9, ns, [0, 0]) => Ok(Self::Send(ns)),
            (10, 0, [0, 0]) => Ok(Self::Bye),
            _ => Err(NoFrame::Meaningless),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Frame; 10] = [
        Frame::Hello(5_000_000_000),
        Frame::Welcome(u64::MAX),
        Frame::Ping(0),
        Frame::Pong(1),
        Frame::Block(BLOCK as u32),
        Frame::End,
        Frame::Received(9),
        Frame::Took(9),
        Frame::Send(9),
        Frame::Bye,
    ];

    #[test]
    fn every_frame_is_read_as_it_was_written() {
        for frame in ALL {
            assert_eq!(Frame::parse(&frame.bytes()), Ok(frame));
        }
    }

    #[test]
    fn no_single_wrong_byte_of_the_head_gets_through() {
        for frame in ALL {
            for at in 0..8 {
                for wrong in 0..=255u8 {
                    let mut bytes = frame.bytes();
                    if bytes[at] == wrong {
                        continue;
                    }
                    bytes[at] = wrong;
                    let read = Frame::parse(&bytes);
                    match at {
                        0..4 => assert_eq!(read, Err(NoFrame::Stranger)),
                        4 => assert_eq!(read, Err(NoFrame::Version(wrong))),
                        5 => assert_ne!(read, Ok(frame)),
                        _ => assert_eq!(read, Err(NoFrame::Meaningless)),
                    }
                }
            }
        }
    }

    #[test]
    fn a_block_is_neither_empty_nor_too_long() {
        let with = |length: u64| {
            let mut bytes = Frame::Block(1).bytes();
            bytes[8..].copy_from_slice(&length.to_be_bytes());
            Frame::parse(&bytes)
        };
        assert_eq!(with(1), Ok(Frame::Block(1)));
        for wrong in [0, BLOCK as u64 + 1, 1 << 32, u64::MAX] {
            assert_eq!(with(wrong), Err(NoFrame::Meaningless));
        }
    }
}
