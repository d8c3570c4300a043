//! Kernel side of the layer: the programs of `bpf/police.bpf.c`, their maps, attachments and counters.
//!
//! Measured side, cold; the loaded programs are the hot path. Needs `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` to
//! load and attach; later [`Programs::swap`], [`Programs::set_bounds`] and [`Programs::counters`] need none. Decides
//! nothing: `reference` defines the decisions and their reasons. The caller takes sockets and watches for changes.
//!
//! Usage, in the order of arming:
//!
//! 1. [`probe`]: names the missing feature. Changes nothing.
//! 2. [`Programs::load`]: programs and maps are in the kernel, filled, seen by no packet. An error leaves nothing.
//! 3. If the table has classes, [`Programs::steer`] with the server's sockets, then [`Programs::attach_classes`].
//! 4. [`Programs::attach`] for each interface, or [`Programs::attach_xdp`].
//! 5. Every 100 ms [`Programs::set_bounds`], [`Programs::counters`], and [`Programs::runs`] while [`count_time`]'s
//!    descriptor is open.
//! 6. [`Programs::swap`] at SIGHUP; [`Programs::steer`] again when the server has other sockets.
//! 7. Dropping it, or the death of the process, removes everything from the kernel: no packet is looked at any more.
//!
//! Not for several threads at once.

mod automaton;
mod counters;
mod error;
mod layout;
mod maps;
mod places;
mod probe;
mod programs;
mod trial;

pub use counters::{KernelCounters, RuleCount, Runs};
pub use error::{KernelError, MissingFeature};
pub use maps::ListenerAddress;
pub use probe::probe;
pub use programs::{PoliceMode, Programs, ServerListener, count_time};
pub use trial::{ProgramTrial, TrialProgram};
