//! Spellings of requests for `/noaccess` that servers may read in more than one way: first and second requests of a
//! connection, whole and broken off.

/// Request lines, and lines before them; `@` is the number of the conversation.
const LINES: [&str; 55] = [
    "GET /%6eoaccess?@ HTTP/1.1",
    "GET /noacces%73?@ HTTP/1.1",
    "GET //noaccess?@ HTTP/1.1",
    "GET /./noaccess?@ HTTP/1.1",
    "GET /a/../noaccess?@ HTTP/1.1",
    "GET /a/%2e%2e/noaccess?@ HTTP/1.1",
    "GET /a/.%2e/noaccess?@ HTTP/1.1",
    "GET /a/..//noaccess?@ HTTP/1.1",
    "GET /noaccess/.?@ HTTP/1.1",
    "GET /noaccess/a/..?@ HTTP/1.1",
    "GET \\noaccess?@ HTTP/1.1",
    "GET /;a/../noaccess?@ HTTP/1.1",
    "GET http://x/noaccess?@ HTTP/1.1",
    "GET HTTP://x:80//noaccess?@ HTTP/1.1",
    "GET /noaccess?@#f HTTP/1.1",
    "GET  /noaccess?@ HTTP/1.1",
    "GET /noaccess?@  HTTP/1.1",
    "GET /noaccess?@ HTTP/1.1 ",
    "GET\t/noaccess?@ HTTP/1.1",
    "GET /noaccess?@\tHTTP/1.1",
    " GET /noaccess?@ HTTP/1.1",
    "GET /noaccess?@",
    "GET /noaccess?@ HTTP/1.0",
    "GET /noaccess?@ HTTP/1.2",
    "GET /noaccess?@ HTTP/1.01",
    "GET /noaccess?@ HTTP/01.1",
    "GET /noaccess?@ http/1.1",
    "GET /noaccess?@ HTTP/2.0",
    "GET /noaccess?@&%00 HTTP/1.1",
    "GET /noaccess?@&\u{7f} HTTP/1.1",
    "GET /noaccess?@&\u{e9} HTTP/1.1",
    "\r\nGET /noaccess?@ HTTP/1.1",
    "\n\nGET /noaccess?@ HTTP/1.1",
    "\r\n\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "\u{feff}GET /noaccess?@ HTTP/1.1",
    "HEAD /noaccess?@ HTTP/1.1",
    "DELETE /noaccess?@ HTTP/1.1",
    "OPTIONS /noaccess?@ HTTP/1.1",
    "PROPFIND /noaccess?@ HTTP/1.1",
    "UNSUBSCRIBE /noaccess?@ HTTP/1.1",
    "M-SEARCH /noaccess?@ HTTP/1.1",
    "G_T /noaccess?@ HTTP/1.1",
    "G!T /noaccess?@ HTTP/1.1",
    "G3T /noaccess?@ HTTP/1.1",
    "get /noaccess?@ HTTP/1.1",
    "TRACE /noaccess?@ HTTP/1.1",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ /noaccess?@ HTTP/1.1",
    "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET /noaccess?@ HTTP/1.1",
    "PRI * HTTP/2.0\r\nHost: x\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "\u{16}\u{3}\u{1}\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "GET /ok HTTP/0.9\r\n\r\nGET /noaccess?@ HTTP/1.1",
    "GET /ok\r\nGET /noaccess?@ HTTP/1.1",
    "GET /noaccess?@&LONG HTTP/1.1",
];

/// Fields of a request for `/ok` whose body, to one of two readers, is a request for `/noaccess`.
const FIELDS: [&str; 35] = [
    "Content-Length: 0",
    "Content-Length: 0\r\nContent-Length: 200",
    "Content-Length: 200\r\nContent-Length: 0",
    "Content-Length: 0, 200",
    "Content-Length: +0",
    "Content-Length: -1",
    "Content-Length: 0x0",
    "Content-Length: 00000000000000000000",
    "Content-Length: 4294967296",
    "Content-Length: 18446744073709551616",
    "Content-Length:",
    "Content-Length:\u{b}200",
    "Content-Length : 200",
    "Content-Length\t: 200",
    " Content-Length: 200",
    "Content_Length: 200",
    "Content-Length:\r\n 200",
    "X: y\r\n Content-Length: 200",
    "X: y\nContent-Length: 200",
    "X: y\rContent-Length: 200",
    "X: \u{0}\r\nContent-Length: 200",
    "X\r\nContent-Length: 200",
    "LONG\r\nContent-Length: 0",
    "Content-Length: 0\r\nLONG",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: identity",
    "Transfer-Encoding: x, chunked",
    "Transfer-Encoding : chunked",
    "Transfer-Encoding:\u{b}chunked",
    "Transfer-Encoding:\r\n chunked",
    "Content-Length: 200\r\nTransfer-Encoding: chunked",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA",
    "Expect: 100-continue\r\nContent-Length: 0",
    "Connection: Content-Length\r\nContent-Length: 200",
];

/// Number of all conversations.
pub(crate) const ALL: u64 = 4 * (LINES.len() + 3 * FIELDS.len()) as u64;

/// The segments of a conversation by its number: each spelling by itself and behind another request, whole and broken
/// off; fields with three methods.
pub(crate) fn spelled(number: u64, id: u64) -> Vec<String> {
    let (spelling, is_second, is_cut) = ((number / 4) as usize, number % 2 == 1, number % 4 > 1);
    let ending = " HTTP/1.1\r\nHost: x\r\n";
    let text = match spelling.checked_sub(LINES.len()) {
        None => format!("{}\r\nHost: x\r\n\r\n", LINES[spelling]),
        Some(field) => {
            let method = ["GET", "POST", "DELETE"][field % 3];
            let begin = if FIELDS[field / 3].contains("chunked") { "0\r\n\r\n" } else { "" };
            format!("{method} /ok{ending}{}\r\n\r\n{begin}GET /noaccess?@{ending}\r\n", FIELDS[field / 3])
        }
    };
    let text = text.replace('@', &id.to_string()).replace("LONG", &format!("X: {}", "x".repeat(400)));
    let mut said = if is_second { vec![format!("GET /ok?{id}{ending}\r\n")] } else { Vec::new() };
    let half =
        if is_cut { text.find("\r\n\r\n").map_or(3, |at| at + 4).min(text.len() - 1) } else { text.len() };
    said.extend([text[..half].to_owned(), text[half..].to_owned()]);
    said.retain(|part| !part.is_empty());
    said
}
