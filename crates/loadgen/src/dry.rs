//! Dry run of the request path, without a kernel, a wait or a thread: the subject of benches.
//!
//! Measuring side; no part of a run. The pieces are those of the loop ([`crate::turn`]), called in its order:
//! source, exchange, connection, recorder. Decides nothing that they do not.

use crate::connection::{Arrival, Connection, Done, Manner, Outcome, Renderer};
use crate::exchange::{Exchange, RequestText};
use crate::flow::Turn;
use crate::job::{BodyCheck, Target};
use crate::listener::Deaf;
use bakeoff_meter::Recorder;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_workload::{Source, Statuses};
use std::cell::RefCell;

const TURN: Turn = Turn { seat: 0, robot: 0 };

/// One connection with one request at a time, and no peer.
pub struct DryRun<'t, S> {
    source: S,
    manner: Manner<'t>,
    connection: Option<Connection>,
    recorder: Recorder,
    refused: Statuses,
    out: Vec<u8>,
    done: Vec<Done>,
    words: Vec<RequestText>,
}

impl<'t, S: Source> DryRun<'t, S> {
    /// Requests of this source, written as the target says; its address is not used.
    pub fn new(target: &'t Target, source: S) -> Self {
        let manner = Manner {
            target,
            render: Renderer::new(target),
            check: BodyCheck::Start,
            clock: MonotonicClock::new(),
            connect_timeout: None,
            plain: RefCell::default(),
        };
        Self {
            source,
            manner,
            connection: None,
            recorder: Recorder::new(),
            refused: Statuses::default(),
            out: Vec::new(),
            done: Vec::new(),
            words: Vec::new(),
        }
    }

    /// Writes the next request; returns its bytes, with those that open the connection before the first. None when the
    /// source has no more.
    pub fn ask(&mut self) -> Option<&[u8]> {
        let now = self.manner.clock.now();
        let exchange = self.exchange(now)?;
        self.out.clear();
        let (manner, out, done) = (&self.manner, &mut self.out, &mut self.done);
        match &mut self.connection {
            Some(connection) => connection.ask(exchange, now, manner, out, done),
            None => {
                let mut connection = Connection::new(exchange, u64::MAX, None, now, manner, out, done);
                connection.connected(now, manner, out, done);
                self.connection = Some(connection);
            }
        }
        Some(&self.out)
    }

    /// Takes in bytes of a server, and records the replies that are whole.
    pub fn hear(&mut self, bytes: &[u8]) {
        let Some(connection) = &mut self.connection else { return };
        self.out.clear();
        let arrival = Arrival::new(&self.manner.clock, None);
        connection.receive(bytes, &arrival, &self.manner, &mut Deaf(()), &mut self.out, &mut self.done);
        for Done { exchange, outcome } in self.done.drain(..) {
            if let Outcome::Complete(at) = outcome {
                // The judgement is recorded, too.
                let _ = exchange.finish(at, &self.refused, &mut self.recorder);
            }
            self.words.push(exchange.words);
        }
    }

    /// The next request as HTTP/1.1 writes it, and nothing else; its length.
    pub fn render(&mut self) -> Option<usize> {
        let exchange = self.exchange(Nanos::ZERO)?;
        self.out.clear();
        self.manner.render.http1(&exchange, &mut self.out);
        self.words.push(exchange.words);
        Some(self.out.len())
    }

    /// Good replies so far.
    pub const fn replies(&self) -> u64 {
        self.recorder.counters.replies
    }

    fn exchange(&mut self, now: Nanos) -> Option<Exchange> {
        let ask = self.source.next(0)?;
        let words = self.words.pop().unwrap_or_default();
        Some(Exchange::new(&ask, words, TURN, now, Nanos::MAX))
    }
}
