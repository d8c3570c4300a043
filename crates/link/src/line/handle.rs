//! bakeoff's handle of a line: starts the process, sends its orders, reads its record.

use super::protocol::{Answer, LineRecord, Order, Way};
use crate::LinkError;
use bakeoff_meter::Histogram;
use bakeoff_sys::namespace::Namespace;
use bakeoff_units::Nanos;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Longest time for an answer of the line: it has little to do, but the machine may.
const PATIENCE: Duration = Duration::from_secs(10);

/// A line process. Dropping it ends it, and its devices go.
#[derive(Debug)]
pub(crate) struct Line {
    process: Child,
    channel: BufReader<UnixStream>,
    cpu: Nanos,
}

impl Line {
    /// Starts a line, which makes `device` in both namespaces. Also returns whether it goes before ordinary processes.
    pub(crate) fn start(
        executable: &Path,
        first: &Namespace,
        second: &Namespace,
        device: &str,
    ) -> Result<(Self, bool), LinkError> {
        let (ours, theirs) = UnixStream::pair().map_err(LinkError::Line)?;
        ours.set_read_timeout(Some(PATIENCE)).map_err(LinkError::Line)?;
        let process = Command::new(executable)
            .arg(super::WORD)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(LinkError::Line)?;
        let mut line = Self { process, channel: BufReader::new(ours), cpu: Nanos::ZERO };
        let order = Order::Open { namespaces: [first.path(), second.path()], device: device.to_owned() };
        match line.ask(&order)? {
            Answer::Opened { goes_first } => Ok((line, goes_first)),
            other => Err(unexpected(&other)),
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    /// Sets delay and loss from now on, both ways.
    pub(crate) fn hinder(&mut self, how: Way) -> Result<(), LinkError> {
        match self.ask(&Order::Hinder(how))? {
            Answer::Hindered => Ok(()),
            other => Err(unexpected(&other)),
        }
    }

    /// The record since the last call.
    pub(crate) fn record(&mut self) -> Result<LineRecord, LinkError> {
        match self.ask(&Order::Record)? {
            Answer::Record { delays, packets, lost, refused, cpu_ns } => {
                let delays = Histogram::decode(&delays)
                    .map_err(|error| LinkError::Line(io::Error::new(io::ErrorKind::InvalidData, error)))?;
                let cpu = Nanos::new(cpu_ns).since(std::mem::replace(&mut self.cpu, Nanos::new(cpu_ns)));
                Ok(LineRecord { delays, packets, lost, refused, cpu })
            }
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<Answer, LinkError> {
        self.exchange(order).map_err(LinkError::Line)
    }

    fn exchange(&mut self, order: &Order) -> io::Result<Answer> {
        let mut line = serde_json::to_vec(order)?;
        line.push(b'\n');
        self.channel.get_mut().write_all(&line)?;
        line.clear();
        match self.channel.read_until(b'\n', &mut line)? {
            0 => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it has ended")),
            _ => Ok(serde_json::from_slice(&line)?),
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it holds nothing that would have to be put away
        let _ = self.process.wait(); // cannot fail for a child nobody else waits for
    }
}

fn unexpected(answer: &Answer) -> LinkError {
    LinkError::Line(match answer {
        Answer::Failed { doing, error } => io::Error::other(format!("{doing}: {error}")),
        other => io::Error::new(io::ErrorKind::InvalidData, format!("it answered {other:?}")),
    })
}
