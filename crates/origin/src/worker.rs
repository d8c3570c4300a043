//! A thread of the origin: its driver, its listener, its connections.
//!
//! Hot. Owns slots and turns; what bytes mean is for connections to say. It never lets events gather
//! first: that would delay replies, and a server that is worth it finds several at each wait anyway.

use crate::connection::{Connection, Next};
use crate::desk::Desk;
use crate::ending::Ending;
use crate::pulse::{APART, Busy};
use bakeoff_sys::driver::{Driver, Event, LISTENER, Sending, Slot, Wait};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use rustls::ServerConfig;
use std::io;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Pause before the next try when a connection cannot be taken.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(10);
/// Most pieces of one connection in a row before others get their turn.
const PIECES_PER_TURN: usize = 16;
/// Most bytes that are read and dropped of a client that goes on sending after the last reply.
const DRAINED_AT_MOST: usize = 16 << 20;
/// Waits between two looks at the clock.
const WAITS_PER_LOOK: u32 = 16;

pub(crate) struct Worker {
    driver: Box<dyn Driver>,
    places: Vec<Place>,
    free: Vec<Slot>,
    /// Connections that have more to send at once.
    busy: Vec<Slot>,
    desk: Desk,
    tls: Option<Arc<ServerConfig>>,
    http2: bool,
    clock: MonotonicClock,
    waits: u32,
    noted: Nanos,
}

/// What a slot holds.
enum Place {
    Free,
    Open(Box<Connection>),
    /// After the last reply: how much more is read and dropped.
    Draining(usize),
}

/// What an event leaves to be done.
enum After {
    Nothing,
    GoOn,
    Take(TcpStream),
    Close(Option<Ending>),
}

impl Worker {
    pub(crate) fn new(
        mut driver: Box<dyn Driver>,
        listener: TcpListener,
        desk: Desk,
        tls: Option<Arc<ServerConfig>>,
        http2: bool,
    ) -> io::Result<Self> {
        driver.listen(listener)?;
        Ok(Self {
            driver,
            places: Vec::new(),
            free: Vec::new(),
            busy: Vec::new(),
            desk,
            tls,
            http2,
            clock: MonotonicClock::new(),
            waits: 0,
            noted: Nanos::ZERO,
        })
    }

    /// Until the driver fails.
    pub(crate) fn serve(mut self) {
        loop {
            let at_most = if self.busy.is_empty() { None } else { Some(Nanos::ZERO) };
            if self.driver.wait(Wait { at_most, batch: None }).is_err() {
                return;
            }
            while self.event() {}
            for slot in std::mem::take(&mut self.busy) {
                self.go_on(slot);
            }
            self.look_at_clocks();
        }
    }

    /// Works on the next event, if there is one.
    fn event(&mut self) -> bool {
        let Some((slot, event)) = self.driver.next() else { return false };
        let none = &mut Place::Free;
        let place = self.places.get_mut(slot as usize).unwrap_or(none);
        match after(place, event, &mut self.desk) {
            After::Nothing => {}
            After::GoOn => self.go_on(slot),
            After::Take(stream) => self.take(stream),
            After::Close(why) => {
                if let Some(why) = why {
                    self.desk.counters.ended(why);
                }
                if slot == LISTENER {
                    // The listener stays ready: without a pause this would spin.
                    thread::sleep(OUT_OF_DESCRIPTORS);
                } else {
                    self.close(slot);
                }
            }
        }
        true
    }

    fn take(&mut self, stream: TcpStream) {
        let connection = match Connection::new(self.tls.as_ref(), self.http2) {
            Ok(connection) => connection,
            Err(why) => return self.desk.counters.ended(why),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::Free);
            (self.places.len() - 1) as Slot
        });
        match self.driver.adopt(slot, stream) {
            Ok(()) => {
                self.desk.counters.connection();
                self.places[slot as usize] = Place::Open(Box::new(connection));
            }
            Err(_) => {
                self.desk.counters.ended(Ending::NotTaken);
                self.close(slot);
            }
        }
    }

    /// Sends what a connection has to send, as far as its turn goes. Something may be on the desk.
    fn go_on(&mut self, slot: Slot) {
        for _ in 0..PIECES_PER_TURN {
            let Some(Place::Open(connection)) = self.places.get_mut(slot as usize) else { return };
            if connection.is_sending() {
                return;
            }
            match connection.next(&mut self.desk) {
                Next::Wait => return,
                Next::Finish { why, unread } => return self.finish(slot, why, unread),
                Next::Send => {}
            }
            let (head, body) = connection.on_desk(&self.desk);
            let sending = self.driver.send_body(slot, head, body);
            let account = self.desk.out.account();
            self.desk.clear();
            match sending {
                Ok(Sending::Done) => self.desk.counters.sent(account),
                Ok(Sending::Pending) => return connection.sends(account),
                Err(_) => {
                    self.desk.counters.ended(Ending::NotSent);
                    return self.close(slot);
                }
            }
        }
        if !self.busy.contains(&slot) {
            self.busy.push(slot);
        }
    }

    /// All is sent.
    fn finish(&mut self, slot: Slot, why: Option<Ending>, unread: bool) {
        self.desk.clear();
        if let Some(why) = why {
            self.desk.counters.ended(why);
        }
        if unread {
            self.driver.end(slot);
            self.places[slot as usize] = Place::Draining(DRAINED_AT_MOST);
        } else {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.driver.close(slot);
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = Place::Free;
            self.free.push(slot);
        }
    }

    /// Now and then notes how busy this thread is. Without traffic there is no wait that ends.
    fn look_at_clocks(&mut self) {
        self.waits += 1;
        if self.waits < WAITS_PER_LOOK {
            return;
        }
        self.waits = 0;
        let wall = self.clock.now();
        if wall.since(self.noted) >= APART {
            self.noted = wall;
            if let Ok(mut pulse) = self.desk.counters.pulse.lock() {
                pulse.note(Busy { cpu: cpu_time(), wall });
            }
        }
    }
}

/// What an event means to a connection. Afterwards there may be something on the desk.
fn after(place: &mut Place, event: Event<'_>, desk: &mut Desk) -> After {
    match (event, place) {
        (Event::Accepted(stream), _) => After::Take(stream),
        (Event::NotAccepted(_), _) => After::Close(Some(Ending::NotTaken)),
        (Event::Data(data), Place::Open(connection)) => {
            desk.clear();
            connection.received(data.bytes, desk);
            if connection.is_sending() { After::Nothing } else { After::GoOn }
        }
        (Event::Data(data), Place::Draining(left)) => match left.checked_sub(data.bytes.len()) {
            Some(less) => {
                *left = less;
                After::Nothing
            }
            None => After::Close(Some(Ending::WentOnSending)),
        },
        (Event::Sent, Place::Open(connection)) => {
            desk.clear();
            desk.counters.sent(connection.sent());
            After::GoOn
        }
        (Event::Ended, Place::Open(connection)) => {
            desk.clear();
            connection.ended();
            After::GoOn
        }
        (Event::Broken(_), Place::Open(_)) => After::Close(Some(Ending::PeerReset)),
        (Event::NotSent(_), Place::Open(_)) => After::Close(Some(Ending::NotSent)),
        (Event::Ended | Event::Broken(_) | Event::NotSent(_), Place::Draining(_)) => After::Close(None),
        _ => After::Nothing,
    }
}
