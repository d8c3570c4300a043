//! HTTP/2 on a connection: many requests at once.
//!
//! Measuring side, hot. Bytes in, bytes out; frames, windows and header compression are `wire`'s. A request
//! for which the server has no stream yet waits here; its service time counts from when it was sent.

use super::outcome::{Arrival, Closing, Done, Outcome};
use super::render::Renderer;
use crate::exchange::{Exchange, Head};
use crate::job::BodyCheck;
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_wire::h2::{
    CannotOpen, ClientConnection, ClientStep, ConnectionError, ErrorCode, H2ReplyHead, Settings, StreamId,
};
use std::collections::VecDeque;

/// Window sizes as in h2load: bytes are consumed at once, so that flow control need not slow a server.
const WINDOW_BYTES: u32 = (1 << 30) - 1;

/// The streams of a connection.
pub(super) struct Http2 {
    wire: ClientConnection,
    /// By place; `None` where no stream is.
    ids: Vec<Option<StreamId>>,
    /// By place.
    exchanges: Vec<Option<Exchange>>,
    in_flight: usize,
    /// Those that have no stream yet.
    waiting: VecDeque<Exchange>,
    /// When bytes last came.
    heard: Nanos,
    /// Whether a reply was whole.
    answered: bool,
    /// Whether a request came to its end here, good or bad.
    settled: bool,
    /// Whether a request timed out and nothing at all had come since it was sent: no more are sent.
    silent: bool,
    /// The server's violation of the protocol, in words.
    violation: Option<String>,
}

impl Http2 {
    pub(super) fn with(exchange: Exchange) -> Self {
        let windows =
            Settings { initial_window: WINDOW_BYTES, connection_window: WINDOW_BYTES, ..Settings::default() };
        Self {
            wire: ClientConnection::new(windows),
            ids: Vec::new(),
            exchanges: Vec::new(),
            in_flight: 0,
            waiting: VecDeque::from([exchange]),
            heard: Nanos::ZERO,
            answered: false,
            settled: false,
            silent: false,
            violation: None,
        }
    }

    pub(super) fn push(&mut self, exchange: Exchange) {
        self.waiting.push_back(exchange);
    }

    pub(super) fn is_quiet(&self) -> bool {
        self.in_flight == 0 && self.waiting.is_empty()
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Whether it carries nothing and will never carry more.
    pub(super) fn is_spent(&self) -> bool {
        self.in_flight == 0 && (self.silent || self.wire.is_used_up())
    }

    pub(super) fn violation(&self) -> Option<&str> {
        self.violation.as_deref()
    }

    /// Opens streams for those that wait, as far as the server allows, and moves the bytes to send to `out`; returns
    /// the number of streams opened.
    pub(super) fn begin(
        &mut self,
        now: Nanos,
        render: &Renderer,
        most: u64,
        out: &mut Vec<u8>,
        done: &mut Vec<Done>,
    ) -> u64 {
        let mut opened = 0;
        while opened < most && !self.silent {
            let Some(mut exchange) = self.waiting.pop_front() else { break };
            match render.http2(&exchange, &mut self.wire) {
                Ok(stream) => {
                    exchange.sent = now;
                    self.put(stream, exchange);
                    opened += 1;
                }
                Err(CannotOpen::TooLarge) => {
                    done.push(Done { exchange, outcome: Outcome::Failed(ErrorClass::SendFailed) });
                }
                Err(_) => {
                    self.waiting.push_front(exchange);
                    break;
                }
            }
        }
        out.append(self.wire.output());
        opened
    }

    fn put(&mut self, stream: StreamId, exchange: Exchange) {
        self.in_flight += 1;
        match self.ids.iter().position(Option::is_none) {
            Some(place) => {
                self.ids[place] = Some(stream);
                self.exchanges[place] = Some(exchange);
            }
            None => {
                self.ids.push(Some(stream));
                self.exchanges.push(Some(exchange));
            }
        }
    }

    /// The streams opened so far were really begun at this moment.
    pub(super) fn stood(&mut self, at: Nanos) {
        self.exchanges.iter_mut().flatten().for_each(|exchange| exchange.sent = at);
    }

    /// Feeds bytes; `done` gets the exchanges that they end.
    pub(super) fn receive(
        &mut self,
        mut input: &[u8],
        arrival: &Arrival,
        check: BodyCheck,
        done: &mut Vec<Done>,
    ) -> Result<(), ErrorClass> {
        self.heard = arrival.seen();
        loop {
            let step = self.wire.step(input).map_err(|error| self.broke(error))?;
            let used = match step {
                ClientStep::More => return Ok(()),
                ClientStep::Head { used, stream, head, end } => {
                    self.head(stream, head, arrival);
                    self.complete_if(end, stream, arrival, done);
                    used
                }
                ClientStep::Body { skip, len, stream, end } => {
                    if let Some(exchange) = self.exchange(stream) {
                        exchange.body(&input[skip..skip + len], check);
                    }
                    self.complete_if(end, stream, arrival, done);
                    skip + len
                }
                ClientStep::Reset { used, stream, code } => {
                    self.reset(stream, code, done);
                    used
                }
                ClientStep::Malformed { used, stream, why } => {
                    self.violation.get_or_insert_with(|| why.to_string());
                    self.finish(stream, Outcome::Failed(ErrorClass::Malformed), done);
                    used
                }
                ClientStep::GoAway { used, .. } => {
                    self.turned_away(done);
                    used
                }
            };
            input = &input[used..];
        }
    }

    fn head(&mut self, stream: StreamId, head: H2ReplyHead, arrival: &Arrival) {
        if let Some(exchange) = self.exchange(stream) {
            exchange.first_byte.get_or_insert(arrival.after(exchange.sent));
            exchange.head = Some(Head {
                status: head.status,
                content_length: head.content_length,
                coding: head.coding,
                keep_alive: true,
                bytes: head.head_bytes,
            });
        }
    }

    /// Notes the server's violation of the protocol, and gives its class.
    fn broke(&mut self, error: ConnectionError) -> ErrorClass {
        self.violation = Some(error.to_string());
        match error {
            ConnectionError::NoPreface => ErrorClass::NoHttp2,
            _ => ErrorClass::Protocol,
        }
    }

    /// Streams beyond the last that the server will answer: as often as it has answered others before, so
    /// that nothing goes round for ever.
    fn turned_away(&mut self, done: &mut Vec<Done>) {
        let refused: Vec<StreamId> = self.wire.refused_by_goaway().collect();
        for stream in refused {
            if self.answered {
                self.finish(stream, Outcome::Again, done);
            } else {
                self.reset(stream, ErrorCode::RefusedStream, done);
            }
        }
    }

    fn place(&self, stream: StreamId) -> Option<usize> {
        self.ids.iter().position(|id| *id == Some(stream))
    }

    fn exchange(&mut self, stream: StreamId) -> Option<&mut Exchange> {
        let place = self.place(stream)?;
        self.exchanges[place].as_mut()
    }

    fn complete_if(&mut self, end: bool, stream: StreamId, arrival: &Arrival, done: &mut Vec<Done>) {
        if let Some(sent) = self.exchange(stream).filter(|_| end).map(|exchange| exchange.sent) {
            self.answered = true;
            self.finish(stream, Outcome::Complete(arrival.after(sent)), done);
        }
    }

    /// A stream that the server did not look at may be asked again, once.
    fn reset(&mut self, stream: StreamId, code: ErrorCode, done: &mut Vec<Done>) {
        let first = self.exchange(stream).is_some_and(|exchange| !exchange.resent);
        let outcome = match code {
            ErrorCode::RefusedStream if first => Outcome::Again,
            _ => Outcome::Failed(ErrorClass::StreamReset),
        };
        self.finish(stream, outcome, done);
    }

    fn finish(&mut self, stream: StreamId, outcome: Outcome, done: &mut Vec<Done>) {
        let Some(place) = self.place(stream) else { return };
        self.ids[place] = None;
        if let Some(exchange) = self.exchanges[place].take() {
            self.in_flight -= 1;
            self.settled |= outcome != Outcome::Again;
            done.push(Done { exchange, outcome });
        }
    }

    /// The connection has ended.
    pub(super) fn end(&mut self, closing: Closing, served: u64, done: &mut Vec<Done>) {
        for place in 0..self.ids.len() {
            self.ids[place] = None;
            let Some(exchange) = self.exchanges[place].take() else { continue };
            let outcome = closing.outcome(&exchange, exchange.head.is_none(), served);
            done.push(Done { exchange, outcome });
        }
        self.in_flight = 0;
        // Requests that were never sent go elsewhere, if this connection has been of use at all.
        let outcome = if self.settled { Outcome::Elsewhere } else { Outcome::Failed(closing.before) };
        done.extend(self.waiting.drain(..).map(|exchange| Done { exchange, outcome }));
    }

    /// Fails all exchanges.
    pub(super) fn fail(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        let exchanges = self.exchanges.iter_mut().filter_map(Option::take).chain(self.waiting.drain(..));
        done.extend(exchanges.map(|exchange| Done { exchange, outcome: Outcome::Failed(class) }));
        self.ids.fill(None);
        self.in_flight = 0;
    }

    /// Whether the time of one exchange is over.
    pub(super) fn is_overdue(&self, now: Nanos) -> bool {
        let mut all = self.exchanges.iter().flatten().chain(&self.waiting);
        all.any(|exchange| now >= exchange.deadline)
    }

    /// Gives up those whose time is over.
    pub(super) fn give_up_overdue(&mut self, now: Nanos, done: &mut Vec<Done>) {
        for place in 0..self.ids.len() {
            if let (Some(stream), Some(exchange)) = (self.ids[place], &self.exchanges[place])
                && now >= exchange.deadline
            {
                self.silent |= exchange.sent >= self.heard;
                self.wire.cancel(stream, ErrorCode::Cancel);
                self.finish(stream, Outcome::Failed(ErrorClass::Timeout), done);
            }
        }
        for _ in 0..self.waiting.len() {
            match self.waiting.pop_front() {
                Some(exchange) if now >= exchange.deadline => {
                    done.push(Done { exchange, outcome: Outcome::Failed(ErrorClass::Timeout) });
                }
                in_time => self.waiting.extend(in_time),
            }
        }
    }
}
