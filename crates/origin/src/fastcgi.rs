//! FastCGI responder: the objects of a catalogue for a server that asks an application (FastCGI 1.0, Mark R. Brown 1996).
//!
//! Measuring side, a process of its own; plays an application behind a user's server, and no figure comes from it. So
//! it is plain: a thread for each connection that is open, blocking calls, no multiplexing, which no server asks for.

use bakeoff_content::{Body, Catalogue};
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Most connections at once; more are closed at once.
const MOST_CONNECTIONS: usize = 1_024;

/// Most bytes of a request's parameters.
const MOST_PARAMETERS: usize = 64 * 1024;

/// Types of records (section 8).
const BEGIN_REQUEST: u8 = 1;
const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

/// The flag to keep the connection for the next request.
const KEEP: u8 = 1;

/// Parameters that name what is asked for, the best first.
const TARGETS: [&[u8]; 4] = [b"REQUEST_URI", b"DOCUMENT_URI", b"SCRIPT_NAME", b"PATH_INFO"];

/// Serves the catalogue until the process ends; the address has the real port.
///
/// # Errors
/// The port is taken.
pub fn serve_fastcgi(address: SocketAddr, catalogue: Catalogue) -> io::Result<SocketAddr> {
    bakeoff_content::prepare();
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let (catalogue, open) = (Arc::new(catalogue), Arc::new(AtomicUsize::new(0)));
    thread::Builder::new().name("fastcgi".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (catalogue, own) = (catalogue.clone(), open.clone());
            let serve = move || {
                let _ = converse(&stream, &catalogue); // the server that asked sees that it ended
                own.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().stack_size(128 * 1024).spawn(serve).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(address)
}

fn converse(stream: &TcpStream, catalogue: &Catalogue) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), BufWriter::with_capacity(64 * 1024, stream));
    while let Some(request) = request(&mut reader)? {
        let body = target(&request.parameters).and_then(|target| catalogue.get(path_of(target)));
        answer(&mut writer, request.id, body)?;
        writer.flush()?;
        if !request.keeps {
            break;
        }
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct FastCgiRequest {
    id: u16,
    keeps: bool,
    parameters: Vec<u8>,
}

/// The next request, its body read and dropped; none at the end of the connection.
fn request(reader: &mut impl Read) -> io::Result<Option<FastCgiRequest>> {
    let mut request = FastCgiRequest { id: 0, keeps: false, parameters: Vec::new() };
    loop {
        let Some((kind, id, content)) = record(reader)? else { return Ok(None) };
        match kind {
            BEGIN_REQUEST => {
                (request.id, request.keeps) = (id, content.get(2).is_some_and(|flags| flags & KEEP != 0))
            }
            PARAMS if request.parameters.len() + content.len() > MOST_PARAMETERS => {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "too many parameters"));
            }
            PARAMS => request.parameters.extend(content),
            STDIN if content.is_empty() => return Ok(Some(request)),
            _ => {}
        }
    }
}

/// Type, request and content of a record; none at the end.
fn record(reader: &mut impl Read) -> io::Result<Option<(u8, u16, Vec<u8>)>> {
    let mut head = [0; 8];
    match reader.read_exact(&mut head) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        other => other?,
    }
    let [version, kind, id_high, id_low, long_high, long_low, padding, _] = head;
    if version != 1 {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not version 1 of FastCGI"));
    }
    let mut content = vec![0; usize::from(u16::from_be_bytes([long_high, long_low])) + usize::from(padding)];
    reader.read_exact(&mut content)?;
    content.truncate(content.len() - usize::from(padding));
    Ok(Some((kind, u16::from_be_bytes([id_high, id_low]), content)))
}

/// The target in a list of parameters.
fn target(parameters: &[u8]) -> Option<&[u8]> {
    let all: Vec<(&[u8], &[u8])> = Parameters(parameters).collect();
    let of = |name: &[u8]| {
        all.iter().find(|(own, value)| *own == name && !value.is_empty()).map(|(_, value)| *value)
    };
    TARGETS.into_iter().find_map(of)
}

fn path_of(target: &[u8]) -> &[u8] {
    target.split(|byte| *byte == b'?').next().unwrap_or(target)
}

/// Names and values, each with its length before it: a byte, or four with the first bit set (section 3.4).
struct Parameters<'a>(&'a [u8]);

impl<'a> Iterator for Parameters<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, value) = (self.length()?, self.length()?);
        let (name, rest) = self.0.split_at_checked(name)?;
        let (value, rest) = rest.split_at_checked(value)?;
        self.0 = rest;
        Some((name, value))
    }
}

impl Parameters<'_> {
    fn length(&mut self) -> Option<usize> {
        let (&first, rest) = self.0.split_first()?;
        if first & 0x80 == 0 {
            self.0 = rest;
            return Some(usize::from(first));
        }
        let (bytes, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        usize::try_from(u32::from_be_bytes(*bytes) & 0x7fff_ffff).ok()
    }
}

/// Head and body on the standard output, and the end of the request.
fn answer(writer: &mut impl Write, id: u16, body: Option<Body>) -> io::Result<()> {
    let status = if body.is_some() { "200 OK" } else { "404 Not Found" };
    let head = format!("Status: {status}\r\nContent-Type: text/html; charset=UTF-8\r\n\r\n");
    put(writer, STDOUT, id, head.as_bytes())?;
    if let Some(body) = body {
        let mut at = 0;
        while at < body.len() {
            let bytes = body.from(at);
            let left = usize::try_from(body.len() - at).unwrap_or(usize::MAX);
            let bytes = &bytes[..bytes.len().min(left).min(usize::from(u16::MAX) - 7)];
            put(writer, STDOUT, id, bytes)?;
            at += bytes.len() as u64;
        }
    }
    put(writer, STDOUT, id, b"")?;
    put(writer, END_REQUEST, id, &[0; 8]) // status 0 of the application, complete
}

fn put(writer: &mut impl Write, kind: u8, id: u16, content: &[u8]) -> io::Result<()> {
    let long = u16::try_from(content.len()).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    let ([id_high, id_low], [long_high, long_low]) = (id.to_be_bytes(), long.to_be_bytes());
    writer.write_all(&[1, kind, id_high, id_low, long_high, long_low, 0, 0])?;
    writer.write_all(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record_of(kind: u8, content: &[u8], padding: u8) -> Vec<u8> {
        let mut bytes = vec![1, kind, 0, 7, 0, content.len() as u8, padding, 0];
        bytes.extend(content);
        bytes.extend(vec![0; usize::from(padding)]);
        bytes
    }

    fn asked(parameters: &[u8]) -> Vec<u8> {
        let begin = record_of(BEGIN_REQUEST, &[0, 1, KEEP, 0, 0, 0, 0, 0], 0);
        let (params, ended) = (record_of(PARAMS, parameters, 3), record_of(PARAMS, b"", 0));
        [begin, params, ended, record_of(STDIN, b"body", 4), record_of(STDIN, b"", 0)].concat()
    }

    #[test]
    fn a_request_is_read_whole_and_the_connection_stays() {
        let parameters = b"\x0b\x06REQUEST_URI/a/b?c\x01\x80\x00\x00\x01Xy";
        let bytes = [asked(parameters), asked(b"\x0b\x02REQUEST_URI/z")].concat();
        let mut reader = &bytes[..];
        let first = request(&mut reader).unwrap().unwrap();
        assert_eq!((first.id, first.keeps), (7, true));
        assert_eq!(target(&first.parameters).map(path_of), Some(&b"/a/b"[..]));
        let second = request(&mut reader).unwrap().unwrap();
        assert_eq!(target(&second.parameters), Some(&b"/z"[..]));
        assert_eq!(request(&mut reader).unwrap(), None);
    }

    #[test]
    fn broken_bytes_end_the_connection_and_nothing_else() {
        assert!(request(&mut &[9; 8][..]).is_err(), "another version");
        assert!(request(&mut &asked(b"x")[..26]).is_err(), "half a record");
        for parameters in [&b"\xff"[..], b"\x80\x00", b"\x05\x05ab", b"\xff\xff\xff\xff\x01a"] {
            assert_eq!(target(parameters), None, "{parameters:?}");
        }
        let endless = record_of(PARAMS, &[0; 255], 0).repeat(MOST_PARAMETERS / 255 + 1);
        assert!(request(&mut &endless[..]).is_err(), "parameters without an end");
    }

    #[test]
    fn an_answer_has_the_objects_bytes() {
        let mut catalogue = Catalogue::default();
        let body = catalogue.insert(b"/a", 200_000);
        let mut written = Vec::new();
        answer(&mut written, 7, Some(body)).unwrap();
        let (mut reader, mut out) = (&written[..], Vec::new());
        loop {
            let (kind, id, content) = record(&mut reader).unwrap().expect("it ends with its own record");
            assert_eq!(id, 7);
            if kind == END_REQUEST {
                break;
            }
            out.extend(content);
        }
        let head = b"Status: 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\n\r\n";
        assert!(out.starts_with(head) && out.len() == head.len() + 200_000);
        assert_eq!(out[head.len()..head.len() + 4], body.from(0)[..4]);
    }
}
