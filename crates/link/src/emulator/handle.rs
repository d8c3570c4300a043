//! bakeoff's handle of an emulator: starts the process, sends its orders, reads its record.

use super::protocol::{Answer, EmulatorRecord, Order, Way};
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

/// Longest time for an answer of the emulator: it has little to do, but the machine may.
const PATIENCE: Duration = Duration::from_secs(10);

/// An emulator process. Dropping it ends it, and its devices go.
#[derive(Debug)]
pub(crate) struct Emulator {
    process: Child,
    channel: BufReader<UnixStream>,
    cpu: Nanos,
}

impl Emulator {
    /// Starts an emulator, which makes `device` in both namespaces. Also returns whether it goes before ordinary processes.
    pub(crate) fn start(
        executable: &Path,
        first: &Namespace,
        second: &Namespace,
        device: &str,
    ) -> Result<(Self, bool), LinkError> {
        let (ours, theirs) = UnixStream::pair().map_err(LinkError::Emulator)?;
        ours.set_read_timeout(Some(PATIENCE)).map_err(LinkError::Emulator)?;
        let process = Command::new(executable)
            .arg(super::WORD)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .spawn()
            .map_err(LinkError::Emulator)?;
        let mut emulator = Self { process, channel: BufReader::new(ours), cpu: Nanos::ZERO };
        let order = Order::Open { namespaces: [first.path(), second.path()], device: device.to_owned() };
        match emulator.ask(&order)? {
            Answer::Opened { goes_first } => Ok((emulator, goes_first)),
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
    pub(crate) fn record(&mut self) -> Result<EmulatorRecord, LinkError> {
        match self.ask(&Order::Record)? {
            Answer::Record { delays, packets, lost, refused, cpu_ns } => {
                let delays = Histogram::decode(&delays).map_err(|error| {
                    LinkError::Emulator(io::Error::new(io::ErrorKind::InvalidData, error))
                })?;
                let cpu = Nanos::new(cpu_ns).since(std::mem::replace(&mut self.cpu, Nanos::new(cpu_ns)));
                Ok(EmulatorRecord { delays, packets, lost, refused, cpu })
            }
            other => Err(unexpected(&other)),
        }
    }

    fn ask(&mut self, order: &Order) -> Result<Answer, LinkError> {
        self.exchange(order).map_err(LinkError::Emulator)
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

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it holds nothing that would have to be put away
        let _ = self.process.wait(); // cannot fail for a child nobody else waits for
    }
}

fn unexpected(answer: &Answer) -> LinkError {
    LinkError::Emulator(match answer {
        Answer::Failed { doing, error } => io::Error::other(format!("{doing}: {error}")),
        other => io::Error::new(io::ErrorKind::InvalidData, format!("it answered {other:?}")),
    })
}
