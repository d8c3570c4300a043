//! Which operations there are.
//!
//! Measuring side. A pure table: the words of plans and results, and where each stood in 2001.

/// Something that a process asks of the kernel, over and over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
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

/// Every operation with its word, in the order of reports.
const TABLE: [(Operation, &str); 24] = [
    (Operation::Null, "null"),
    (Operation::Read, "read"),
    (Operation::Write, "write"),
    (Operation::Stat, "stat"),
    (Operation::OpenClose, "open-close"),
    (Operation::Create, "create"),
    (Operation::Delete, "delete"),
    (Operation::Select, "select"),
    (Operation::Fork, "fork"),
    (Operation::Exec, "exec"),
    (Operation::Shell, "sh"),
    (Operation::Pipe, "pipe"),
    (Operation::Unix, "unix"),
    (Operation::Udp, "udp"),
    (Operation::Tcp, "tcp"),
    (Operation::RpcUdp, "rpc-udp"),
    (Operation::RpcTcp, "rpc-tcp"),
    (Operation::Connect, "connect"),
    (Operation::Copy4096, "copy-4096"),
    (Operation::Copy1024, "copy-1024"),
    (Operation::Copy256, "copy-256"),
    (Operation::PipeThroughput, "pipe-512"),
    (Operation::Execl, "execl"),
    (Operation::Shell8, "shell8"),
];

impl Operation {
    /// All of them, in the order of reports.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|(operation, _)| *operation)
    }

    /// Its word in plans and results.
    pub fn word(self) -> &'static str {
        TABLE.iter().find(|(other, _)| *other == self).map_or("", |(_, word)| word)
    }

    /// The operation of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        TABLE.iter().find(|(_, other)| *other == word).map(|(operation, _)| *operation)
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;

    #[test]
    fn every_word_leads_back() {
        for operation in Operation::all() {
            assert_eq!(Operation::of_word(operation.word()), Some(operation));
        }
        assert_eq!(Operation::of_word("getpid"), None);
    }
}
