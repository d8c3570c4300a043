//! One client's connection: requests in, replies out, never blocking.

use crate::respond::{Reply, Responder, refuse};
use bakeoff_content::{Body, ObjectId};
use bakeoff_wire::http1::RequestReader;
use rustls::{ServerConfig, ServerConnection};
use std::io::{self, BufRead, ErrorKind, IoSlice, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

/// Plaintext handed to TLS at a time: four full records.
const TLS_PIECE: usize = 64 * 1024;
/// Most writes in a row before other connections get their turn.
const WRITES_PER_TURN: usize = 64;

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
        })
    }

    /// Does all that can be done now. `served` is called for each request that is answered.
    pub(crate) fn advance(
        &mut self,
        buffer: &mut [u8],
        responder: &Responder,
        served: &mut dyn FnMut(),
    ) -> Life {
        for _ in 0..WRITES_PER_TURN {
            if self.sending {
                match self.send() {
                    Ok(true) => {
                        self.sending = false;
                        if !self.keep_alive {
                            return self.finish();
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
                responder.respond(&request, request.keep_alive, &mut self.reply);
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

    /// Ends the connection from our side; the last bytes still go out.
    fn finish(&mut self) -> Life {
        if let Some(tls) = self.tls.as_mut() {
            tls.send_close_notify();
            let _ = tls.write_tls(&mut self.stream);
        }
        Life::Over
    }
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
