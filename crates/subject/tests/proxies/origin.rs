//! Scripted origin: serves what a path says and counts requests.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Time it thinks over paths that ask for it: long enough for other clients to ask meanwhile, and longer than Traffic
/// Server waits for another's reply.
const THINKING: Duration = Duration::from_millis(2_000);

/// Requests by path: all, and the conditional ones.
pub(crate) type Counts = Arc<Mutex<HashMap<String, (usize, usize)>>>;

/// Serves `/keep/N/...` (N bytes, fresh for an hour), `/brief/N/...` (for a second, then for an
/// hour when it is revalidated), `/late/N/...` and
/// `/half/N/...` (fresh for an hour, after a time of thinking before the head or amid the body) and
/// `/private/N/...` (not to be kept).
pub(crate) struct Origin {
    pub(crate) address: SocketAddr,
    counts: Counts,
}

impl Origin {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let counts = Counts::default();
        let shared = Arc::clone(&counts);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&shared);
                std::thread::spawn(move || serve(&stream, &counts));
            }
        });
        Self { address, counts }
    }

    pub(crate) fn asked(&self, path: &str) -> usize {
        self.counts.lock().unwrap().get(path).map_or(0, |counts| counts.0)
    }

    pub(crate) fn asked_if_good(&self, path: &str) -> usize {
        self.counts.lock().unwrap().get(path).map_or(0, |counts| counts.1)
    }
}

pub(crate) fn serve(stream: &TcpStream, counts: &Counts) {
    let mut lines = BufReader::new(stream);
    while let Some((path, is_condition)) = request(&mut lines) {
        let mut all = counts.lock().unwrap();
        let count = all.entry(path.clone()).or_default();
        *count = (count.0 + 1, count.1 + usize::from(is_condition));
        drop(all);
        if write_reply(stream, &path, is_condition).is_err() {
            return;
        }
    }
}

/// Path, and whether the request is conditional.
pub(crate) fn request(lines: &mut impl BufRead) -> Option<(String, bool)> {
    let mut first = String::new();
    lines.read_line(&mut first).ok().filter(|&length| length > 0)?;
    let (mut is_condition, mut body_bytes) = (false, 0);
    loop {
        let mut line = String::new();
        lines.read_line(&mut line).ok().filter(|&length| length > 0)?;
        if line == "\r\n" {
            std::io::copy(&mut lines.by_ref().take(body_bytes), &mut std::io::sink()).ok()?;
            return Some((first.split(' ').nth(1)?.to_owned(), is_condition));
        }
        let name = line.split(':').next().unwrap_or_default().to_ascii_lowercase();
        if name == "content-length" {
            body_bytes = line[name.len() + 1..].trim().parse().ok()?;
        }
        is_condition |= name == "if-modified-since" || name == "if-none-match";
    }
}

pub(crate) fn write_reply(mut stream: &TcpStream, path: &str, is_condition: bool) -> std::io::Result<()> {
    let (kind, rest) = path[1..].split_once('/').unwrap_or((path, "0"));
    let length: u64 = rest.split('/').next().and_then(|text| text.parse().ok()).unwrap_or(0);
    let control = match kind {
        "late" => {
            std::thread::sleep(THINKING); // this is what it is asked for
            "public, max-age=3600"
        }
        "keep" | "half" => "public, max-age=3600",
        "brief" if is_condition => "public, max-age=3600",
        "brief" => "public, max-age=1",
        _ => "private, no-cache",
    };
    let (status, length_line) = match is_condition {
        true => ("304 Not Modified", String::new()),
        false => ("200 OK", format!("Content-Length: {length}\r\n")),
    };
    let now = httpdate();
    write!(
        stream,
        "HTTP/1.1 {status}\r\nDate: {now}\r\nCache-Control: {control}\r\nLast-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\nETag: \"one\"\r\n{length_line}\r\n"
    )?;
    let mut left = if is_condition { 0 } else { length };
    let block = vec![b'x'; usize::try_from(left.min(1 << 16)).unwrap()];
    while left > 0 {
        if kind == "half" && left <= length / 2 && left + (1 << 16) > length / 2 {
            std::thread::sleep(THINKING);
        }
        let piece = usize::try_from(left.min(1 << 16)).unwrap();
        stream.write_all(&block[..piece])?;
        left -= piece as u64;
    }
    Ok(())
}

/// The time as replies give it: of this second, taken from `date` once.
pub(crate) fn httpdate() -> String {
    static LAST: Mutex<(u64, String)> = Mutex::new((0, String::new()));
    let second = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let mut last = LAST.lock().unwrap();
    if last.0 != second {
        let asked = format!("@{second}");
        let said = Command::new("date").args(["-u", "-d", &asked, "+%a, %d %b %Y %H:%M:%S GMT"]).output();
        *last = (second, String::from_utf8(said.unwrap().stdout).unwrap().trim().to_owned());
    }
    last.1.clone()
}
