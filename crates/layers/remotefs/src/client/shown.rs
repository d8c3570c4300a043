//! Credentials that a mount shows to its server.
//!
//! Measured side, cold: once a session.

use bakeoff_layers_credentials::bundle::Bundles;
use bakeoff_layers_credentials::hello::Hello;
use bakeoff_layers_credentials::name::PrincipalName;
use bakeoff_layers_credentials::tls::Holder;
use std::sync::Arc;

/// Credentials of the user, and the server's expected identity.
pub struct Shown {
    /// Name of the server.
    pub server: PrincipalName,
    /// Bundles of the trusted domains as they are now, asked for each connection.
    pub bundles: Box<dyn Fn() -> Arc<Bundles> + Send + Sync>,
    /// Gives the credentials to show, anew for each session: leafs live for minutes.
    pub show: Box<dyn Fn() -> Result<(Holder, Hello), String> + Send + Sync>,
    /// Whether the user has logged out: then the mount ends, and the kernel's caches of it.
    pub is_over: Box<dyn Fn() -> bool + Send + Sync>,
}
