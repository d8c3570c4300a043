//! Subjects, the programs that are measured: started, checked for readiness, read, and ended without a trace.
//!
//! Measuring side, cold path; only `Running::cpu` is called between slices. Owns the processes of an arm from start to
//! stop: their cores, their user, their files, certificates and ports, the CPU they used, and what they printed when
//! something went wrong. Reaches them from outside only, by address and `/proc`: it links no measured code. Sends no
//! load and judges no figure.
//!
//! A [`ProxySpec`] is a cache in front of an origin; [`read_store`] tells how full it is. `start` turns a [`Spec`] into
//! a [`Running`] subject, `run_command` runs a workload's command to its end, and a [`Dialogue`] talks to a command
//! that stays. A stack of [`LayerSpec`]s stands under a server, a [`Layer`] keeps what commands leave running,
//! [`prove`] asks a command whether a layer is on. All put a supervisor process (`supervisor`) above what they start, so
//! that nothing outlives bakeoff.

#![forbid(unsafe_code)]

mod adopted;
mod again;
mod attached;
mod certificate;
mod cgroup;
mod chain;
mod command;
mod command_end;
mod config;
mod context;
mod cpu;
mod dialogue;
mod error;
mod front;
mod includes;
mod key_kind;
mod layer;
mod layered;
mod limits;
mod litter;
mod origin;
mod port;
mod prepare;
mod private_dir;
mod product;
mod program;
mod prove;
mod ready;
mod run_command;
mod running;
mod spec;
mod stack;
mod stand_in;
mod start;
pub mod supervisor;
mod url;
mod user;
mod words;
mod wrap;
mod written;

pub use adopted::{application, key_kind, language};
pub use again::{Killed, Starting};
pub use bakeoff_adopt::{Application, made_pages};
pub use certificate::{Certificate, NAMES as CERTIFICATE_NAMES};
pub use cgroup::LimitsHit;
pub use chain::{Chain, start_chain};
pub use command_end::CommandEnd;
pub use config::{ConfigError, Substitutions};
pub use context::{Context, Network};
pub use cpu::{CpuChoice, CpuMissing, CpuReading, CpuSource};
pub use dialogue::{Dialogue, WaitOutcome};
pub use error::SubjectError;
pub use front::{FrontFile, FrontKind, FrontSpec};
pub use key_kind::{KeyKind, key_kind_of};
pub use layer::{Errand, Layer};
pub use layered::Layered;
pub use limits::Limits;
pub use port::{FURTHER as FURTHER_PORTS, Held as HeldPort, free as free_port, hold_free as hold_free_port};
pub use product::{
    Product, ProxyMode, ProxyRefusal, ProxySpec, StoreError, StoreReading, StoresIn, store as read_store,
};
pub use program::{find as find_program, resolve as resolve_program};
pub use prove::{Enforcement, Proof, prove, prove_by, prove_layers};
pub use run_command::{CommandJob, CommandOutcome, run_command};
pub use running::{Running, StopReport};
pub use spec::{Burn, Spec};
pub use stack::{LAYERS, LayerSpec, ProgramTime, build as build_layers};
pub use start::start;
pub use words::LastWords;
pub use wrap::{WrapSpec, prove_wraps, wrapped};
pub use written::Written;
