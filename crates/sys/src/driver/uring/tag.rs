//! What a completion belongs to: the token of a connection, and which of its requests.

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// All that comes.
    Receive,
    /// Room for bytes that go, or a connection that stands.
    Ready,
    /// Bytes that go.
    Send,
    /// All who connect.
    Accept,
}

const ALL: [Op; 4] = [Op::Receive, Op::Ready, Op::Send, Op::Accept];
/// Tokens leave these bits free.
const SHIFT: u32 = 62;

impl Op {
    pub(super) fn tag(self, token: u64) -> u64 {
        debug_assert!(token >> SHIFT == 0);
        (self as u64) << SHIFT | token
    }

    pub(super) fn of(tagged: u64) -> (Self, u64) {
        (ALL[(tagged >> SHIFT) as usize], tagged & ((1 << SHIFT) - 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_comes_off_as_it_was_put_on() {
        for op in ALL {
            for token in [0, 7, u64::from(u32::MAX), (1 << SHIFT) - 1] {
                assert_eq!(Op::of(op.tag(token)), (op, token));
            }
        }
    }
}
