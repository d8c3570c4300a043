//! The kernel's half: the programs of `bpf/police.bpf.c`, their maps, where they are attached, what they counted.
//!
//! Measured side, cold; what it loads is the hot path. Needs `CAP_BPF`, `CAP_NET_ADMIN` and `CAP_PERFMON` to load and attach;
//! later [`Programs::swap`], [`Programs::set_bounds`] and [`Programs::counters`] need none. Decides nothing: what is
//! decided, and why, is `reference`'s to say. Takes no socket from anybody and watches nothing: that is the caller's.
//!
//! How it is used, in the order of arming:
//!
//! 1. [`probe`]: what is missing, by name. Nothing is made.
//! 2. [`Programs::load`]: programs and maps are in the kernel, filled, seen by no packet. An error leaves nothing.
//! 3. Where the table has classes, [`Programs::steer`] with the server's sockets, then [`Programs::attach_classes`].
//! 4. [`Programs::attach`] for each interface, or [`Programs::attach_xdp`].
//! 5. Every 100 ms [`Programs::set_bounds`], [`Programs::counters`], and [`Programs::runs`] while [`count_time`]'s descriptor is held.
//! 6. [`Programs::swap`] at SIGHUP; [`Programs::steer`] again when the server has other sockets.
//! 7. Dropping it, or the death of the process, takes everything out of the kernel: no packet is looked at any more.
//!
//! Not for several threads at once: whoever owns it calls.

mod automaton;
mod counters;
mod error;
mod layout;
mod maps;
mod places;
mod probe;
mod programs;
mod trial;

pub use counters::{Counters, RuleCount, Runs};
pub use error::{KernelError, Missing};
pub use probe::probe;
pub use programs::{Listener, Mode, Programs, count_time};
pub use trial::{Program, Trial};
