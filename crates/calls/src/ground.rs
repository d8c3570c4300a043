//! Ground of the operations: their place, and the station of each.
//!
//! Measuring side, cold.

use crate::failure::Done;
use crate::station::Station;
use crate::{CallOperation, connect, echo, files, kernel, programs, rpc};
use bakeoff_sys::affinity;
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
