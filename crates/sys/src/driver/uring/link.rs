//! One connection of the io_uring driver.

use super::super::unsent::Unsent;
use std::net::{Shutdown, TcpStream};

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    pub(super) connecting: bool,
    pub(super) stamped: bool,
    /// A receive stands.
    pub(super) armed: bool,
    /// What came last would have filled a small buffer.
    pub(super) large: bool,
    /// The round in which bytes came last.
    pub(super) received: u64,
    /// Its end or its break was told: nothing is received any more.
    pub(super) over: bool,
    /// What a send did not take whole; while there is some, the driver waits for room.
    pub(super) unsent: Unsent,
    /// To be sent by the next wait.
    queued: Vec<u8>,
    /// Sent by the last wait, all of it unless a completion says otherwise.
    handed_over: Vec<u8>,
}

impl Link {
    pub(super) fn new(stream: TcpStream, stamped: bool) -> Self {
        Self {
            stream,
            connecting: false,
            stamped,
            armed: false,
            large: false,
            received: 0,
            over: false,
            unsent: Unsent::default(),
            queued: Vec::new(),
            handed_over: Vec::new(),
        }
    }

    pub(super) fn waiting_for_room(&self) -> bool {
        self.connecting || self.unsent.is_some()
    }

    /// Takes bytes for the next wait; whether they are the first.
    pub(super) fn queue(&mut self, bytes: &[u8]) -> bool {
        if self.waiting_for_room() {
            self.unsent.keep(bytes, &[], false);
            return false;
        }
        let first = self.queued.is_empty();
        self.queued.extend_from_slice(bytes);
        first && !bytes.is_empty()
    }

    pub(super) fn queued_bytes(&self) -> usize {
        self.queued.len()
    }

    /// What is to be sent now; it stays where it is until the next call.
    pub(super) fn hand_over(&mut self) -> Option<&[u8]> {
        if self.queued.is_empty() {
            return None;
        }
        self.handed_over.clear();
        std::mem::swap(&mut self.queued, &mut self.handed_over);
        Some(&self.handed_over)
    }

    /// Of what was handed over last only so much was taken: the rest goes before what is queued. Whether
    /// there is any.
    pub(super) fn keep_rest(&mut self, taken: usize) -> bool {
        let rest = self.handed_over.get(taken..).unwrap_or_default();
        if rest.is_empty() {
            return false;
        }
        self.unsent.keep(rest, &[], false);
        self.queue_to_unsent();
        true
    }

    /// Moves what is queued; whether there was any.
    pub(super) fn queue_to_unsent(&mut self) -> bool {
        let any = !self.queued.is_empty();
        if any {
            self.unsent.keep(&self.queued, &[], false);
            self.queued.clear();
        }
        any
    }

    /// Closes the socket; how many system calls that took. A request that stands keeps the socket open
    /// behind its closed descriptor, until it is told by a shutdown that nothing more will come.
    pub(super) fn close(self) -> u64 {
        let held = self.armed || self.waiting_for_room();
        if held {
            let _ = self.stream.shutdown(Shutdown::Both); // gone already is as good
        }
        1 + u64::from(held)
    }
}
