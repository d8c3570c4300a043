//! Worker thread of the origin: its driver, its listener, its connections.
//!
//! Hot. Owns slots, turns and timers; connections interpret the bytes. It never lets events gather first: that would
//! delay replies, and a loaded server finds several at each wait anyway.

use crate::busy::{APART, Busy};
use crate::connection::{Connection, Next};
use crate::ending::Ending;
use crate::timers::{Alarm, Timers};
use crate::workspace::Workspace;
use crate::world::WorldWorkspace;
use bakeoff_sys::driver::{ConnectionEvent, Driver, LISTENER, Sending, Slot, Wait};
use bakeoff_sys::thread::cpu_time;
use bakeoff_units::{Clock, Nanos};
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
/// Most bytes that are read and dropped from a client that goes on sending after the last reply.
const DRAINED_AT_MOST: usize = 16 << 20;
/// Waits between two looks at the clock.
const WAITS_PER_LOOK: u32 = 16;

pub(crate) struct Worker {
    driver: Driver,
    places: Vec<SlotContent>,
    free: Vec<Slot>,
    /// Connections that have more to send at once.
    busy: Vec<Slot>,
    workspace: Workspace,
    wanted: ConnectionSettings,
    timers: Timers,
    waits: u32,
    noted: Nanos,
}

/// Settings of connections.
pub(crate) struct ConnectionSettings {
    pub(crate) tls: Option<Arc<ServerConfig>>,
    pub(crate) http2: bool,
    /// Longest time without an event on a connection.
    pub(crate) idle_timeout: Option<Nanos>,
}

/// The contents of a slot.
enum SlotContent {
    Free,
    /// With the time of the last event; that counts where there is a limit.
    Open(Box<Connection>, Nanos),
    /// After the last reply: bytes that may still be read and dropped, and the time of the last ones.
    Draining(usize, Nanos),
}

/// The work that an event leaves.
enum After {
    Nothing,
    GoOn,
    Take(TcpStream),
    Close(Option<Ending>),
}

impl Worker {
    pub(crate) fn new(
        mut driver: Driver,
        listener: TcpListener,
        workspace: Workspace,
        wanted: ConnectionSettings,
    ) -> io::Result<Self> {
        driver.listen(listener)?;
        Ok(Self {
            driver,
            places: Vec::new(),
            free: Vec::new(),
            busy: Vec::new(),
            workspace,
            wanted,
            timers: Timers::default(),
            waits: 0,
            noted: Nanos::ZERO,
        })
    }

    /// Serves until the driver fails.
    pub(crate) fn serve(mut self) {
        loop {
            let at_most = if self.busy.is_empty() { self.until_alarm() } else { Some(Nanos::ZERO) };
            if self.wait(at_most).is_err() {
                return;
            }
            while self.event() {}
            for slot in std::mem::take(&mut self.busy) {
                self.go_on(slot);
            }
            self.ring();
            self.look_at_clocks();
        }
    }

    /// Waits for events. Only where wake-ups cost something it looks first: that look is one more system call for each.
    fn wait(&mut self, at_most: Option<Nanos>) -> io::Result<()> {
        let driver = &mut self.driver;
        let mut wait = |at_most| driver.wait(Wait { at_most, batch: None }).map(|()| driver.left() > 0);
        if !self.workspace.burns_on_wakeup() {
            return wait(at_most).map(drop);
        }
        if wakes_up(at_most, wait)? {
            self.workspace.burn_on_wakeup();
        }
        Ok(())
    }

    /// Time until the next alarm.
    fn until_alarm(&self) -> Option<Nanos> {
        self.timers.next_at().map(|at| at.since(self.workspace.clock.now()))
    }

    /// Wakes the connections whose moment has come.
    fn ring(&mut self) {
        let Some(first) = self.timers.next_at() else { return };
        let now = self.workspace.clock.now();
        if first > now {
            return;
        }
        while let Some((slot, alarm, at)) = self.timers.ring(now) {
            let (idle, active) = match self.places.get(slot as usize) {
                Some(SlotContent::Open(connection, active)) => (connection.is_idle(), *active),
                Some(SlotContent::Draining(_, active)) => (true, *active),
                _ => continue,
            };
            if alarm == Alarm::Due {
                self.workspace.counters.late(self.workspace.clock.now().since(at));
            }
            let idle = idle && alarm == Alarm::Idle;
            match self.wanted.idle_timeout.map(|timeout| active + timeout) {
                Some(end) if idle && end > now => self.timers.set(slot, Alarm::Idle, end),
                Some(_) if idle => self.end_idle(slot),
                _ => self.go_on(slot),
            }
        }
    }

    /// Ends a connection that was idle for too long.
    fn end_idle(&mut self, slot: Slot) {
        if let Some(SlotContent::Open(connection, _)) = self.places.get_mut(slot as usize) {
            connection.leave(Ending::Idle);
            return self.go_on(slot);
        }
        self.workspace.counters.ended(Ending::StayedOpen);
        self.close(slot);
    }

    /// Sets the alarms of an idle connection.
    fn set_alarms(&mut self, slot: Slot) {
        let Some(SlotContent::Open(connection, active)) = self.places.get_mut(slot as usize) else { return };
        if let Some(due) = connection.due() {
            self.timers.set(slot, Alarm::Due, due);
        }
        if let Some(timeout) = self.wanted.idle_timeout {
            *active = self.workspace.clock.now();
            // An alarm that is set already is put off when it rings: most connections never get one.
            if connection.is_idle() && !self.timers.has(slot, Alarm::Idle) {
                self.timers.set(slot, Alarm::Idle, *active + timeout);
            }
        }
    }

    /// Works on the next event, if there is one.
    fn event(&mut self) -> bool {
        let Some((slot, event)) = self.driver.next() else {
            self.workspace.behind = 0;
            return false;
        };
        self.workspace.behind = if let ConnectionEvent::Data(data) = &event { data.behind } else { 0 };
        let none = &mut SlotContent::Free;
        let place = self.places.get_mut(slot as usize).unwrap_or(none);
        match after(place, event, &mut self.workspace) {
            After::Nothing => {}
            After::GoOn => self.go_on(slot),
            After::Take(stream) => self.take(stream),
            After::Close(why) => {
                if let Some(why) = why {
                    self.workspace.counters.ended(why);
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
        let requests = self.workspace.world.as_mut().map_or(u64::MAX, WorldWorkspace::requests);
        let connection = match Connection::new(self.wanted.tls.as_ref(), self.wanted.http2, requests) {
            Ok(connection) => connection,
            Err(why) => return self.workspace.counters.ended(why),
        };
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(SlotContent::Free);
            (self.places.len() - 1) as Slot
        });
        match self.driver.adopt(slot, stream) {
            Ok(()) => {
                self.workspace.counters.connection();
                self.places[slot as usize] = SlotContent::Open(Box::new(connection), Nanos::ZERO);
                self.set_alarms(slot);
            }
            Err(_) => {
                self.workspace.counters.ended(Ending::NotTaken);
                self.close(slot);
            }
        }
    }

    /// Sends a connection's bytes, as far as its turn goes. There may be bytes in the workspace.
    fn go_on(&mut self, slot: Slot) {
        for _ in 0..PIECES_PER_TURN {
            let Some(SlotContent::Open(connection, _)) = self.places.get_mut(slot as usize) else { return };
            if connection.is_sending() {
                return;
            }
            match connection.next(&mut self.workspace) {
                Next::Wait => return self.set_alarms(slot),
                Next::Finish { why, unread } => return self.finish(slot, why, unread),
                Next::Send => {}
            }
            let (head, body) = connection.in_workspace(&self.workspace);
            let sending = self.driver.send_body(slot, head, body);
            let account = self.workspace.out.account();
            self.workspace.clear();
            match sending {
                Ok(Sending::Done) => self.workspace.counters.sent(account),
                Ok(Sending::Pending) => return connection.sends(account),
                Err(_) => {
                    self.workspace.counters.ended(Ending::NotSent);
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
        self.workspace.clear();
        if let Some(why) = why {
            self.workspace.counters.ended(why);
        }
        if unread {
            self.driver.end(slot);
            self.timers.forget(slot);
            let now = self.workspace.clock.now();
            self.places[slot as usize] = SlotContent::Draining(DRAINED_AT_MOST, now);
            // A client that neither closes nor sends would keep its descriptor for ever.
            if let Some(timeout) = self.wanted.idle_timeout {
                self.timers.set(slot, Alarm::Idle, now + timeout);
            }
        } else {
            self.close(slot);
        }
    }

    fn close(&mut self, slot: Slot) {
        self.driver.close(slot);
        self.timers.forget(slot);
        if let Some(place) = self.places.get_mut(slot as usize) {
            *place = SlotContent::Free;
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
        let wall = self.workspace.clock.now();
        if wall.since(self.noted) >= APART {
            self.noted = wall;
            if let Ok(mut busy_samples) = self.workspace.counters.busy_samples.lock() {
                busy_samples.note(Busy { cpu: cpu_time(), wall });
            }
        }
    }
}

/// Waits by `wait`, which tells whether it found something. Returns whether the thread woke up: it slept, as the first
/// look found nothing.
fn wakes_up(
    at_most: Option<Nanos>,
    mut wait: impl FnMut(Option<Nanos>) -> io::Result<bool>,
) -> io::Result<bool> {
    const NO_TIME: Option<Nanos> = Some(Nanos::ZERO);
    if wait(NO_TIME)? || at_most == NO_TIME {
        return Ok(false);
    }
    wait(at_most).map(|_| true)
}

/// The effect of an event on a connection. Afterwards there may be bytes in the workspace.
fn after(place: &mut SlotContent, event: ConnectionEvent<'_>, workspace: &mut Workspace) -> After {
    match (event, place) {
        (ConnectionEvent::Accepted(stream), _) => After::Take(stream),
        (ConnectionEvent::NotAccepted(_), _) => After::Close(Some(Ending::NotTaken)),
        (ConnectionEvent::Data(data), SlotContent::Open(connection, _)) => {
            workspace.clear();
            connection.received(data.bytes, workspace);
            if connection.is_sending() { After::Nothing } else { After::GoOn }
        }
        (ConnectionEvent::Data(data), SlotContent::Draining(left, active)) => {
            match left.checked_sub(data.bytes.len()) {
                Some(less) => {
                    (*left, *active) = (less, workspace.clock.now());
                    After::Nothing
                }
                None => After::Close(Some(Ending::WentOnSending)),
            }
        }
        (ConnectionEvent::Sent, SlotContent::Open(connection, _)) => {
            workspace.clear();
            workspace.counters.sent(connection.sent());
            After::GoOn
        }
        (ConnectionEvent::Ended, SlotContent::Open(connection, _)) => {
            workspace.clear();
            connection.ended();
            After::GoOn
        }
        (ConnectionEvent::Broken(_), SlotContent::Open(..)) => After::Close(Some(Ending::PeerReset)),
        (ConnectionEvent::NotSent(_), SlotContent::Open(..)) => After::Close(Some(Ending::NotSent)),
        (
            ConnectionEvent::Ended | ConnectionEvent::Broken(_) | ConnectionEvent::NotSent(_),
            SlotContent::Draining(..),
        ) => After::Close(None),
        _ => After::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether it woke up, and the waits that were made, where `found` says which of them find an event.
    fn waits(at_most: Option<Nanos>, found: &[bool]) -> (bool, Vec<Option<Nanos>>) {
        let (mut made, mut found) = (Vec::new(), found.iter());
        let woke_up = wakes_up(at_most, |at_most| {
            made.push(at_most);
            Ok(*found.next().expect("no further wait"))
        });
        (woke_up.unwrap(), made)
    }

    #[test]
    fn a_thread_wakes_up_where_a_first_look_found_nothing_and_there_was_time_to_sleep() {
        let (none, second) = (Some(Nanos::ZERO), Some(Nanos::from_secs(1)));
        assert_eq!(waits(None, &[true]), (false, vec![none]));
        assert_eq!(waits(None, &[false, true]), (true, vec![none, None]));
        assert_eq!(waits(second, &[true]), (false, vec![none]));
        assert_eq!(waits(second, &[false, false]), (true, vec![none, second]), "a time that is over");
        assert_eq!(waits(none, &[false]), (false, vec![none]));
        assert_eq!(waits(none, &[true]), (false, vec![none]));
    }
}
