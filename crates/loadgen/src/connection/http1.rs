//! HTTP/1.1 on a connection: one request after the other.
//!
//! Measuring side, hot. Bytes in, bytes out; the framing is `wire`'s.

use super::{Arrival, Done, Outcome};
use crate::exchange::Exchange;
use crate::job::{BodyCheck, Reuse, Target};
use bakeoff_meter::ErrorClass;
use bakeoff_units::Nanos;
use bakeoff_wire::http1::{ReplyReader, Step};
use bakeoff_workload::Method;

/// Writes request heads of one target.
pub(crate) struct Renderer {
    after_target: Vec<u8>,
}

impl Renderer {
    pub(crate) fn new(target: &Target) -> Self {
        let mut after_target = format!(" HTTP/1.1\r\nHost: {}\r\n", target.host).into_bytes();
        after_target.extend_from_slice(&target.headers);
        if target.reuse == Reuse::Never {
            after_target.extend_from_slice(b"Connection: close\r\n");
        }
        Self { after_target }
    }

    fn render(&self, exchange: &Exchange, out: &mut Vec<u8>) {
        out.extend_from_slice(exchange.method.as_str().as_bytes());
        out.push(b' ');
        out.extend_from_slice(exchange.words.target());
        out.extend_from_slice(&self.after_target);
        out.extend_from_slice(exchange.words.headers());
        out.extend_from_slice(b"\r\n");
    }
}

/// The one exchange and the reader of its reply.
pub(super) struct Http1 {
    reader: ReplyReader,
    pub(super) exchange: Option<Exchange>,
}

impl Http1 {
    pub(super) fn with(exchange: Exchange) -> Self {
        Self { reader: ReplyReader::default(), exchange: Some(exchange) }
    }

    /// Renders the request that waits.
    pub(super) fn begin(&mut self, now: Nanos, render: &Renderer, out: &mut Vec<u8>) {
        let Some(exchange) = &mut self.exchange else { return };
        exchange.sent = now;
        self.reader.begin(exchange.method == Method::Head);
        render.render(exchange, out);
    }

    /// Whether nothing of a reply has come.
    pub(super) fn untouched(&self) -> bool {
        self.reader.untouched()
    }

    /// Whether the end of the connection is the end of the reply.
    pub(super) fn ends_with_close(&self) -> bool {
        self.reader.ends_with_close()
    }

    /// Feeds bytes of the reply; `done` gets the exchange when it is complete.
    pub(super) fn receive(
        &mut self,
        mut input: &[u8],
        arrival: &Arrival,
        check: BodyCheck,
        done: &mut Vec<Done>,
    ) -> Result<(), ErrorClass> {
        let Some(exchange) = &mut self.exchange else { return Err(ErrorClass::Surplus) };
        exchange.first_byte.get_or_insert_with(|| arrival.after(exchange.sent));
        loop {
            match self.reader.step(input) {
                Ok(Step::More) => return Ok(()),
                Ok(Step::Head(used, head)) => {
                    exchange.head = Some(head);
                    input = &input[used..];
                }
                Ok(Step::Body { skip, len }) => {
                    exchange.body(&input[skip..skip + len], check);
                    input = &input[skip + len..];
                }
                Ok(Step::End(used)) if used == input.len() => {
                    self.complete(arrival, done);
                    return Ok(());
                }
                Ok(Step::End(_)) => return Err(ErrorClass::Surplus),
                Err(_) => return Err(ErrorClass::Malformed),
            }
        }
    }

    /// The reply is whole.
    pub(super) fn complete(&mut self, arrival: &Arrival, done: &mut Vec<Done>) {
        if let Some(exchange) = self.exchange.take() {
            let at = arrival.after(exchange.sent);
            done.push(Done { exchange, outcome: Outcome::Complete(at) });
        }
    }
}
