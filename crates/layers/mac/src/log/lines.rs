//! Log of refusals: lines of JSON, at most one in ten seconds for the same access.
//!
//! Measured side. The first of a kind is written at once, the others of its ten seconds as one line with their
//! number. Beyond a limit on distinct accesses only the kind of access is kept, so that a program that asks for a
//! million names fills neither the memory nor the disk.

use super::access::LoggedAccess;
use crate::grant::{DomainGrant, PortUse};
use serde::Serialize;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time window in which the same access is one line.
const WINDOW: Duration = Duration::from_secs(10);
/// Limit on distinct accesses in that window.
const MOST_KINDS: usize = 1024;

/// Limit on the bytes of all lines in that window; further lines are counted as not written.
const MOST_BYTES: usize = 512 << 10;
/// Longest path or reason in a line, in bytes.
const MOST_TEXT: usize = 400;

/// Outcome of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessVerdict {
    /// Refused.
    Denied,
    /// Allowed; enforcing would refuse it.
    WouldDeny,
}

/// Writer of log lines.
pub struct LineWriter {
    grant: DomainGrant,
    out: Option<File>,
    windows: HashMap<(AccessVerdict, LoggedAccess), Window>,
    seq: u64,
    /// Start of the present window of bytes, and those written in it.
    spent: Option<(Instant, usize)>,
}

/// Window of one access, since its first line.
struct Window {
    began: Instant,
    more: u64,
    last: Last,
}

/// The last process that attempted it.
#[derive(Clone)]
struct Last {
    t_ms: u64,
    pid: Option<u32>,
    exe: Option<PathBuf>,
}

#[derive(Serialize)]
struct Line<'a> {
    t: f64,
    seq: u64,
    verdict: AccessVerdict,
    domain: &'a str,
    #[serde(rename = "type")]
    label: Option<String>,
    access: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    port: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    pid: Option<u32>,
    exe: Option<String>,
    reason: String,
    policy: &'a str,
    count: u64,
}

impl LineWriter {
    /// For the domain with this grant, into this file, if there is one.
    pub fn new(grant: DomainGrant, out: Option<File>) -> Self {
        Self { grant, out, windows: HashMap::new(), seq: 0, spent: None }
    }

    /// Notes an access. `t_ms` is in milliseconds since 1970.
    ///
    /// # Errors
    /// The error of writing.
    pub fn note(
        &mut self,
        (verdict, wanted): (AccessVerdict, LoggedAccess),
        (t_ms, pid, exe): (u64, Option<u32>, Option<&Path>),
        now: Instant,
    ) -> io::Result<()> {
        let last = Last { t_ms, pid, exe: exe.map(Path::to_owned) };
        let mut key = (verdict, wanted);
        if self.windows.len() >= MOST_KINDS
            && !self.windows.contains_key(&key)
            && let LoggedAccess::File(access, _) = key.1
        {
            key.1 = LoggedAccess::Files(access);
        }
        match self.windows.get_mut(&key) {
            Some(window) => {
                window.more += 1;
                window.last = last;
                Ok(())
            }
            None => {
                let written = self.write(&key, &last, 1, now);
                self.windows.insert(key, Window { began: now, more: 0, last });
                written
            }
        }
    }

    /// Writes the windows that have ended; at the `end` all of them.
    ///
    /// # Errors
    /// The error of writing.
    pub fn turn(&mut self, now: Instant, end: bool) -> io::Result<()> {
        let over = |window: &mut Window| end || now.duration_since(window.began) >= WINDOW;
        let closed: Vec<_> = self.windows.extract_if(|_, window| over(window)).collect();
        let mut written = Ok(());
        for (key, window) in closed.into_iter().filter(|(_, window)| window.more > 0) {
            written = written.and(self.write(&key, &window.last, window.more, now));
        }
        written
    }

    fn write(
        &mut self,
        (verdict, wanted): &(AccessVerdict, LoggedAccess),
        last: &Last,
        count: u64,
        now: Instant,
    ) -> io::Result<()> {
        self.seq += 1;
        let Some(out) = &mut self.out else { return Ok(()) };
        let (label, reason) = why(&self.grant, wanted);
        let text = |path: &Path| cut(path.to_string_lossy().into_owned());
        let line = Line {
            t: last.t_ms as f64 / 1000.0,
            seq: self.seq,
            verdict: *verdict,
            domain: &self.grant.domain,
            label,
            access: wanted.word(),
            path: match wanted {
                LoggedAccess::File(_, path) => Some(text(path)),
                _ => None,
            },
            port: match wanted {
                LoggedAccess::Bind(port) | LoggedAccess::Connect(port) => Some(*port),
                _ => None,
            },
            call: match wanted {
                LoggedAccess::Call(number) => Some(*number),
                _ => None,
            },
            pid: last.pid,
            exe: last.exe.as_deref().map(text),
            reason: cut(reason),
            policy: &self.grant.digest,
            count,
        };
        let mut bytes = serde_json::to_vec(&line)?;
        bytes.push(b'\n');
        let (_, spent) = match &mut self.spent {
            Some(window) if now.duration_since(window.0) < WINDOW => window,
            spent => spent.insert((now, 0)),
        };
        if *spent + bytes.len() > MOST_BYTES {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        *spent += bytes.len();
        out.write_all(&bytes)
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MOST_TEXT {
        text.truncate(text.floor_char_boundary(MOST_TEXT - 3));
        text.push_str("...");
    }
    text
}

/// The path's type, and the missing right with the nearest rule.
fn why(grant: &DomainGrant, wanted: &LoggedAccess) -> (Option<String>, String) {
    let told = match wanted {
        LoggedAccess::File(access, path) => grant.because(path, *access),
        LoggedAccess::Bind(port) => grant.because_port(PortUse::Listen, *port),
        LoggedAccess::Connect(port) => grant.because_port(PortUse::Connect, *port),
        LoggedAccess::Files(_) => return (None, "more paths in ten seconds than are told apart".to_owned()),
        LoggedAccess::Scope(_) => return (None, "a domain reaches its own processes only".to_owned()),
        LoggedAccess::Call(_) => return (None, "no domain may make this system call so".to_owned()),
    };
    let replaced = match (wanted, told.granted) {
        (LoggedAccess::File(..), true) => {
            "; a rule is of the file that was there at the start, and this is another"
        }
        _ => "",
    };
    (told.label.map(str::to_owned), told.reason + replaced)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::Access::{List, Read};
    use crate::grant::TypePath;
    use serde_json::Value;

    fn lines(out: &Path) -> LineWriter {
        let secret = TypePath { path: "/srv/key".into(), label: "secret".to_owned(), line: 2, there: true };
        let (domain, policy, digest) = ("web".to_owned(), "web.toml".to_owned(), "ab".to_owned());
        let grant = DomainGrant { domain, policy, digest, types: vec![secret], ..DomainGrant::default() };
        LineWriter::new(grant, Some(File::create(out).unwrap()))
    }

    fn written(out: &Path) -> Vec<Value> {
        std::fs::read_to_string(out)
            .unwrap()
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn read(path: &str) -> (AccessVerdict, LoggedAccess) {
        (AccessVerdict::Denied, LoggedAccess::File(Read, path.into()))
    }

    #[test]
    fn the_same_thing_is_one_line_in_ten_seconds_and_no_count_is_lost() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("log");
        let (mut lines, now) = (lines(&out), Instant::now());
        for number in 0..5 {
            lines
                .note(read("/srv/key"), (1_500 + number, Some(7), Some(Path::new("/bin/cat"))), now)
                .unwrap();
        }
        lines.note((AccessVerdict::WouldDeny, LoggedAccess::Bind(80)), (1_600, None, None), now).unwrap();
        lines.turn(now + WINDOW - Duration::from_millis(1), false).unwrap();
        assert_eq!(written(&out).len(), 2);
        lines.turn(now + WINDOW, false).unwrap();
        assert!(lines.windows.is_empty());
        let told = written(&out);
        let first = r#"{"t":1.5,"seq":1,"verdict":"denied","domain":"web","type":"secret","access":"read",
            "path":"/srv/key","pid":7,"exe":"/bin/cat",
            "reason":"`/srv/key` is of type secret (web.toml:2); domain web may do nothing there (web.toml:0)","policy":"ab","count":1}"#;
        assert_eq!(told[0], serde_json::from_str::<Value>(first).unwrap());
        assert_eq!((&told[1]["verdict"], &told[1]["port"]), (&"would-deny".into(), &80.into()));
        assert_eq!(
            (&told[2]["count"], &told[2]["seq"], &told[2]["t"]),
            (&4.into(), &3.into(), &1.504.into())
        );
        lines.note(read("/srv/key"), (9, None, None), now + WINDOW).unwrap();
        assert_eq!(written(&out).len(), 4, "a new window has its first line at once");
    }

    #[test]
    fn long_names_of_control_characters_fill_no_disk() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("log");
        let (mut lines, now) = (lines(&out), Instant::now());
        let name = |number: usize| format!("/{number}/{}", "\u{1}".repeat(4000));
        let written =
            (0..1000).filter(|number| lines.note(read(&name(*number)), (0, None, None), now).is_ok());
        let written = written.count();
        let bytes = std::fs::metadata(&out).unwrap().len();
        assert!(
            written > 0 && written < 1000 && bytes <= MOST_BYTES as u64,
            "{written} lines, {bytes} bytes"
        );
        lines.note(read(&name(1000)), (0, None, None), now + WINDOW).unwrap();
    }

    #[test]
    fn many_names_are_some_lines_and_all_counted() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("log");
        let (mut lines, now) = (lines(&out), Instant::now());
        for number in 0..200_000_u32 {
            lines.note(read(&format!("/srv/{number}")), (1, None, None), now).unwrap();
        }
        lines
            .note((AccessVerdict::Denied, LoggedAccess::File(List, "/srv".into())), (1, None, None), now)
            .unwrap();
        lines.turn(now, true).unwrap();
        let told = written(&out);
        assert_eq!(
            told.len(),
            MOST_KINDS + 3,
            "each, then both kinds of access without a path, and one number"
        );
        let counted: u64 = told.iter().map(|line| line["count"].as_u64().unwrap()).sum();
        assert_eq!(counted, 200_001);
        assert!(told.last().unwrap().get("path").is_none());
    }
}
