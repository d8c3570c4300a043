//! The origin of a bake-off: a process of its own, and what it says it has sent.
//!
//! Measuring side, cold: asked when a phase ends.

use super::CachesError;
use bakeoff_subject::{Context, Running, Spec, start};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where the origin says what it has sent.
pub(crate) const TALLY: &str = "/bakeoff/tally";
/// An origin that does not answer for so long is gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the origin has sent so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) replies: u64,
    pub(crate) validations: u64,
    pub(crate) body_bytes: u64,
}

/// Whose origin it is.
#[derive(Debug)]
pub(super) struct Origin {
    running: Running,
    /// What it says of objects; from the origin's command line.
    pub(super) address: SocketAddr,
}

/// Where and how it is started.
pub(super) struct Place<'a> {
    pub(super) scratch: &'a Path,
    pub(super) cores: &'a [usize],
    pub(super) port: Option<u16>,
    pub(super) interrupted: &'a AtomicBool,
}

impl Origin {
    /// Starts one that serves the world of this text.
    pub(super) fn begin(world: &str, place: &Place<'_>) -> Result<Self, CachesError> {
        let file = place.scratch.join("world.toml");
        std::fs::write(&file, world).map_err(|why| CachesError::Scratch { path: file.clone(), why })?;
        let executable = std::env::current_exe().map_err(CachesError::System)?;
        let argv = [
            &executable.display().to_string(),
            "origin",
            "--port",
            "{port}",
            "--threads",
            "1",
            "--world",
            &file.display().to_string(),
        ];
        let argv = argv.map(str::to_owned).to_vec();
        let spec = Spec::Command { argv, ready: Some(TALLY.to_owned()), env: Vec::new(), tls: false };
        let mut context = Context::new("origin", place.scratch, place.scratch, place.interrupted);
        context.cpus = place.cores.to_vec();
        context.port = place.port;
        let running = start(&spec, &context)?;
        let address = running.address;
        Ok(Self { running, address })
    }

    /// What it has sent so far, and how far its clock is ahead of ours, in seconds.
    pub(super) fn tally(&self) -> Result<(Tally, Option<i64>), CachesError> {
        self.running.alive()?;
        let reply =
            get(self.address, TALLY).map_err(|why| CachesError::Tally { address: self.address, why })?;
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or((&reply, ""));
        let number = |name: &str| {
            let line = body.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
        };
        let date = head.lines().find_map(|line| line.strip_prefix("Date: "));
        let ahead =
            date.and_then(|date| bakeoff_wire::http1::parse_http_date(date.trim().as_bytes())).map(|date| {
                date as i64
                    - SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64
            });
        let tally = Tally {
            replies: number("replies"),
            validations: number("not_modified"),
            body_bytes: number("body_bytes"),
        };
        Ok((tally, ahead))
    }

    /// Its CPU so far; `None` where that cannot be read.
    pub(super) fn cpu_ns(&self) -> Option<u64> {
        self.running.cpu().ok().map(|reading| reading.nanos.get())
    }
}

/// A reply, whole.
pub(crate) fn get(address: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n")?;
    let mut reply = String::new();
    stream.take(64 * 1024).read_to_string(&mut reply)?;
    Ok(reply)
}
