//! Kernel side of the layer: the programs of `bpf/police.bpf.c`, their maps, attachments and counters.
//!
//! Measured side, cold; the loaded programs are the hot path. Needs `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` to
//! load and attach; later [`Programs::swap`], [`Programs::set_bounds`] and [`Programs::counters`] need none. Decides
//! nothing: `reference` defines the decisions and their reasons. The caller takes sockets and watches for changes.
//!
//! In the order of arming: [`probe`], [`Programs::load`], which no packet sees yet, [`Programs::steer`] and
//! [`Programs::attach_classes`] where there are classes, then [`Programs::attach`]. Dropping it, or the death of the
//! process, removes everything from the kernel. Not for several threads at once.

mod automaton;
mod counters;
mod error;
mod layout;
mod maps;
mod places;
mod probe;
mod programs;

pub use counters::{KernelCounters, RuleCount, Runs};
pub use error::{KernelError, MissingFeature};
pub use maps::ListenerAddress;
pub use probe::probe;
pub use programs::{PoliceMode, Programs, ServerListener, count_time};
