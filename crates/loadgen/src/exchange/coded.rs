//! Reply body in a content coding: unpacked as it comes, and compared with the object.
//!
//! Measuring side; hot only where replies are coded. Unpacked bytes are not kept, and nothing is unpacked beyond the
//! object's length: a few bytes that claim to be a million are found out after one step. Beside the step an unpacker
//! keeps its window: 32 KB for gzip, at most 16 MB for brotli and 8 MB for zstd.

mod unpacker;

use bakeoff_content::Body;
use bakeoff_meter::ErrorClass;
use bakeoff_wire::http1::ContentCoding;
use unpacker::{Step, Unpacker};

/// Bytes that are unpacked in a step.
const STEP_BYTES: usize = 16 * 1024;

/// The state of the body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Right so far, and more must come.
    Open,
    /// All of it is there; where the coding has a check sum, it is right.
    Ended,
    /// It holds more than the object.
    TooLong,
    /// Not in that coding, other bytes, or bytes behind its end.
    Wrong,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Coded {
    unpacker: Unpacker,
    expected: Body,
    /// Bytes unpacked so far.
    made: u64,
    state: State,
}

impl Coded {
    /// `None` for codings that are not unpacked here.
    pub(super) fn new(coding: ContentCoding, expected: Body) -> Option<Self> {
        Some(Self { unpacker: Unpacker::new(coding)?, expected, made: 0, state: State::Open })
    }

    /// Takes coded bytes as they come.
    pub(super) fn take(&mut self, mut bytes: &[u8]) {
        self.refuse_behind_the_end(bytes);
        let mut room = [0; STEP_BYTES];
        while self.state == State::Open {
            let (used, made) = self.step(bytes, &mut room);
            bytes = bytes.get(used..).unwrap_or_default();
            self.refuse_behind_the_end(bytes);
            // With room left over, all bytes so far are unpacked.
            if bytes.is_empty() && made < room.len() || (used, made) == (0, 0) {
                return;
            }
        }
    }

    fn refuse_behind_the_end(&mut self, rest: &[u8]) {
        if self.state == State::Ended && !rest.is_empty() {
            self.state = State::Wrong;
        }
    }

    /// Unpacks as much as there is room for; returns the numbers of bytes used and made.
    fn step(&mut self, bytes: &[u8], room: &mut [u8]) -> (usize, usize) {
        let Some(Step { used, made, ended }) = self.unpacker.step(bytes, room) else {
            self.state = State::Wrong;
            return (0, 0);
        };
        let offset = self.made;
        self.made += made as u64;
        self.state = match ended {
            _ if self.made > self.expected.len() => State::TooLong,
            _ if !self.expected.matches(offset, &room[..made]) => State::Wrong,
            true => State::Ended,
            false => State::Open,
        };
        (used, made)
    }

    /// The fault of the body, when nothing more will come.
    pub(super) fn judge(&self) -> Result<(), ErrorClass> {
        match self.state {
            State::Ended if self.made == self.expected.len() => Ok(()),
            State::Ended | State::TooLong => Err(ErrorClass::WrongLength),
            State::Open | State::Wrong => Err(ErrorClass::WrongBody),
        }
    }
}

#[cfg(test)]
mod tests;
