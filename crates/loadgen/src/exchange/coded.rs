//! Reply body in gzip: unpacked as it comes, and compared with the object.
//!
//! Measuring side; hot only where replies are coded. Unpacked bytes are not kept, and nothing is unpacked beyond the
//! object's length: a few bytes that claim to be a million are found out after one step.

use bakeoff_content::Body;
use bakeoff_meter::ErrorClass;
use flate2::{Decompress, FlushDecompress, Status};

/// Bytes that are unpacked in a step.
const STEP_BYTES: usize = 16 * 1024;
/// zlib's `MAX_WBITS`: what any server may have used.
const WINDOW_BITS: u8 = 15;

/// The state of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Right so far, and more must come.
    Open,
    /// All of it is there, its check sum is right.
    Ended,
    /// It holds more than the object.
    TooLong,
    /// No gzip, other bytes, or bytes behind its end.
    Wrong,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Coded {
    unpacker: Decompress,
    expected: Body,
    state: State,
}

impl Coded {
    pub(super) fn new(expected: Body) -> Self {
        Self { unpacker: Decompress::new_gzip(WINDOW_BITS), expected, state: State::Open }
    }

    /// Takes coded bytes as they come.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        if self.state == State::Ended && !bytes.is_empty() {
            self.state = State::Wrong;
        }
        let mut room = [0; STEP_BYTES];
        while self.state == State::Open {
            let (used, made) = self.step(bytes, &mut room);
            bytes = bytes.get(used..).unwrap_or_default();
            if self.state == State::Ended && !bytes.is_empty() {
                self.state = State::Wrong;
            }
            // With room left over, all bytes so far are unpacked.
            if bytes.is_empty() && made < room.len() || (used, made) == (0, 0) {
                return;
            }
        }
    }

    /// Unpacks as much as there is room for; returns the numbers of bytes used and made.
    fn step(&mut self, bytes: &[u8], room: &mut [u8]) -> (usize, usize) {
        let (used, offset) = (self.unpacker.total_in(), self.unpacker.total_out());
        let status = self.unpacker.decompress(bytes, room, FlushDecompress::None);
        let used = (self.unpacker.total_in() - used) as usize; // no more than there is in both
        let made = (self.unpacker.total_out() - offset) as usize;
        self.state = match status {
            _ if self.unpacker.total_out() > self.expected.len() => State::TooLong,
            _ if !self.expected.matches(offset, &room[..made]) => State::Wrong,
            Ok(Status::StreamEnd) => State::Ended,
            Ok(Status::Ok | Status::BufError) => State::Open,
            Err(_) => State::Wrong,
        };
        (used, made)
    }

    /// The fault of the body, when nothing more will come.
    pub(super) fn judge(&self) -> Result<(), ErrorClass> {
        match self.state {
            State::Ended if self.unpacker.total_out() == self.expected.len() => Ok(()),
            State::Ended | State::TooLong => Err(ErrorClass::WrongLength),
            State::Open | State::Wrong => Err(ErrorClass::WrongBody),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bakeoff_content::{GzipPacker, ObjectId};
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    const LEN: u64 = 100_000;

    fn body(name: &[u8], len: u64) -> Body {
        Body::compressible(ObjectId::of_name(name), len, 60)
    }

    fn packed(body: Body) -> Vec<u8> {
        GzipPacker::default().pack(&body).unwrap()
    }

    /// The judgement of these bytes in place of `/a`, in pieces of every kind.
    #[track_caller]
    fn said(bytes: &[u8]) -> Result<(), ErrorClass> {
        let of_pieces = |most: usize| {
            let mut coded = Coded::new(body(b"/a", LEN));
            bytes.chunks(most).for_each(|piece| coded.take(piece));
            assert!(coded.unpacker.total_out() <= LEN + STEP_BYTES as u64, "it is bounded");
            coded.judge()
        };
        let said = of_pieces(usize::MAX);
        for most in [1, 7, 1460] {
            assert_eq!(of_pieces(most), said, "in pieces of {most}");
        }
        said
    }

    #[test]
    fn the_object_is_right_however_it_is_packed() {
        let right = packed(body(b"/a", LEN));
        assert_eq!(said(&right), Ok(()));
        for level in [Compression::none(), Compression::best()] {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            body(b"/a", LEN).write_to(&mut encoder).unwrap();
            assert_eq!(said(&encoder.finish().unwrap()), Ok(()));
        }
        let mut nothing = Coded::new(body(b"/a", 0));
        nothing.take(&packed(body(b"/a", 0)));
        assert_eq!(nothing.judge(), Ok(()));
    }

    #[test]
    fn other_lengths_are_wrong_lengths() {
        for len in [0, 1, LEN - 1, LEN + 1, 2 * LEN] {
            assert_eq!(said(&packed(body(b"/a", len))), Err(ErrorClass::WrongLength), "{len}");
        }
    }

    #[test]
    fn other_bytes_and_what_is_no_whole_gzip_are_wrong_bodies() {
        let right = packed(body(b"/a", LEN));
        let changed = |at: usize| {
            let mut bytes = right.clone();
            bytes[at] ^= 1;
            bytes
        };
        let mut plain = Vec::new();
        body(b"/a", LEN).write_to(&mut plain).unwrap();
        for (what, bytes) in [
            ("another object", packed(body(b"/b", LEN))),
            ("as it is", plain),
            ("nothing", Vec::new()),
            ("the magic number", changed(0)),
            ("a byte in the middle", changed(right.len() / 2)),
            ("the check sum", changed(right.len() - 8)),
            ("the length behind it", changed(right.len() - 1)),
            ("cut in the middle", right[..right.len() / 2].to_vec()),
            ("cut before its last byte", right[..right.len() - 1].to_vec()),
            ("a byte behind its end", [&right[..], b"x"].concat()),
            ("twice", [&right[..], &right].concat()),
        ] {
            assert_eq!(said(&bytes), Err(ErrorClass::WrongBody), "{what}");
        }
    }

    /// Twenty megabytes in a hundredth of that.
    #[test]
    fn a_bomb_is_not_unpacked() {
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        bomb.write_all(&vec![0; 20_000_000]).unwrap();
        let bomb = bomb.finish().unwrap();
        assert_eq!(said(&bomb), Err(ErrorClass::WrongBody), "its first bytes are others already");
        // One that begins as the object does: the object, and zeros without end.
        let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
        body(b"/a", LEN).write_to(&mut bomb).unwrap();
        bomb.write_all(&vec![0; 20_000_000]).unwrap();
        assert_eq!(said(&bomb.finish().unwrap()), Err(ErrorClass::WrongLength));
    }
}
