//! Fronts: a product or a user's program before a server, or a program attached to it.
//!
//! Measuring side, cold path, no I/O. Owns what a plan can say of a front, and what cannot be done.

use crate::config::Substitutions;
use crate::product::{Product, ProxyMode, ProxyRefusal, ProxySpec};
use crate::spec::Spec;
use crate::stack::Standing;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// A front of a server.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontSpec {
    /// Its name in the plan.
    pub name: String,
    /// Its kind.
    pub what: FrontKind,
    /// A command that tells whether it is on, as for a layer.
    pub proof: Option<Vec<String>>,
    /// A file with a line `NAME NUMBER` for each of its counters.
    pub status: Option<String>,
    /// The counter of violations that it noticed.
    pub violations: Option<String>,
}

impl FrontSpec {
    pub(crate) fn standing(&self, known: &Substitutions) -> Option<Standing> {
        Standing::telling(&self.name, (&self.proof, &self.status, &self.violations), known)
    }
}

/// Kinds of fronts.
#[derive(Clone, Debug, PartialEq)]
pub enum FrontKind {
    /// A product that bakeoff knows; clients send it requests as if it were the server.
    Product {
        /// The product.
        product: Product,
        /// The user's configuration; none: ours.
        config: Option<PathBuf>,
        /// Lines for our configuration.
        directives: Option<String>,
        /// It speaks TLS with clients.
        tls: bool,
        /// Room for objects in memory.
        memory_bytes: u64,
        /// Room for objects on disk; none: in memory, where the product can.
        disk_bytes: Option<u64>,
    },
    /// Any program that listens on `{host}:{port}` and sends requests to `{upstream}`.
    Command {
        /// Program and arguments with substitutions; no shell.
        argv: Vec<String>,
        /// Ready when this path answers below 500; none: when the port accepts.
        ready: Option<String>,
        /// Added to its environment, values with substitutions.
        env: Vec<(String, String)>,
        /// It speaks TLS with clients.
        tls: bool,
    },
    /// A program without a port of its own, started beside the running server.
    Attached {
        /// Program and arguments with substitutions; no shell.
        argv: Vec<String>,
        /// Ready when it prints a line that begins with this; none: at once.
        ready: Option<String>,
        /// A text that is put into its private directory.
        file: Option<FrontFile>,
    },
}

/// A text for an attached program, with the same substitutions as its command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontFile {
    /// Its name in the private directory.
    pub name: String,
    /// Its name in messages.
    pub origin: String,
    /// Source of its text: a file of the user's, or one that the plan brings.
    pub from: PathBuf,
}

impl FrontKind {
    /// Whether clients or another front can connect to it.
    pub const fn has_port(&self) -> bool {
        !matches!(self, Self::Attached { .. })
    }

    /// Whether its clients speak TLS with it.
    pub const fn speaks_tls(&self) -> bool {
        match self {
            Self::Product { tls, .. } | Self::Command { tls, .. } => *tls,
            Self::Attached { .. } => false,
        }
    }

    /// The feature that the product lacks; a plan is refused with it before anything starts.
    pub fn refusal(&self) -> Option<ProxyRefusal> {
        self.proxy(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?.refusal()
    }

    /// The spec to start it between clients and this server; `None` for an attached program, which has no port.
    pub(crate) fn spec(&self, upstream: SocketAddr) -> Option<Spec> {
        match self {
            Self::Product { .. } => self.proxy(upstream).map(Spec::Proxy),
            Self::Command { argv, ready, env, tls } => {
                let (argv, ready, env) = (argv.clone(), ready.clone(), env.clone());
                Some(Spec::Command { argv, ready, env, tls: *tls })
            }
            Self::Attached { .. } => None,
        }
    }

    /// The product between clients and this server.
    fn proxy(&self, upstream: SocketAddr) -> Option<ProxySpec> {
        let Self::Product { product, config, tls, memory_bytes, disk_bytes, .. } = self else { return None };
        let spec = ProxySpec {
            product: *product,
            origin: upstream,
            mode: ProxyMode::Reverse,
            memory_bytes: *memory_bytes,
            disk_bytes: *disk_bytes,
            config: config.clone(),
            tls: *tls,
        };
        Some(spec.with_room(*memory_bytes, *disk_bytes))
    }
}
