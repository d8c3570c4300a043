//! What can be a subject.

use crate::product::{Product, ProxySpec};
use bakeoff_units::Nanos;
use std::path::PathBuf;

/// Extra CPU that our own origin spends: costs that are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Burn {
    /// On each request.
    pub request: Option<Nanos>,
    /// On each request, for every further one in flight at its thread.
    pub in_flight: Option<Nanos>,
    /// Each time a thread wakes up.
    pub wakeup: Option<Nanos>,
}

/// One arm's subject as a plan describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// The built-in origin simulator, as a process of its own.
    Origin {
        /// Over HTTPS.
        tls: bool,
        /// Planted costs.
        burn: Burn,
    },
    /// A product as a server of the site.
    Product {
        /// Which.
        product: Product,
        /// The user's configuration; none: ours.
        config: Option<PathBuf>,
        /// Over HTTPS. With a configuration of the user's it says what that one speaks.
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
        /// What it speaks is HTTPS.
        tls: bool,
    },
    /// A proxy cache in front of an origin.
    Proxy(ProxySpec),
    /// A server that runs already and is left running.
    Url {
        /// `http://host:port` or `https://host:port`.
        url: String,
        /// The process whose CPU, with that of its descendants, is the subject's.
        pid: Option<u32>,
    },
}

impl Spec {
    /// Whether it numbers its replies and says how long they may be kept, where caches may stand before it: our own server
    /// does, and products with our configuration that can.
    pub fn numbers_replies(&self) -> bool {
        match self {
            Self::Origin { .. } => true,
            Self::Product { product, config, .. } => product.numbers_replies() && config.is_none(),
            Self::Command { .. } | Self::Proxy(_) | Self::Url { .. } => false,
        }
    }

    /// Whether it is asked over HTTPS.
    pub fn speaks_tls(&self) -> bool {
        match self {
            Self::Origin { tls, .. } | Self::Product { tls, .. } | Self::Command { tls, .. } => *tls,
            Self::Url { url, .. } => url.starts_with("https://"),
            Self::Proxy(proxy) => proxy.tls,
        }
    }
}
