//! HTTP/1.1 message as lines and bytes: all that the test's proxy knows of the protocol.
//!
//! Cold, slow and simple: lengths come from Content-Length alone, as our origin and robots say them.

use flate2::read::GzDecoder;
use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;

/// The reading side of a connection.
pub(crate) type Peer = BufReader<TcpStream>;

/// A request or a reply.
#[derive(Clone, Debug, Default)]
pub(crate) struct Message {
    /// The first line, without its end.
    pub(crate) first: String,
    /// Names in lower case.
    fields: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Message {
    pub(crate) fn new(first: impl Into<String>) -> Self {
        Self { first: first.into(), ..Self::default() }
    }

    /// The next one, with its body; `None` at the end of the connection.
    pub(crate) fn read(peer: &mut Peer) -> io::Result<Option<Self>> {
        let mut message = Self::new(line(peer)?);
        if message.first.is_empty() {
            return Ok(None);
        }
        loop {
            let line = line(peer)?;
            let Some((name, value)) = line.split_once(": ") else { break };
            message.fields.push((name.to_lowercase(), value.to_owned()));
        }
        let length = message.get("content-length").map_or(0, |length| length.parse().unwrap());
        message.body = vec![0; length];
        peer.read_exact(&mut message.body)?;
        Ok(Some(message))
    }

    /// A word of the first line.
    pub(crate) fn word(&self, place: usize) -> &str {
        self.first.split(' ').nth(place).unwrap_or_default()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.fields.iter().find(|field| field.0 == name).map(|field| field.1.as_str())
    }

    /// Whether a value begins so.
    pub(crate) fn has_value(&self, begin: &str) -> bool {
        self.fields.iter().any(|field| field.1.starts_with(begin))
    }

    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.remove(name);
        self.fields.push((name.to_owned(), value.into()));
    }

    /// Puts a line before all others, beside those of its name.
    pub(crate) fn put_first(&mut self, name: &str, value: &str) {
        self.fields.insert(0, (name.to_owned(), value.to_owned()));
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.fields.retain(|field| field.0 != name);
    }

    /// With another body and its length.
    pub(crate) fn set_body(&mut self, body: Vec<u8>) {
        self.set("content-length", body.len().to_string());
        self.body = body;
    }

    /// Unpacks the body, if it is in gzip.
    pub(crate) fn unpack(&mut self) {
        if self.get("content-encoding") != Some("gzip") {
            return;
        }
        let mut plain = Vec::new();
        GzDecoder::new(&self.body[..]).read_to_end(&mut plain).unwrap();
        self.remove("content-encoding");
        self.set_body(plain);
    }

    /// Updates its fields with those of a newer message on the same object: RFC 9111 section 3.2.
    pub(crate) fn update(&mut self, newer: &Self) {
        newer.fields.iter().for_each(|(name, value)| self.set(name, value));
    }

    /// Its bytes on the wire.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let lines = self.fields.iter().map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("{}\r\n{}\r\n", self.first, lines.collect::<String>());
        [head.as_bytes(), &self.body].concat()
    }
}

fn line(peer: &mut Peer) -> io::Result<String> {
    let mut line = String::new();
    peer.read_line(&mut line)?;
    Ok(line.trim_end().to_owned())
}
