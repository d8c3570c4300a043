//! Station: the setup of one operation that is repeated, and its batches.
//!
//! Measuring side. `run` is the hot part, everything else is cold. A station leaves nothing behind when it
//! is dropped but files in the place's directory.

use crate::failure::{Done, OperationFailure};
use crate::partner::Partner;
use crate::{CallClock, CallOperation, connect, echo, files, kernel, programs, rpc};
use bakeoff_sys::{affinity, cpu_clock, process};
use bakeoff_units::Nanos;
use std::fs;
use std::io;
use std::path::PathBuf;

/// Place of the operations: directory, program, port, cores.
#[derive(Clone, Debug)]
pub struct Instance {
    /// An existing directory for files.
    pub dir: PathBuf,
    /// Depth of the deepest directory below it.
    pub depth: usize,
    /// The small program that is executed.
    pub program: PathBuf,
    /// The TCP port to listen on; 0: any.
    pub port: u16,
    /// The cores of the other processes.
    pub peers: Peers,
}

/// The cores of the two ends of a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peers {
    /// On one.
    Same,
    /// Each on one of its own.
    Other,
}

impl Peers {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Same, Self::Other];

    /// As in plans.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Other => "other",
        }
    }

    /// Takes the first of the cores that this process may use; returns the core of partners.
    ///
    /// # Errors
    ///
    /// The kernel's error; `InvalidInput` where two cores are wanted and there is one.
    pub(crate) fn settle(self) -> io::Result<usize> {
        let allowed = affinity::allowed()?;
        if allowed.len() > 1 {
            affinity::pin(&allowed[..1])?;
        }
        let partner = allowed.get(usize::from(self == Self::Other)).copied();
        partner.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is one core, not two"))
    }
}

/// One operation, ready to be made.
pub(crate) trait Station {
    /// Prepares a batch of so many.
    fn before(&mut self, _count: u64) -> Done {
        Ok(())
    }

    /// The batch: the operation so many times.
    fn run(&mut self, count: u64) -> Done;

    /// Removes the leftovers of a batch.
    fn after(&mut self) -> Done {
        Ok(())
    }

    /// The partner that answers.
    fn partner(&self) -> Option<&Partner> {
        None
    }
}

/// The place with the parts that all stations share.
pub(crate) struct Ground {
    /// The deepest directory.
    pub(crate) deep: PathBuf,
    pub(crate) program: PathBuf,
    pub(crate) port: u16,
    /// The core of partners.
    pub(crate) core: usize,
}

impl Ground {
    /// Makes the directories.
    ///
    /// # Errors
    /// They cannot be made.
    pub(crate) fn lay(place: &Instance, core: usize) -> io::Result<Self> {
        let deep = (1..=place.depth).fold(place.dir.clone(), |dir, level| dir.join(format!("d{level}")));
        fs::create_dir_all(&deep)?;
        Ok(Self { deep, program: place.program.clone(), port: place.port, core })
    }

    /// Sets an operation up.
    pub(crate) fn station(&self, operation: CallOperation) -> Done<Box<dyn Station>> {
        Ok(match operation {
            CallOperation::Null => Box::new(kernel::Null),
            CallOperation::Read => Box::new(kernel::Read::new()?),
            CallOperation::Write => Box::new(kernel::Write::new()?),
            CallOperation::Select => Box::new(kernel::Select::default()),
            CallOperation::PipeThroughput => Box::new(kernel::Pipe::new()?),
            CallOperation::Stat => Box::new(files::Stat::new(&self.deep)?),
            CallOperation::OpenClose => Box::new(files::OpenClose::new(&self.deep)?),
            CallOperation::Create => Box::new(files::Create::new(&self.deep)),
            CallOperation::Delete => Box::new(files::Delete::new(&self.deep)),
            CallOperation::Copy4096 => Box::new(files::Copy::<4096>::new(&self.deep)?),
            CallOperation::Copy1024 => Box::new(files::Copy::<1024>::new(&self.deep)?),
            CallOperation::Copy256 => Box::new(files::Copy::<256>::new(&self.deep)?),
            CallOperation::Fork => Box::new(programs::Fork),
            CallOperation::Exec => Box::new(programs::Exec::new(&self.program)?),
            CallOperation::Shell => Box::new(programs::Exec::by_shell(&self.program)?),
            CallOperation::Execl => Box::new(programs::Execl::new()?),
            CallOperation::Shell8 => Box::new(programs::Shell8::new(&self.deep)?),
            CallOperation::Pipe => Box::new(echo::Echo::pipes(self.core)?),
            CallOperation::Unix => Box::new(echo::Echo::unix(self.core)?),
            CallOperation::Udp => Box::new(echo::Echo::udp(self.core)?),
            CallOperation::Tcp => Box::new(echo::Echo::tcp(self.core, self.port)?),
            CallOperation::RpcUdp => Box::new(rpc::Udp::new(self.core)?),
            CallOperation::RpcTcp => Box::new(rpc::Tcp::new(self.core, self.port)?),
            CallOperation::Connect => Box::new(connect::Connect::new(self.core, self.port)),
        })
    }
}

/// Cost of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchCost {
    /// By the clock.
    pub ticks: u64,
    /// CPU of this process, its children and its partner; `None` where it cannot be read.
    pub cpu: Option<Nanos>,
}

/// Makes a batch, timed.
pub(crate) fn batch(station: &mut dyn Station, count: u64, clock: CallClock) -> Done<BatchCost> {
    let prepared = station.before(count);
    let before = spent(station);
    let start = clock.ticks();
    let run = prepared.and_then(|()| station.run(count));
    let ticks = clock.ticks() - start;
    let cpu = before.and_then(|before| Some(spent(station)?.since(before)));
    let after = station.after();
    run.and(after).map(|()| BatchCost { ticks, cpu })
}

fn spent(station: &dyn Station) -> Option<Nanos> {
    let partner = match station.partner() {
        Some(partner) => cpu_clock::process(partner.pid()).ok()?,
        None => Nanos::ZERO,
    };
    let children = process::children_used().ok()?;
    Some(cpu_clock::own_process().ok()? + children.user + children.system + partner)
}

/// Checks that a write or a read was complete.
pub(crate) fn all(doing: &'static str, wanted: usize) -> impl Fn(Result<usize, nix::Error>) -> Done {
    move |result| match result.map_err(OperationFailure::of(doing))? {
        done if done == wanted => Ok(()),
        done => Err(OperationFailure::Wrong(format!("{doing}: {done} of {wanted} bytes"))),
    }
}
