//! Server side of HTTP/1.1: reads requests.

use super::{AcceptEncoding, MAX_HEAD_BYTES, MAX_HEADERS, content_length, has_token};
use std::mem::MaybeUninit;

/// Methods as a server tells them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerMethod {
    /// GET
    Get,
    /// HEAD
    Head,
    /// POST
    Post,
    /// PUT
    Put,
    /// Any other.
    Other,
}

/// One request's head. Borrowed from the reader's input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestHead<'a> {
    /// The method.
    pub method: ServerMethod,
    /// The target as it was sent.
    pub target: &'a [u8],
    /// Whether it is one of HTTP/1.0: its client takes the connection for kept only if the reply says so.
    pub http_1_0: bool,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Bytes of body that follow and are to be passed over; 0 if it comes in chunks.
    pub body_bytes: u64,
    /// Whether a body in chunks follows, which no safe method needs:
    /// [`UnreadChunks`](super::UnreadChunks) finds its end.
    pub chunked: bool,
    /// Whether the client waits for a 100 before it sends the body (`Expect: 100-continue`).
    pub expects_continue: bool,
    /// `If-Modified-Since`, as it was sent.
    pub if_modified_since: Option<&'a [u8]>,
    /// `If-None-Match`, as it was sent.
    pub if_none_match: Option<&'a [u8]>,
    /// `If-Match`, as it was sent.
    pub if_match: Option<&'a [u8]>,
    /// `Range`, as it was sent.
    pub range: Option<&'a [u8]>,
    /// `If-Range`, as it was sent.
    pub if_range: Option<&'a [u8]>,
    /// The codings of `Accept-Encoding`.
    pub accept_encoding: AcceptEncoding,
    /// `Host`, as it was sent; of several the last.
    pub host: Option<&'a [u8]>,
    /// Whether there is a `Via`.
    pub via: bool,
    /// The whole head as it was sent.
    pub text: &'a [u8],
}

/// Error in the bytes of a request; the label is the answer's status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// 400: breaks the grammar, or an ambiguous length.
    #[error("400 Bad Request")]
    Bad,
    /// 431: more than [`MAX_HEAD_BYTES`] or [`MAX_HEADERS`].
    #[error("431 Request Header Fields Too Large")]
    TooLarge,
    /// 501: a body in a transfer coding that is not understood.
    #[error("501 Not Implemented")]
    Coding,
}

/// Reads request heads.
#[derive(Clone, Copy, Debug, Default)]
pub struct RequestReader;

impl RequestReader {
    /// The head at the start of `input`, `None` when it is not all there yet.
    ///
    /// # Errors
    /// When the bytes are no request that this server understands.
    pub fn head(input: &[u8]) -> Result<Option<RequestHead<'_>>, RequestError> {
        let mut lines = [const { MaybeUninit::uninit() }; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut []);
        let length = match request.parse_with_uninit_headers(input, &mut lines) {
            Ok(httparse::Status::Complete(length)) if length > MAX_HEAD_BYTES => {
                return Err(RequestError::TooLarge);
            }
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if input.len() > MAX_HEAD_BYTES => {
                return Err(RequestError::TooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(RequestError::TooLarge),
            Err(_) => return Err(RequestError::Bad),
        };
        let method = match request.method {
            Some("GET") => ServerMethod::Get,
            Some("HEAD") => ServerMethod::Head,
            Some("POST") => ServerMethod::Post,
            Some("PUT") => ServerMethod::Put,
            _ => ServerMethod::Other,
        };
        let target = request.path.ok_or(RequestError::Bad)?.as_bytes();
        let http_1_0 = request.version != Some(1); // there is no third that is read
        let mut head = RequestHead {
            method,
            target,
            http_1_0,
            keep_alive: !http_1_0,
            body_bytes: 0,
            chunked: false,
            expects_continue: false,
            if_modified_since: None,
            if_none_match: None,
            if_match: None,
            range: None,
            if_range: None,
            accept_encoding: AcceptEncoding::default(),
            host: None,
            via: false,
            text: &input[..length],
        };
        read_fields(request.headers, &mut head)?;
        if head.chunked && http_1_0 {
            return Err(RequestError::Bad); // HTTP/1.0 has no chunks: who put the line there?
        }
        head.expects_continue &= !http_1_0 && (head.body_bytes > 0 || head.chunked);
        Ok(Some(head))
    }
}

fn read_fields<'a>(headers: &[httparse::Header<'a>], head: &mut RequestHead<'a>) -> Result<(), RequestError> {
    let mut length = None;
    for header in headers {
        match header.name.len() {
            14 if header.name.eq_ignore_ascii_case("content-length") => {
                let value = content_length(header.value).ok_or(RequestError::Bad)?;
                if length.is_some_and(|before| before != value) {
                    return Err(RequestError::Bad);
                }
                length = Some(value);
            }
            17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                if head.chunked || !header.value.trim_ascii().eq_ignore_ascii_case(b"chunked") {
                    return Err(RequestError::Coding);
                }
                head.chunked = true;
            }
            10 if header.name.eq_ignore_ascii_case("connection") => {
                if has_token(header.value, b"close") {
                    head.keep_alive = false;
                } else if has_token(header.value, b"keep-alive") {
                    head.keep_alive = true; // HTTP/1.0 clients such as ab ask for it
                }
            }
            17 if header.name.eq_ignore_ascii_case("if-modified-since") => {
                head.if_modified_since = Some(header.value)
            }
            6 if header.name.eq_ignore_ascii_case("expect") => {
                head.expects_continue = has_token(header.value, b"100-continue");
            }
            13 if header.name.eq_ignore_ascii_case("if-none-match") => {
                head.if_none_match = Some(header.value)
            }
            8 if header.name.eq_ignore_ascii_case("if-match") => head.if_match = Some(header.value),
            8 if header.name.eq_ignore_ascii_case("if-range") => head.if_range = Some(header.value),
            15 if header.name.eq_ignore_ascii_case("accept-encoding") => {
                head.accept_encoding.read(header.value);
            }
            5 if header.name.eq_ignore_ascii_case("range") => head.range = Some(header.value),
            4 if header.name.eq_ignore_ascii_case("host") => head.host = Some(header.value),
            3 if header.name.eq_ignore_ascii_case("via") => head.via = true,
            _ => {}
        }
    }
    if head.chunked && length.is_some() {
        return Err(RequestError::Bad); // two lengths at once are what smuggling looks like
    }
    head.body_bytes = length.unwrap_or(0);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_curl_and_one_of_ab() {
        let curl = b"GET /a?b HTTP/1.1\r\nHost: x\r\nUser-Agent: curl\r\nRange: bytes=0-9\r\n\r\nGET";
        let head = RequestReader::head(curl).unwrap().unwrap();
        assert_eq!((head.method, head.target, head.keep_alive), (ServerMethod::Get, &b"/a?b"[..], true));
        assert_eq!((head.text.len(), head.range), (curl.len() - 3, Some(&b"bytes=0-9"[..])));
        let ab = b"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: x\r\n\r\n";
        let of_ab = RequestReader::head(ab).unwrap().unwrap();
        assert_eq!((head.http_1_0, of_ab.http_1_0, of_ab.keep_alive), (false, true, true));
        assert_eq!(RequestReader::head(&ab[..20]), Ok(None));
    }

    #[test]
    fn conditions_are_handed_out_as_they_were_sent() {
        let request = b"POST /a HTTP/1.1\r\nIf-None-Match: \"a\", W/\"b\"\r\n\
            If-Range: \"c\"\r\naccept-Encoding: br\r\nAccept-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc";
        let head = RequestReader::head(request).unwrap().unwrap();
        assert_eq!((head.method, head.body_bytes), (ServerMethod::Post, 3));
        assert_eq!(head.if_none_match, Some(&b"\"a\", W/\"b\""[..]));
        assert_eq!(head.if_range, Some(&b"\"c\""[..]));
        assert!(head.accept_encoding.gzip(), "two lines are one list");
        for (version, length, waits) in [("1.1", 3, true), ("1.1", 0, false), ("1.0", 3, false)] {
            let request =
                format!("PUT / HTTP/{version}\r\nExpect: 100-Continue\r\nContent-Length: {length}\r\n\r\n");
            let head = RequestReader::head(request.as_bytes()).unwrap().unwrap();
            assert_eq!(head.expects_continue, waits, "{request}");
        }
        let plain = RequestReader::head(b"PUT / HTTP/1.1\r\n\r\n").unwrap().unwrap();
        assert_eq!((plain.method, plain.if_none_match), (ServerMethod::Put, None));
        assert!(!plain.accept_encoding.gzip());
    }

    #[test]
    fn what_could_smuggle_is_refused() {
        let two = b"GET / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n";
        assert_eq!(RequestReader::head(two), Err(RequestError::Bad));
        let head = |lines: &str| {
            let request = format!("POST / HTTP/{lines}\r\n\r\n");
            RequestReader::head(request.as_bytes())
                .map(|head| head.map(|head| (head.chunked, head.body_bytes)))
        };
        assert_eq!(head("1.1\r\nTransfer-Encoding: chunked"), Ok(Some((true, 0))));
        for (lines, error) in [
            ("1.1\r\nTransfer-Encoding: gzip, chunked", RequestError::Coding),
            ("1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked", RequestError::Coding),
            ("1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3", RequestError::Bad),
            ("1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked", RequestError::Bad),
            ("1.0\r\nTransfer-Encoding: chunked", RequestError::Bad),
        ] {
            assert_eq!(head(lines), Err(error), "{lines}");
        }
        let huge = [b"GET /".as_slice(), &[b'a'; MAX_HEAD_BYTES + 1]].concat();
        assert_eq!(RequestReader::head(&huge), Err(RequestError::TooLarge));
    }
}
