//! TLS session of one end of a connection, without the socket: bytes of the peer in, bytes for the peer out.
//!
//! Both sides, hot over TLS: every byte of every request and reply goes through here. Reads untrusted input; it ends in
//! plain bytes or in an error. Owns the use of the library's unbuffered interface. That does no I/O, takes whole reads
//! at once where the buffered one takes 4 KiB at a time, and gives no buffer back to the allocator after each record.
//! Keeps no buffer for a connection that has nothing half received. Knows no certificates, and not the meaning of an
//! error to its caller.

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncodeTlsData, EncryptError, InsufficientSizeError,
    UnbufferedConnectionCommon, UnbufferedStatus, WriteTraffic,
};
use std::cell::Cell;
use std::ops::Deref;

/// Most bytes that encryption adds to a record (RFC 8446 section 5.2: header 5, content type 1, tag 16; in TLS 1.2 a
/// nonce of 8 instead of the type), and a key update that may go before.
const OVERHEAD_BYTES: usize = 64;
/// Largest plaintext of a record (RFC 8446 section 5.1).
pub const RECORD_BYTES: usize = 16_384;
/// Bytes that may stay allocated while idle: the size of a small record's rest.
const KEPT_BYTES: usize = 4096;

thread_local! {
    /// Buffer in which records are decrypted: one for all connections of a thread.
    static WORKBENCH: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// The library's end of a connection: the part that client and server have in common and that has no type of its own.
pub trait TlsEnd: Deref<Target = UnbufferedConnectionCommon<Self::Data>> {
    /// The data of the client or the server alone.
    type Data;

    /// See [`UnbufferedClientConnection`].
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data>;
}

impl TlsEnd for UnbufferedClientConnection {
    type Data = ClientConnectionData;

    #[inline]
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

impl TlsEnd for UnbufferedServerConnection {
    type Data = ServerConnectionData;

    #[inline]
    fn process<'c, 'i>(&'c mut self, records: &'i mut [u8]) -> UnbufferedStatus<'c, 'i, Self::Data> {
        self.process_tls_records(records)
    }
}

/// Destination of the records that are to be sent.
pub trait Output {
    /// Appends up to so many bytes; `write` returns how many it wrote, and none of them counts when it fails.
    ///
    /// # Errors
    ///
    /// What `write` returns.
    fn append<E>(&mut self, bytes: usize, write: impl FnOnce(&mut [u8]) -> Result<usize, E>)
    -> Result<(), E>;
}

impl Output for Vec<u8> {
    #[inline]
    fn append<E>(
        &mut self,
        bytes: usize,
        write: impl FnOnce(&mut [u8]) -> Result<usize, E>,
    ) -> Result<(), E> {
        let start = self.len();
        self.resize(start + bytes, 0);
        let written = write(&mut self[start..]);
        self.truncate(start + written.as_ref().map_or(0, |written| *written));
        written.map(drop)
    }
}

/// The reason for which receiving ended.
#[derive(Debug)]
pub enum ReceiveEnd<E> {
    /// The bytes are wrong, in the library's words.
    Tls(rustls::Error),
    /// The consumer of the plain bytes refused them.
    Plain(E),
}

/// Nothing can be sent: the handshake lasts, or the session has ended or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotOpen;

/// See the module.
#[derive(Debug)]
pub struct Session<T> {
    tls: T,
    /// A record that is not complete, as it came.
    rest: Vec<u8>,
    /// Bytes to be sent: flights of the handshake, alerts.
    output: Vec<u8>,
    ended: bool,
}

impl<T: TlsEnd> Session<T> {
    /// An end that has received nothing; a client's first flight is made at once.
    pub fn new(tls: T) -> Self {
        let mut session = Self { tls, rest: Vec::new(), output: Vec::new(), ended: false };
        // Nothing can have failed yet.
        let _ = session.process(&mut [], &mut |_| Ok::<_, NotOpen>(()));
        session
    }

    /// The library's end, for questions.
    pub const fn tls(&self) -> &T {
        &self.tls
    }

    /// Whether no plain bytes can be sent yet.
    pub fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    /// Whether the peer has said that nothing more will come (close_notify).
    pub const fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes all bytes of the peer and hands out the decrypted ones, piece by piece. Afterwards there may be bytes to
    /// [send](Self::take_output), also when it failed: the alert.
    ///
    /// # Errors
    ///
    /// The fault of the bytes, or what `plain` returns. The session is of no more use then, and must not be given more.
    /// given more.
    #[inline]
    pub fn receive<E>(
        &mut self,
        bytes: &[u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), ReceiveEnd<E>> {
        if self.ended {
            return Ok(()); // nothing after close_notify counts (RFC 8446 section 6.1)
        }
        if self.rest.is_empty() {
            let mut bench = WORKBENCH.take();
            bench.clear();
            bench.extend_from_slice(bytes);
            let used = self.process(&mut bench, plain);
            if let Ok(used) = used {
                self.rest.extend_from_slice(&bench[used..]);
            }
            WORKBENCH.set(bench);
            used?;
        } else {
            let mut rest = std::mem::take(&mut self.rest);
            rest.extend_from_slice(bytes);
            let used = self.process(&mut rest, plain)?;
            if used < rest.len() || rest.capacity() <= KEPT_BYTES {
                rest.drain(..used);
                self.rest = rest;
            }
        }
        Ok(())
    }

    /// Appends the bytes to be sent to `out`.
    pub fn take_output(&mut self, out: &mut impl Output) {
        if self.output.is_empty() {
            return;
        }
        let bytes = self.output.len();
        let copied = out.append(bytes, |room| {
            room[..bytes].copy_from_slice(&self.output);
            Ok::<_, NotOpen>(bytes)
        });
        debug_assert!(copied.is_ok(), "copying does not fail");
        self.output.clear();
    }

    /// Encrypts these pieces, each in records of its own, behind the bytes in `out` and those that had to be sent
    /// before.
    ///
    /// # Errors
    ///
    /// The handshake lasts, or both have ended the session.
    #[inline]
    pub fn write(&mut self, pieces: &[&[u8]], out: &mut impl Output) -> Result<(), NotOpen> {
        self.when_open(out, |traffic, out| {
            for plain in pieces {
                if !plain.is_empty() {
                    encrypt(traffic, plain, out)?;
                }
            }
            Ok(())
        })
    }

    /// Tells the peer that nothing more will come.
    ///
    /// # Errors
    /// The handshake lasts, or both have ended the session.
    pub fn say_goodbye(&mut self, out: &mut impl Output) -> Result<(), NotOpen> {
        self.when_open(out, |traffic, out| {
            out.append(OVERHEAD_BYTES, |room| traffic.queue_close_notify(room)).map_err(|_| NotOpen)
        })
    }

    #[inline]
    fn when_open<O: Output>(
        &mut self,
        out: &mut O,
        write: impl FnOnce(&mut WriteTraffic<'_, T::Data>, &mut O) -> Result<(), NotOpen>,
    ) -> Result<(), NotOpen> {
        self.take_output(out);
        if self.tls.is_handshaking() {
            return Err(NotOpen);
        }
        loop {
            // The library counts from the start of the half-received record, and wants to see it again.
            let status = self.tls.process(&mut self.rest);
            let discard = status.discard;
            match status.state {
                Ok(ConnectionState::EncodeTlsData(flight)) => encode(flight, out),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let written = write(&mut traffic, out);
                    self.rest.drain(..discard);
                    return written;
                }
                // Both have closed. Nothing else is left: all received bytes have been processed.
                _ => return Err(NotOpen),
            }
            self.rest.drain(..discard);
        }
    }

    /// Processes records; returns the number of bytes used.
    fn process<E>(
        &mut self,
        records: &mut [u8],
        plain: &mut dyn FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<usize, ReceiveEnd<E>> {
        let mut used = 0;
        loop {
            let status = self.tls.process(&mut records[used..]);
            let mut discard = status.discard;
            match status.state {
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    while let Some(record) = traffic.next_record() {
                        let record = record.map_err(ReceiveEnd::Tls)?;
                        discard += record.discard;
                        plain(record.payload).map_err(ReceiveEnd::Plain)?;
                    }
                }
                Ok(ConnectionState::EncodeTlsData(flight)) => encode(flight, &mut self.output),
                Ok(ConnectionState::TransmitTlsData(sent)) => sent.done(),
                Ok(ConnectionState::PeerClosed) => self.ended = true,
                Ok(_) => return Ok(used + discard),
                Err(error) => {
                    self.alert(&mut records[used + discard..]);
                    return Err(ReceiveEnd::Tls(error));
                }
            }
            used += discard;
        }
    }

    /// Makes the alert that tells the peer what is wrong. `records` are the unused bytes: they are not read any
    /// further.
    fn alert(&mut self, records: &mut [u8]) {
        while self.tls.wants_write() {
            match self.tls.process(records).state {
                Ok(ConnectionState::EncodeTlsData(alert)) => encode(alert, &mut self.output),
                Ok(ConnectionState::ReadTraffic(mut traffic)) => while traffic.next_record().is_some() {},
                _ => break,
            }
        }
    }
}

/// Appends a flight or an alert.
fn encode<D>(mut flight: EncodeTlsData<'_, D>, out: &mut impl Output) {
    let mut room = OVERHEAD_BYTES;
    while let Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) =
        out.append(room, |room| flight.encode(room))
    {
        room = required_size;
    }
}

/// Appends plaintext as records.
#[inline]
fn encrypt<D>(
    traffic: &mut WriteTraffic<'_, D>,
    plaintext: &[u8],
    out: &mut impl Output,
) -> Result<(), NotOpen> {
    let mut room = plaintext.len() + OVERHEAD_BYTES * (1 + plaintext.len() / RECORD_BYTES);
    loop {
        match out.append(room, |room| traffic.encrypt(plaintext, room)) {
            Ok(()) => return Ok(()),
            Err(EncryptError::InsufficientSize(InsufficientSizeError { required_size }))
                if required_size > room =>
            {
                room = required_size;
            }
            Err(_) => return Err(NotOpen),
        }
    }
}
