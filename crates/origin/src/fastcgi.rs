//! FastCGI responder: the objects of a catalogue for a server that asks an application (FastCGI 1.0, Mark R. Brown 1996).
//!
//! Measuring side, a process of its own; plays an application behind a user's server, and no figure comes from it. So
//! it is plain: a thread for each connection that is open, blocking calls, no multiplexing, which no server asks for.

use crate::site::{Answer, Piece, Site, SiteRequest};
use bakeoff_content::{Catalogue, LAST_MODIFIED};
use bakeoff_wire::http1::ServerMethod;
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

/// Parameters that name what is asked for, the best first: a front controller is the script of every page.
const TARGETS: [&[u8]; 4] = [b"REQUEST_URI", b"DOCUMENT_URI", b"SCRIPT_NAME", b"PATH_INFO"];

/// Serves the catalogue until the process ends; the address has the real port.
///
/// # Errors
/// The port is taken.
pub fn serve_fastcgi(address: SocketAddr, catalogue: Catalogue) -> io::Result<SocketAddr> {
    bakeoff_content::prepare();
    let listener = TcpListener::bind(address)?;
    let address = listener.local_addr()?;
    let (site, open) = (Arc::new(Site::new(catalogue)), Arc::new(AtomicUsize::new(0)));
    thread::Builder::new().name("fastcgi".to_owned()).spawn(move || {
        for stream in listener.incoming().flatten() {
            if open.fetch_add(1, Ordering::Relaxed) >= MOST_CONNECTIONS {
                open.fetch_sub(1, Ordering::Relaxed);
                continue;
            }
            let (site, own) = (site.clone(), open.clone());
            let serve = move || {
                let _ = converse(&stream, &site); // the server that asked sees that it ended
                own.fetch_sub(1, Ordering::Relaxed);
            };
            if thread::Builder::new().stack_size(128 * 1024).spawn(serve).is_err() {
                open.fetch_sub(1, Ordering::Relaxed);
            }
        }
    })?;
    Ok(address)
}

fn converse(stream: &TcpStream, site: &Site) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut reader, mut writer) = (BufReader::new(stream), BufWriter::with_capacity(64 * 1024, stream));
    let mut scratch = Vec::new();
    while let Some(request) = request(&mut reader)? {
        let said = asked(&request.parameters).map(|asked| site.answer(&asked, &mut scratch));
        answer(&mut writer, request.id, said.unwrap_or(Answer::NotFound))?;
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

/// The request in a list of parameters.
fn asked(parameters: &[u8]) -> Option<SiteRequest<'_>> {
    let all: Vec<(&[u8], &[u8])> = Parameters(parameters).collect();
    let of = |name: &[u8]| {
        all.iter().find(|(own, value)| *own == name && !value.is_empty()).map(|(_, value)| *value)
    };
    Some(SiteRequest {
        method: ServerMethod::Get, // servers cut the body off themselves, and one that is sent is dropped
        target: TARGETS.into_iter().find_map(of)?,
        if_modified_since: of(b"HTTP_IF_MODIFIED_SINCE"),
        if_none_match: of(b"HTTP_IF_NONE_MATCH"),
        range: of(b"HTTP_RANGE"),
    })
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
fn answer(writer: &mut impl Write, id: u16, said: Answer) -> io::Result<()> {
    let (status, lines, mut piece) = match said {
        Answer::Whole(piece) => ("200 OK", String::new(), piece),
        Answer::Part(piece, all) => {
            let range = format!("Content-Range: bytes {}-{}/{all}\r\n", piece.start, piece.end - 1);
            ("206 Partial Content", range, piece)
        }
        Answer::NotModified => ("304 Not Modified", String::new(), Piece::nothing()),
        Answer::NotFound => ("404 Not Found", String::new(), Piece::nothing()),
        Answer::NotAllowed => ("405 Method Not Allowed", String::new(), Piece::nothing()),
    };
    let dated = matches!(said, Answer::Whole(_) | Answer::Part(..) | Answer::NotModified);
    let date = if dated { format!("Last-Modified: {LAST_MODIFIED}\r\n") } else { String::new() };
    let head = format!("Status: {status}\r\nContent-Type: text/html; charset=UTF-8\r\n{date}{lines}\r\n");
    put(writer, STDOUT, id, head.as_bytes())?;
    while !piece.is_empty() {
        put(writer, STDOUT, id, piece.take(usize::from(u16::MAX) - 7))?;
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

    fn sent(parameters: &[u8]) -> Vec<u8> {
        let begin = record_of(BEGIN_REQUEST, &[0, 1, KEEP, 0, 0, 0, 0, 0], 0);
        let (params, ended) = (record_of(PARAMS, parameters, 3), record_of(PARAMS, b"", 0));
        [begin, params, ended, record_of(STDIN, b"body", 4), record_of(STDIN, b"", 0)].concat()
    }

    #[test]
    fn a_request_is_read_whole_and_the_connection_stays() {
        let parameters = b"\x0b\x06REQUEST_URI/a/b?c\x01\x80\x00\x00\x01Xy";
        let bytes = [sent(parameters), sent(b"\x0b\x02REQUEST_URI/z")].concat();
        let mut reader = &bytes[..];
        let first = request(&mut reader).unwrap().unwrap();
        assert_eq!((first.id, first.keeps), (7, true));
        assert_eq!(asked(&first.parameters).unwrap().target, b"/a/b?c");
        let second = request(&mut reader).unwrap().unwrap();
        assert_eq!(asked(&second.parameters).unwrap().target, b"/z");
        assert_eq!(request(&mut reader).unwrap(), None);
    }

    #[test]
    fn broken_bytes_end_the_connection_and_nothing_else() {
        assert!(request(&mut &[9; 8][..]).is_err(), "another version");
        assert!(request(&mut &sent(b"x")[..26]).is_err(), "half a record");
        for parameters in [&b"\xff"[..], b"\x80\x00", b"\x05\x05ab", b"\xff\xff\xff\xff\x01a"] {
            assert!(asked(parameters).is_none(), "{parameters:?}");
        }
        let endless = record_of(PARAMS, &[0; 255], 0).repeat(MOST_PARAMETERS / 255 + 1);
        assert!(request(&mut &endless[..]).is_err(), "parameters without an end");
    }

    /// Standard output of the answer to a request with these parameters.
    fn said(site: &Site, parameters: &[(&str, &str)]) -> Vec<u8> {
        let mut text = Vec::new();
        for (name, value) in parameters {
            text.extend([name.len() as u8, value.len() as u8]);
            text.extend([name.as_bytes(), value.as_bytes()].concat());
        }
        let (mut written, mut out) = (Vec::new(), Vec::new());
        let answered = site.answer(&asked(&text).unwrap(), &mut Vec::new());
        answer(&mut written, 7, answered).unwrap();
        let mut reader = &written[..];
        loop {
            let (kind, id, content) = record(&mut reader).unwrap().expect("it ends with its own record");
            assert_eq!(id, 7);
            if kind == END_REQUEST {
                return out;
            }
            out.extend(content);
        }
    }

    #[test]
    fn an_answer_has_the_objects_bytes() {
        let mut catalogue = Catalogue::default();
        let body = catalogue.insert(b"/a", 200_000);
        let out = said(&Site::new(catalogue), &[("REQUEST_URI", "/a")]);
        let at = out.windows(4).position(|four| four == b"\r\n\r\n").unwrap() + 4;
        assert!(out.starts_with(b"Status: 200 OK\r\nContent-Type: text/html; charset=UTF-8\r\n"));
        assert_eq!(out.len() - at, 200_000);
        assert_eq!(out[at..at + 4], body.from(0)[..4]);
    }

    /// A front controller is the script of every page, and addresses of pages are escaped.
    #[test]
    fn a_page_is_found_by_the_path_that_was_asked_for() {
        let mut catalogue = Catalogue::default();
        catalogue.insert("/some/café/".as_bytes(), 10);
        let site = Site::new(catalogue);
        let page = [("SCRIPT_NAME", "/index.php"), ("REQUEST_URI", "/some/caf%C3%A9/?p=1")];
        let begins = |more: &[(&str, &str)], status: &str| {
            let out = said(&site, &[&page[..], more].concat());
            assert!(
                out.starts_with(format!("Status: {status}").as_bytes()),
                "{}",
                String::from_utf8_lossy(&out)
            );
            out
        };
        begins(&[], "200");
        begins(&[("HTTP_IF_MODIFIED_SINCE", LAST_MODIFIED)], "304");
        let part = begins(&[("HTTP_RANGE", "bytes=0-3")], "206");
        assert!(part.windows(31).any(|text| text == b"Content-Range: bytes 0-3/10\r\n\r\n"));
        let other = said(&site, &[("SCRIPT_NAME", "/index.php"), ("REQUEST_URI", "/none")]);
        assert!(other.starts_with(b"Status: 404"));
    }
}
