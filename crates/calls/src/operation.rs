//! Table of the operations.
//!
//! Measuring side. A pure table: the words of plans and results, and where each stood in 2001.

/// An operation that a process repeats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallOperation {
    /// The cheapest call there is: getppid.
    Null,
    /// One byte of /dev/zero.
    Read,
    /// One byte to /dev/null.
    Write,
    /// The attributes of a file by its path.
    Stat,
    /// A file is opened for reading, and closed.
    OpenClose,
    /// An empty file is made.
    Create,
    /// An empty file is removed.
    Delete,
    /// select over 100 descriptors.
    Select,
    /// A child that ends at once.
    Fork,
    /// A child that executes a small program.
    Exec,
    /// A child that executes the shell, which executes a small program.
    Shell,
    /// A byte to another process and back, over two pipes.
    Pipe,
    /// The same over a pair of AF_UNIX sockets.
    Unix,
    /// The same over UDP on the loopback device.
    Udp,
    /// The same over TCP.
    Tcp,
    /// A null call of ONC RPC over UDP.
    RpcUdp,
    /// A null call of ONC RPC over TCP.
    RpcTcp,
    /// A TCP connection is made and closed.
    Connect,
    /// 4096 bytes are read from one file and written to another.
    Copy4096,
    /// 1024 bytes.
    Copy1024,
    /// 256 bytes.
    Copy256,
    /// 512 bytes into a pipe and out of it, in one process.
    PipeThroughput,
    /// A process that executes itself anew.
    Execl,
    /// Eight shell scripts at the same time.
    Shell8,
}

/// Every operation in the order of reports: its word, and the batch size and greatest number of batches where the
/// process runs by itself. Operations that wake others or make processes are dear, above all in a guest.
const TABLE: [(CallOperation, &str, u64, usize); 24] = [
    (CallOperation::Null, "null", 2000, 100),
    (CallOperation::Read, "read", 2000, 100),
    (CallOperation::Write, "write", 2000, 100),
    (CallOperation::Stat, "stat", 1000, 100),
    (CallOperation::OpenClose, "open-close", 500, 100),
    (CallOperation::Create, "create", 400, 100),
    (CallOperation::Delete, "delete", 400, 100),
    (CallOperation::Select, "select", 200, 100),
    (CallOperation::Fork, "fork", 20, 100),
    (CallOperation::Exec, "exec", 10, 100),
    (CallOperation::Shell, "sh", 3, 5),
    (CallOperation::Pipe, "pipe", 300, 100),
    (CallOperation::Unix, "unix", 300, 100),
    (CallOperation::Udp, "udp", 300, 100),
    (CallOperation::Tcp, "tcp", 300, 100),
    (CallOperation::RpcUdp, "rpc-udp", 200, 100),
    (CallOperation::RpcTcp, "rpc-tcp", 200, 100),
    (CallOperation::Connect, "connect", 200, 100),
    (CallOperation::Copy4096, "copy-4096", 384, 100),
    (CallOperation::Copy1024, "copy-1024", 384, 100),
    (CallOperation::Copy256, "copy-256", 384, 100),
    (CallOperation::PipeThroughput, "pipe-512", 500, 100),
    (CallOperation::Execl, "execl", 20, 5),
    (CallOperation::Shell8, "shell8", 1, 3),
];

impl CallOperation {
    /// All of them, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.0)
    }

    /// Its word in plans and results.
    pub fn word(self) -> &'static str {
        TABLE.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The operation of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.1 == word).map(|row| row.0)
    }

    /// Batch size and greatest number of batches where the process runs by itself.
    pub(crate) fn alone(self) -> (u64, usize) {
        TABLE.iter().find(|row| row.0 == self).map_or((1, 1), |row| (row.2, row.3))
    }
}

#[cfg(test)]
mod tests {
    use super::CallOperation;

    #[test]
    fn every_word_leads_back() {
        for operation in CallOperation::all() {
            assert_eq!(CallOperation::of_word(operation.word()), Some(operation));
        }
        assert_eq!(CallOperation::of_word("getpid"), None);
    }
}
