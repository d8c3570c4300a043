//! One connection: TCP set-up, TLS handshake, bytes out, replies in. Never blocks.

use crate::exchange::Exchange;
use crate::job::{BodyCheck, Target};
use crate::tls::error_class;
use bakeoff_meter::ErrorClass;
use bakeoff_units::{Clock, MonotonicClock, Nanos};
use bakeoff_wire::http1::{ReplyReader, Step};
use rustls::ClientConnection;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::net::TcpStream;

/// Most reads of one connection before the others get their turn.
const READS_PER_TURN: usize = 16;

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Connecting,
    Handshaking,
    Open,
}

/// A connection and the reply that is being read from it.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    tls: Option<Box<ClientConnection>>,
    pub(crate) phase: Phase,
    /// When the phase began.
    pub(crate) since: Nanos,
    reader: ReplyReader,
    replies: u64,
    /// Whether it can carry another request.
    pub(crate) reusable: bool,
}

/// What opening a connection came to.
pub(crate) enum Opening {
    /// Wait for the next event.
    Wait,
    /// The TCP connection stands; the TLS handshake begins.
    Connected,
    /// Requests can be sent.
    Open,
    /// It failed.
    Failed(ErrorClass),
}

/// What reading came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Received {
    /// Nothing more for now.
    Blocked,
    /// There is more, but it is others' turn.
    Again,
    /// The reply is complete.
    Complete,
    /// Closed before a byte of the reply, on a connection that had served before: the server may
    /// have closed it while it was idle, so the request may be sent again (RFC 9112 section 9.3.1).
    Stale,
    /// The request failed.
    Failed(ErrorClass),
}

impl Connection {
    /// Starts to connect.
    pub(crate) fn start(target: &Target, now: Nanos) -> Result<Self, ErrorClass> {
        let stream = bakeoff_sys::net::connect(target.address).map_err(|error| connect_class(&error))?;
        let tls = match &target.tls {
            None => None,
            Some((config, name)) => {
                let session = ClientConnection::new(config.clone(), name.clone());
                Some(Box::new(session.map_err(|error| error_class(&error))?))
            }
        };
        Ok(Self {
            stream,
            tls,
            phase: Phase::Connecting,
            since: now,
            reader: ReplyReader::default(),
            replies: 0,
            reusable: true,
        })
    }

    /// Goes on opening after an event.
    pub(crate) fn open(&mut self, buffer: &mut [u8], now: Nanos) -> Opening {
        if self.phase == Phase::Connecting {
            match self.stream.take_error() {
                Ok(None) if self.stream.peer_addr().is_ok() => {}
                Ok(None) => return Opening::Wait,
                Ok(Some(error)) | Err(error) => return Opening::Failed(connect_class(&error)),
            }
            self.since = now;
            if self.tls.is_none() {
                self.phase = Phase::Open;
                return Opening::Open;
            }
            self.phase = Phase::Handshaking;
            return match self.handshake(buffer) {
                Opening::Wait => Opening::Connected,
                other => other,
            };
        }
        self.handshake(buffer)
    }

    fn handshake(&mut self, buffer: &mut [u8]) -> Opening {
        let Some(tls) = self.tls.as_mut() else { return Opening::Open };
        while tls.is_handshaking() {
            if let Err(error) = flush_tls(tls, &mut self.stream) {
                return Opening::Failed(io_class(&error));
            }
            if !tls.is_handshaking() {
                break;
            }
            let n = match self.stream.read(buffer) {
                Ok(0) => return Opening::Failed(ErrorClass::TlsFailed),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Opening::Wait,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Opening::Failed(io_class(&error)),
            };
            let mut raw = &buffer[..n];
            while !raw.is_empty() {
                if tls.read_tls(&mut raw).is_err() {
                    return Opening::Failed(ErrorClass::TlsFailed);
                }
                if let Err(error) = tls.process_new_packets() {
                    let _ = flush_tls(tls, &mut self.stream); // the alert, as far as it goes
                    return Opening::Failed(error_class(&error));
                }
            }
        }
        if flush_tls(tls, &mut self.stream).is_err() {
            return Opening::Failed(ErrorClass::SendFailed);
        }
        self.phase = Phase::Open;
        Opening::Open
    }

    /// Makes ready for the reply to a new request.
    pub(crate) fn begin(&mut self, exchange: &Exchange) {
        self.reader.begin(exchange.method == bakeoff_workload::Method::Head);
    }

    /// Hands bytes to the kernel (or to TLS and then to the kernel); how many were taken.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<usize, ErrorClass> {
        let sent = match self.tls.as_mut() {
            None => self.stream.write(bytes),
            Some(tls) => tls.writer().write(bytes).and_then(|taken| {
                flush_tls(tls, &mut self.stream)?;
                Ok(taken)
            }),
        };
        match sent {
            Ok(taken) => Ok(taken),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(0),
            Err(_) => Err(ErrorClass::SendFailed),
        }
    }

    /// Goes on sending what TLS holds back.
    pub(crate) fn flush(&mut self) -> Result<(), ErrorClass> {
        match self.tls.as_mut() {
            Some(tls) => flush_tls(tls, &mut self.stream).map_err(|_| ErrorClass::SendFailed),
            None => Ok(()),
        }
    }

    /// Whether a request on it that got no byte back may be sent again on another connection.
    pub(crate) const fn may_be_stale(&self) -> bool {
        self.replies > 0
    }

    /// Reads what has come. With `to_end` until nothing is left, else until a read comes back short.
    pub(crate) fn receive(
        &mut self,
        buffer: &mut [u8],
        exchange: &mut Exchange,
        check: BodyCheck,
        to_end: bool,
        clock: MonotonicClock,
    ) -> Received {
        for _ in 0..READS_PER_TURN {
            let n = match self.stream.read(buffer) {
                Ok(0) => return self.closed(ErrorClass::ClosedEarly, ErrorClass::Truncated),
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Received::Blocked,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return self.closed(ErrorClass::Reset, ErrorClass::Reset),
            };
            let input = &buffer[..n];
            let progress = match self.tls.as_mut() {
                None => {
                    exchange.first_byte.get_or_insert_with(|| clock.now());
                    read_reply(&mut self.reader, input, exchange, check).map(|complete| (complete, false))
                }
                Some(tls) => read_tls_reply(tls, &mut self.reader, input, exchange, check, clock),
            };
            match progress {
                Ok((true, ended)) => return self.complete(exchange, ended),
                Ok((false, true)) => return self.closed(ErrorClass::ClosedEarly, ErrorClass::Truncated),
                Ok((false, false)) if n < buffer.len() && !to_end => return Received::Blocked,
                Ok((false, false)) => {}
                Err(class) => return Received::Failed(class),
            }
        }
        Received::Again
    }

    /// Reads and drops what an idle or finished connection gets; true when the peer has closed it
    /// or sent what nobody asked for. With `lingering` the end of a TLS session alone is not enough:
    /// the peer is to close the connection itself.
    pub(crate) fn ended_while_idle(&mut self, buffer: &mut [u8], lingering: bool) -> bool {
        loop {
            let n = match self.stream.read(buffer) {
                Ok(0) => return true,
                Ok(n) => n,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return false,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return true,
            };
            let Some(tls) = self.tls.as_mut() else { return true };
            // Session tickets come at any time and are no surplus.
            let mut raw = &buffer[..n];
            while !raw.is_empty() {
                let Ok(_) = tls.read_tls(&mut raw) else { return true };
                match tls.process_new_packets() {
                    Ok(state) if state.plaintext_bytes_to_read() > 0 => return true,
                    Ok(state) if state.peer_has_closed() && !lingering => return true,
                    Ok(_) => {}
                    Err(_) => return true,
                }
            }
        }
    }

    fn complete(&mut self, exchange: &Exchange, ended: bool) -> Received {
        self.replies += 1;
        self.reusable = !ended && exchange.head.is_some_and(|head| head.keep_alive);
        Received::Complete
    }

    fn closed(&mut self, before: ErrorClass, inside: ErrorClass) -> Received {
        self.reusable = false;
        if self.reader.untouched() {
            return if self.may_be_stale() { Received::Stale } else { Received::Failed(before) };
        }
        if self.reader.ends_with_close() && inside == ErrorClass::Truncated {
            return Received::Complete;
        }
        Received::Failed(inside)
    }

    /// What TLS agreed on, in words.
    pub(crate) fn tls_description(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let version = tls.protocol_version()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        let group = tls.negotiated_key_exchange_group().map(|group| group.name());
        Some(match group {
            Some(group) => format!("{version:?} {suite:?} {group:?}"),
            None => format!("{version:?} {suite:?}"),
        })
    }
}

/// Feeds bytes to the reader; true when the reply is complete.
fn read_reply(
    reader: &mut ReplyReader,
    mut input: &[u8],
    exchange: &mut Exchange,
    check: BodyCheck,
) -> Result<bool, ErrorClass> {
    loop {
        match reader.step(input) {
            Ok(Step::More) => return Ok(false),
            Ok(Step::Head(used, head)) => {
                exchange.head = Some(head);
                input = &input[used..];
            }
            Ok(Step::Body { skip, len }) => {
                exchange.body(&input[skip..skip + len], check);
                input = &input[skip + len..];
            }
            Ok(Step::End(used)) if used == input.len() => return Ok(true),
            Ok(Step::End(_)) => return Err(ErrorClass::Surplus),
            Err(_) => return Err(ErrorClass::Malformed),
        }
    }
}

/// The same through TLS; also, whether the peer has ended the session.
fn read_tls_reply(
    tls: &mut ClientConnection,
    reader: &mut ReplyReader,
    mut raw: &[u8],
    exchange: &mut Exchange,
    check: BodyCheck,
    clock: MonotonicClock,
) -> Result<(bool, bool), ErrorClass> {
    let (mut complete, mut ended) = (false, false);
    while !raw.is_empty() {
        tls.read_tls(&mut raw).map_err(|_| ErrorClass::TlsFailed)?;
        ended = tls.process_new_packets().map_err(|error| error_class(&error))?.peer_has_closed();
        loop {
            let mut plain = tls.reader();
            let taken = match plain.fill_buf() {
                Ok([]) => break,
                Ok(_) if complete => return Err(ErrorClass::Surplus),
                Ok(bytes) => {
                    // Not before: session tickets come first and are no part of the reply.
                    exchange.first_byte.get_or_insert_with(|| clock.now());
                    complete = read_reply(reader, bytes, exchange, check)?;
                    bytes.len()
                }
                Err(_) => break, // nothing to read now; an end without close_notify is seen by `read`
            };
            plain.consume(taken);
        }
    }
    Ok((complete, ended))
}

fn flush_tls(tls: &mut ClientConnection, stream: &mut TcpStream) -> io::Result<()> {
    while tls.wants_write() {
        match tls.write_tls(stream) {
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn connect_class(error: &io::Error) -> ErrorClass {
    match error.kind() {
        ErrorKind::ConnectionRefused => ErrorClass::ConnectRefused,
        ErrorKind::TimedOut => ErrorClass::ConnectTimeout,
        _ => ErrorClass::ConnectFailed,
    }
}

fn io_class(error: &io::Error) -> ErrorClass {
    match error.kind() {
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => ErrorClass::Reset,
        _ => ErrorClass::TlsFailed,
    }
}
