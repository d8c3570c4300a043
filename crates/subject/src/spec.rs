//! Kinds of subjects, as a plan describes them.

use crate::product::{Product, ProxySpec};
use bakeoff_units::Nanos;
use std::path::PathBuf;

/// Extra CPU that our own origin spends: costs that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burn {
    /// CPU for each request.
    pub request: Option<Nanos>,
    /// CPU for each request, for every further one in flight at its thread.
    pub in_flight: Option<Nanos>,
    /// CPU each time a thread wakes up.
    pub wakeup: Option<Nanos>,
}

/// One arm's subject as a plan describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// The built-in origin simulator, as a process of its own.
    Origin {
        /// Serves over HTTPS.
        tls: bool,
        /// Planted costs.
        burn: Burn,
    },
    /// A product as a server of the site.
    Product {
        /// The product.
        product: Product,
        /// The user's configuration; none: ours.
        config: Option<PathBuf>,
        /// Serves over HTTPS. For a configuration of the user's this describes what that one does.
        tls: bool,
    },
    /// Any program that serves HTTP.
    Command {
        /// Program and arguments with substitutions; no shell.
        argv: Vec<String>,
        /// Ready when this path answers below 500; none: when the port accepts.
        ready: Option<String>,
        /// Added to its environment, values with substitutions.
        env: Vec<(String, String)>,
        /// It speaks HTTPS.
        tls: bool,
    },
    /// A proxy cache in front of an origin.
    Proxy(ProxySpec),
    /// A server that bakeoff did not start and leaves running.
    Url {
        /// `http://host:port` or `https://host:port`.
        url: String,
        /// The process whose CPU, with that of its descendants, is the subject's.
        pid: Option<u32>,
    },
}

impl Spec {
    /// Whether it numbers its replies and gives them a lifetime, if caches may stand before it: our own server does,
    /// and products with our configuration that can.
    pub fn numbers_replies(&self) -> bool {
        match self {
            Self::Origin { .. } => true,
            Self::Product { product, config, .. } => product.numbers_replies() && config.is_none(),
            Self::Command { .. } | Self::Proxy(_) | Self::Url { .. } => false,
        }
    }

    /// Whether it serves over HTTPS.
    pub fn speaks_tls(&self) -> bool {
        match self {
            Self::Origin { tls, .. } | Self::Product { tls, .. } | Self::Command { tls, .. } => *tls,
            Self::Url { url, .. } => url.starts_with("https://"),
            Self::Proxy(proxy) => proxy.tls,
        }
    }
}
