//! Kernel errors: missing features, and refusals.
//!
//! Measured side, cold.

use thiserror::Error;

/// Missing feature, so that nothing can be loaded here: the reason of `none: REASON`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MissingFeature {
    /// The kernel was built without BPF, or something forbids the call.
    #[error("this kernel has no bpf(2), or forbids it: CONFIG_BPF_SYSCALL is needed")]
    Bpf,
    /// Not allowed.
    #[error("not allowed to load BPF programs: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON")]
    Privilege,
    /// Older than Linux 6.6.
    #[error("this kernel has no tcx: Linux 6.6 or later is needed")]
    Tcx,
    /// The lengths of queues cannot be read.
    #[error("no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is needed")]
    Btf,
}

/// Reason why something could not be done in the kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// A feature is missing here.
    #[error(transparent)]
    Missing(#[from] MissingFeature),
    /// The verifier refused a program, by the last line of its log: a fault of this version, or a kernel it was not
    /// tried on.
    #[error("the kernel refuses the program {0}: {1}")]
    Verifier(&'static str, String),
    /// An interface that is not there.
    #[error("no interface {0}: `ip link` lists them")]
    NoInterface(String),
    /// An interface whose packets have no Ethernet head.
    #[error("the interface {0} is not of Ethernet or loopback: police reads packets of no other kind")]
    NotEthernet(String),
    /// The driver has no native XDP.
    #[error("the interface {0} takes no native XDP ({1}): leave out --xdp")]
    NoXdp(String, String),
    /// A program could not be attached to an interface, or to the network namespace.
    #[error("cannot attach to {0}: {1}")]
    Attach(String, String),
    /// A class has more sockets than the programs hold.
    #[error("class {0} has more than {1} listening sockets: let the server listen with fewer")]
    ManySockets(String, usize),
    /// A call to a map of `police.bpf.c` failed.
    #[error("the map {0} of the loaded programs: {1}")]
    Map(&'static str, String),
}
