//! HTTP/1.1 on a connection: one request after the other.
//!
//! Measuring side, hot. Bytes in, bytes out; the framing is `wire`'s.

use super::outcome::{Arrival, Closing, Done, Outcome};
use super::render::Renderer;
use crate::exchange::Exchange;
use crate::job::BodyCheck;
use crate::listener::RequestListener;
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_wire::http1::{ReplyHead, ReplyReader, ReplyStep};
use bakeoff_workload::Method;

/// The one exchange and the reader of its reply.
pub(super) struct Http1 {
    reader: ReplyReader,
    exchange: Option<Exchange>,
}

impl Http1 {
    pub(super) fn with(exchange: Exchange) -> Self {
        Self { reader: ReplyReader::default(), exchange: Some(exchange) }
    }

    pub(super) fn push(&mut self, exchange: Exchange) {
        self.exchange = Some(exchange);
    }

    pub(super) const fn is_quiet(&self) -> bool {
        self.exchange.is_none()
    }

    /// Renders the request that waits.
    pub(super) fn begin(&mut self, now: Nanos, render: &Renderer, out: &mut Vec<u8>) {
        let Some(exchange) = &mut self.exchange else { return };
        exchange.sent = now;
        self.reader.begin(exchange.method == Method::Head);
        render.http1(exchange, out);
    }

    /// The request was really sent at this moment.
    pub(super) fn stood(&mut self, at: Nanos) {
        if let Some(exchange) = &mut self.exchange {
            exchange.sent = at;
        }
    }

    /// Feeds bytes of the reply; `done` gets the exchange when it is complete.
    pub(super) fn receive<L: RequestListener>(
        &mut self,
        mut input: &[u8],
        arrival: &Arrival,
        check: BodyCheck,
        listener: &mut L,
        done: &mut Vec<Done>,
    ) -> Result<(), ErrorClass> {
        let Some(exchange) = &mut self.exchange else { return Err(ErrorClass::Surplus) };
        exchange.first_byte.get_or_insert_with(|| arrival.after(exchange.sent));
        loop {
            match self.reader.step(input) {
                Ok(ReplyStep::More) => {
                    if L::LISTENS && exchange.head.is_none() {
                        exchange.keep_part(input);
                    }
                    return Ok(());
                }
                Ok(ReplyStep::Head(used, head)) => {
                    if L::LISTENS {
                        exchange.keep_head(&input[..used], head.head_bytes);
                    }
                    exchange.head = Some(head.into());
                    if L::LISTENS
                        && let Some(id) = listener.headed(exchange.ticket, exchange.kept_head())
                    {
                        exchange.expect_bytes_of(id);
                    }
                    input = &input[used..];
                }
                Ok(ReplyStep::Body { skip, len }) => {
                    exchange.body(&input[skip..skip + len], check);
                    if exchange.is_enough() {
                        return Err(ErrorClass::CutOff);
                    }
                    input = &input[skip + len..];
                }
                Ok(ReplyStep::End(used)) if used == input.len() => {
                    self.complete(arrival, done);
                    return Ok(());
                }
                Ok(ReplyStep::End(_)) => return Err(ErrorClass::Surplus),
                Err(_) => return Err(ErrorClass::Malformed),
            }
        }
    }

    #[inline] // once a reply, and an exchange is large to hand on
    fn complete(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        if let Some(exchange) = self.exchange.take() {
            let outcome = Outcome::Complete(arrival.after(exchange.sent));
            done.push(Done { exchange, outcome });
        }
    }

    /// The connection has ended.
    pub(super) fn end(&mut self, closing: Closing, served: u64, arrival: &Arrival, done: &mut Vec<Done>) {
        if self.reader.ends_with_close() && !self.reader.untouched() && closing == Closing::ENDED {
            return self.complete(arrival, done);
        }
        let untouched = self.reader.untouched();
        let Some(exchange) = self.exchange.take() else { return };
        let outcome = closing.outcome(&exchange, untouched, served);
        done.push(Done { exchange, outcome });
    }

    /// A proxy has answered in the server's place, with this head.
    pub(super) fn keep_refusal(&mut self, head: ReplyHead, bytes: &[u8]) {
        if let Some(exchange) = &mut self.exchange {
            exchange.keep_head(bytes, head.head_bytes);
            exchange.head = Some(head.into());
        }
    }

    /// Fails the exchange.
    pub(super) fn fail(&mut self, class: ErrorClass, done: &mut Vec<Done>) {
        let exchange = self.exchange.take();
        done.extend(exchange.map(|exchange| Done { exchange, outcome: Outcome::Failed(class) }));
    }

    /// Whether the time of the exchange is over.
    pub(super) fn is_overdue(&self, now: Nanos) -> bool {
        self.exchange.as_ref().is_some_and(|exchange| now >= exchange.deadline)
    }
}
