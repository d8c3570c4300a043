//! Programs inside the guest beside `calls`: a client of the web server, an emptied cache of decisions, one command.
//!
//! Measuring side, in the guest, one thread. The executable's hidden word `counted`; answers in the lines that
//! [`crate::said`] reads. The processor's counter counts instructions there.

use crate::part::{COLD, COMPILE, FILES};
use bakeoff_sys::{counter, process};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

/// The word that makes the executable this process.
pub const WORD: &str = "counted";

/// The kernel's switch; to write another value than it has empties the cache of decisions.
const ENFORCE: &str = "/sys/fs/selinux/enforce";
/// Batches of the web server's files: fewer than of calls, as each is thousands of times dearer.
const WEB_BATCHES: usize = 5;
/// Requests of each planted violation. Fewer than the kernel prints messages of without holding some back (10).
const PLANTED: u32 = 4;
/// How long the web server may take to start, in milliseconds of the guest's own time.
const PATIENCE: u32 = 10_000;

/// Does what `words` say and prints lines to `output`.
///
/// # Errors
/// Wrong words, or what the system says.
pub fn inside(words: impl Iterator<Item = OsString>, output: &mut dyn Write) -> io::Result<()> {
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["cold", mode, file, batches] => cold(mode, file, batches.parse().unwrap_or(1), output),
        ["web", address] => {
            let address = address.parse().map_err(|_| wrong("an address is HOST:PORT"))?;
            web(address, output)
        }
        ["command", name, program, ref rest @ ..] => command(name, program, rest, output),
        _ => Err(wrong(
            "usage: bakeoff counted cold MODE FILE BATCHES | web ADDRESS | command NAME PROGRAM ...",
        )),
    }
}

fn wrong(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// Instructions that `work` takes.
fn counted(work: impl FnOnce() -> io::Result<()>) -> io::Result<u64> {
    let begun = counter::read().unwrap_or(0); // the guest is x86-64
    work()?;
    Ok(counter::read().unwrap_or(0) - begun)
}

/// A line `R NAME COUNT MIN MEDIAN MAX`, in instructions an operation.
fn row(output: &mut dyn Write, name: &str, count: u32, mut batches: Vec<u64>) -> io::Result<()> {
    batches.sort_unstable();
    let each = |index: usize| batches[index] as f64 / f64::from(count);
    let last = batches.len() - 1;
    writeln!(output, "R {name} {count} {:.1} {:.1} {:.1}", each(0), each(batches.len() / 2), each(last))
}

/// The first open after every decision was forgotten, the next one, and the first stat.
fn cold(mode: &str, path: &str, batches: usize, output: &mut dyn Write) -> io::Result<()> {
    fs::write(path, "")?;
    let open = || File::open(path).map(drop);
    let stat = || fs::metadata(path).map(drop);
    let (mut first, mut second, mut attributes) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..batches.max(1) {
        open()?;
        forget(mode)?;
        first.push(counted(open)?);
        second.push(counted(open)?);
        stat()?;
        forget(mode)?;
        attributes.push(counted(stat)?);
    }
    for (name, ticks) in COLD.iter().zip([first, second, attributes]) {
        row(output, name, 1, ticks)?;
    }
    Ok(())
}

/// The cache is emptied when enforcing begins.
fn forget(mode: &str) -> io::Result<()> {
    let values: &[&str] = match mode {
        "o" => &[],
        "e" => &["0", "1"],
        _ => &["1", "0"],
    };
    values.iter().try_for_each(|value| fs::write(ENFORCE, value))
}

fn web(address: SocketAddr, output: &mut dyn Write) -> io::Result<()> {
    ready(address)?;
    for file in &FILES {
        let path = format!("/{}", file.name);
        let get = || match request(address, &path)? {
            (200, bytes) if bytes >= file.bytes => Ok(()),
            (status, bytes) => Err(io::Error::other(format!("{path}: status {status}, {bytes} bytes"))),
        };
        get()?;
        let batch = || counted(|| (0..file.batch).try_for_each(|_| get()));
        let batches = (0..WEB_BATCHES).map(|_| batch()).collect::<io::Result<_>>()?;
        row(output, &format!("http-{}", file.name), file.batch, batches)?;
    }
    for planted in ["secret", "port"] {
        for _ in 0..PLANTED {
            let (status, _) = request(address, &format!("/{planted}"))?;
            writeln!(output, "# {planted} {status}")?;
        }
    }
    output.flush()
}

/// Waits until somebody listens.
fn ready(address: SocketAddr) -> io::Result<()> {
    let mut last = None;
    for _ in 0..PATIENCE {
        match TcpStream::connect(address) {
            Ok(_) => return Ok(()),
            Err(why) => last = Some(why),
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(last.unwrap_or_else(|| wrong("nothing was tried")))
}

/// A connection for one request, as WebStone has it: the reply's status, and its bytes with the head.
fn request(address: SocketAddr, path: &str) -> io::Result<(u16, usize)> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\n\r\n").as_bytes())?;
    let (mut buffer, mut total, mut status) = ([0; 65536], 0, 0);
    loop {
        let length = stream.read(&mut buffer)?;
        if length == 0 {
            return Ok((status, total));
        }
        if total == 0 {
            status = std::str::from_utf8(&buffer[..length.min(12)])
                .ok()
                .and_then(|head| head.split(' ').nth(1)?.parse().ok())
                .unwrap_or(0);
        }
        total += length;
    }
}

/// One command, all of it and the kernel's share of its time. That is sampled by the guest's clock, 250 times in what
/// would be a second there, which is a thousand million instructions.
fn command(name: &str, program: &str, words: &[&str], output: &mut dyn Write) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(words).stdin(Stdio::null()).stdout(Stdio::null());
    let ticks = counted(|| match command.status()? {
        status if status.success() => Ok(()),
        status => Err(io::Error::other(format!("{program}: {status}"))),
    })?;
    row(output, name, 1, vec![ticks])?;
    let system = process::children_used()?.system.get();
    row(output, COMPILE[1], 1, vec![system])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: &[&str]) -> io::Result<String> {
        let mut output = Vec::new();
        inside(words.iter().map(OsString::from), &mut output)?;
        Ok(String::from_utf8(output).unwrap())
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_command_gives_two_rows_and_one_that_fails_none() {
        let rows = said(&["command", "compile", "true"]).unwrap();
        assert!(rows.starts_with("R compile 1 ") && rows.contains("\nR compile-system 1 "), "{rows}");
        assert!(said(&["command", "compile", "false"]).unwrap_err().to_string().contains("exit status"));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn without_selinux_nothing_is_forgotten_and_all_three_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f").display().to_string();
        let rows = said(&["cold", "o", &file, "3"]).unwrap();
        let names: Vec<&str> = rows.lines().filter_map(|line| line.split(' ').nth(1)).collect();
        assert_eq!(names, COLD);
    }

    #[test]
    fn a_reply_has_a_status_and_a_length() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut head = [0; 64];
            let length = stream.read(&mut head).unwrap();
            stream.write_all(b"HTTP/1.1 403 Forbidden\r\n\r\nno").unwrap();
            String::from_utf8(head[..length].to_vec()).unwrap()
        });
        assert_eq!(request(address, "/secret").unwrap(), (403, 28));
        assert_eq!(server.join().unwrap(), "GET /secret HTTP/1.0\r\n\r\n");
    }

    #[test]
    fn words_that_are_none_say_how_it_is_used() {
        assert!(said(&["cold"]).unwrap_err().to_string().contains("usage"));
    }
}
