//! One socket of the epoll driver, and the table of them.

use super::super::Slot;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::net::{Shutdown, TcpStream};

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) stream: TcpStream,
    pub(super) connecting: bool,
    pub(super) stamped: bool,
    pub(super) watched_for_writing: bool,
    /// Its end or its break was told: it is not read any more.
    pub(super) over: bool,
    generation: u32,
    pending: Option<Box<Pending>>,
}

/// What the kernel has not taken yet: first the copy, then the body.
#[derive(Debug, Default)]
struct Pending {
    copy: Vec<u8>,
    at: usize,
    body: &'static [u8],
    told: bool,
    end: bool,
}

/// What came of sending what was kept.
pub(super) enum Flushed {
    Blocked,
    All { told: bool },
    Failed(io::Error),
}

impl Link {
    pub(super) fn new(stream: TcpStream, stamped: bool) -> Self {
        Self {
            stream,
            connecting: false,
            stamped,
            watched_for_writing: false,
            over: false,
            generation: 0,
            pending: None,
        }
    }

    /// What its events are registered under: they tell a connection from an earlier one of its slot.
    pub(super) fn token(&self, slot: Slot) -> u64 {
        u64::from(self.generation) << 32 | u64::from(slot)
    }

    pub(super) fn has_pending(&self) -> bool {
        self.pending.is_some()
    }

    /// How many bytes the kernel took: none when it is full or the connection does not stand yet.
    pub(super) fn write(&self, head: &[u8], body: &[u8]) -> io::Result<usize> {
        loop {
            let written = if body.is_empty() {
                (&self.stream).write(head)
            } else {
                (&self.stream).write_vectored(&[IoSlice::new(head), IoSlice::new(body)])
            };
            match written {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(0),
                written => return written,
            }
        }
    }

    /// Behind what is kept already; a body is followed by nothing.
    pub(super) fn keep(&mut self, head: &[u8], body: &'static [u8], told: bool) {
        let pending = self.pending.get_or_insert_default();
        if !pending.body.is_empty() {
            let body = std::mem::take(&mut pending.body);
            pending.copy.extend_from_slice(body);
        }
        pending.copy.extend_from_slice(head);
        pending.body = body;
        pending.told |= told;
    }

    pub(super) fn flush(&mut self) -> Flushed {
        let Some(mut pending) = self.pending.take() else { return Flushed::All { told: false } };
        loop {
            let copy = &pending.copy[pending.at..];
            if copy.is_empty() && pending.body.is_empty() {
                if pending.end {
                    let _ = self.stream.shutdown(Shutdown::Write); // gone already is as good
                }
                return Flushed::All { told: pending.told };
            }
            match self.write(copy, pending.body) {
                Ok(0) => {
                    self.pending = Some(pending);
                    return Flushed::Blocked;
                }
                Ok(taken) => {
                    let of_copy = taken.min(copy.len());
                    pending.at += of_copy;
                    pending.body = &pending.body[taken - of_copy..];
                }
                Err(error) => return Flushed::Failed(error),
            }
        }
    }

    /// Ends our half, behind what is kept.
    pub(super) fn end(&mut self) {
        match &mut self.pending {
            Some(pending) => pending.end = true,
            None => {
                let _ = self.stream.shutdown(Shutdown::Write); // gone already is as good
            }
        }
    }
}

/// Links by slot.
#[derive(Debug, Default)]
pub(super) struct Links {
    places: Vec<Place>,
}

#[derive(Debug, Default)]
struct Place {
    generation: u32,
    link: Option<Link>,
}

impl Links {
    pub(super) fn get(&mut self, slot: Slot) -> Option<&mut Link> {
        self.places.get_mut(slot as usize)?.link.as_mut()
    }

    /// The link whose event it is, unless that is closed already.
    pub(super) fn by_token(&mut self, token: u64) -> Option<(Slot, &mut Link)> {
        let (slot, generation) = (token as u32, (token >> 32) as u32);
        let link = self.get(slot).filter(|link| link.generation == generation)?;
        Some((slot, link))
    }

    pub(super) fn put(&mut self, slot: Slot, mut link: Link) -> &mut Link {
        let index = slot as usize;
        if index >= self.places.len() {
            self.places.resize_with(index + 1, Place::default);
        }
        let place = &mut self.places[index];
        place.generation = place.generation.wrapping_add(1);
        link.generation = place.generation;
        place.link.insert(link)
    }

    /// Whether there was one; dropping it closes it, which takes it off the event queue, too.
    pub(super) fn remove(&mut self, slot: Slot) -> bool {
        self.places.get_mut(slot as usize).is_some_and(|place| place.link.take().is_some())
    }
}
