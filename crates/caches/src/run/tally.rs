//! Counts of an origin, read from it, and the difference of its clock from ours.
//!
//! Measuring side, cold: a request when a phase ends. The request is itself one of the origin's replies.

use super::error::CachesError;
use bakeoff_loadgen::TlsSettings;
use bakeoff_wire::http1::parse_http_date;
use bakeoff_wire::stamp;
pub(crate) use bakeoff_wire::tally::Sent as Tally;
use bakeoff_wire::tally::{OF_ROBOTS, PATH, has_names};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Path of the origin's counts.
pub(super) const TALLY: &str = PATH;
/// Time after which an origin that does not answer is gone.
const PATIENCE: Duration = Duration::from_secs(10);
/// Longest answer.
const ANSWER_BYTES: u64 = 64 * 1024;

/// The counts so far of an origin with names drawn from this number, and the seconds by which its clock is ahead, by its
/// Date.
pub(crate) fn tally(
    address: SocketAddr,
    tls: Option<&TlsSettings>,
    names: u64,
) -> Result<(Tally, Option<i64>), CachesError> {
    let failed = |why| CachesError::Tally { address, why };
    let reply = ask(address, tls, "GET", PATH).map_err(failed)?;
    let (head, body) = taken_apart(&reply);
    if status(head) != Some(200) {
        return Err(failed(io::Error::other("it has no world; start it with `bakeoff origin --plan PLAN`")));
    }
    if !has_names(body.as_bytes(), names) {
        return Err(failed(io::Error::other(
            "it has the names of another run; give both ends the same plan with the same `seed`, and the same version \
             of bakeoff",
        )));
    }
    let tally = Tally::parse(body.as_bytes()).ok_or_else(|| {
        failed(io::Error::new(
            io::ErrorKind::InvalidData,
            "its answer lacks a figure; let both ends be the same version of bakeoff",
        ))
    })?;
    Ok((tally, ahead_s(head)))
}

/// An origin, as far as it can be observed from here.
pub(crate) trait Counted {
    /// Its counts so far, and the seconds by which its clock is ahead of ours.
    fn tally(&self) -> Result<(Tally, Option<i64>), CachesError>;

    /// Its CPU so far; `None` if that cannot be read.
    fn cpu_ns(&self) -> Option<u64>;

    /// An error when it is known to have ended.
    fn alive(&self) -> Result<(), CachesError>;
}

/// An origin that bakeoff did not start: it is known only by its own counts.
#[derive(Clone, Debug)]
pub(crate) struct Elsewhere {
    /// Its address.
    pub(crate) address: SocketAddr,
    /// The number from which its names are drawn.
    pub(crate) names: u64,
    /// Settings of TLS to it; `None`: without.
    pub(crate) tls: Option<TlsSettings>,
}

impl Counted for Elsewhere {
    fn tally(&self) -> Result<(Tally, Option<i64>), CachesError> {
        tally(self.address, self.tls.as_ref(), self.names)
    }

    fn cpu_ns(&self) -> Option<u64> {
        None
    }

    fn alive(&self) -> Result<(), CachesError> {
        Ok(())
    }
}

/// Seconds ahead, by the Date of a reply's head.
fn ahead_s(head: &str) -> Option<i64> {
    let date = head.lines().find_map(|line| line.strip_prefix("Date: "))?;
    let date = parse_http_date(date.trim().as_bytes())?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Some(date as i64 - now.as_secs() as i64)
}

/// Head and body of a reply.
pub(super) fn taken_apart(reply: &str) -> (&str, &str) {
    reply.split_once("\r\n\r\n").unwrap_or((reply, ""))
}

/// Status of a reply's head.
pub(super) fn status(head: &str) -> Option<u16> {
    head.split_whitespace().nth(1)?.parse().ok()
}

/// The whole reply to a request without a body.
pub(super) fn ask(
    address: SocketAddr,
    tls: Option<&TlsSettings>,
    method: &str,
    target: &str,
) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let length = if method == "GET" { "" } else { "Content-Length: 0\r\n" };
    let head = format!(
        "{method} {target} HTTP/1.1\r\nHost: {address}\r\n{}: {OF_ROBOTS}\r\n{length}Connection: close\r\n\r\n",
        stamp::NAME
    );
    if let Some(tls) = tls {
        return ask_over_tls(stream, address, tls, head.as_bytes());
    }
    stream.write_all(head.as_bytes())?;
    let mut reply = String::new();
    stream.take(ANSWER_BYTES).read_to_string(&mut reply)?;
    Ok(reply)
}

/// The same over TLS.
fn ask_over_tls(
    mut stream: TcpStream,
    address: SocketAddr,
    tls: &TlsSettings,
    question: &[u8],
) -> io::Result<String> {
    let mut session = tls.client(address.ip().into(), 1).session().map_err(io::Error::other)?;
    let (mut out, mut reply, mut buffer) = (Vec::new(), Vec::new(), vec![0; 16 * 1024]);
    let mut asked = false;
    loop {
        session.take_output(&mut out);
        stream.write_all(&out)?;
        out.clear();
        let came = stream.read(&mut buffer)?;
        let heard = session.receive(&buffer[..came], &mut |plain| {
            reply.extend_from_slice(plain);
            Ok(())
        });
        let progress = heard.map_err(|class| {
            let why = session.failure().map_or_else(String::new, |failure| format!(": {failure}"));
            io::Error::other(format!("{}{why}", class.as_str()))
        })?;
        if came == 0 && !asked {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if came == 0 || progress.ended || reply.len() as u64 >= ANSWER_BYTES {
            return String::from_utf8(reply).map_err(io::Error::other);
        }
        if progress.established && !asked {
            asked = true;
            session.write(question, &mut out).map_err(|class| io::Error::other(class.as_str()))?;
        }
    }
}
