//! One client's connection: requests in, replies out, never blocking.

use crate::respond::{Reply, Responder, refuse};
use bakeoff_content::{Body, ObjectId};
use bakeoff_wire::http1::RequestReader;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

/// Plaintext handed to TLS at a time: four full records.
const TLS_PIECE: usize = 64 * 1024;
/// Most writes in a row before other connections get their turn.
const WRITES_PER_TURN: usize = 64;

/// Most bytes that are read and dropped of a client that goes on sending after the last reply.
const DRAINED_AT_MOST: usize = 16 << 20;

/// Whether a connection goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Wait for the next event.
    Open,
    /// There is more to do at once.
    Busy,
    /// Close it.
    Over,
}

pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    tls: Option<Box<ServerConnection>>,
    input: Vec<u8>,
    reply: Reply,
    head_sent: usize,
    skip: u64,
    keep_alive: bool,
    sending: bool,
    peer_done: bool,
    /// After the last reply: how much more is read and dropped.
    draining: Option<usize>,
}

impl Connection {
    pub(crate) fn new(stream: TcpStream, tls: Option<&Arc<ServerConfig>>) -> Option<Self> {
        let tls = match tls {
            None => None,
            Some(config) => {
                let mut session = ServerConnection::new(config.clone()).ok()?;
                session.set_buffer_limit(Some(TLS_PIECE + 1024));
                Some(Box::new(session))
            }
        };
        let reply = Reply { head: Vec::new(), body: Body::new(ObjectId::of_name(b""), 0), offset: 0, end: 0 };
        Some(Self {
            stream,
            tls,
            input: Vec::new(),
            reply,
            head_sent: 0,
            skip: 0,
            keep_alive: true,
            sending: false,
            peer_done: false,
            draining: None,
        })
    }

    /// Does all that can be done now. `served` is called for each request that is answered.
    pub(crate) fn advance(
        &mut self,
        buffer: &mut [u8],
        responder: &Responder,
        served: &mut dyn FnMut(),
    ) -> Life {
        if self.draining.is_some() {
            return self.drain(buffer);
        }
        for _ in 0..WRITES_PER_TURN {
            if self.sending {
                match self.send() {
                    Ok(true) => {
                        self.sending = false;
                        if !self.keep_alive {
                            return self.finish(buffer);
                        }
                    }
                    Ok(false) => return Life::Open,
                    Err(_) => return Life::Over,
                }
            }
            match self.answer_next(responder, served) {
                Answered::Yes => continue,
                Answered::NeedsInput if self.peer_done => return Life::Over,
                Answered::NeedsInput => {}
            }
            match self.receive(buffer) {
                Ok(Read1::Some) => {}
                Ok(Read1::Nothing) => return Life::Open,
                Ok(Read1::End) => self.peer_done = true,
                Err(_) => return Life::Over,
            }
        }
        Life::Busy
    }

    /// Begins the reply to the next request in the input.
    fn answer_next(&mut self, responder: &Responder, served: &mut dyn FnMut()) -> Answered {
        let skipped = usize::try_from(self.skip).unwrap_or(usize::MAX).min(self.input.len());
        self.input.drain(..skipped);
        self.skip -= skipped as u64;
        if self.skip > 0 || self.input.is_empty() {
            return Answered::NeedsInput;
        }
        match RequestReader::head(&self.input) {
            Ok(None) => return Answered::NeedsInput,
            Ok(Some(request)) => {
                self.keep_alive = request.keep_alive;
                served();
                let connection = match request.keep_alive {
                    false => "Connection: close\r\n",
                    true if is_http_1_0(&self.input) => "Connection: keep-alive\r\n",
                    true => "",
                };
                responder.respond(&request, connection, &mut self.reply);
                self.skip = request.body_bytes;
                let used = request.head_bytes;
                if used == self.input.len() { self.input.clear() } else { drop(self.input.drain(..used)) }
            }
            Err(error) => {
                self.keep_alive = false;
                refuse(&error.to_string(), &mut self.reply);
            }
        }
        self.head_sent = 0;
        self.sending = true;
        Answered::Yes
    }

    fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Read1> {
        let n = match self.stream.read(buffer) {
            Ok(0) => return Ok(Read1::End),
            Ok(n) => n,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Read1::Nothing),
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(Read1::Some),
            Err(error) => return Err(error),
        };
        let Some(tls) = self.tls.as_mut() else {
            self.input.extend_from_slice(&buffer[..n]);
            return Ok(Read1::Some);
        };
        let mut raw = &buffer[..n];
        while !raw.is_empty() {
            tls.read_tls(&mut raw)?;
            let state = tls.process_new_packets();
            while tls.wants_write() {
                match tls.write_tls(&mut self.stream) {
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) => return Err(error),
                }
            }
            state.map_err(io::Error::other)?;
            let mut plain = tls.reader();
            while let Ok(bytes) = plain.fill_buf() {
                if bytes.is_empty() {
                    break;
                }
                self.input.extend_from_slice(bytes);
                let taken = bytes.len();
                plain.consume(taken);
            }
        }
        Ok(Read1::Some)
    }

    /// Sends what is left of the reply; true when all of it is with the kernel.
    fn send(&mut self) -> io::Result<bool> {
        loop {
            if let Some(tls) = self.tls.as_mut() {
                while tls.wants_write() {
                    match tls.write_tls(&mut self.stream) {
                        Ok(_) => {}
                        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                        Err(error) if error.kind() == ErrorKind::Interrupted => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            let head = &self.reply.head[self.head_sent..];
            let left = self.reply.end - self.reply.offset;
            if head.is_empty() && left == 0 {
                return Ok(true);
            }
            let piece = self.reply.body.from(self.reply.offset);
            let piece = &piece[..usize::try_from(left).unwrap_or(usize::MAX).min(piece.len())];
            let slices = [IoSlice::new(head), IoSlice::new(piece)];
            let written = match self.tls.as_mut() {
                None => self.stream.write_vectored(&slices),
                Some(tls) => {
                    let piece = &piece[..piece.len().min(TLS_PIECE.saturating_sub(head.len()))];
                    tls.writer().write_vectored(&[IoSlice::new(head), IoSlice::new(piece)])
                }
            };
            match written {
                Ok(n) => {
                    let of_head = n.min(head.len());
                    self.head_sent += of_head;
                    self.reply.offset += (n - of_head) as u64;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the connection from our side; the last bytes still go out. To close on bytes that were
    /// not read would be a reset, which can take the reply with it: they are read first.
    fn finish(&mut self, buffer: &mut [u8]) -> Life {
        if let Some(tls) = self.tls.as_mut() {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut self.stream);
        }
        if self.peer_done || (self.skip == 0 && self.input.is_empty()) {
            return Life::Over;
        }
        self.input = Vec::new();
        if self.stream.shutdown(Shutdown::Write).is_err() {
            return Life::Over;
        }
        self.draining = Some(DRAINED_AT_MOST);
        self.drain(buffer)
    }

    /// Reads and drops until the client has closed too.
    fn drain(&mut self, buffer: &mut [u8]) -> Life {
        for _ in 0..WRITES_PER_TURN {
            match self.stream.read(buffer) {
                Ok(0) => return Life::Over,
                Ok(n) => self.draining = self.draining.and_then(|left| left.checked_sub(n)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Life::Open,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Life::Over,
            }
            if self.draining.is_none() {
                return Life::Over;
            }
        }
        Life::Busy
    }
}

/// Whether the request at the start of `input`, whose head is complete, is one of HTTP/1.0: its
/// client takes the connection for kept only if the reply says so.
fn is_http_1_0(input: &[u8]) -> bool {
    let line = input.trim_ascii_start().split(|&byte| byte == b'\n').next();
    line.is_some_and(|line| line.trim_ascii_end().ends_with(b"/1.0"))
}

enum Answered {
    Yes,
    NeedsInput,
}

enum Read1 {
    Some,
    Nothing,
    End,
}
