//! Kernel errors: missing features, and refusals.
//!
//! Measured side, cold.

use thiserror::Error;

/// Missing feature, so that nothing can be loaded here: the reason of `none: REASON`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MissingFeature {
    /// The kernel was built without BPF, or something forbids the call.
    Bpf,
    /// Not allowed: `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` are needed.
    Privilege,
    /// Older than Linux 6.6: no tcx.
    Tcx,
    /// No `/sys/kernel/btf/vmlinux`: the lengths of queues cannot be read.
    Btf,
}

impl std::fmt::Display for MissingFeature {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bpf => "this kernel has no bpf(2), or forbids it: CONFIG_BPF_SYSCALL is needed",
            Self::Privilege => {
                "not allowed to load BPF programs: run as root, or with CAP_BPF, CAP_NET_ADMIN and CAP_PERFMON"
            }
            Self::Tcx => "this kernel has no tcx: Linux 6.6 or later is needed",
            Self::Btf => "no /sys/kernel/btf/vmlinux: a kernel with CONFIG_DEBUG_INFO_BTF is needed",
        })
    }
}

/// Reason why something could not be done in the kernel.
#[derive(Debug, Error)]
pub enum KernelError {
    /// A feature is missing here.
    #[error("{0}")]
    Missing(MissingFeature),
    /// The verifier refused a program: a fault of this version, or a kernel it was not tried on.
    #[error("the kernel refuses the program {program}: {last}")]
    Verifier {
        /// Name of the program.
        program: &'static str,
        /// The last line of the verifier's log.
        last: String,
    },
    /// An interface that is not there.
    #[error("no interface {0}: `ip link` lists them")]
    NoInterface(String),
    /// An interface whose packets have no Ethernet head.
    #[error("the interface {0} is not of Ethernet or loopback: police reads packets of no other kind")]
    NotEthernet(String),
    /// The driver has no native XDP.
    #[error("the interface {0} takes no native XDP ({1}): leave out --xdp")]
    NoXdp(String, String),
    /// A program could not be attached.
    #[error("cannot attach to {place}: {why}")]
    Attach {
        /// The interface, or the network namespace.
        place: String,
        /// The kernel's error.
        why: String,
    },
    /// More than the maps hold.
    #[error("{what}: {wanted}, and the loaded programs hold {most}; end this police and start it anew")]
    Full {
        /// The kind of entries.
        what: &'static str,
        /// Their number.
        wanted: usize,
        /// The limit.
        most: usize,
    },
    /// A call to a map failed.
    #[error("the map {map} of the loaded programs: {why}")]
    Map {
        /// Its name in `police.bpf.c`.
        map: &'static str,
        /// The kernel's error.
        why: String,
    },
}
