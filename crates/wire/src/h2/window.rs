//! Receive windows (RFC 9113 section 5.2), and the body bytes that a stream must still bring.
//!
//! Both roles. Hot. Bodies are handed on at once, so bytes count as consumed when their frame comes.

use super::{ConnectionError, Malformed};

/// Bytes that the peer may still send.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Receive {
    size: u32,
    left: u32,
}

impl Receive {
    pub(super) const fn new(size: u32) -> Self {
        Self { size, left: size }
    }

    /// Bytes came.
    pub(super) fn take(&mut self, bytes: u32) -> Result<(), ConnectionError> {
        self.left = self.left.checked_sub(bytes).ok_or(ConnectionError::FlowControl)?;
        Ok(())
    }

    /// The bytes by which the window is to be opened again: all of it when half is consumed.
    pub(super) fn due(&mut self) -> Option<u32> {
        let consumed = self.size - self.left;
        if consumed == 0 || consumed < self.size / 2 {
            return None;
        }
        self.left = self.size;
        Some(consumed)
    }
}

/// The receiving half of a stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Incoming {
    pub(super) window: Receive,
    /// Body bytes that must still come, where their number was announced.
    pub(super) length_left: Option<u64>,
}

impl Incoming {
    /// A DATA frame with so many bytes for the window and so many of body; returns by how much to open the window
    /// again.
    pub(super) fn data(
        &mut self,
        flow: u32,
        body: u32,
        end: bool,
    ) -> Result<Result<Option<u32>, Malformed>, ConnectionError> {
        self.window.take(flow)?;
        if let Some(left) = &mut self.length_left {
            let Some(rest) = left.checked_sub(u64::from(body)) else { return Ok(Err(Malformed::Length)) };
            *left = rest;
        }
        if end {
            return Ok(self.ended().map(|()| None));
        }
        Ok(Ok(self.window.due()))
    }

    /// Whether all announced bytes came.
    pub(super) fn ended(&self) -> Result<(), Malformed> {
        if self.length_left.is_some_and(|left| left > 0) { Err(Malformed::Length) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_opens_again_when_half_of_it_is_consumed() {
        let mut window = Receive::new(101);
        window.take(49).unwrap();
        assert_eq!(window.due(), None);
        window.take(1).unwrap();
        assert_eq!(window.due(), Some(50));
        assert_eq!(window.due(), None);
        window.take(101).unwrap();
        assert_eq!(window.take(1), Err(ConnectionError::FlowControl));
        assert_eq!(Receive::new(0).due(), None);
    }
}
